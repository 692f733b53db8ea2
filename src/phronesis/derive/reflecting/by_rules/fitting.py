"""Which trait a memory belongs to: as the memories that show the trait, and its sentence, say."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import ceil
from typing import Final

import numpy as np

from phronesis.core.traits.seen import SeenMemory, SeenTrait
from phronesis.core.traits.strength import MIN_MEMORIES
from phronesis.derive.reflecting.by_rules.likeness import Likeness
from phronesis.derive.reflecting.by_rules.reading import Reading, read
from phronesis.derive.reflecting.by_rules.statement import behaviours_of
from phronesis.derive.reflecting.by_rules.tables import opposites_of
from phronesis.derive.reflecting.by_rules.voices import Voice

FIT: Final = 0.6
"""How alike on average a memory is to what shows a trait, to belong to it."""

FEW: Final = 16
SURE: Final = 2.0
"""Memories up to which what is usual is not known well enough to tell that one fits a trait; until then a behaviour
that the tables name for sure is enough, and this is how well it fits. On labelled users no figure moved."""

MOST_COMPARED: Final = 24
"""Memories of a trait that a new one is compared with: the latest."""

MOST_OF: Final = 2 / 3
"""Share of what shows a trait that a memory must be like, where an encoder looks."""

MISFIT: Final = 0.4
"""How alike what shows a trait must be to `MOST_OF` the rest, not to be free for another: of a trait that was begun
with two memories of one behaviour and one of another, both may go on. On the readable labelled users recall rose by
.02, and by as much with `MOST_OF`, with precision as it was (docs/benchmarks.md)."""

_NO_TIME: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A trait that lives: its sentence as a reading, the places of the memories that show it, and its behaviours."""

    trait: SeenTrait
    said: Reading
    members: Sequence[int]
    evidence: frozenset[int]
    behaviours: frozenset[str]
    stems: frozenset[str]
    opposites: frozenset[str]
    denied: bool


def known_traits(traits: Sequence[SeenTrait], readings: Sequence[Reading], places: Mapping[str, int]) -> list[Known]:
    """Read the traits."""
    found = []
    for trait in traits:
        said = read(
            SeenMemory(id=trait.id, content=trait.content, kind="fact", at=_NO_TIME), Voice(frozenset({"User"}))
        )
        members = sorted({places[one] for one in trait.supporting if one in places})
        against = {places[one] for one in trait.contradicting if one in places}
        shown = [readings[n] for n in members]
        counts = Counter(stem for one in shown for stem in one.stems)
        behaviours = frozenset([*said.behaviours, *behaviours_of(shown)])
        found.append(Known(
            trait=trait, said=said, members=members[-MOST_COMPARED:], evidence=frozenset(against.union(members)),
            behaviours=behaviours, opposites=opposites_of(behaviours),
            denied=said.negated or 2 * sum(one.negated for one in shown) > len(shown),
            stems=said.stems | {stem for stem, count in counts.items() if count > 1},
        ))  # fmt: skip
    return found


def fits(n: int, known: Known, readings: Sequence[Reading], likeness: Likeness) -> float:
    """Give how well a memory fits a trait: how alike it is to what shows it, or by the sentence alone.

    Where an encoder looks it is like most of that too, not on average alone: what fits one half of a trait that was
    begun with memories of two behaviours would make it no better.
    """
    one = readings[n]
    if known.members:
        mean = likeness.mean(n, known.members)
        if likeness.alike is not None and len(readings) < FEW and _shows_the_same(one, known):
            return SURE
        return mean if likeness.alike is None else min(mean, _like_most(n, known.members, likeness))
    return float(bool(one.behaviours & known.behaviours)) or 0.4 * len(one.stems & known.stems)


def _shows_the_same(one: Reading, known: Known) -> bool:
    """Tell whether a memory names a behaviour of a trait for sure, and nothing is said against it."""
    named = {name for name, surely in one.surely.items() if surely >= 1.0}
    return not one.marks and not one.ended and not named.isdisjoint(known.behaviours)


def misfits(known: Known, likeness: Likeness) -> frozenset[int]:
    """Give what shows a trait and is not like most of the rest; nothing where words alone are compared."""
    if likeness.alike is None or len(known.members) < MIN_MEMORIES:
        return frozenset()
    return frozenset(
        n for n in known.members
        if _like_most(n, [other for other in known.members if other != n], likeness) < MISFIT
    )  # fmt: skip


def _like_most(n: int, others: Sequence[int], likeness: Likeness) -> float:
    """Give how alike a memory is, at least, to the `MOST_OF` others that are most like it."""
    alike = np.sort(likeness.row(n)[list(others)])[::-1]
    return float(alike[ceil(MOST_OF * len(alike) - 1e-9) - 1])
