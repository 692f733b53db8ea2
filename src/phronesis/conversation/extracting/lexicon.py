"""Which expressions of a language a text may match at all, told by the words that stand in it.

Each need of an expression (``required``) is a bit; the bits of a text are worked out once for all expressions. An
expression whose bits the text lacks is not tried, and one that is never tried is never compiled.
"""

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from phronesis.conversation.extracting.parts import Need, Part, parse, small, words
from phronesis.conversation.extracting.required import first_of, is_open, needs_of, starts_of, tokens_of, weight
from phronesis.errors import PhronesisError

_REMEMBERED: Final = 32
"""Texts whose bits are kept: a clause is asked about by a dozen expressions, one right after the other."""


class Lexicon:
    """The tokens that some expression needs, each with the bits of the needs that it meets."""

    def __init__(self) -> None:
        self._of_token: dict[str, int] = {}
        self._of_need: dict[Need, int] = {}
        self.size = 0
        self.lock = threading.RLock()
        """Held while an expression is compiled: of threads that need it at the same time one does."""
        self._always = 0
        small_held = lru_cache(_REMEMBERED)(self._held)
        self.held: Callable[[str], int] = lru_cache(_REMEMBERED)(lambda text: small_held(small(text)))

    def bit(self, need: Need | None) -> int:
        """Return a bit of its own for a need; None is always met. All are asked for before the first text is."""
        bit = 1 << self.size
        self.size += 1
        if need is None:
            self._always |= bit
        for token in need or ():
            self._of_token[token] = self._of_token.get(token, 0) | bit
        return bit

    def bits(self, needs: Iterable[Need]) -> int:
        """Return the bits of needs, the same for the same need."""
        out = 0
        for need in needs:
            if need not in self._of_need:
                self._of_need[need] = self.bit(need)
            out |= self._of_need[need]
        return out

    def _held(self, text: str) -> int:
        """Return the bits of the needs that a text in small letters meets."""
        out = self._always
        for bits in map(self._of_token.get, tokens_of(text)):
            if bits is not None:
                out |= bits
        return out


def compile_expression(place: str, source: str) -> re.Pattern[str]:
    """Return an expression compiled; PhronesisError says where it stands when it is none."""
    try:
        return re.compile(source)
    except re.error as error:
        raise PhronesisError(f"{place} is no regular expression: {error}") from error


class Expression:
    """A regular expression that is compiled when it is first needed, and tried where the text has what it needs.

    Where it begins with marks, or with Han characters, it is tried at those alone: the machine of ``re`` would look
    back at every place of a text first, and through the alternatives, for a clause ends in a dozen ways.
    """

    __slots__ = (
        "_asks",
        "_begins",
        "_compiled",
        "_expand",
        "_held",
        "_lock",
        "_needs",
        "_open",
        "_or",
        "_place",
        "_starts",
        "match",
    )

    def __init__(
        self, place: str, expand: Callable[[], str], lexicon: Lexicon, literals: tuple[Sequence[Need], str | None]
    ) -> None:
        self.match: Callable[..., re.Match[str] | None] = self._first_match
        self._expand = expand
        self._place = place
        self._held = lexicon.held
        self._lock = lexicon.lock
        needs, self._begins = literals
        self._needs = lexicon.bits(need for need in needs if not is_open(need))
        either = next(filter(is_open, needs), frozenset[str]())
        self._open = tuple(sorted(token[:-1] for token in either if is_open([token])))
        self._or = lexicon.bits([frozenset(token for token in either if not is_open([token]))]) if either else 0
        self._asks = bool(self._needs or self._open)
        self._starts: re.Pattern[str] | None = None
        self._compiled: re.Pattern[str] | None = None

    @property
    def pattern(self) -> str:
        """The expression as text."""
        return self._expand()

    def compiled(self) -> re.Pattern[str]:
        """Return the expression itself; PhronesisError when it is none."""
        with self._lock:
            if self._compiled is None:
                self._starts = None if self._begins is None else re.compile(self._begins)
                self._compiled = compile_expression(self._place, self.pattern)
                self.match = self._compiled.match
            return self._compiled

    def search(self, text: str) -> re.Match[str] | None:
        """Return the first match anywhere."""
        if self._asks and not self._may(text):
            return None
        known = self._compiled or self.compiled()
        return known.search(text) if self._starts is None else next(self._tried(self._starts, text), None)

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        """Return the matches one after the other."""
        if self._asks and not self._may(text):
            return iter(())
        known = self._compiled or self.compiled()
        return known.finditer(text) if self._starts is None else self._tried(self._starts, text)

    def sub(self, put: str | Callable[[re.Match[str]], str], text: str, count: int = 0) -> str:
        """Return a text with other words where it matches."""
        if self._asks and not self._may(text):
            return text
        known = self._compiled or self.compiled()
        if self._starts is not None and next(self._tried(self._starts, text), None) is None:
            return text
        return known.sub(put, text, count=count)

    def split(self, text: str) -> list[str]:
        """Return what stands between the matches."""
        return self.compiled().split(text)

    def _first_match(self, text: str, position: int = 0) -> re.Match[str] | None:
        return self.compiled().match(text, position)

    def _may(self, text: str) -> bool:
        """Return whether a text holds what any match needs."""
        held = self._held(text)
        if held & self._needs != self._needs:
            return False
        if not self._open or held & self._or:
            return True
        return any(map(small(text).__contains__, self._open))

    def _tried(self, starts: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
        at = 0
        match = (self._compiled or self.compiled()).match
        while (near := starts.search(text, at)) is not None:
            found = match(text, near.start())
            at = near.end() if found is None else found.end()
            if found is not None:
                yield found


# Pieces of the tables' expressions by name, and the literals of expressions: what a text must hold for a match.

_MACRO: Final = re.compile(r"(?<!\?P)<([a-z_]+)>")
_RARE: Final = 800
"""The weight of a need (``required.weight``) above which it is not asked beside a rarer one: most clauses meet it."""

Literals = tuple[list[Need], str | None]
"""What a text must hold for an expression to match in it, the rarest first, and what a match begins with."""


class Macros:
    """Pieces of expressions by name, as text and as ``required`` reads them.

    ``stored`` are the literals of all the expressions of a language in the order in which they are asked for, where
    they were worked out before; else they are worked out here, and noted in ``asked``.
    """

    def __init__(self, stored: Sequence[Any] | None = None) -> None:
        self.asked: list[Any] = []
        self._stored = None if stored is None else iter(stored)
        self._texts: dict[str, str] = {}
        self._parts: dict[str, Part] = {}
        self._read: dict[str, Part] = {}

    def add(self, name: str, text: str) -> None:
        """Take a piece of an expression, which may hold those before it."""
        if self._stored is None:
            self._parts[name] = self.part(text)
        self._texts[name] = self.expanded(text)

    def add_words(self, name: str, given: Iterable[str]) -> None:
        """Take words, of which one stands there: the longest that does."""
        known = sorted(given, key=len, reverse=True)
        if self._stored is None:
            self._parts[name] = words(known)
        self._texts[name] = _any_of(known)

    def expanded(self, text: str) -> str:
        """Return an expression with its macros written out; PhronesisError when there is no such macro."""

        def put(match: re.Match[str]) -> str:
            if match[1] not in self._texts:
                raise PhronesisError(f"there is no macro <{match[1]}>, in {text!r:.80}")
            return self._texts[match[1]]

        return _MACRO.sub(put, text)

    def of_pattern(self, text: str) -> Literals:
        """Return the literals of a pattern with groups for its slots: what it needs, and the characters it begins with.

        A pattern is matched from a word's edge to the end of its clause.
        """
        if self._stored is not None:
            return _read_literals(next(self._stored))
        part = self.part(text)
        needs = [need for need in needs_of(part, begins=True, ends=True) if not is_open(need)]
        first = first_of(part)
        return self._noted(
            needs[:1] + [need for need in needs[1:] if weight(need) < _RARE],
            None if first is None else "".join(sorted(first)),
        )

    def of_expression(self, text: str) -> Literals:
        """Return the literals of an expression that is sought anywhere: what it needs, and the class that begins it."""
        if self._stored is not None:
            return _read_literals(next(self._stored))
        part = self.part(text)
        needs = needs_of(part, begins=False, ends=False)
        either = next(filter(is_open, needs), None)
        # Of the needs with open words the rarest is enough: each such word is sought in the text.
        return self._noted([need for need in needs if need is either or not is_open(need)], starts_of(part))

    def part(self, text: str) -> Part:
        """Read an expression; one that cannot be read so, and is an expression, needs nothing that is known."""
        known = self._read.get(text)
        if known is not None:
            return known
        if any(name not in self._parts for name in _MACRO.findall(text)):
            self.expanded(text)
        try:
            known = parse(text, self._parts)
        except ValueError:
            compile_expression(repr(text[:80]), self.expanded(text))
            known = Part(empty=True, void=True)
        self._read[text] = known
        return known

    def forget(self) -> None:
        """Keep the texts alone, when all that is asked of their parts is known."""
        self._parts.clear()
        self._read.clear()
        self.asked = []

    def _noted(self, needs: list[Need], begins: str | None) -> Literals:
        self.asked.append([[sorted(need) for need in needs], begins])
        return needs, begins


def _read_literals(stored: Any) -> Literals:
    needs, begins = stored
    return [frozenset(need) for need in needs], begins


def _any_of(words: Iterable[str]) -> str:
    """Return a regular expression of words that share their beginnings: a long list then costs a few steps."""
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
