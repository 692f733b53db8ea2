"""Groups of events: the same for all at once as for a part, within what people said, whatever their number."""

import numpy as np
import pytest

from phronesis.experience.laws import clustering
from phronesis.experience.laws.clustering import SETTLED, Grouper, MembershipThresholds, PairConstraints
from phronesis.experience.laws.neighbour_graph import Neighbours
from unit.experience.laws.metrics import Given, crowds, drawn, rows

BELONGING = MembershipThresholds(shared=2.0, threshold=4.0, alone=6.0)


def grouper(
    metric: Given, bonds: PairConstraints | None = None, belonging: MembershipThresholds = BELONGING
) -> Grouper:
    return Grouper(Neighbours(metric, np.zeros(metric.size, np.int64)), belonging, bonds or PairConstraints())


def test_crowds_are_groups_and_who_is_like_nobody_is_in_none() -> None:
    assert grouper(crowds((3, 1, 4))).groups(np.arange(8)) == [[0, 1, 2], [4, 5, 6, 7]]
    assert grouper(crowds((1, 1))).groups(rows(1, 0)) == []
    assert grouper(crowds((1,))).groups(rows(0)) == []


def test_sharing_neighbours_counts_in_proportion_to_the_lane() -> None:
    alike, shared = np.float32(3.0), np.float32(1.0)
    units = [float(BELONGING.units(np.array(alike), np.array(shared), size)) for size in (10, SETTLED, 10 * SETTLED)]
    assert units == pytest.approx([3.2 / 4, 5.0 / 4, 5.0 / 4])
    assert float(BELONGING.units(np.array(9.0, np.float32), np.array(0.0, np.float32), 5)) == pytest.approx(9 / 4)


def test_what_people_put_together_or_apart_holds() -> None:
    metric = crowds((3, 3))
    bonds = PairConstraints(together=((0, 3),), apart=((1, 2), (9, 0)))
    groups = grouper(metric, bonds).groups(np.arange(6))
    place = {row: n for n, group in enumerate(groups) for row in group}
    assert place[0] == place[3]
    assert place.get(1) != place.get(2)
    assert bonds.among(rows(5, 3, 0)) == PairConstraints(together=((2, 1),))


def test_fragments_of_one_crowd_are_mended_and_people_may_keep_them_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    metric = crowds((40, 12))
    strict = MembershipThresholds(shared=20.0, threshold=10.0, alone=99.0)
    mended = max(grouper(metric, belonging=strict).groups(np.arange(52)), key=len)
    with monkeypatch.context() as patched:
        patched.setattr(clustering, "FRAGMENT", 99)
        torn = grouper(metric, belonging=strict).groups(np.arange(52))
    fragments = [group for group in torn if len(group) >= clustering.FRAGMENT and set(group) <= set(mended)]
    assert len(fragments) == 2
    assert mended == sorted(fragments[0] + fragments[1])
    apart = PairConstraints(apart=((fragments[0][0], fragments[1][-1]), (0, 51)))
    assert grouper(metric, apart, strict).groups(np.arange(52)) == torn


@pytest.mark.parametrize("seed", range(5))
def test_groups_never_overlap_and_come_in_order(seed: int) -> None:
    groups = grouper(drawn(30, seed)).groups(np.arange(30))
    members = [row for group in groups for row in group]
    assert len(members) == len(set(members))
    assert groups == sorted(map(sorted, groups))
    assert all(len(group) > 1 for group in groups)


def test_a_component_too_large_is_taken_apart_or_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clustering, "MAX_COMPARED", 6)
    chained = crowds((5, 5))
    chained.alike[0, 5] = chained.alike[5, 0] = 5.0
    assert grouper(chained).groups(np.arange(10)) == [[*range(5)], [*range(5, 10)]]
    same = crowds((9,), inside=50.0)
    assert grouper(same).groups(np.arange(9)) == [[*range(9)]]
