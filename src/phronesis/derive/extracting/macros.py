"""Pieces of the tables' expressions by name, and the literals of expressions: what a text must hold for a match."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from phronesis.derive.extracting.lexicon import compiled
from phronesis.derive.extracting.parts import Need, Part, parse, words
from phronesis.derive.extracting.required import first_of, is_open, needs_of, starts_of, weight
from phronesis.errors import PhronesisError

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
        """Give an expression with its macros written out; PhronesisError when there is no such macro."""

        def put(match: re.Match[str]) -> str:
            if match[1] not in self._texts:
                raise PhronesisError(f"there is no macro <{match[1]}>, in {text!r:.80}")
            return self._texts[match[1]]

        return _MACRO.sub(put, text)

    def of_pattern(self, text: str) -> Literals:
        """Give the literals of a pattern with groups for its slots: what it needs, and the characters it begins with.

        A pattern is matched from a word's edge to the end of its clause.
        """
        if self._stored is not None:
            return _read_literals(next(self._stored))
        part = self.part(text)
        needs = [need for need in needs_of(part, begins=True, ends=True) if not is_open(need)]
        first = first_of(part)
        return self._noted(needs[:1] + [need for need in needs[1:] if weight(need) < _RARE],
                           None if first is None else "".join(sorted(first)))  # fmt: skip

    def of_expression(self, text: str) -> Literals:
        """Give the literals of an expression that is sought anywhere: what it needs, and the class that begins it."""
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
            compiled(repr(text[:80]), self.expanded(text))
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
