"""Which trait a memory belongs to: as the memories that show the trait, and its sentence, say."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from phronesis.core.traits.seen import SeenMemory, SeenTrait
from phronesis.derive.reflecting.by_rules.likeness import Likeness
from phronesis.derive.reflecting.by_rules.reading import Reading, read
from phronesis.derive.reflecting.by_rules.statement import behaviours_of
from phronesis.derive.reflecting.by_rules.tables import opposites_of
from phronesis.derive.reflecting.by_rules.voices import Voice

FIT: Final = 0.6
"""How alike on average a memory is to what shows a trait, to belong to it."""

MOST_COMPARED: Final = 24
"""Memories of a trait that a new one is compared with: the latest."""

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
    """Give how well a memory fits a trait: its mean likeness to what shows it, or by the sentence alone."""
    if known.members:
        return likeness.mean(n, known.members)
    one = readings[n]
    return float(bool(one.behaviours & known.behaviours)) or 0.4 * len(one.stems & known.stems)
