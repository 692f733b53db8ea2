"""The views that members are alike in, and the groups of one view."""

from phronesis.experience.laws.clustering import TRIED, finer, intersect_groups, view_groups, view_of
from phronesis.experience.laws.similarity import AtLeast
from unit.experience.laws.metrics import crowds


def test_a_pattern_is_of_the_views_that_its_members_are_alike_in() -> None:
    cases: list[tuple[dict[str, float], str]] = [
        ({"attempt": 2.0, "situation": 3.0, "result": 1.0}, "situation+attempt"),
        ({"attempt": 0.5, "result": 0.9}, "result"),
        ({"result": 0.9, "situation": 0.9}, "situation"),
        ({"attempt": 0.0, "result": 0.0}, TRIED),
        ({}, TRIED),
    ]
    for cohesions, view in cases:
        assert view_of(cohesions) == view, cohesions


def test_groups_of_one_view_are_large_enough() -> None:
    metric = crowds((4, 2, 3))
    assert view_groups(metric, AtLeast(5), threshold=5) == [[0, 1, 2, 3], [6, 7, 8]]


def test_groups_of_two_views_are_crossed() -> None:
    situations, attempts = [[0, 1, 2, 3, 4, 5, 6, 7], [8, 9, 10]], [[0, 1, 2, 3, 8, 11], [4, 5, 6, 9, 10]]
    assert intersect_groups(situations, attempts) == [[0, 1, 2, 3], [4, 5, 6]]
    assert intersect_groups(situations, [[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]]) == []  # the second tells nothing apart
    assert intersect_groups(situations, []) == []
    assert finer([[0, 1, 2, 3], [4, 5, 6]], [[0, 1, 2, 3, 4, 5, 6, 7], [4, 5, 6]]) == [[0, 1, 2, 3]]
    assert finer([[0, 1, 2], [0, 1, 2]], []) == [[0, 1, 2]]
