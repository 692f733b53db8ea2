"""The reader's network: from the token states of a message to values, whose they are, and whether they still hold.

Heads over the states of ``token_encoder``: a tag per token (a value of a key begins or goes on there), signs of
a value (it holds no more, it is done), and from a value to other words: whom it is of, the word of a family
(``attribute.deadline``), the value that it replaces. ``phronesis bench reader`` fits them
(docs/decisions/08-extraction.md).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from phronesis.core.vectors import Floats
from phronesis.models.reader.token_encoder import Tokens, gelu, softmax

FAMILIES: Final = frozenset({"attribute", "favorite"})
"""Families of keys: the word after the dot is pointed at."""
SUBJECT, WORD, OLD = "#S", "#K", "#R"
"""Tags of words that are no value: whom a value is of, the word of a family, the value replaced."""
RETRACTED, DONE = 0, 1
"""Columns of the signs."""
ENDED: Final = 0.7
"""The least sign of a word that what it names holds no more. Of 480 messages of authors that the reader was not fitted
to, 18 have such words.
"""
HOLDS: Final = 0.25
"""How likely a text must hold something for such words to count."""
NAME: Final = "profile/name"
WHOSE: Final = "whose"
POINTERS: Final = (WHOSE, "word", "old")
UNSPACED_FROM: Final = "\u2e80"
"""The first of the characters that are written without blanks."""


@dataclass(frozen=True, slots=True)
class Labels:
    """What the heads tell apart: the tags, and the reasons why nothing is remembered."""

    names: Sequence[str]
    gates: Sequence[str]

    def tag(self, part: str, name: str) -> int:
        """Return the number of the tag by which a value of a name begins (``B``) or goes on (``I``)."""
        return 1 + 2 * self.names.index(name) + (part == "I")

    def gate(self, name: str | None) -> int:
        """Return the number of a reason; 0: there is something to remember."""
        return 0 if name is None else 1 + self.gates.index(name)

    @property
    def tags(self) -> int:
        """The number of tags."""
        return 1 + 2 * len(self.names)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundValue:
    """A value in a text, at ``start:end``: its key, whose it is (None: the writer's), and how sure the network is.

    ``retracted``: it is said to hold no more, or never to have held. ``done``: the task is finished. ``replaces`` is
    the value that it takes the place of, as the text names it.
    """

    kind: str
    key: str
    subject: str | None
    start: int
    end: int
    retracted: bool
    done: bool
    replaces: str | None
    confidence: float


@dataclass(frozen=True, slots=True)
class Scores:
    """What the heads say of the tokens of a text, without those that begin and end it."""

    tags: Floats
    signs: Floats
    pointers: Mapping[str, Floats]
    holds: float
    gate: Floats


@dataclass(frozen=True, slots=True)
class _Span:
    name: str
    first: int
    behind: int


class Heads:
    """The heads, by their weights."""

    def __init__(self, labels: Labels, weights: Mapping[str, Floats]) -> None:
        self.labels, self._weights = labels, weights
        parts = np.array([0, *(part for _ in labels.names for part in (1, 2))])
        self._goes_on = parts == 2  # noqa: PLR2004 - the second of a name's two tags
        self._begun = np.arange(labels.tags) - self._goes_on

    def scores(self, states: Floats, first: int) -> Scores:
        """Return the scores of the states of a text whose own tokens begin at ``first``."""
        whole, own = states[0], slice(first, len(states) - 1)
        mixed = gelu(self._linear(states, "mix"))
        pointers: dict[str, Floats] = {}
        for name in POINTERS:
            given = states if name == WHOSE else mixed
            likeness = (given[own] @ self._weights[f"{name}.from"]) @ (given @ self._weights[f"{name}.to"]).T
            likeness /= math.sqrt(self._weights[f"{name}.from"].shape[1])
            pointers[name] = likeness[:, [0, *range(first, len(states) - 1)]]
        return Scores(
            tags=log_softmax(self._linear(mixed[own], "tag")),
            signs=sigmoid(self._linear(gelu(self._linear(append_text_state(states[own], whole), "sign.mix")), "sign")),
            pointers=pointers,
            holds=float(sigmoid(self._linear(whole, "holds"))[0]),
            gate=softmax(self._linear(whole, "gate")),
        )

    def _linear(self, given: Floats, name: str) -> Floats:
        out: Floats = given @ self._weights[f"{name}.w"] + self._weights[f"{name}.b"]
        return out

    def values(self, text: str, tokens: Tokens, scores: Scores) -> list[FoundValue]:
        """Return the values that a text holds, in order."""
        spans = self._spans(scores.tags)
        found: list[FoundValue] = []
        for span in spans:
            if span.name.startswith("#"):
                continue
            kind, _, key = span.name.partition("/")
            sure = float(self._chances(span, scores.tags).min())
            signs = scores.signs[span.first : span.behind].mean(axis=0)
            whose, known = self._pointed(WHOSE, span, spans, scores)
            word, named = self._pointed("word", span, spans, scores) if key in FAMILIES else (None, 1.0)
            old, _ = self._pointed("old", span, spans, scores)
            if whose is not None and whose.name == NAME:
                whose = None  # "Tomasz here, firmware developer": the name is the writer's own
            if key in FAMILIES and word is None:
                continue
            start, end = whole_words(text, tokens.starts[span.first], tokens.ends[span.behind - 1])
            if not text[start:end].strip():
                continue
            found.append(
                FoundValue(
                    kind=kind,
                    key=key if word is None else f"{key}.{_words(text, tokens, word)}",
                    subject=None if whose is None else _words(text, tokens, whose),
                    start=start,
                    end=end,
                    retracted=bool(signs[RETRACTED] > 0.5),  # noqa: PLR2004 - the likelier of two
                    done=bool(signs[DONE] > 0.5),  # noqa: PLR2004
                    replaces=None if old is None or old.name != OLD else _words(text, tokens, old),
                    confidence=sure * known * named * float(np.maximum(signs, 1 - signs).min()),
                )
            )
        return found

    def _chances(self, span: _Span, tags: Floats) -> Floats:
        """Return for each token of a span how likely it is one of a value of its key."""
        begins = self.labels.tag("B", span.name)
        out: Floats = np.exp(tags[span.first : span.behind, begins : begins + 2]).sum(axis=1)
        return out

    def _pointed(self, name: str, span: _Span, spans: Sequence[_Span], scores: Scores) -> tuple[_Span | None, float]:
        """Return the span that a value points at (None: none, or the writer), and how likely."""
        row = scores.pointers[name][span.first]
        others = [one for one in spans if one is not span]
        if name == WHOSE:  # whoever is meant counts, be it a word without a tag: then no span is likely
            every = softmax(row)
            shares = np.array([every[0], *(every[1 + one.first : 1 + one.behind].sum() for one in others)])
        else:
            shares = softmax(np.array([row[0], *(row[1 + one.first] for one in others)]))
        best = int(shares.argmax())
        return (None if best == 0 else others[best - 1]), float(shares[best])

    def ended(self, text: str, tokens: Tokens, scores: Scores) -> list[tuple[int, int]]:
        """Return where the words stand that are said to hold no more, whether or not they are values of a key."""
        found: list[tuple[int, int]] = []
        for n in np.flatnonzero((scores.signs[:, RETRACTED] > ENDED) & (scores.holds >= HOLDS)).tolist():
            start, end = whole_words(text, tokens.starts[n], tokens.ends[n])
            if found and start <= found[-1][1] + 1:
                start = found.pop()[0]
            found.append((start, end))
        return found

    def _spans(self, scores: Floats) -> list[_Span]:
        """Return the spans of the likeliest row of tags in which what goes on follows what began so (Viterbi 1967)."""
        total: Floats = np.where(self._goes_on, np.float32(-np.inf), scores[0])
        own = np.arange(self.labels.tags)
        back = []
        for row in scores[1:]:
            before = np.where(total[self._begun] >= total[own], self._begun, own)
            came = np.where(self._goes_on, before, total.argmax())
            back.append(came)
            total = total[came] + row
        path = [int(total.argmax())]
        for came in reversed(back):
            path.append(int(came[path[-1]]))
        found: list[_Span] = []
        for n, tag in enumerate(reversed(path)):
            if tag and self._goes_on[tag]:
                found[-1] = _Span(found[-1].name, found[-1].first, n + 1)
            elif tag:
                name = self.labels.names[(tag - 1) // 2]
                goes_on = bool(found) and found[-1].name == name and found[-1].behind == n
                found[-1 if goes_on else len(found) :] = [_Span(name, found[-1].first if goes_on else n, n + 1)]
        return found


def append_text_state(states: Floats, whole: Floats) -> Floats:
    """Return token states, each beside the state of the whole text."""
    return np.concatenate([states, np.broadcast_to(whole, states.shape)], axis=1)


def whole_words(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a span widened to the words that it cuts; Chinese has no blanks to tell them by."""
    while start > 0 and _joined(text[start - 1 : start + 1]):
        start -= 1
    while end < len(text) and _joined(text[end - 1 : end + 1]):
        end += 1
    return start, end


def _joined(pair: str) -> bool:
    return len(pair) == 2 and all(letter.isalnum() and letter < UNSPACED_FROM for letter in pair)  # noqa: PLR2004


def _words(text: str, tokens: Tokens, span: _Span) -> str:
    return text[slice(*whole_words(text, tokens.starts[span.first], tokens.ends[span.behind - 1]))]


def log_softmax(given: Floats) -> Floats:
    """Return the logarithms of shares along the last axis."""
    apart = given - given.max(axis=-1, keepdims=True)
    out: Floats = apart - np.log(np.exp(apart).sum(axis=-1, keepdims=True))
    return out


def sigmoid(given: Floats) -> Floats:
    """Return the chances of log-odds."""
    out: Floats = np.reciprocal(1 + np.exp(-given))
    return out
