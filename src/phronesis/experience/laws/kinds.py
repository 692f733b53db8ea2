"""The kinds of items of experience."""

from typing import Final

EVENT_KIND: Final = "l1"
PATTERN_KIND: Final = "pattern"
PRINCIPLE_KIND: Final = "principle"
