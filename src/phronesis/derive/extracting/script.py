"""Chinese in the traditional script and written Cantonese, brought to what the tables are written in, in place.

Each character stands for one, so that a place in the one text is a place in the other: what is found is quoted, and its
value given, as it was said.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import takewhile
from typing import Final

from phronesis.core.loading import once
from phronesis.errors import PhronesisError

SCRIPT_FILE: Final = "script.toml"


@dataclass(frozen=True, slots=True)
class Script:
    """Characters and words that stand for others of the same length."""

    characters: Mapping[int, int]
    marks: re.Pattern[str]
    words: re.Pattern[str]
    normal: Mapping[str, str]

    def simplified(self, text: str) -> str:
        """Give a text of the same length in simplified characters, Cantonese words as those of Mandarin."""
        if text.isascii():
            return text
        text = text.translate(self.characters)
        return self.words.sub(self._put, text) if self.marks.search(text) is not None else text

    def _put(self, match: re.Match[str]) -> str:
        return self.normal[match[0]]


def parse_script(source: str) -> Script:
    """Read the table of characters and words; PhronesisError when two that stand for each other differ in length."""
    given = tomllib.loads(source)
    traditional, simple = ("".join(given[name].split()) for name in ("traditional", "simplified"))
    normal = {word: other for word, _, other in (pair.partition("=") for pair in given["words"].split())}
    uneven = [word for word, other in normal.items() if len(word) != len(other)]
    if uneven or len(traditional) != len(simple):
        raise PhronesisError(f"{SCRIPT_FILE}: {uneven[:1] or 'the scripts'}: what stands for another is as long as it")
    words = "|".join(sorted(map(re.escape, normal), key=len, reverse=True))
    return Script(str.maketrans(traditional, simple), re.compile(f"[{given['marks']}]"), re.compile(words), normal)


@once
def the_script() -> Script:
    """Give the table that is installed with the package."""
    return parse_script((files("phronesis.derive.extracting") / SCRIPT_FILE).read_text("utf-8"))


def simplified(text: str) -> str:
    """Give a text of the same length in the characters and words that the tables are written in."""
    return text if text.isascii() else the_script().simplified(text)


def as_said(text: str, read: str, said: str, start: int, short: Mapping[str, Sequence[str]]) -> str:
    """Give a part of what was read as it was said: ``read`` and ``said`` are one text, ``start`` where it was read.

    ``short`` are the contractions that were written out. What does not stand there as it is, because words were left
    out of it, stays as it was read.
    """
    place = read.find(text, start)
    place = read.find(text) if place < 0 else place
    if place >= 0:
        return said[place : place + len(text)]
    closed = (text.replace(full, one) for full, ones in short.items() if full in text for one in ones)
    return next((one for one in closed if one in said), text)


def common_end(text: str, other: str) -> int:
    """Give how many characters two texts end in alike."""
    pairs = zip(reversed(text), reversed(other), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
