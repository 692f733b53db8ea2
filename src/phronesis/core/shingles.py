"""Find the parts of a text that repeat other texts (law 7), by word shingles.

A part is a repetition if most of its shingles occur in the other texts and it says nothing new:

- the share of its three-word shingles that occur in them, its *containment* (A. Broder, "On the resemblance and
  containment of documents", 1997), is at least ``ECHO``;
- no content word (a name, a number, a negation, any word but function words) is missing from them: between "Balance:
  100" and "Balance: 120", one word makes the difference.

Persons are normalised: "I live", "you live" and "the user lives" are equal. Chinese is compared by character. Pure, and
linear in the texts.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from phronesis.core.text import UNSPACED

RUN: Final = 3
"""Words, or Chinese characters, of a shingle: two match by chance in short sentences, four break at any changed word.
"""
ECHO: Final = 0.5
"""Containment from which a part repeats. From .3 to .6 every pair of labelled/echoes.jsonl is judged rightly;
from .7 on, a sentence made of two texts is missed. That nothing new is said decides most of them."""
MAX_COMPARED: Final = 20_000
"""Characters of each text that are compared."""
SOMEBODY: Final = "…"
"""Pronouns for the speaker and the addressee."""
_TOKEN: Final = re.compile(
    rf"用户|[零〇一二三四五六七八九十百千万亿两]+|(?=\w)[{UNSPACED}]|\d+(?:[.,:/]\d+)*|(?:(?![\d_])[^\W{UNSPACED}])+(?:['’][^\W\d_]+)?"
)
_END: Final = re.compile(r"(?<![.!?;])[.!?;]++(?=\s|$)|[。！？；\n]+")
_PERSONS: Final = frozenset(
    """
    i me my mine myself we us our ours you your yours yourself he him his she her hers they them their theirs user
    我 你 您 他 她 咱 用户
    """.split()
)
_DROPPED: Final = frozenset("a an the 的 了 们 呢 吗 啊 吧 呀 哦".split())
_SAME: Final = dict.fromkeys("am is are was were 'm 're".split(), "be") | {
    "has": "have",
    "had": "have",
    "does": "do",
    "did": "do",
}
_SMALL: Final = frozenset(
    """
    be have do and or but so that this it to of in on at for from with by as about than then there here
    told tell said say says mentioned mention know remember recall noted note according memory earlier before previously
    already also right ok okay yes sure well great thanks see still too if when what
    是 在 有 和 与 也 都 就 还 说 过 提 到 记 得 忆 知 道 根 据 之 前 以 好 那 么 所 因 此 这 个 对 哪 什 会 很
    """.split()
)
"""Function words, and words that mark something as known."""


@dataclass(frozen=True, slots=True)
class Echo:
    """A part of a text, [start, end), that repeats other texts, by their ids."""

    start: int
    end: int
    of: Sequence[str]


@dataclass(frozen=True, slots=True)
class ComparedTexts:
    """Texts to compare with: their shingles and words, by id."""

    runs: Mapping[str, frozenset[tuple[str, ...]]]
    words: Mapping[str, frozenset[str]]

    @classmethod
    def of(cls, texts: Mapping[str, str]) -> "ComparedTexts":
        """Index texts by id."""
        tokens = {identity: words_of(text[:MAX_COMPARED]) for identity, text in texts.items()}
        return cls(
            {identity: frozenset(_runs(words)) for identity, words in tokens.items()},
            {identity: frozenset(words) for identity, words in tokens.items()},
        )

    def repeated_by(self, part: str) -> list[str]:
        """Return the ids of the texts that together contain a part; none when it says something new."""
        words = _strip_frame(words_of(part))
        runs = set(_runs(words))
        if not runs:
            return []
        shared = {identity: runs & theirs for identity, theirs in self.runs.items()}
        found = sorted(identity for identity, common in shared.items() if common)
        covered = set[tuple[str, ...]]().union(*(shared[identity] for identity in found))
        if len(covered) < ECHO * len(runs):
            return []
        known = set[str]().union(*(self.words[identity] for identity in found))
        return found if all(word in known or word in _SMALL for word in words) else []


def echoes(text: str, shown: ComparedTexts, *, parts: Iterable[tuple[int, int]] = ()) -> list[Echo]:
    """Return the sentences of a text, and those of ``parts`` (from, to), that repeat shown texts, in order.

    A part within a repeated sentence is not returned again.
    """
    found = [
        Echo(start, end, of)
        for start, end in sentences(text[:MAX_COMPARED])
        if (of := shown.repeated_by(text[start:end]))
    ]
    for start, end in sorted(set(parts)):
        if any(echo.start <= start and end <= echo.end for echo in found):
            continue
        of = shown.repeated_by(text[start:end])
        if of:
            found.append(Echo(start, end, of))
    return sorted(found, key=lambda echo: (echo.start, echo.end))


def sentences(text: str) -> list[tuple[int, int]]:
    """Return the start and end of sentences and lines, punctuation included."""
    ends = [match.end() for match in _END.finditer(text)]
    starts = [0, *ends]
    return [(start, end) for start, end in zip(starts, [*ends, len(text)], strict=True) if text[start:end].strip()]


def words_of(text: str) -> list[str]:
    """Return a text's words in compared form: Chinese by character, persons unified, inflections removed."""
    plain = unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
    return [word for token in _TOKEN.findall(plain) for word in _comparable_terms(token)]


def _comparable_terms(token: str) -> list[str]:
    if token in _DROPPED:
        return []
    if token in _PERSONS:
        return [SOMEBODY]
    if token.endswith("n't"):
        return [*_comparable_terms(token[:-3]), "not"]
    stem, mark, ending = token.partition("'")
    if mark:
        return [*_comparable_terms(stem), *([_SAME[f"'{ending}"]] if f"'{ending}" in _SAME else [])]
    if token in _SAME:
        return [_SAME[token]]
    plural = token.isascii() and len(token) > RUN and token.endswith("s") and not token.endswith("ss")
    return [token[:-1] if plural else token]


def _strip_frame(words: Sequence[str]) -> Sequence[str]:
    """Return a part's words without introduction ("as you told me, …") and closing, but with possessives."""
    telling = [n for n, word in enumerate(words) if word not in _SMALL and word != SOMEBODY]
    if not telling:
        return ()
    first, last = telling[0], telling[-1]
    first -= first > 0 and words[first - 1] == SOMEBODY
    return words[first : last + 1]


def _runs(words: Sequence[str]) -> Iterable[tuple[str, ...]]:
    return zip(words, words[1:], words[2:], strict=False)
