"""Whose words a question is after, as a mark on every place of a lane."""

from collections.abc import Collection, Sequence
from typing import Final

import numpy as np

from phronesis.core.scoring.arrays import Floats, Mask
from phronesis.core.scoring.asked import Voice
from phronesis.core.scoring.marks import FROM_ASSISTANT, FROM_USER, SAID
from phronesis.recall.relational import Named
from phronesis.recall.scope_index import Laid, LaneIndex, subject_code

SELF: Final = "user"
"""The subject of what is held about the person whose memory it is (docs/memory-types.md)."""


def speaker_of(
    index: LaneIndex, laid: Laid, named: Sequence[Named], speaking: Collection[str], voice: Voice | None
) -> tuple[Floats | None, bool]:
    """Give 1 for what is by or about whom the question is after, and whether that is so by name.

    One speaker is named, by any name: what that speaker said, and what is held about them. None is: what the user said
    and what is held, or what the assistant said, whichever the question's "I" and "you" are after. Several are: silent.
    """
    families = [one.names for one in named if any(name in index.speakers for name in one.names)]
    known = {name for family in families for name in family}
    families += [frozenset({name}) for name in speaking if name in index.speakers and name not in known]
    if len(families) > 1:
        return None, False
    about = _about(index, laid, [name for one in named for name in one.names])
    if families:
        [names] = families
        said = np.isin(laid.speakers, [index.speakers[name] for name in names if name in index.speakers])
        said &= laid.properties.flags & SAID > 0
        if np.any(laid.properties.flags[said] & FROM_USER):
            about |= _about(index, laid, [SELF])
        return (said | about).astype(np.float32), True
    if speaking:
        return None, False  # somebody of another lane
    if voice is None:
        return (about.astype(np.float32), True) if about.any() else (None, False)
    said = laid.properties.flags & SAID > 0
    meant = laid.properties.flags & (FROM_ASSISTANT if voice == "assistant" else FROM_USER) > 0
    held = about if voice == "assistant" else np.ones_like(about)
    return np.where(said, meant, held).astype(np.float32), False


def _about(index: LaneIndex, laid: Laid, names: Collection[str]) -> Mask:
    codes = [subject_code(index.subjects[name]) for name in names if name in index.subjects]
    return np.isin(laid.speakers, codes) if codes else np.zeros(len(laid.speakers), dtype=np.bool_)
