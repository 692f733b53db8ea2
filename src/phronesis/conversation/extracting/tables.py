r"""The tables of patterns of a language (``en.toml``, ``zh.toml``), ready to be asked.

A pattern is a regular expression over a clause, with *slots* for what is said:

- ``{likes}`` holds a value of the key ``likes``; ``{age=\d+}`` one that looks so. Where the key is of a family,
  ``{word}`` holds its second part: ``favorite {word} is {favorite}``.
- ``{old:home_city}`` holds the value that another takes the place of; ``{subject}`` who or what it is said of;
  ``{when}`` stands where a time must.
- ``<be>`` is the macro ``be`` of the table's ``[macros]``.

Slots take as little as they can, and a pattern holds for the whole clause. Each is tried alone, and only on a clause
that holds the words it needs (``lexicon``); what no clause asks for is never compiled. Which words these are is worked
out when the tables change, and stored beside them (``worked_out``).
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.resources import files
from typing import Any, Final

from phronesis.conversation.extracting.lexicon import Expression, Lexicon, Macros, compile_expression
from phronesis.conversation.extracting.parts import letter_of
from phronesis.core.pattern_tables import parse_folded
from phronesis.core.proposals import Act
from phronesis.errors import PhronesisError

TIMES: Final = "\ue000-\ue0ff"
"""Characters of the private use area: each stands for a time in a clause (``clauses``)."""

TAIL: Final = r"[\s.!~]*"
"""What may stand behind all that is said, where a language names nothing more."""

TABLES: Final = ("whole", "has", "says", "things", "pairs")
"""Where a pattern begins: at the clause, after a possessor, after a person, after a thing, at clauses read together."""

_SLOT: Final = re.compile(r"\{(old:)?([a-z_]+)(?:=((?:[^{}]|\{[\d,]+\})+))?\}")
_ANY: Final = r"\S.{0,200}?"
_SECTIONS: Final = {
    "grammar",
    "macros",
    "text",
    "gates",
    "words",
    "only",
    "never",
    "relations",
    "pattern",
    "normal",
    "frames",
    "contracted",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """How a language builds what it says, as far as the rules must know (``[grammar]``).

    ``spaces`` part its words, and names begin with ``capitals``. It ``drops_subjects``: a clause that names nobody goes
    on with whom the one before spoke of. ``asks_first``: what begins with a question word asks, without a mark.
    ``condition_anywhere``: a condition takes back what stands before it, and not only as the last clause.
    ``keeps_kin_names``: of a relative without a key of the speaker's the name is kept. ``tail`` is what may stand
    behind all that is said.
    """

    tail: str = TAIL
    spaces: bool = False
    capitals: bool = False
    drops_subjects: bool = False
    asks_first: bool = False
    condition_anywhere: bool = False
    keeps_kin_names: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """How something is said.

    ``lean`` says where its time lies, ``when`` that it needs one, ``untimed`` that it bears none; ``dated`` that a slot
    may hold one. ``negated``: it
    holds as it stands for a clause that says "no longer". ``capital``: not in a message without capitals; ``proper``:
    its values begin with one. ``free``: they may be other than the words that the key is known by. ``word``: the second
    part of a family's key, where no slot holds it. ``others``: not said of the speaker. ``after`` is the gate that what
    was said just before must match.
    """

    p: str
    kind: str | None = None
    act: Act = "assert"
    done: bool = False
    confidence: float = 0.9
    lean: int = 0
    when: bool = False
    dated: bool = False
    untimed: bool = False
    negated: bool = False
    capital: bool = False
    proper: bool = False
    free: bool = False
    word: str = ""
    others: bool = False
    after: str = ""

    @property
    def with_time(self) -> bool:
        """Return whether a time stands in the pattern itself."""
        return "{when}" in self.p


@dataclass(slots=True)  # a frozen one takes three times as long to make
class PatternMatch:
    """A pattern that holds for a clause, and what its slots hold with their places."""

    pattern: Pattern
    slots: Mapping[str, tuple[str, int, int]]

    @property
    def begins(self) -> int:
        """Return where the first slot begins."""
        return min(start for _, start, _ in self.slots.values())


class PatternTable:
    """Patterns in their order."""

    def __init__(self, patterns: Sequence[Pattern], macros: Macros, lexicon: Lexicon, tail: str = TAIL) -> None:
        self.patterns = patterns
        self._tail = tail
        self._macros = macros
        self._held, self._lock = lexicon.held, lexicon.lock
        self._compiled: list[re.Pattern[str] | None] = [None] * len(patterns)
        found = [macros.of_pattern(_with_groups(pattern.p)) for pattern in patterns]
        # A bit of its own for the rarest need of each, one after the other, and shared ones for the rest.
        self._from = lexicon.size
        for needs, _ in found:
            lexicon.bit(needs[0] if needs else None)
        self._more = [lexicon.bits(needs[1:]) for needs, _ in found]
        firsts = [first for _, first in found]
        self._others = sum(1 << n for n, first in enumerate(firsts) if first is None)
        self._by_letter = {
            letter: self._others | sum(1 << n for n, first in enumerate(firsts) if first and letter in first)
            for letter in frozenset("".join(filter(None, firsts)))
        }
        self._by_letter.update([(letter.upper(), those) for letter, those in self._by_letter.items()])

    def matches(
        self, text: str, position: int = 0, fits: Callable[[Pattern], bool] | None = None
    ) -> Iterator[PatternMatch]:
        """Return the patterns that hold from a position to the end, in the table's order; only those that fit."""
        for n in self.candidates(text, position):
            if fits is not None and not fits(self.patterns[n]):
                continue
            match = self.match(n, text, position)
            if match is not None:
                yield match

    def candidates(self, text: str, position: int = 0) -> list[int]:
        """Return the numbers of the patterns whose words a text holds, and that may begin at a position."""
        letter = text[position : position + 1]
        those = self._by_letter.get(letter)
        if those is None:
            those = self._by_letter.get(letter_of(text, position), self._others)
        held = self._held(text)
        if position and letter.isalpha() and text[position - 1].isalpha() and _inside(text, position):
            held = -1  # within a word, and the bits are of whole words
        left = (held >> self._from) & those
        found = []
        while left:
            n = (left & -left).bit_length() - 1
            left &= left - 1
            more = self._more[n]
            if held & more == more:
                found.append(n)
        return found

    def match(self, n: int, text: str, position: int = 0) -> PatternMatch | None:
        """Return what the pattern of a number holds in a text, whatever its words."""
        pattern = self._compiled[n] or self.compiled(n)
        found = pattern.match(text, position)
        if found is None:
            return None
        slots = {name: (found[i], found.start(i), found.end(i)) for name, i in pattern.groupindex.items() if found[i]}
        return PatternMatch(self.patterns[n], slots)

    def compiled(self, n: int) -> re.Pattern[str]:
        """Return the expression of a pattern; PhronesisError when it is none."""
        with self._lock:
            known = self._compiled[n]
            if known is None:
                given = self.patterns[n].p
                source = f"(?:{self._macros.expanded(_with_groups(given))}){self._tail}$"
                known = self._compiled[n] = compile_expression(f"the pattern {given!r:.80}", source)
            return known


def _inside(text: str, position: int) -> bool:
    return "a" <= letter_of(text, position - 1) <= "z" and "a" <= letter_of(text, position) <= "z"


def _with_groups(text: str) -> str:
    """Return a pattern with a group for each of its slots; of one that stands twice the second is numbered."""
    times: dict[str, int] = {}

    def put(match: re.Match[str]) -> str:
        name = ("old_" if match[1] else "") + match[2]
        if name == "when":
            return f"[{TIMES}]"
        times[name] = times.get(name, 0) + 1
        last = str(times[name]) if times[name] > 1 else ""
        return f"(?P<{name}{last}>{match[3] or _ANY})"

    return _SLOT.sub(put, text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """What the rules know of a language.

    ``frames`` are sentences that what is left out is put into, ``normal`` how contractions are written out, and
    ``contracted`` those by which what was written out is found again in what was said.
    """

    code: str
    grammar: Grammar
    tables: Mapping[str, PatternTable]
    gates: Mapping[str, Expression]
    text: Mapping[str, Expression]
    only: Mapping[str, Expression]
    never: Mapping[str, Expression]
    relations: Mapping[str, str]
    normal: Mapping[str, str] = field(default_factory=dict)
    frames: Mapping[str, str] = field(default_factory=dict)
    contracted: Mapping[str, Sequence[str]] = field(default_factory=dict)


def load_language(code: str) -> Language:
    """Read a language's tables, which are installed with the package. PhronesisError says what is wrong with them."""
    folder = files("phronesis.conversation.extracting")
    source = (folder / f"{code}.toml").read_text("utf-8")
    stored = json.loads((folder / f"{code}.literals.json").read_text("utf-8"))
    return _parsed(code, source, Macros(stored["literals"] if stored["of"] == _digest(source) else None))


def parse_language(code: str, source: str) -> Language:
    """Return a language from the text of its tables."""
    return _parsed(code, source, Macros())


def worked_out(code: str, source: str) -> str:
    """Return the literals of a language's tables as they are stored beside them, in ``<code>.literals.json``."""
    macros = Macros()
    _parsed(code, source, macros, keep=True)
    lines = (json.dumps(one, ensure_ascii=False, separators=(",", ":")) for one in macros.asked)
    return '{"of":"' + _digest(source) + '","literals":[\n' + ",\n".join(lines) + "\n]}\n"


def _digest(source: str) -> str:
    return hashlib.sha256(source.encode()).hexdigest()


def _parsed(code: str, source: str, macros: Macros, *, keep: bool = False) -> Language:
    given = parse_folded(f"{code}.toml", source)
    if unknown := sorted(given.keys() - _SECTIONS):
        raise PhronesisError(f"{code}.toml: unknown section {unknown[0]!r}; there are {', '.join(sorted(_SECTIONS))}")
    try:
        grammar = Grammar(**given.get("grammar", {}))
    except TypeError as error:
        raise PhronesisError(f"{code}.toml, grammar: {error}") from error
    lexicon = Lexicon()
    for name, text in given.get("words", {}).items():
        macros.add_words(name, (word.replace("_", " ") for word in text.split()))
    relations = {
        word.replace("_", " "): key for key, text in given.get("relations", {}).items() for word in text.split()
    }
    macros.add_words("relation", relations)
    for key in given.get("relations", {}):
        macros.add_words(f"rel_{key}", (word for word, of in relations.items() if of == key))
    for name, text in given.get("macros", {}).items():
        macros.add(name, text)

    def section(name: str) -> dict[str, Expression]:
        found = {}
        for key, text in given.get(name, {}).items():
            place = f"{code}.toml [{name}] {key}"
            found[key] = Expression(place, partial(macros.expanded, text), lexicon, macros.of_expression(text))
        return found

    tables = {}
    for table in TABLES:
        patterns = list(_patterns(given.get("pattern", {}).get(table, []), f"{code}.toml, pattern.{table}"))
        tables[table] = PatternTable([one for one in patterns if not one.with_time], macros, lexicon, grammar.tail)
        dated = [one for one in patterns if one.with_time or one.dated]
        tables[f"{table}dated"] = PatternTable(dated, macros, lexicon, grammar.tail)
    sections = {name: section(name) for name in ("gates", "text", "only", "never")}
    if not keep:
        macros.forget()
    return Language(
        code=code,
        grammar=grammar,
        tables=tables,
        **sections,
        relations=relations,
        normal=given.get("normal", {}),
        frames=given.get("frames", {}),
        contracted={full: text.split() for full, text in given.get("contracted", {}).items()},
    )


def _patterns(given: Sequence[Any], place: str) -> Iterator[Pattern]:
    for number, one in enumerate(given, start=1):
        try:
            yield Pattern(p=one) if isinstance(one, str) else Pattern(**one)
        except TypeError as error:
            raise PhronesisError(f"{place}, number {number}: {error}") from error
