"""Each thing once: of two results that are one, or that say the same, the better stays."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from phronesis.core.fusion.candidates import Candidate, Fate
from phronesis.core.fusion.identity import Key, is_resource, key_of, messages_of, uri_of
from phronesis.core.fusion.likeness import Text

SAME_KEY: Final = "same key"
SAME_MESSAGE: Final = "same message"
SAME_WORDS: Final = "same words"


@dataclass(slots=True)
class _Kept:
    candidate: Candidate
    text: Text
    key: Key
    messages: frozenset[Key]

    @classmethod
    def of(cls, one: Candidate, text: Text) -> "_Kept":
        return cls(one, text, key_of(one.evidence), messages_of(one.evidence))


def without_duplicates(ranked: Sequence[Candidate]) -> tuple[list[Candidate], list[Fate]]:
    """Give the candidates (best first) each once, and what was dropped, with what it is a duplicate of.

    By key (``identity.key_of``) and by message the first stays: a memory adds nothing whose messages another one was
    taken from. A text that says nothing but what one before it says is dropped, if one of the two is of a document:
    people say the same thing twice at two times, and both times may be asked for. When both say the same and the later
    one can be looked up and the earlier cannot (a section, and the message that quotes it), the later takes its place.
    """
    kept: list[_Kept] = []
    dropped: list[Fate] = []
    for one in ranked:
        known = _known(one, kept)
        if known is not None:
            dropped.append(_duplicate(one, known[0].candidate, known[1]))
            continue
        text = Text(_words(one))
        n = _echoed(one, text, kept)
        if n is None:
            kept.append(_Kept.of(one, text))
            continue
        other = kept[n].candidate
        if _sourced(one) > _sourced(other):
            better = replace(one, relevance=max(one.relevance, other.relevance), judged=_better(one, other))
            dropped.append(_duplicate(other, one, SAME_WORDS))
            kept[n] = _Kept.of(better, text)
        else:
            dropped.append(_duplicate(one, other, SAME_WORDS))
    return [one.candidate for one in kept], dropped


def _known(one: Candidate, kept: Sequence[_Kept]) -> tuple[_Kept, str] | None:
    key, messages = key_of(one.evidence), messages_of(one.evidence)
    for other in kept:
        if other.key == key:
            return other, SAME_KEY
        if messages and messages <= other.messages:
            return other, SAME_MESSAGE
    return None


def _echoed(one: Candidate, text: Text, kept: Sequence[_Kept]) -> int | None:
    for n, other in enumerate(kept):
        if not (is_resource(one.evidence) or is_resource(other.candidate.evidence)):
            continue
        if not text.repeats(other.text):
            continue
        # A section whose words stand in a message among others is where they can be looked up: both stay.
        if _sourced(one) <= _sourced(other.candidate) or other.text.repeats(text):
            return n
    return None


def _sourced(one: Candidate) -> int:
    """How well it can be looked up: a document with an address, any document, what was said."""
    if not is_resource(one.evidence):
        return 0
    return 1 if uri_of(one.evidence) is None else 2


def _better(one: Candidate, other: Candidate) -> float | None:
    scores = [score for score in (one.judged, other.judged) if score is not None]
    return max(scores, default=None)


def _words(one: Candidate) -> str:
    """Give its words: where there are none of its own (a title alone), what was matched."""
    matched = one.evidence.matched
    return one.evidence.item.content or (matched[0].snippet if matched else "")


def _duplicate(one: Candidate, of: Candidate, how: str) -> Fate:
    return Fate(one, "duplicate", of=of.evidence.item.citation, why={"because": how})
