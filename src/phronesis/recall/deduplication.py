"""Deduplication of evidence: relevance on one scale, result identity, and comparison of texts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from phronesis.core.entries import SECTION
from phronesis.core.results import Evidence
from phronesis.core.retrieval_plan import Store
from phronesis.core.shingles import ComparedTexts

# Relevance of a source's results, on one scale from 0 to 1 for all sources.

COVERED: Final = "covered"
OUTLYING: Final = "outlying"
TIMED: Final = "timed"
MENTIONED: Final = "mentioned"
SIGNALS: Final = (COVERED, OUTLYING, TIMED, MENTIONED)
"""Members of ``why`` from which relevance is computed; they are not parts of the score."""

USUAL: Final = 1.0
CERTAIN: Final = 5.0
"""Standard deviations of a cosine that count as certain.

A sixth of any scope lies above one. Among a hundred thousand normally distributed numbers the largest is expected near
4.4, so five is hardly ever chance.
"""

BY_TIME: Final = 0.5
BY_NAME: Final = 0.3
"""Maximum relevance from a matching time and name alone.

About half of what was said on a day, and most of what mentions a person, is not what is meant.
"""


def relevance(found: Sequence[Evidence]) -> list[float]:
    """Return the relevance of a source's results, best first, from 0 to 1, non-increasing."""
    return isotonic_decrease([support(one.why or {}) for one in found])


def support(why: Mapping[str, float]) -> float:
    """Return the combined support of one result's signals, from 0 to 1; missing signals count as 0."""
    meaning = (why.get(OUTLYING, 0.0) - USUAL) / (CERTAIN - USUAL)
    reasons = (
        _share(why.get(COVERED, 0.0)),
        _share(meaning),
        BY_TIME * _share(why.get(TIMED, 0.0)),
        BY_NAME * _share(why.get(MENTIONED, 0.0)),
    )
    doubt = 1.0
    for reason in reasons:
        doubt *= 1.0 - reason
    return 1.0 - doubt


def isotonic_decrease(values: Sequence[float]) -> list[float]:
    """Return the non-increasing sequence nearest to ``values`` by least squares."""
    pools: list[tuple[float, int]] = []
    for value in values:
        total, count = value, 1
        while pools and pools[-1][0] * count < total * pools[-1][1]:
            before = pools.pop()
            total, count = total + before[0], count + before[1]
        pools.append((total, count))
    return [total / count for total, count in pools for _ in range(count)]


def _share(value: float) -> float:
    return min(1.0, max(0.0, value))


# Candidates for the result list, and what happened to each.

JUDGED: Final = "rerank"
"""The member of ``why`` that is a reranker's score."""

What = Literal["kept", "duplicate", "document", "domain", "ratio", "limit"]
"""What happened to a candidate.

It was kept; it duplicates another; the limit of its document, or of its host or folder, was reached; a worse one of the
other side got the place, for the ratio; or the list was full.
"""


@dataclass(frozen=True, slots=True)
class Part:
    """The results of one retriever, best first by its own score. ``abstained``: it found no support for an answer."""

    name: str
    store: Store
    evidence: Sequence[Evidence]
    abstained: bool = False


@dataclass(frozen=True, slots=True)
class Candidate:
    """A result before selection: its retriever, its rank (from 1), and its relevance from 0 to 1.

    ``judged`` is a reranker's score and replaces the relevance. ``supported`` is false if the retriever abstained.
    """

    evidence: Evidence
    retriever: str
    store: Store
    rank: int
    relevance: float
    supported: bool = True
    judged: float | None = None

    @property
    def score(self) -> float:
        """The score by which it is compared."""
        return self.relevance if self.judged is None else self.judged

    @property
    def order(self) -> tuple[bool, float, int, str, str]:
        """The sort key, best first: reranked, higher score, better rank; then names."""
        return (self.judged is None, -self.score, self.rank, self.retriever, self.evidence.item.id)


@dataclass(frozen=True, slots=True)
class Fate:
    """What happened to a candidate. ``of`` is the citation, document or site that decided; ``place`` counts from 1."""

    candidate: Candidate
    what: What
    place: int | None = None
    of: str | None = None
    why: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values, without missing ones."""
        one = self.candidate
        out = {
            "citation": one.evidence.item.citation,
            "retriever": one.retriever,
            "rank": one.rank,
            "score": one.evidence.score,
            "relevance": round(one.relevance, 6),
            "fate": self.what,
        }
        more = {"rerank": one.judged, "place": self.place, "of": self.of}
        return out | {name: value for name, value in more.items() if value is not None} | dict(self.why)


def candidates_of(parts: Sequence[Part]) -> list[Candidate]:
    """Return the results of all retrievers, best first."""
    out: list[Candidate] = []
    for part in parts:
        values = relevance(part.evidence)
        out += [
            Candidate(found, part.name, part.store, n + 1, value, not part.abstained)
            for n, (found, value) in enumerate(zip(part.evidence, values, strict=True))
        ]
    return sorted(out, key=lambda one: one.order)


def reranked(candidates: Sequence[Candidate], scores: Sequence[float]) -> list[Candidate]:
    """Return the candidates in a reranker's order: the scored ones first, then the others.

    Whether a scored one counts as supported depends on its score alone, since the reranker read the text.
    """
    read = [replace(one, judged=score, supported=True) for one, score in zip(candidates, scores, strict=False)]
    return sorted([*read, *candidates[len(read) :]], key=lambda one: one.order)


# Identity of a result: its deduplication keys, its document, and its site or folder.

CHUNK: Final = "chunk"
"""Prefix of the name of a part that is a chunk of a longer text."""

MESSAGE: Final = "message"

_MAX_URI: Final = 2_000
"""Maximum characters of an address that are parsed."""

Key = tuple[str, ...]


def is_resource(found: Evidence) -> bool:
    """Return whether a result is part of a document."""
    return found.item.kind == SECTION


def key_of(found: Evidence) -> Key:
    """Return the deduplication key of a result (source, 7.2): two results of one key are the same.

    A resource: ``document_id`` and section, with the chunk if one was found. A memory: its turn and message if it is
    one, else its own id.
    """
    item = found.item
    if is_resource(found):
        part = found.matched[0].part if found.matched else ""
        chunk = (part,) if part.startswith(CHUNK) else ()
        return ("section", document_of(found) or "", item.id, *chunk)
    if item.kind == MESSAGE and item.message_id is not None:
        return (MESSAGE, item.entry_id, item.message_id)
    return ("item", item.id)


def messages_of(found: Evidence) -> frozenset[Key]:
    """Return the keys of a memory's source messages (itself, if it is a message); empty for a resource."""
    if is_resource(found):
        return frozenset()
    return frozenset(
        (MESSAGE, source.entry_id, source.message_id) for source in found.sources if source.message_id is not None
    )


def document_of(found: Evidence) -> str | None:
    """Return the id of a result's document; None for a memory."""
    if not is_resource(found):
        return None
    named = found.item.data.get("document_id")
    return named if isinstance(named, str) and named else found.item.id


def uri_of(found: Evidence) -> str | None:
    """Return the address of a result: its own reference, or the first one of its sources."""
    refs = (found.item.source_ref, *(source.source_ref for source in found.sources))
    return next((ref for ref in refs if ref), None)


def domain_of(found: Evidence) -> str | None:
    """Return the domain of a document: the host of its address, or the folder of its file.

    None for a memory, and without either.
    """
    uri = uri_of(found) if is_resource(found) else None
    return None if uri is None else site_of(uri)


def site_of(uri: str) -> str | None:
    """Return the host of an address, without ``www.``, or the folder of a file; None without either."""
    try:
        parts = urlsplit(uri[:_MAX_URI])
        host = parts.hostname
    except ValueError:
        return None
    if host and parts.scheme != "file":
        return host.removeprefix("www.")
    named = parts.path if parts.scheme == "file" or not host else ""
    folder = named.replace("\\", "/").rpartition("/")[0]
    return folder or None


# Comparison of texts: the same words in two documents, or a section quoted in a message.

MAX_COMPARED: Final = 4_000
"""Characters of a text that are compared: a chunk and a half."""

PROBE: Final = 12
PROBES: Final = 5
"""Length of a probe in characters, and number of probes of a text.

One probe must occur in the other text before both are compared word by word: substring search is a thousand times as
fast, and a text that repeats most of another contains one of five probes of it.
"""

LITERAL: Final = 40
"""Minimum characters of a text for which verbatim containment counts as repetition, whatever its words."""

_SELF: Final = ""


@dataclass(slots=True)
class Text:
    """A text prepared for comparison; derived forms are computed on first use."""

    words: str
    _flat: str = field(init=False)
    _shown: ComparedTexts | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        """Normalise the text: white space and case are ignored."""
        self.words = self.words[:MAX_COMPARED]
        self._flat = " ".join(self.words.split()).casefold()

    def repeats(self, other: "Text") -> bool:
        """Return whether this text consists mostly of the other's words and adds nothing."""
        if not self._flat or not other.holds_any(self.probes()):
            return False
        if len(self._flat) >= LITERAL and other.holds_any([self._flat]):
            return True
        return bool(other.shown().repeated_by(self.words))

    def probes(self) -> list[str]:
        """Return pieces of the text, evenly spaced."""
        room = max(0, len(self._flat) - PROBE)
        return [self._flat[(start := room * n // (PROBES - 1)) : start + PROBE] for n in range(PROBES)]

    def holds_any(self, pieces: list[str]) -> bool:
        """Return whether the text contains one of the pieces."""
        return any(piece in self._flat for piece in pieces)

    def shown(self) -> ComparedTexts:
        """Return the text in the form in which it is compared."""
        if self._shown is None:
            self._shown = ComparedTexts.of({_SELF: self.words})
        return self._shown


SAME_KEY: Final = "same key"
SAME_MESSAGE: Final = "same message"
SAME_WORDS: Final = "same words"


@dataclass(slots=True)
class _SelectedResult:
    candidate: Candidate
    text: Text
    key: Key
    messages: frozenset[Key]

    @classmethod
    def of(cls, one: Candidate, text: Text) -> "_SelectedResult":
        return cls(one, text, key_of(one.evidence), messages_of(one.evidence))


def without_duplicates(ranked: Sequence[Candidate]) -> tuple[list[Candidate], list[Fate]]:
    """Return the candidates (best first) without duplicates, and the fates of those dropped.

    The first candidate of a key (``key_of``) or a message stays: a memory adds nothing if its source messages are
    already cited. A text that adds nothing to an earlier one is dropped if one of the two is of a document; two
    messages are kept, because both times may matter. If both say the same and only the later one has an address (a
    section, and the message that quotes it), the later replaces the earlier.
    """
    kept: list[_SelectedResult] = []
    dropped: list[Fate] = []
    for one in ranked:
        known = _find_known(one, kept)
        if known is not None:
            dropped.append(_duplicate(one, known[0].candidate, known[1]))
            continue
        text = Text(_words(one))
        n = _find_echoed(one, text, kept)
        if n is None:
            kept.append(_SelectedResult.of(one, text))
            continue
        other = kept[n].candidate
        if _citability(one) > _citability(other):
            better = replace(one, relevance=max(one.relevance, other.relevance), judged=_better(one, other))
            dropped.append(_duplicate(other, one, SAME_WORDS))
            kept[n] = _SelectedResult.of(better, text)
        else:
            dropped.append(_duplicate(one, other, SAME_WORDS))
    return [one.candidate for one in kept], dropped


def _find_known(one: Candidate, kept: Sequence[_SelectedResult]) -> tuple[_SelectedResult, str] | None:
    key, messages = key_of(one.evidence), messages_of(one.evidence)
    for other in kept:
        if other.key == key:
            return other, SAME_KEY
        if messages and messages <= other.messages:
            return other, SAME_MESSAGE
    return None


def _find_echoed(one: Candidate, text: Text, kept: Sequence[_SelectedResult]) -> int | None:
    for n, other in enumerate(kept):
        if not (is_resource(one.evidence) or is_resource(other.candidate.evidence)):
            continue
        if not text.repeats(other.text):
            continue
        # If a section's words are only part of a message, both stay: the section is the citable source.
        if _citability(one) <= _citability(other.candidate) or other.text.repeats(text):
            return n
    return None


def _citability(one: Candidate) -> int:
    """Return a rank of citability: a document with an address, any document, a message."""
    if not is_resource(one.evidence):
        return 0
    return 1 if uri_of(one.evidence) is None else 2


def _better(one: Candidate, other: Candidate) -> float | None:
    scores = [score for score in (one.judged, other.judged) if score is not None]
    return max(scores, default=None)


def _words(one: Candidate) -> str:
    """Return the text of a candidate, or what matched if it has none (a title alone)."""
    matched = one.evidence.matched
    return one.evidence.item.content or (matched[0].snippet if matched else "")


def _duplicate(one: Candidate, of: Candidate, how: str) -> Fate:
    return Fate(one, "duplicate", of=of.evidence.item.citation, why={"because": how})
