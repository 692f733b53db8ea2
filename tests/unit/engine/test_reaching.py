"""How far something new reaches: to the groups of what it is on the whole, and not from view to view through a lane."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from phronesis.core.relations import Edge
from phronesis.experience.event_embeddings import EventVectors
from phronesis.experience.event_matrix import EventTable
from phronesis.experience.event_views import ALONE, ViewReader, ViewTable
from phronesis.experience.incremental_scope import JOINT, NearbyEvents, method_of, near_to, reach_of
from phronesis.experience.laws.neighbour_graph import Neighbours
from phronesis.store.lane_view import LaneView
from unit.experience.laws.metrics import Given

SITUATION, ATTEMPT = method_of(["situation"]), method_of(["attempt"])
CROSSED = method_of(["situation", "attempt"])


class _Pattern:
    def __init__(self, method: str) -> None:
        self.data = {"cluster_info": {"method": method}}


class _Lane:
    """Patterns by id, each with how it was made and its members; and what people put together."""

    def __init__(self, together: Sequence[tuple[str, str]] = (), **patterns: tuple[str, str]) -> None:
        self.patterns = patterns
        self.drawn = [_edge("similar", one, other, "must_link") for one, other in together]
        self.member_of = [
            _edge("member_of", event, one, None) for one, (_, events) in patterns.items() for event in events.split()
        ]
        self.read: list[str] = []

    def items(self, ids: Collection[str]) -> Mapping[str, Any]:
        self.read += ids
        return {one: _Pattern(self.patterns[one][0]) for one in ids}

    def edges_from(self, ids: Collection[str], kind: str) -> list[Edge]:
        return [edge for edge in (*self.drawn, *self.member_of) if edge.type == kind and edge.from_id in ids]

    def edges_to(self, ids: Collection[str], kind: str) -> list[Edge]:
        return [edge for edge in (*self.drawn, *self.member_of) if edge.type == kind and edge.to_id in ids]


def _edge(kind: str, one: str, other: str, grade: str | None) -> Edge:
    return Edge(type=kind, from_kind="item", from_id=one, to_kind="item", to_id=other, entry_id="e", grade=grade)


def all_alike(near: str, **alike: str) -> NearbyEvents:
    """Give events that are near on the whole, and by each view those that are named for it, or all."""
    return NearbyEvents(set(near.split()), {name: set(alike.get(name, near).split()) for name in ALONE})


def reached(lane: _Lane, near: str, **alike: str) -> tuple[str, dict[str, str], str]:
    """Give events, events by the views that matter here, and patterns, each as words in order."""
    found = reach_of(cast("LaneView", lane), EventTable(1, 0, EventVectors()), all_alike(near, **alike))
    by_view = {name: " ".join(sorted(found.by_view[name])) for name in ("situation", "attempt")}
    return " ".join(sorted(found.events)), by_view, " ".join(sorted(found.patterns))


def test_a_chain_of_views_is_not_followed() -> None:
    lane = _Lane(
        p=(JOINT, "a b"),
        q=(JOINT, "c d"),
        r=(JOINT, "e f"),
        s=(SITUATION, "b c e"),
        t=(ATTEMPT, "d f g"),
        u=(SITUATION, "d h i"),
    )
    events, by_view, patterns = reached(lane, "a new")
    assert (events, patterns) == ("a b new", "p")
    assert by_view == {"situation": "a new", "attempt": "a b new"}  # b goes on in s, which stays as it is


def test_what_is_near_is_grouped_with_all_its_own_patterns_of_a_view() -> None:
    lane = _Lane(p=(JOINT, "a b"), q=(JOINT, "c d"), s=(SITUATION, "b c e"), t=(ATTEMPT, "c x y"), c=(CROSSED, "b e z"))
    events, by_view, patterns = reached(lane, "b new")
    assert (events, patterns) == ("a b new", "c p s")
    assert by_view == {"situation": "a b c e new z", "attempt": "a b e new z"}


def test_by_a_view_only_the_patterns_of_those_that_are_alike_in_it_are_reached() -> None:
    lane = _Lane(p=(JOINT, "a b"), q=(JOINT, "c d"), s=(SITUATION, "b c e"), t=(ATTEMPT, "b x y"))
    events, by_view, patterns = reached(lane, "new", situation="b new", attempt="new")
    assert (events, patterns) == ("a b new", "p s")
    assert by_view == {"situation": "a b c e new", "attempt": "a new"}  # b goes on in t, which stays as it is


def alike(size: int, *pairs: tuple[int, int, float]) -> Given:
    """Give a metric by which some pairs are alike so much, and the others a little."""
    out = np.full((size, size), 0.1, np.float32)
    for one, other, value in pairs:
        out[one, other] = out[other, one] = value
    return Given(out)


def reading(ids: str, whole: Given, *, other: str = "", edges: _Lane | None = None, **by_view: Given) -> ViewReader:
    """Give a reader of events that are alike so much, some of ``other`` outcome; nobody is alike in other views."""
    edges = edges or _Lane()
    table = EventTable(1, 0, EventVectors())
    for row, one in enumerate(ids):
        table.ids.append(one)
        table.row_of[one] = row
    table.alive = set(range(len(ids)))
    table.neighbours = Neighbours(whole, np.array([one in other for one in ids], np.int64))
    metrics = {name: by_view.get(name, alike(len(ids))) for name in ALONE}
    places = {one: row for row, one in enumerate(sorted(ids))}
    having = {name: frozenset(range(len(ids))) - ({places["d"]} if name == "result" else set()) for name in ALONE}
    views = ViewTable(places, metrics, having, threshold=1.0)
    lane = SimpleNamespace(items=dict.fromkeys, edges_from=edges.edges_from, edges_to=edges.edges_to)
    return cast("ViewReader", SimpleNamespace(table=table, view=lane, of=lambda *_: views))


def test_near_is_who_is_alike_enough_on_the_whole_or_in_a_view() -> None:
    reader = reading(
        "abcdn",
        alike(5, (0, 4, 5.0), (1, 2, 5.0)),
        situation=alike(5, (1, 4, 1.5), (2, 3, 9.0)),
        result=alike(5, (3, 4, 1.5)),
    )
    near = near_to(reader, ["n"])
    assert near.on_the_whole == {"a", "n"}
    assert near.by_view["situation"] == {"b", "n"}  # c and d are alike in it, of which neither is new
    assert near.by_view["result"] == {"n"}  # d has no result
    assert near.by_view["attempt"] == {"n"}


def test_whom_a_new_event_speaks_against_is_not_near() -> None:
    lane = _Lane(p=(JOINT, "a b"), q=(JOINT, "c d"))
    near = near_to(reading("abcdn", alike(5, (0, 4, 8.0), (1, 4, 7.0), (2, 4, 5.0)), other="abd", edges=lane), ["n"])
    assert near.on_the_whole == {"c", "n"}  # of its own outcome
    assert near.opposed == ["p"]  # half of 15 is asked on average
    assert not any("a" in events for events in near.by_view.values())


def test_what_is_opposed_comes_with_its_events_the_most_typical_first() -> None:
    lane = _Lane(p=(JOINT, "a b"), q=(JOINT, "c d"), s=(SITUATION, "b c e"))
    lane.member_of = [replace(edge, weight=0.9) if edge.from_id == "c" else edge for edge in lane.member_of]
    near = NearbyEvents({"a", "new"}, dict.fromkeys(ALONE, frozenset({"new"})), ["p", "s"])
    table = EventTable(1, 0, EventVectors())
    found = reach_of(cast("LaneView", lane), table, near)
    assert found.patterns == {"p": ["a", "b"]}
    assert found.opposed == {"p": ["a", "b"], "s": ["b", "e", "c"]}
    assert table.methods == {"p": JOINT, "s": SITUATION}
