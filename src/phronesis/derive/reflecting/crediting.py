"""What was recalled of late was of use: traits that contexts and searches showed gain usefulness (requirement NM-15).

Never confidence and never a stage: recall that reinforces makes truth of popularity. What was shown stands in a side
table; the entry of a reflection takes up the counts, so that a replay sees the same ones.
"""

from collections.abc import Mapping
from typing import Final

from phronesis.derive.reflecting.round import Round

CREDIT: Final = 0.02
"""Usefulness that one recall adds (NM-15, the source's later list), up to 1."""

USEFULNESS: Final = "data.usefulness"


def credit(work: Round, recalled: Mapping[str, int]) -> None:
    """Credit the traits that were shown, as often as they were."""
    for trait_id, times in recalled.items():
        trait = work.traits.get(trait_id)
        if trait is not None and times > 0:
            useful = min(1.0, trait.data.get("usefulness", 0.0) + CREDIT * times)
            work.change(trait_id, {USEFULNESS: round(useful, 6)}, "recalled")
