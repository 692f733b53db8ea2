"""What of a part of a lane stays as it is, and what is looked at though it was not touched."""

import numpy as np

from phronesis.experience.aggregation import Found, Part, outcome_of
from phronesis.experience.event_views import ALONE
from phronesis.experience.laws.clustering import Bonds

P, S, Q = Found([3, 1]), Found([1, 3], ("situation",)), Found([5, 8])


def part(*, returning: tuple[str, ...] = (), opposed: frozenset[str] = frozenset()) -> Part:
    """Give a part of events 1 to 4, in which event 4 is new."""
    rows = np.array([1, 2, 3, 4], dtype=np.int64)
    return Part(
        rows,
        dict.fromkeys(ALONE, rows),
        ["p", "s"],
        Bonds(),
        returning,
        {"p": P, "s": S, "q": Q},
        opposed,
        frozenset({4}),
    )


def test_a_group_with_the_events_of_a_pattern_of_its_kind_is_that_pattern() -> None:
    cases: list[tuple[Found, str | None]] = [
        (Found([1, 3]), "p"),
        (Found([1, 3], ("situation",)), "s"),
        (Found([1, 3], ("attempt",)), None),
        (Found([1, 2, 3]), None),
        (Found([1, 2]), None),
        (Found([1, 3, 4]), None),
    ]
    for group, pattern in cases:
        assert part().stays(group) == pattern


def test_what_is_opposed_is_told_anew() -> None:
    assert part(opposed=frozenset({"p"})).stays(P) is None
    assert part(opposed=frozenset({"p"})).stays(S) == "s"


def test_nothing_stays_as_it_is_where_a_pattern_returns() -> None:
    assert part(returning=("r",)).stays(P) is None


def test_nothing_stays_as_it_is_of_which_an_event_is_new() -> None:
    known = Part(np.array([1, 4]), {}, ["p"], Bonds(), (), {"p": Found([1, 4])}, frozenset(), frozenset({4}))
    assert known.stays(Found([1, 4])) is None


def test_what_is_opposed_and_not_touched_is_looked_at_as_it_stands() -> None:
    seen = part(opposed=frozenset({"p", "q"}))
    assert seen.standing == [Q]
    assert seen.looked_at.tolist() == [1, 2, 3, 4, 5, 8]
    assert part().looked_at.tolist() == [1, 2, 3, 4]


def test_failures_go_first() -> None:
    cases: list[tuple[list[str | None], str]] = [
        (["success", "failure"], "failure"),
        (["unknown", "success"], "success"),
        (["unknown", None], "unknown"),
    ]
    for labels, outcome in cases:
        assert outcome_of(labels) == outcome
