"""Which groups of events become one pattern, as labelled events taught it (``phronesis bench lesson-joining``)."""

from functools import cache
from importlib.resources import files
from typing import Final

from phronesis.core.experience.joining import Joining, joining_from

ARCHIVE: Final = "joining.npz"
"""What was learned, in this package."""

ASKED: Final = 0.6
"""The share of the pairs across two groups that must be one lesson, by what was learned, for the two to become one
(docs/decisions/0054-groups-that-learned-to-join.md)."""


@cache
def joining() -> Joining:
    """Give when groups become one."""
    return joining_from(files(__package__).joinpath(ARCHIVE).read_bytes()).asking(ASKED)
