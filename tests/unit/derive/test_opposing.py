"""What speaks against patterns: events of the other outcome, by how alike they are to the most typical members."""

import numpy as np
import pytest

from phronesis.core.experience.neighbours import NOBODY, Neighbours
from phronesis.derive.experience.meaning import Meaning
from phronesis.derive.experience.opposing import MAX_COUNTER, counterexamples
from phronesis.derive.experience.table import SUCCESS, EventTable
from unit.core.experience.metrics import Given

FAILURE = SUCCESS + 1


def table_of(groups: list[int], *pairs: tuple[int, int, float]) -> EventTable:
    """Give events e0, e1, ... of so many groups, of which some pairs are alike."""
    out = np.zeros((len(groups), len(groups)), np.float32)
    for one, other, value in pairs:
        out[one, other] = out[other, one] = value
    table = EventTable(1, 0, Meaning())
    table.ids = [f"e{n}" for n in range(len(groups))]
    table.neighbours = Neighbours(Given(out), np.array(groups))
    return table


def test_counterexamples_are_of_the_other_outcome_and_alike_on_average() -> None:
    table = table_of([FAILURE, FAILURE, SUCCESS, SUCCESS, FAILURE, NOBODY, SUCCESS],
                     (0, 2, 9), (1, 2, 7), (0, 3, 9), (1, 3, 5), (0, 4, 30), (0, 5, 30), (6, 4, 15))  # fmt: skip
    unit = table.belonging.likeness_unit
    found = counterexamples(table, [[0, 1], [2, 3], [6]])
    assert [[(one, round(value * unit, 3)) for one, value in group] for group in found] == [
        [("e2", 8)],  # e3 has 7, less than half of the unit
        [("e0", 9)],
        [("e4", 15)],
    ]


def test_the_most_typical_members_tell_and_the_most_alike_are_named() -> None:
    size = 2 + MAX_COUNTER + 3
    table = table_of([FAILURE] * 4 + [SUCCESS] * (size - 4), *((0, n, 30 + n % 3) for n in range(4, size)),
                     *((3, n, 99) for n in range(4, size)))  # fmt: skip
    [found] = counterexamples(table, [[0, 1, 2, 3]])  # the fourth is not asked
    assert [one for one, _ in found] == ["e5", "e8", "e4", "e7", "e6"][:MAX_COUNTER]
    assert found[0][1] == pytest.approx(32 / 3 / table.belonging.likeness_unit)
    assert counterexamples(table_of([FAILURE, FAILURE]), [[0, 1]]) == [[]]
