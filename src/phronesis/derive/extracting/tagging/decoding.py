"""What the chances come to: the likeliest tags that make sense in a row, and the values that they mark."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from phronesis.core.proposals import USER
from phronesis.derive.extracting.tagging.network import Chances, Floats, Network
from phronesis.derive.extracting.tagging.tokens import Encoded

OUTSIDE: Final = "O"
SUBJECT: Final = "#S"
WORD: Final = "#K"
"""What is no value: whom a value is of, and the word that a key of a family carries (上线日 of attribute.上线日)."""

FAMILIES: Final = frozenset({"attribute", "favorite"})
PEOPLE: Final = frozenset({"partner", "child", "parent", "sibling", "friend", "colleague", "pet"})
"""Keys whose value may be the one that the next words are about."""

GIVEN_UP, DONE, ANOTHERS = range(3)
"""What the signs of a value say, by column: it no longer holds, it is done, it is not the speaker's."""

_HALF: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Tagged:
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


def tagged_in(text: str, seen: Encoded, chances: Chances, network: Network) -> list[Tagged]:
    """Give the values that a text holds, in order."""
    path = best_path(chances.tags, network.tags)
    spans = _spans([network.tags[tag] for tag in path])
    likely = np.exp(chances.tags[np.arange(len(path)), path])
    found: list[Tagged] = []
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
        found.append(Tagged(
            kind=kind, key=f"{key}.{word}" if word else key, subject=subject, value=text[start:end], start=start,
            end=end, retracts=bool(signs[GIVEN_UP] > _HALF), done=bool(signs[DONE] > _HALF),
            chance=float(likely[span.first : span.behind].min()),
        ))  # fmt: skip
    return found


def best_path(scores: Floats, tags: Sequence[str]) -> list[int]:
    """Give the likeliest row of tags in which what goes on (``I-``) follows what began so (Viterbi 1967)."""
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
    """Give who a value is of: whoever was named last before it, or first behind it."""
    named = [one for one in spans if one is not span and (one.name == SUBJECT or one.name.rpartition("/")[2] in PEOPLE)]
    before = [one for one in named if one.behind <= span.first]
    return before[-1] if before else next((one for one in named if one.first >= span.behind), None)


def _nearest(span: _Span, spans: Sequence[_Span], name: str) -> _Span | None:
    named = [one for one in spans if one.name == name]
    before = [one for one in named if one.behind <= span.first]
    return before[-1] if before else next(iter(named), None)


def _words(text: str, seen: Encoded, span: _Span | None) -> str | None:
    return None if span is None else text[seen.starts[span.first] : seen.ends[span.behind - 1]]
