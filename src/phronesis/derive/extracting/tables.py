r"""The tables of patterns of a language (``en.toml``, ``zh.toml``), compiled.

A pattern is a regular expression over a clause, with *slots* for what is said:

- ``{likes}`` holds a value of the key ``likes``; ``{age=\d+}`` one that looks so. Where the key is of a family,
  ``{word}`` holds its second part: ``favorite {word} is {favorite}``.
- ``{old:home_city}`` holds the value that another takes the place of; ``{subject}`` who or what it is said of;
  ``{when}`` stands where a time must.
- ``<be>`` is the macro ``be`` of the table's ``[macros]``.

Slots take as little as they can, and a pattern holds for the whole clause. The patterns of a table are one regular
expression: the first that matches has it.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import merge
from importlib.resources import files
from operator import itemgetter
from typing import Any, Final

from phronesis.core.proposals import Act
from phronesis.derive.extracting.first_letters import first_letters, words_after_slot
from phronesis.errors import PhronesisError

TIMES: Final = "\ue000-\ue0ff"
"""Characters of the private use area: each stands for a time in a clause (``clauses``)."""

TABLES: Final = ("whole", "has", "says", "things")
"""Where a pattern begins: at the clause, after a possessor, after a person, after a thing."""

_SLOT: Final = re.compile(r"\{(old:)?([a-z_]+)(?:=((?:[^{}]|\{[\d,]+\})+))?\}")
_MACRO: Final = re.compile(r"(?<!\?P)<([a-z_]+)>")
_BLOCK: Final = 12
"""Patterns in one regular expression: more make each step dearer, fewer make more steps."""

_WORD: Final = re.compile(r"[a-z']+")
_NUMBER: Final = itemgetter(0)
_ANY: Final = r"\S.{0,200}?"
_SECTIONS: Final = {"macros", "text", "gates", "words", "only", "never", "relations", "pattern", "normal"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """How something is said.

    ``lean`` says where its time lies, ``when`` that it needs one; ``dated`` that a slot may hold one. ``negated``: it
    holds as it stands for a clause that says "no longer". ``capital``: not in a message without capitals; ``proper``:
    its values begin with one. ``free``: they may be other than the words that the key is known by. ``after`` is the
    gate that what was said just before must match.
    """

    p: str
    kind: str | None = None
    act: Act = "assert"
    done: bool = False
    confidence: float = 0.9
    lean: int = 0
    when: bool = False
    dated: bool = False
    negated: bool = False
    capital: bool = False
    proper: bool = False
    free: bool = False
    after: str = ""

    @property
    def with_time(self) -> bool:
        """Tell whether a time stands in the pattern itself."""
        return "{when}" in self.p


@dataclass(frozen=True, slots=True)
class Matched:
    """A pattern that holds for a clause, and what its slots hold with their places."""

    pattern: Pattern
    slots: Mapping[str, tuple[str, int, int]]

    @property
    def begins(self) -> int:
        """Give where the first slot begins."""
        return min(start for _, start, _ in self.slots.values())


class PatternTable:
    """Patterns by the letter that what they match begins with, in blocks of one regular expression each.

    Most clauses are so seen to match nothing in a few steps. What no clause asks for is never compiled.
    """

    def __init__(self, patterns: Sequence[Pattern], macros: Mapping[str, str]) -> None:
        self._patterns = patterns
        self._sources = [_compiled(pattern.p, n, macros) for n, pattern in enumerate(patterns)]
        self._letters = [first_letters(source) for source in self._sources]
        needs = {n: words_after_slot(_expanded(patterns[n].p, macros))
                 for n, letters in enumerate(self._letters) if letters is None}  # fmt: skip
        self._common = tuple(n for n, words in needs.items() if words is None)
        self._needing = {n: words for n, words in needs.items() if words is not None}
        self._by_letter: dict[str, tuple[int, ...]] = {}
        for n, letters in enumerate(self._letters):
            for letter in letters or ():
                self._by_letter[letter] = (*self._by_letter.get(letter, ()), n)
        self._blocks: dict[tuple[int, ...], list[tuple[Sequence[int], re.Pattern[str]]]] = {}
        self._single: dict[int, re.Pattern[str]] = {}

    def matches(self, text: str, position: int = 0) -> Iterator[Matched]:
        """Give the patterns that hold from a position to the end, in the table's order."""
        own = self._by_letter.get(text[position : position + 1], ())
        parts = [self._found(numbers, text, position) for numbers in (own, self._common) if numbers]
        if self._needing:
            words = frozenset(_WORD.findall(text))
            needing = tuple(n for n, needed in self._needing.items() if not needed.isdisjoint(words))
            parts += [self._each(needing, text, position)] if needing else []
        for n, match in parts[0] if len(parts) == 1 else merge(*parts, key=_NUMBER):
            yield self._matched(n, match)

    def _each(self, numbers: Iterable[int], text: str, position: int) -> Iterator[tuple[int, re.Match[str]]]:
        for n in numbers:
            if n not in self._single:
                self._single[n] = _joined([n], self._sources)
            match = self._single[n].match(text, position)
            if match is not None:
                yield n, match

    def _found(self, numbers: tuple[int, ...], text: str, position: int) -> Iterator[tuple[int, re.Match[str]]]:
        blocks = self._blocks.get(numbers)
        if blocks is None:
            parts = [numbers[at : at + _BLOCK] for at in range(0, len(numbers), _BLOCK)]
            blocks = self._blocks[numbers] = [(part, _joined(part, self._sources)) for part in parts]
        for part, block in blocks:
            first = block.match(text, position)
            if first is None:
                continue
            n = int((first.lastgroup or "p0")[1:])
            yield n, first
            yield from self._each(part[part.index(n) + 1 :], text, position)

    def _matched(self, n: int, found: re.Match[str]) -> Matched:
        start = f"p{n}_"
        slots = {
            name.removeprefix(start): (found[i], found.start(i), found.end(i))
            for name, i in found.re.groupindex.items() if name.startswith(start) and found[i]
        }  # fmt: skip
        return Matched(self._patterns[n], slots)


def _joined(numbers: Iterable[int], sources: Sequence[str]) -> re.Pattern[str]:
    return re.compile("(?:" + "|".join(f"(?P<p{n}>{sources[n]})" for n in numbers) + r")[\s.!~了啦呢啊呀哦哟嘛哈呗]*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """What the rules know of a language."""

    code: str
    tables: Mapping[str, PatternTable]
    gates: Mapping[str, re.Pattern[str]]
    text: Mapping[str, re.Pattern[str]]
    only: Mapping[str, re.Pattern[str]]
    never: Mapping[str, re.Pattern[str]]
    relations: Mapping[str, str]
    normal: Mapping[str, str] = field(default_factory=dict)


def load_language(code: str) -> Language:
    """Read a language's tables, which are installed with the package. PhronesisError says what is wrong with them."""
    return parse_language(code, (files("phronesis.derive.extracting") / f"{code}.toml").read_text("utf-8"))


def parse_language(code: str, source: str) -> Language:
    """Give a language from the text of its tables."""
    try:
        given: dict[str, Any] = tomllib.loads(source)
    except tomllib.TOMLDecodeError as error:
        raise PhronesisError(f"{code}.toml is no TOML: {error}") from error
    if unknown := sorted(given.keys() - _SECTIONS):
        raise PhronesisError(f"{code}.toml: unknown section {unknown[0]!r}; there are {', '.join(sorted(_SECTIONS))}")
    macros: dict[str, str] = {}
    for name, words in given.get("words", {}).items():
        macros[name] = _any_of(word.replace("_", " ") for word in words.split())
    for name, text in given.get("macros", {}).items():
        macros[name] = _expanded(text, macros)
    relations = {word.replace("_", " "): key
                 for key, words in given.get("relations", {}).items() for word in words.split()}  # fmt: skip
    macros["relation"] = "(?:" + "|".join(sorted(relations, key=len, reverse=True)) + ")"
    for key in given.get("relations", {}):
        mine = sorted((word for word, of in relations.items() if of == key), key=len, reverse=True)
        macros[f"rel_{key}"] = "(?:" + "|".join(mine) + ")"

    def section(name: str) -> dict[str, re.Pattern[str]]:
        return {key: _pattern(f"{code}.toml [{name}] {key}", _expanded(text, macros))
                for key, text in given.get(name, {}).items()}  # fmt: skip

    tables = {}
    for table in TABLES:
        patterns = list(_patterns(given.get("pattern", {}).get(table, []), f"{code}.toml, pattern.{table}"))
        tables[table] = PatternTable([one for one in patterns if not one.with_time], macros)
        tables[f"{table}dated"] = PatternTable([one for one in patterns if one.with_time or one.dated], macros)
    return Language(
        code=code, tables=tables, gates=section("gates"), text=section("text"), only=section("only"),
        never=section("never"), relations=relations, normal=given.get("normal", {}),
    )  # fmt: skip


def _any_of(words: Iterable[str]) -> str:
    """Give a regular expression of words that share their beginnings: a long list then costs a few steps."""
    tree: dict[str, Any] = {}
    for word in words:
        node = tree
        for letter in word:
            node = node.setdefault(letter, {})
        node[""] = {}

    def put(node: Mapping[str, Any]) -> str:
        rest = node
        text = ""
        while len(rest) == 1 and "" not in rest:
            letter, rest = next(iter(rest.items()))
            text += re.escape(letter)
        branches = [re.escape(letter) + put(below) for letter, below in rest.items() if letter]
        if not branches:
            return text
        return f"{text}(?:{'|'.join(branches)}){'?' if '' in rest else ''}"

    return f"(?:{put(tree)})"


def _patterns(given: Sequence[Any], place: str) -> Iterator[Pattern]:
    for number, one in enumerate(given, start=1):
        try:
            yield Pattern(p=one) if isinstance(one, str) else Pattern(**one)
        except TypeError as error:
            raise PhronesisError(f"{place}, number {number}: {error}") from error


def _pattern(place: str, text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise PhronesisError(f"{place} is no regular expression: {error}") from error


def _expanded(text: str, macros: Mapping[str, str]) -> str:
    def put(match: re.Match[str]) -> str:
        if match[1] not in macros:
            raise PhronesisError(f"there is no macro <{match[1]}>, in {text!r:.80}")
        return macros[match[1]]

    return _MACRO.sub(put, text)


def _compiled(text: str, n: int, macros: Mapping[str, str]) -> str:
    """Give the regular expression of a pattern, its slots named for the pattern's number.

    A slot that stands twice is numbered, for a group's name may stand once.
    """
    times: dict[str, int] = {}

    def put(match: re.Match[str]) -> str:
        name = ("old_" if match[1] else "") + match[2]
        if name == "when":
            return f"[{TIMES}]"
        times[name] = times.get(name, 0) + 1
        last = str(times[name]) if times[name] > 1 else ""
        return f"(?P<p{n}_{name}{last}>{match[3] or _ANY})"

    expanded = _SLOT.sub(put, text)
    return _pattern(f"the pattern {text!r:.80}", _expanded(expanded, macros)).pattern
