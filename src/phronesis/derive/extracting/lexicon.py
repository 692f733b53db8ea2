"""Which expressions of a language a text may match at all, told by the words that stand in it.

Each need of an expression (``required``) is a bit; the bits of a text are worked out once for all expressions. An
expression whose bits the text lacks is not tried, and one that is never tried is never compiled.
"""

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final

from phronesis.derive.extracting.parts import Need, small
from phronesis.derive.extracting.required import is_open, tokens_of
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
        """Give a bit of its own for a need; None is always met. All are asked for before the first text is."""
        bit = 1 << self.size
        self.size += 1
        if need is None:
            self._always |= bit
        for token in need or ():
            self._of_token[token] = self._of_token.get(token, 0) | bit
        return bit

    def bits(self, needs: Iterable[Need]) -> int:
        """Give the bits of needs, the same for the same need."""
        out = 0
        for need in needs:
            if need not in self._of_need:
                self._of_need[need] = self.bit(need)
            out |= self._of_need[need]
        return out

    def _held(self, text: str) -> int:
        """Give the bits of the needs that a text in small letters meets."""
        out = self._always
        for bits in map(self._of_token.get, tokens_of(text)):
            if bits is not None:
                out |= bits
        return out


def compiled(place: str, source: str) -> re.Pattern[str]:
    """Give an expression compiled; PhronesisError says where it stands when it is none."""
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
        """Give the expression itself; PhronesisError when it is none."""
        with self._lock:
            if self._compiled is None:
                self._starts = None if self._begins is None else re.compile(self._begins)
                self._compiled = compiled(self._place, self.pattern)
                self.match = self._compiled.match
            return self._compiled

    def search(self, text: str) -> re.Match[str] | None:
        """Give the first match anywhere."""
        if self._asks and not self._may(text):
            return None
        known = self._compiled or self.compiled()
        return known.search(text) if self._starts is None else next(self._tried(self._starts, text), None)

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        """Give the matches one after the other."""
        if self._asks and not self._may(text):
            return iter(())
        known = self._compiled or self.compiled()
        return known.finditer(text) if self._starts is None else self._tried(self._starts, text)

    def sub(self, put: str | Callable[[re.Match[str]], str], text: str, count: int = 0) -> str:
        """Give a text with other words where it matches."""
        if self._asks and not self._may(text):
            return text
        known = self._compiled or self.compiled()
        if self._starts is not None and next(self._tried(self._starts, text), None) is None:
            return text
        return known.sub(put, text, count=count)

    def split(self, text: str) -> list[str]:
        """Give what stands between the matches."""
        return self.compiled().split(text)

    def _first_match(self, text: str, position: int = 0) -> re.Match[str] | None:
        return self.compiled().match(text, position)

    def _may(self, text: str) -> bool:
        """Tell whether a text holds what any match needs."""
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
