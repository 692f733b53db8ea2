"""Reading off a text what ranking wants to know of it beside its words (``core.scoring.marks``)."""

import re
from typing import Final

from phronesis.core.calendar import find_times, names_time
from phronesis.core.items import Item
from phronesis.core.scoring.marks import (
    ASKS,
    FROM_ASSISTANT,
    FROM_USER,
    MAX_DATES,
    NAMES_TIME,
    SAID,
    SHARES_PHOTO,
    Marks,
)

_NOTE: Final = re.compile(r"\s*\[[^\[\]\n]{1,600}\]\s*\Z")
"""A note in brackets at the end of a message, as chats show what was sent with it."""

_PHOTO: Final = re.compile(
    r"\[[^\[\]\n]{0,40}\b(?:photos?|images?|pictures?|screenshots?|selfies?)\b|[\[【][^\[\]【】\n]{0,20}(?:照片|图片|截图|相片)|!\[[^\[\]\n]{0,300}\]\(",
    re.IGNORECASE,
)
_ASKING: Final = ("?", "？")
_ROLES: Final = {"user": FROM_USER, "assistant": FROM_ASSISTANT}


def marks_of(item: Item, text: str, *, dated: bool = True) -> Marks:
    """Give the marks of one part of an item: its role, what its words do, its day and the days they name.

    Days are those of UTC; not ``dated``, none are looked for in the words. A text's relative times count from when it
    was said, or else from when it was recorded.
    """
    at = item.occurred_at or item.recorded_at
    flags = _ROLES.get(item.role or "", 0) | (SAID if item.kind == "message" else 0)
    if asks(text):
        flags |= ASKS
    if _PHOTO.search(text) is not None:
        flags |= SHARES_PHOTO
    dates: list[tuple[int, int]] = []
    if dated and names_time(text):
        flags |= NAMES_TIME
        times = find_times(text, at)[:MAX_DATES]
        dates = list(dict.fromkeys((time.first.toordinal(), time.last.toordinal()) for time in times))
    return Marks(flags, at.toordinal(), tuple(dates))


def asks(text: str) -> bool:
    """Tell whether a text ends with a question mark, a note in brackets after it left aside."""
    end = text[-1_000:].rstrip()
    return end.endswith(_ASKING) or _NOTE.sub("", end).rstrip().endswith(_ASKING)
