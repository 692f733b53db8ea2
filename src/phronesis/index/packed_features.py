"""Text features that ranking uses besides the words, packed into an integer (``recall.scoring.lane_arrays``)."""

import re
from typing import Final

from phronesis.core.calendar import read_times
from phronesis.core.items import Item
from phronesis.recall.scoring.lane_arrays import (
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
from phronesis.traits.laws.strength import MEMORY_KINDS, TRAIT

_NOTE: Final = re.compile(r"(?<!\s)\s*+\[[^\[\]\n]{1,600}\]\s*\Z")
"""A note in brackets at the end of a message, as chats show attachments."""

_PHOTO: Final = re.compile(
    r"\[[^\[\]\n]{0,40}\b(?:photos?|images?|pictures?|screenshots?|selfies?)\b|[\[【][^\[\]【】\n]{0,20}(?:照片|图片|截图|相片)|!\[[^\[\]\n]{0,300}\]\(",
    re.IGNORECASE,
)
_ASKING: Final = ("?", "？")
WEIGHED_KINDS: Final = frozenset({"message", *MEMORY_KINDS, TRAIT})
"""Kinds whose importance affects ranking: conversation memories and what was learned from them."""

ROLE_FLAGS: Final = {"user": FROM_USER, "assistant": FROM_ASSISTANT, "tool": FROM_TOOL}
"""The bit of each role, for ranking and exclusion."""


def marks_of(item: Item, text: str, *, dated: bool = True) -> Marks:
    """Return the packed features of one part of an item: role, speech act, its day, days named in it, boosts.

    Days are in the offset in which the item was said; if not ``dated``, none are looked for in the text. An item that
    names no time and is no message has the day from which it is valid. Relative times count from when the text was
    said, or else recorded.
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
    """Return the importance and the stage number that boost an item."""
    weighed = item.kind in WEIGHED_KINDS
    # An imported log may say anything.
    importance = min(max(item.importance, LEAST_IMPORTANT), MOST_IMPORTANT) if weighed else NO_IMPORTANCE
    return importance, stage_number(item.stage) if item.kind == TRAIT else NO_STAGE


def asks(text: str) -> bool:
    """Return whether a text ends with a question mark, ignoring a note in brackets after it."""
    end = text[-1_000:].rstrip()
    if end.endswith(_ASKING):
        return True
    return end.endswith("]") and _NOTE.sub("", end).rstrip().endswith(_ASKING)
