"""Fusion of several retrievers' results into one list without duplicates, with the reason for each decision. Pure.

Relevance is on one scale for all; documents and sites have limits, and memory and resources share the places.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from phronesis.core.entries import SECTION
from phronesis.core.results import Evidence
from phronesis.core.retrieval_plan import Store
from phronesis.core.shingles import ComparedTexts
from phronesis.recall.scoring.weights import FusionRules, isotonic_decrease, support

JUDGED: Final = "rerank"
OWN_SCORE: Final = "source_score"
RELEVANCE: Final = "relevance"
"""Members of ``why``: a reranker's score, the retriever's own score, and the relevance."""

# Candidates for the result list, and what happened to each.

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
    """Return the results of all retrievers, best first; within a retriever relevance does not increase."""
    out: list[Candidate] = []
    for part in parts:
        values = isotonic_decrease([support(one.why or {}) for one in part.evidence])
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


# Identity of a result: its deduplication key, its document, and its site or folder.

CHUNK: Final = "chunk"
"""Prefix of the name of a part that is a chunk of a longer text."""
MESSAGE: Final = "message"
_MAX_URI: Final = 2_000
"""Maximum characters of an address that are parsed."""

_Key = tuple[str, ...]


def _is_resource(found: Evidence) -> bool:
    return found.item.kind == SECTION


def _key_of(found: Evidence) -> _Key:
    """Return the deduplication key of a result (source, 7.2): two results of one key are the same.

    A resource: ``document_id`` and section, with the chunk if one was found. A memory: its turn and message if it is
    one, else its own id.
    """
    item = found.item
    if _is_resource(found):
        part = found.matched[0].part if found.matched else ""
        chunk = (part,) if part.startswith(CHUNK) else ()
        return ("section", _document_of(found) or "", item.id, *chunk)
    if item.kind == MESSAGE and item.message_id is not None:
        return (MESSAGE, item.entry_id, item.message_id)
    return ("item", item.id)


def _document_of(found: Evidence) -> str | None:
    """Return the id of a result's document; None for a memory."""
    if not _is_resource(found):
        return None
    named = found.item.data.get("document_id")
    return named if isinstance(named, str) and named else found.item.id


def _uri_of(found: Evidence) -> str | None:
    """Return the address of a result: its own reference, or the first one of its sources."""
    refs = (found.item.source_ref, *(source.source_ref for source in found.sources))
    return next((ref for ref in refs if ref), None)


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
    return named.replace("\\", "/").rpartition("/")[0] or None


# Duplicates: the same key or message, the same words in two documents, or a section quoted in a message.

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


class Text:
    """A text prepared for comparison, in which white space and case are ignored."""

    def __init__(self, words: str) -> None:
        self._words = words[:MAX_COMPARED]
        self.flat = " ".join(self._words.split()).casefold()

    @cached_property
    def compared(self) -> ComparedTexts:
        """The form in which it is compared word by word."""
        return ComparedTexts.of({"": self._words})

    def repeats(self, other: "Text") -> bool:
        """Return whether this text consists mostly of the other's words and adds nothing."""
        own, room = self.flat, max(0, len(self.flat) - PROBE)
        starts = [room * n // (PROBES - 1) for n in range(PROBES)]
        if not own or not any(own[start : start + PROBE] in other.flat for start in starts):
            return False
        return (len(own) >= LITERAL and own in other.flat) or bool(other.compared.repeated_by(self._words))


@dataclass(frozen=True, slots=True)
class _SelectedResult:
    candidate: Candidate
    text: Text
    key: _Key
    messages: frozenset[_Key]


def deduplicate_candidates(ranked: Sequence[Candidate]) -> tuple[list[Candidate], list[Fate]]:
    """Return the candidates (best first) without duplicates, and the fates of those dropped.

    The first candidate of a key or a message stays: a memory adds nothing if its source messages are already cited. A
    text that adds nothing to an earlier one is dropped if one of the two is of a document; two messages are kept,
    because both times may matter. If both say the same and only the later one has an address (a section, and the
    message that quotes it), the later replaces the earlier.
    """
    kept: list[_SelectedResult] = []
    dropped: list[Fate] = []

    def drop(one: Candidate, of: Candidate, how: str) -> None:
        dropped.append(Fate(one, "duplicate", of=of.evidence.item.citation, why={"because": how}))

    for one in ranked:
        found = one.evidence
        key, sources = _key_of(found), () if _is_resource(found) else found.sources
        messages = frozenset((MESSAGE, it.entry_id, it.message_id) for it in sources if it.message_id is not None)
        known = next((it for it in kept if it.key == key or (messages and messages <= it.messages)), None)
        if known is not None:
            drop(one, known.candidate, "same key" if known.key == key else "same message")
            continue
        # What matched stands for the text where there is none: a title alone.
        text = Text(found.item.content or (found.matched[0].snippet if found.matched else ""))
        n = _find_echoed(one, text, kept)
        if n is None:
            kept.append(_SelectedResult(one, text, key, messages))
            continue
        other = kept[n].candidate
        if _citability(one) > _citability(other):
            drop(other, one, "same words")
            judged = max((it.judged for it in (one, other) if it.judged is not None), default=None)
            better = replace(one, relevance=max(one.relevance, other.relevance), judged=judged)
            kept[n] = _SelectedResult(better, text, key, messages)
        else:
            drop(one, other, "same words")
    return [one.candidate for one in kept], dropped


def _find_echoed(one: Candidate, text: Text, kept: Sequence[_SelectedResult]) -> int | None:
    for n, other in enumerate(kept):
        if not (_is_resource(one.evidence) or _is_resource(other.candidate.evidence)) or not text.repeats(other.text):
            continue
        # If a section's words are only part of a message, both stay: the section is the citable source.
        if _citability(one) <= _citability(other.candidate) or other.text.repeats(text):
            return n
    return None


def _citability(one: Candidate) -> int:
    """Return a rank of citability: a document with an address, any document, a message."""
    if not _is_resource(one.evidence):
        return 0
    return 1 if _uri_of(one.evidence) is None else 2


# The places of the list: limits per document and site, and the ratio of memory to resources.

_SIDES: Final[tuple[Store, Store]] = ("memory", "resources")
_ROUNDING: Final = 1e-9


@dataclass(frozen=True, slots=True)
class FusedEvidence:
    """The fused list, best first, and the fate of every candidate: selected ones first, then the others, best first."""

    evidence: tuple[Evidence, ...]
    fates: tuple[Fate, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the fates of the candidates, and each side's number of places, as plain JSON values."""
        kept = [fate.candidate.store for fate in self.fates if fate.what == "kept"]
        return {
            "places": {"memory": kept.count("memory"), "resources": kept.count("resources")},
            "candidates": [fate.to_dict() for fate in self.fates],
        }


def fuse(candidates: Sequence[Candidate], rules: FusionRules, *, limit: int) -> FusedEvidence:
    """Return at most ``limit`` candidates: duplicates dropped, then diversity, then the ratio.

    The order of the given candidates does not matter; ``score`` of the evidence becomes its relevance, or the
    reranker's score, from 0 to 1.
    """
    once, dropped = deduplicate_candidates(sorted(candidates, key=lambda one: one.order))
    allowed, over = _diversify(once, rules)
    kept, others = fill_places(allowed, rules, limit)
    dropped += over
    worst = {side: max((one.order for one in kept if one.store == side), default=None) for side in _SIDES}
    for one in others:  # the ratio gave the place to a worse one of the other side, or the list was full
        other = worst["resources" if one.store == "memory" else "memory"]
        dropped.append(Fate(one, "ratio" if other is not None and one.order < other else "limit"))
    shown = [Fate(one, "kept", place=n + 1) for n, one in enumerate(kept)]
    rest = sorted(dropped, key=lambda fate: fate.candidate.order)
    evidence = []
    for one in kept:
        why = {**(one.evidence.why or {}), OWN_SCORE: one.evidence.score, RELEVANCE: round(one.relevance, 6)}
        why |= {} if one.judged is None else {JUDGED: round(one.judged, 6)}
        evidence.append(replace(one.evidence, score=round(one.score, 6), why=why))
    return FusedEvidence(tuple(evidence), (*shown, *rest))


def _diversify(ranked: Sequence[Candidate], rules: FusionRules) -> tuple[list[Candidate], list[Fate]]:
    """Return the candidates (best first) within the limits per document, host and folder, and the others' fates."""
    documents, domains = Counter[str | None](), Counter[str | None]()
    kept: list[Candidate] = []
    over: list[Fate] = []
    for one in ranked:
        document = _document_of(one.evidence)
        uri = None if document is None else _uri_of(one.evidence)
        domain = None if uri is None else site_of(uri)
        if document is not None and documents[document] >= rules.per_document:
            over.append(Fate(one, "document", of=document, why={"most": rules.per_document}))
        elif domain is not None and domains[domain] >= rules.per_domain:
            over.append(Fate(one, "domain", of=domain, why={"most": rules.per_domain}))
        else:
            documents[document] += 1
            domains[domain] += 1
            kept.append(one)
    return kept, over


def fill_places(ranked: Sequence[Candidate], rules: FusionRules, limit: int) -> tuple[list[Candidate], list[Candidate]]:
    """Return the candidates (best first) that get the ``limit`` places, in order, and those that get none.

    As long as both sides have relevant results, each side's count in every prefix of the list is within one of its
    share, so the first few results have the ratio too. Within that, the better candidate comes first. A side without
    further relevant results lends its places to the other; results below the floor come last, by score. Memories under
    the key that the question asks for ("Where do I live?") come before all, outside the ratio. If nothing reaches the
    floor (a small scope about one topic, whose every text contains the question's words), results that their source
    supports count as relevant.
    """
    floor = rules.floor if any(one.supported and one.score >= rules.floor for one in ranked) else 0.0
    relevant, rest = list[Candidate](), list[Candidate]()
    for one in ranked:
        (relevant if one.supported and one.score >= floor else rest).append(one)
    good, chosen = list[Candidate](), list[Candidate]()
    for one in relevant:
        by_key = one.store == "memory" and (one.evidence.why or {}).get("key", 0.0) > 0
        (chosen if by_key else good).append(one)
    lead = len(chosen)
    sides = {side: [one for one in good if one.store == side] for side in _SIDES}
    shares = {"memory": rules.memory_share, "resources": 1.0 - rules.memory_share}
    taken: Counter[Store] = Counter()
    while all(len(sides[side]) > taken[side] for side in _SIDES):
        # The two sides' deficits sum to one place: a side without a deficit would be a whole place ahead with it.
        owed = {side: shares[side] * (len(chosen) - lead + 1) - taken[side] for side in _SIDES}
        heads = (sides[side][taken[side]] for side in _SIDES if owed[side] > _ROUNDING)
        best = min(heads, key=lambda one: one.order)
        taken[best.store] += 1
        chosen.append(best)
    chosen += sorted((one for side in _SIDES for one in sides[side][taken[side] :]), key=lambda one: one.order)
    chosen += rest
    return chosen[:limit], chosen[limit:]
