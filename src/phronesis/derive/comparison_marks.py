"""What stands for what was understood in a sentence: one character each, so that a pattern can speak of it."""

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from phronesis.core.reasoning.claim_test import Operator

_FIRST: Final = 0xE000
_EACH: Final = 0x100
KINDS: Final = "GMBCANRPXL"
"""Given, metric, bound, comparator, adjective, number, ratio, product, pair of metals, lone metal."""

RANGES: Final = {kind: f"{chr(_FIRST + n * _EACH)}-{chr(_FIRST + (n + 1) * _EACH - 1)}" for n, kind in enumerate(KINDS)}
"""The private-use characters of each kind, for a regular expression's class."""

CLASSES: Final = {kind: re.compile(f"[{range_}]") for kind, range_ in RANGES.items()}

_PRIVATE: Final = re.compile("[\ue000-\uf8ff]")
_DASHES: Final = str.maketrans(dict.fromkeys("‐‑‒–—―−﹣", "-") | dict.fromkeys("∶꞉", ":") | {"’": "'", "‘": "'"})
_HAN: Final = "\u3400-\u4dbf\u4e00-\u9fff"
_BLANKS: Final = re.compile(r"[^\S\n]+")
_SPACES: Final = re.compile(rf"(?<=[{_HAN}]) | (?=[{_HAN}])")
# Looked back from behind the full stop: before it, every character of a text would be looked back from.
_ENDS: Final = re.compile(r"[。!?;\n]|\.(?= |$)(?<!\b(?:ca|vs)\.)(?<!approx\.)(?<!\b(?:i\.e|e\.g|arb)\.)")


@dataclass(frozen=True, slots=True)
class Number:
    """An amount as it counts: 60 % is 0.6 and ``percent``."""

    value: float
    percent: bool = False


@dataclass(frozen=True, slots=True)
class Bound:
    """At least so much, or less than so much."""

    op: Operator
    number: Number


@dataclass(frozen=True, slots=True)
class Metric:
    """What is measured; ``other`` is what sounds like one and is not. A bare selectivity has no product."""

    metric: str
    product: str | None


@dataclass(frozen=True, slots=True)
class Pair:
    """Two metals in their order, and how they were joined; ``ratio`` where their amounts were written too."""

    m1: str
    m2: str
    joint: str = ""
    ratio: float | None = None

    def given(self) -> dict[str, Any]:
        """Give the runs that it describes."""
        ratio = {} if self.ratio is None else {"ratio": {"op": "==", "value": self.ratio}}
        return {"M1": self.m1, "M2": self.m2, **ratio}


@dataclass(slots=True)
class Marked:
    """A sentence in which marks stand for what was understood."""

    text: str
    held: dict[str, Any] = field(default_factory=dict)
    full: bool = False
    _used: dict[str, int] = field(default_factory=dict)

    def mask(self, kind: str, pattern: re.Pattern[str], make: Callable[[re.Match[str]], Any]) -> bool:
        """Put a mark for each match of which ``make`` makes something; tell whether there was one."""
        before = len(self.held)

        def put(match: re.Match[str]) -> str:
            made = make(match)
            number = self._used.get(kind, 0)
            if made is None or number == _EACH:
                self.full = self.full or made is not None
                return match[0]
            mark = chr(_FIRST + KINDS.index(kind) * _EACH + number)
            self._used[kind] = number + 1
            self.held[mark] = made
            return mark

        self.text = pattern.sub(put, self.text)
        return len(self.held) > before

    def all(self, kind: str) -> list[Any]:
        """Give what the marks of a kind stand for, in their order."""
        return [self.held[mark] for mark in CLASSES[kind].findall(self.text)]


def normal_text(text: str) -> str:
    """Give a text in one width, with one kind of dash and colon, single spaces, and none beside Chinese."""
    if text.isascii():
        return _BLANKS.sub(" ", text).strip()
    plain = _PRIVATE.sub(" ", unicodedata.normalize("NFKC", text)).translate(_DASHES)
    return _SPACES.sub("", _BLANKS.sub(" ", plain).strip())


def sentences(text: str) -> Iterator[str]:
    """Give the sentences of a text in their normal form; a question keeps its mark."""
    plain, start = normal_text(text), 0
    for end in _ENDS.finditer(plain):
        yield " ".join(plain[start : end.start()].split()) + ("?" if end[0] == "?" else "")
        start = end.end()
    if plain[start:].strip():
        yield " ".join(plain[start:].split())
