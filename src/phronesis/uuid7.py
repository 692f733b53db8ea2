"""New identifiers that sort by the time at which they were made. ``core`` and ``engine`` may not use it."""

import os
import time
from typing import Final

_RANDOM_BITS: Final = 74
_LOW_BITS: Final = 62


def new_id() -> str:
    """Return a UUIDv7 (RFC 9562, 5.7): 48 bits of Unix time in milliseconds, then 74 random bits.

    Ids made within one millisecond have no order among them; nothing here orders by id (``seq`` does).
    """
    milliseconds = time.time_ns() // 1_000_000
    chance = int.from_bytes(os.urandom(10)) & ((1 << _RANDOM_BITS) - 1)
    high = milliseconds << 16 | 7 << 12 | chance >> _LOW_BITS
    low = 0b10 << _LOW_BITS | chance & ((1 << _LOW_BITS) - 1)
    text = f"{high << 64 | low:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
