"""Chinese that is set with a space beside Latin letters and digits (在 17 楼, 用 Go 写), read as if it had none.

The spaces are a matter of typography and part nothing, but the tables and the calendar would take "1 月 17 号" apart.
They are taken out before a message is read, and put back into what is found.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from phronesis.core.proposals import Proposal, Refusal
from phronesis.derive.extracting.script import common_end

_BESIDE: Final = re.compile(r"(?<=[一-鿿]) (?=[A-Za-z0-9@#])|(?<=[A-Za-z0-9%+#]) (?=[一-鿿])")
_SET_SO: Final = re.compile(r"[一-鿿] [A-Za-z0-9@#]|\d [年月号日点楼岁块元个天分度](?![一-鿿]*[，,]\d)")
"""What tells it from a space that stands for a comma (15951880023 找我): one before what is Latin, or 17 号."""


@dataclass(frozen=True, slots=True)
class ClosedUp:
    """A message without such spaces: ``places`` says of each character where it stands in ``said``."""

    said: str
    text: str
    places: Sequence[int]

    def put_back(self, one: Proposal) -> Proposal:
        """Give a proposal as the message had it, with its spaces."""
        start, end = self.places[one.start], self.places[one.end - 1] + 1
        own = common_end(one.content, self.text[one.start : one.end])
        content = one.content[: len(one.content) - own] + self._spaced(one.content[len(one.content) - own :], one.start)
        family, dot, word = one.key.partition(".")
        return replace(
            one, start=start, end=end, quote=self.said[start:end], content=content,
            subject=self._spaced(one.subject, one.start), key=f"{family}{dot}{self._spaced(word, one.start)}",
            value=None if one.value is None else self._spaced(one.value, one.start),
            replaces=None if one.replaces is None else self._spaced(one.replaces, one.start),
        )  # fmt: skip

    def refused(self, one: Refusal) -> Refusal:
        """Give a refusal with the words as they were said."""
        return replace(one, text=self._spaced(one.text, 0))

    def _spaced(self, text: str, start: int) -> str:
        place = self.text.find(text, start)
        place = self.text.find(text) if place < 0 else place
        if place < 0 or not text:
            return text
        return self.said[self.places[place] : self.places[place + len(text) - 1] + 1]


def closed_up(text: str) -> ClosedUp | None:
    """Give a message without the spaces beside Latin letters and digits; None where it is not set with such."""
    if text.isascii() or _SET_SO.search(text) is None:
        return None
    out = {match.start() for match in _BESIDE.finditer(text)}
    places = [place for place in range(len(text)) if place not in out]
    return ClosedUp(text, "".join(text[place] for place in places), places)
