"""Text features that ranking uses besides the words, packed into an integer (``recall.scoring.packed_features``)."""

import re
from typing import Final

from phronesis.core.calendar import read_times
from phronesis.core.items import Item
from phronesis.recall.scoring.packed_features import (
    ASKS,
    FROM_ASSISTANT,
    FROM_TOOL,
    FROM_USER,
    LEAST_IMPORTANT,
    MAX_DATES,
    MOST_IMPORTANT,
    NAMES_TIME,
    NO_IMPORTANCE,
    NO_STAGE,
    SAID,
    SHARES_PHOTO,
    Marks,
    stage_number,
)
from phronesis.traits.laws.records import MEMORY_KINDS
from phronesis.traits.laws.strength import TRAIT

_NOTE: Final = re.compile(r"(?<!\s)\s*+\[[^\[\]\n]{1,600}\]\s*\Z")
"""A note in brackets at the end of a message, as chats show what was sent with it."""

_PHOTO: Final = re.compile(
    r"\[[^\[\]\n]{0,40}\b(?:photos?|images?|pictures?|screenshots?|selfies?)\b|[\[【][^\[\]【】\n]{0,20}(?:照片|图片|截图|相片)|!\[[^\[\]\n]{0,300}\]\(",
    re.IGNORECASE,
)
_ASKING: Final = ("?", "？")
WEIGHED_KINDS: Final = frozenset({"message", *MEMORY_KINDS, TRAIT})
"""Kinds whose importance counts when they are found: what conversations hold, and what was learned of them."""

ROLE_FLAGS: Final = {"user": FROM_USER, "assistant": FROM_ASSISTANT, "tool": FROM_TOOL}
"""The bit of each role that ranking or an exclusion asks for."""


def marks_of(item: Item, text: str, *, dated: bool = True) -> Marks:
    """Return the marks of one part of an item.

    Its role, what its words do, its day and the days they name, its bonuses.

    Days are those of the offset in which the item was said; not ``dated``, none are looked for in the words. What
    names no time and is no message speaks of the day from which it holds. A text's relative times count from when it
    was said, or else from when it was recorded.
    """
    said = item.occurred_at or item.recorded_at
    # What was taken from a message has the day on which it was so, not when it was said.
    at = item.local(said) if item.kind == "message" or item.source_type != "chat" else said
    flags = ROLE_FLAGS.get(item.role or "", 0) | (SAID if item.kind == "message" else 0)
    if asks(text):
        flags |= ASKS
    if ("[" in text or "【" in text) and _PHOTO.search(text) is not None:
        flags |= SHARES_PHOTO
    times, named = read_times(text, at) if dated else ([], False)
    if named:
        flags |= NAMES_TIME
    if not times and item.kind != "message" and item.valid_from is not None and item.valid_from.date() != said.date():
        day = item.valid_from.toordinal()
        return Marks(flags, at.toordinal(), ((day, day),), *lifted_by(item))
    dates = dict.fromkeys([(time.first.toordinal(), time.last.toordinal()) for time in times[:MAX_DATES]])
    return Marks(flags, at.toordinal(), tuple(dates), *lifted_by(item))


def lifted_by(item: Item) -> tuple[int, int]:
    """Return the importance and the number of the stage for which an item gets bonuses."""
    weighed = item.kind in WEIGHED_KINDS
    # An imported log may say anything.
    importance = min(max(item.importance, LEAST_IMPORTANT), MOST_IMPORTANT) if weighed else NO_IMPORTANCE
    return importance, stage_number(item.stage) if item.kind == TRAIT else NO_STAGE


def asks(text: str) -> bool:
    """Return whether a text ends with a question mark, a note in brackets after it left aside."""
    end = text[-1_000:].rstrip()
    if end.endswith(_ASKING):
        return True
    return end.endswith("]") and _NOTE.sub("", end).rstrip().endswith(_ASKING)
