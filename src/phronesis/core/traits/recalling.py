"""Which traits a search or a composed context may show (NM-11); listings and look-ups by id show them all."""

from typing import Final

from phronesis.core.items import Item
from phronesis.core.traits.strength import TRAIT

UNRECALLED_STAGES: Final = ("trend", "candidate", "dissolved")
"""Stages in which a trait is no more than a guess, or was given up (NM-11)."""

SIDE_OF: Final = "side_of"
"""The member of a trait's ``data`` that names the trait with two sides whose one side it is."""


def recalled(item: Item) -> bool:
    """Tell whether a search or a composed context may show an item: anything but some traits.

    Not those in ``UNRECALLED_STAGES``, nor ended ones. Not one side of a trait with two: the whole says both. A trait
    without a stage may be shown.
    """
    return item.kind != TRAIT or (
        item.stage not in UNRECALLED_STAGES and item.ended is None and item.data.get(SIDE_OF) is None
    )
