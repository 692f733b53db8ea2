"""What the chances come to: the likeliest tags that make sense in a row, and the values that they mark."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from phronesis.conversation.extracting.cast import PEOPLE
from phronesis.conversation.extracting.clauses import is_chinese
from phronesis.conversation.extracting.tagging.network import (
    MAX_READ,
    UNKNOWN,
    EncodedText,
    Floats,
    Network,
    TagProbabilities,
    load_network,
)
from phronesis.core.lazy_loading import load_once
from phronesis.core.proposals import USER, Proposal

OUTSIDE: Final = "O"
SUBJECT: Final = "#S"
WORD: Final = "#K"
"""What is no value: whom a value is of, and the word that a key of a family carries (上线日 of attribute.上线日)."""

FAMILIES: Final = frozenset({"attribute", "favorite"})
PEOPLE_TAGS: Final = frozenset({"partner", "child", "parent", "sibling", "friend", "colleague", "pet"})
"""Keys whose value may be the one that the next words are about."""

GIVEN_UP, DONE, ANOTHERS = range(3)
"""What the signs of a value say, by column: it no longer holds, it is done, it is not the speaker's."""

_HALF: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class TaggedValue:
    """A value that the network found, at ``start:end``, and how likely its least likely token is what it says."""

    kind: str
    key: str
    subject: str
    value: str
    start: int
    end: int
    retracts: bool
    done: bool
    chance: float


@dataclass(frozen=True, slots=True)
class _Span:
    name: str
    first: int
    behind: int


def tagged_in(text: str, seen: EncodedText, chances: TagProbabilities, network: Network) -> list[TaggedValue]:
    """Return the values that a text holds, in order."""
    path = best_path(chances.tags, network.tags)
    spans = _spans([network.tags[tag] for tag in path])
    likely = np.exp(chances.tags[np.arange(len(path)), path])
    found: list[TaggedValue] = []
    for span in spans:
        if span.name in {SUBJECT, WORD}:
            continue
        kind, key = span.name.split("/")
        signs = chances.signs[span.first : span.behind].mean(axis=0)
        subject = _words(text, seen, _whose(span, spans)) if signs[ANOTHERS] > _HALF else USER
        word = _words(text, seen, _nearest(span, spans, WORD)) if key in FAMILIES else ""
        if subject is None or word is None:
            continue
        start, end = seen.starts[span.first], seen.ends[span.behind - 1]
        found.append(
            TaggedValue(
                kind=kind,
                key=f"{key}.{word}" if word else key,
                subject=subject,
                value=text[start:end],
                start=start,
                end=end,
                retracts=bool(signs[GIVEN_UP] > _HALF),
                done=bool(signs[DONE] > _HALF),
                chance=float(likely[span.first : span.behind].min()),
            )
        )
    return found


def best_path(scores: Floats, tags: Sequence[str]) -> list[int]:
    """Return the likeliest row of tags in which what goes on (``I-``) follows what began so (Viterbi 1967)."""
    goes_on = np.array([tag.startswith("I-") for tag in tags])
    place = {tag: n for n, tag in enumerate(tags)}
    begun = np.array([place[f"B-{tag[2:]}"] if tag.startswith("I-") else n for n, tag in enumerate(tags)])
    own = np.arange(len(tags))
    total = np.where(goes_on, -np.inf, scores[0].astype(np.float64))
    back: list[list[int]] = []
    for row in scores[1:]:
        came = np.where(goes_on, np.where(total[begun] >= total[own], begun, own), total.argmax())
        back.append(came.tolist())
        total = total[came] + row
    path = [int(total.argmax())]
    for before in reversed(back):
        path.append(before[path[-1]])
    return path[::-1]


def _spans(names: Sequence[str]) -> list[_Span]:
    found: list[_Span] = []
    for n, name in enumerate(names):
        if name.startswith("B-"):
            found.append(_Span(name[2:], n, n + 1))
        elif name != OUTSIDE:
            found[-1] = _Span(found[-1].name, found[-1].first, n + 1)
    return found


def _whose(span: _Span, spans: Sequence[_Span]) -> _Span | None:
    """Return who a value is of: whoever was named last before it, or first behind it."""
    named = [
        one for one in spans if one is not span and (one.name == SUBJECT or one.name.rpartition("/")[2] in PEOPLE_TAGS)
    ]
    before = [one for one in named if one.behind <= span.first]
    return before[-1] if before else next((one for one in named if one.first >= span.behind), None)


def _nearest(span: _Span, spans: Sequence[_Span], name: str) -> _Span | None:
    named = [one for one in spans if one.name == name]
    before = [one for one in named if one.behind <= span.first]
    return before[-1] if before else next(iter(named), None)


def _words(text: str, seen: EncodedText, span: _Span | None) -> str | None:
    return None if span is None else text[seen.starts[span.first] : seen.ends[span.behind - 1]]


# The second opinion: a network refuses what it finds unlikely of what the rules propose.

UNLIKELY: Final = {"en": 0.01, "zh": 0.005}
"""A proposal of the rules none of whose tokens is at least so likely to tell what it says is refused, by language."""

PLAIN: Final = {"en": 6, "zh": 0}
"""Words of a whole sentence that is never refused: a network learns of "I'm a waiter" mostly from what others say."""

KNOWN: Final = 0.5
"""The share of a message's tokens that the network was shown, at the least, for it to judge the message."""

_ENDS: Final = ("", ".", "!", "?", ";", "\n")

NAMES: Final = PEOPLE | {"name", "alias"}
"""Keys whose values are names: the network was shown few of them, and a name says nothing of its key."""


@dataclass(frozen=True, slots=True)
class RerankedProposals:
    """What is left of the rules' proposals, and what is refused."""

    kept: list[Proposal]
    unlikely: list[Proposal]


@dataclass(frozen=True, slots=True)
class TaggerReranker:
    """Reads messages beside the rules. ``load`` gives the network of a language, when the first message in it comes."""

    load: Callable[[str], Network]
    unlikely: Mapping[str, float] = field(default_factory=lambda: UNLIKELY)

    def reads(self, text: str) -> bool:
        """Return whether a message is one that a network can judge: not long, and with a letter or a figure."""
        return len(text) <= MAX_READ[language_of(text)] and any(map(str.isalnum, text))

    def __call__(self, ruled: Sequence[Proposal], text: str) -> RerankedProposals:
        """Return the opinion of a message; ``ruled`` are the rules' proposals of it."""
        judged = [one for one in ruled if one.key not in NAMES]
        if not judged:
            return RerankedProposals(list(ruled), [])
        code = language_of(text)
        network = self.load(code)
        seen = network.vocabulary.encode(text)
        if np.mean(seen.words != UNKNOWN) < KNOWN:
            return RerankedProposals(list(ruled), [])  # another language
        chances = network.chances(seen)
        unlikely = [
            one
            for one in judged
            if _chance(one, text, seen, chances, network.tags) < self.unlikely[code] and not _is_plain(one, text, code)
        ]
        return RerankedProposals([one for one in ruled if one not in unlikely], unlikely)


def language_of(text: str) -> str:
    """Return the language whose network reads a message."""
    return "zh" if is_chinese(text) else "en"


@load_once
def second_opinion() -> TaggerReranker:
    """Return the one of the networks that are installed with the package."""
    return TaggerReranker(load_network)


def _chance(one: Proposal, text: str, seen: EncodedText, chances: TagProbabilities, tags: Sequence[str]) -> float:
    """Return how likely the likeliest letter of a proposal's value tells it; 1 of what the network knows nothing."""
    family, _, _ = one.key.partition(".")
    name = f"{one.kind}/{family if family in FAMILIES else one.key}"
    columns = [n for n, tag in enumerate(tags) if tag[2:] == name]
    span = seen.span(*_place(one, text))
    if not columns or not span:
        return 1.0
    return float(np.exp(chances.tags[span.start : span.stop, columns]).sum(axis=1).max())


def _is_plain(one: Proposal, text: str, code: str) -> bool:
    """Return whether what a proposal stands in is a sentence so short that nothing in it speaks against the rules."""
    before, after = text[: one.start].rstrip(" "), text[one.end :].lstrip(" ")
    whole = before[-1:] in _ENDS and after[:1] in _ENDS
    return whole and len(one.quote.split()) <= PLAIN[code]


def _place(one: Proposal, text: str) -> tuple[int, int]:
    """Return where a proposal's value stands; its whole quotation where the value is in other words."""
    start = -1 if one.value is None else text.find(one.value, one.start, one.end)
    return (one.start, one.end) if start < 0 else (start, start + len(one.value or ""))
