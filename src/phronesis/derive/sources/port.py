"""The port of a source: raw text in, drafts of events out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from phronesis.core.experience.drafts import Draft


@dataclass(frozen=True, slots=True, kw_only=True)
class Raw:
    """What was handed in: the text as it is, what it is called, and when it was recorded.

    ``name`` is the file's name or what the caller calls it (``build.log``, ``Main.lean``): an adapter may look at its
    ending, never at the file system. ``recorded_at`` is for sources that name a time without a day or year.
    """

    text: str
    name: str = ""
    recorded_at: datetime


class Source(Protocol):
    """Reads one type of source. Pure: the same text gives the same drafts.

    It never raises on a text that is not of its form: what it cannot read gives no draft, and a file of which nothing
    can be read gives none at all. Time goes with the length of the text, whoever wrote it.
    """

    source_type: str
    """Under which name callers ask for it: ``lean``, ``log`` …"""

    version: str
    """What an outcome says made it: ``lean/1``; it moves when the same text would give other drafts."""

    def read(self, raw: Raw) -> Sequence[Draft]:
        """Give the attempts that a text tells of, in the order in which it tells of them."""
        ...


Sources = Mapping[str, Source]
"""The sources by their type."""
