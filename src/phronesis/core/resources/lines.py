"""Which lines of a text a stretch of it stands on."""

from bisect import bisect_right
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of a text, counted from 1: each ends with a line feed."""

    text: str
    starts: tuple[int, ...]

    @classmethod
    def of(cls, text: str) -> "Lines":
        """Find where the lines of a text begin."""
        starts, at = [0], text.find("\n")
        while at >= 0:
            starts.append(at + 1)
            at = text.find("\n", at + 1)
        return cls(text, tuple(starts))

    def between(self, start: int, end: int) -> tuple[int, int]:
        """Give the first and the last line of [start, end), blank ones at its ends left out."""
        words = self.text[start:end]
        first = start + len(words) - len(words.lstrip())
        last = max(first, start + len(words.rstrip()) - 1)
        return bisect_right(self.starts, first), bisect_right(self.starts, last)
