"""How good new evidence of a trait is (NM-06)."""

from collections.abc import Sequence

from phronesis.core.confidence import Grade
from phronesis.derive.reflecting.by_rules.reading import Reading
from phronesis.derive.reflecting.by_rules.tables import the_tables


def sides_of(one: Reading) -> frozenset[str]:
    """Give the sides of life that a memory shows: work, friends, family, study, home and so on."""
    situations = the_tables().situations
    return frozenset(side for name in one.situations if (side := situations[name].side) is not None)


def grade_of(new: Sequence[Reading], before: Sequence[Reading]) -> Grade:
    """Give the grade: A where another side of life shows the same, B where the user says that it is a habit.

    C is what another session shows, D what one shows that showed it before.
    """
    old = {side for one in before for side in sides_of(one)}
    if old and any(sides_of(one) - old and not sides_of(one) & old for one in new):
        return "A"
    if any(one.habit for one in new):
        return "B"
    places = {one.place for one in before}
    return "C" if any(one.place not in places for one in new) else "D"
