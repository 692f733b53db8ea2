"""Which groups of events become one pattern, as labelled events taught it (``phronesis bench lesson-joining``)."""

import io
from functools import cache
from importlib.resources import files
from typing import Final

import numpy as np

from phronesis.core.experience.joining import Joining

ARCHIVE: Final = "joining.npz"
"""What was learned, in this package."""

ASKED: Final = 0.6
"""The share of the pairs across two groups that must be one lesson, by what was learned, for the two to become one:
with it two readable sets that taught nothing have a precision of .79, with .65 of .84
(docs/decisions/0054-groups-that-learned-to-join.md)."""


@cache
def joining() -> Joining:
    """Give when groups become one."""
    return from_archive(files(__package__).joinpath(ARCHIVE).read_bytes()).asking(ASKED)


def to_archive(learned: Joining) -> bytes:
    """Give the stored form, an archive of numpy."""
    out = io.BytesIO()
    np.savez_compressed(
        out, allow_pickle=False,
        means=learned.means.astype(np.float32), spreads=learned.spreads.astype(np.float32),
        hidden=learned.hidden.astype(np.float32), out=learned.out.astype(np.float32),
    )  # fmt: skip
    return out.getvalue()


def from_archive(archive: bytes) -> Joining:
    """Give what was learned again."""
    with np.load(io.BytesIO(archive), allow_pickle=False) as held:
        means, spreads, hidden, out = (held[name].astype(np.float64) for name in ("means", "spreads", "hidden", "out"))
    return Joining(means, spreads, hidden, out)
