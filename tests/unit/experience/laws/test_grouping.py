"""Groups of events: the same for all at once as for a part, within what people said, whatever their number."""

import numpy as np
import pytest

from phronesis.experience.laws import clustering
from phronesis.experience.laws.clustering import Grouper, MembershipThresholds, PairConstraints
from phronesis.experience.laws.neighbour_graph import Neighbours
from unit.experience.laws.metrics import Given, crowds, drawn

BELONGING = MembershipThresholds(shared=2.0, threshold=4.0, alone=6.0)


def grouper(
    metric: Given, bonds: PairConstraints | None = None, belonging: MembershipThresholds = BELONGING
) -> Grouper:
    return Grouper(Neighbours(metric, np.zeros(metric.size, np.int64)), belonging, bonds or PairConstraints())


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
