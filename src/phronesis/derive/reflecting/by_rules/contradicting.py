"""Memories that say the opposite of a trait: it has ended, it is denied, or the opposite behaviour shows."""

from collections.abc import Sequence
from typing import Final

from phronesis.core.traits.operations import Contradicted
from phronesis.derive.reflecting.by_rules.fitting import Known
from phronesis.derive.reflecting.by_rules.likeness import Likeness
from phronesis.derive.reflecting.by_rules.reading import Reading
from phronesis.derive.reflecting.by_rules.tables import the_tables

ABOUT: Final = 0.5
"""How alike on average to what shows a trait an ending is, to be about it where it names no behaviour of it."""

FEW_WORDS: Final = 6
"""A trait that so few words tell of is named by each of them."""

_LOST: Final = frozenset({"other", "supposed", "joke", "quoted"})


def contradictions_of(
    traits: Sequence[Known], readings: Sequence[Reading], likeness: Likeness, fresh: Sequence[int]
) -> dict[str, list[int]]:
    """Give the new memories that contradict each trait, by the trait's id."""
    found: dict[str, list[int]] = {}
    for n in fresh:
        one = readings[n]
        if one.barred == "other" or (one.barred is None and not _LOST.isdisjoint(one.marks)):
            continue
        for known in traits:
            if n not in known.evidence and opposes(n, known, readings, likeness):
                found.setdefault(known.trait.id, []).append(n)
    return found


def opposes(n: int, known: Known, readings: Sequence[Reading], likeness: Likeness) -> bool:
    """Tell whether a memory says the opposite of a trait."""
    one = readings[n]
    shared = bool(one.behaviours & known.behaviours)
    words = len(one.stems & known.stems)
    about = shared or words > 1 or (words and len(known.stems) <= FEW_WORDS) or (
        bool(known.members) and likeness.mean(n, known.members) >= ABOUT
    )  # fmt: skip
    if one.ended and about:
        return True
    if known.opposites & one.behaviours and not shared:
        return not one.negated
    return shared and one.negated and not known.denied and _denies(one)


def _denies(one: Reading) -> bool:
    """Tell whether a negation is of what is done, as "hates coffee" and "did not run": the tables know the words."""
    marks = the_tables().marks[one.code]
    return marks["denied"].search(one.text.lower()) is not None


def contradicted(found: dict[str, list[int]], readings: Sequence[Reading]) -> list[Contradicted]:
    """Give the contradictions as wishes."""
    return [
        Contradicted(trait_id=trait, contradicting_evidence_ids=[readings[n].id for n in found[trait]])
        for trait in sorted(found)
    ]
