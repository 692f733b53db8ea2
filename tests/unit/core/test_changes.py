"""Settling: what wishes come to, and that nothing depends on the order in which a database answers."""

import dataclasses
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from phronesis.core.changes import Changes, CurrentState, Fold, Patch, as_of, field_patch, settle
from phronesis.core.items import BOOKKEEPING, flat_row
from phronesis.core.serialization import dumps
from phronesis.engine.rollback import find_undo, undo_handler
from phronesis.errors import PhronesisError
from phronesis.recall.as_of import change_name
from unit.core.kept_lane import BIRTH, CHANGES, COUNTED, FOLDS, KeptLane, count, edge, item_of, moment, piece

HISTORIES = st.lists(CHANGES, max_size=6)


def grow_clusters(history: list[Changes], *, backwards: bool = False) -> KeptLane:
    lane = KeptLane()
    lane.apply(BIRTH)
    for changes in history:
        lane.apply(changes, backwards=backwards)
    return lane


@given(HISTORIES)
def test_the_order_in_which_rows_are_read_changes_nothing(history: list[Changes]) -> None:
    lane, other = grow_clusters(history), grow_clusters(history, backwards=True)
    assert lane.state() == other.state()
    assert lane.history == other.history


@given(HISTORIES, CHANGES)
def test_what_has_no_effect_gives_no_delta_and_what_has_gives_one(history: list[Changes], changes: Changes) -> None:
    lane = grow_clusters(history)
    before = lane.copy()
    settled = lane.apply(changes)
    for item_id, held in lane.held.items():
        differs = field_patch(before.held[item_id], held)
        evidence = {row for row in lane.evidence.values() if row.item_id == item_id} ^ {
            row for row in before.evidence.values() if row.item_id == item_id
        }
        edges = [row for row in lane.edges.values() if row.from_id == item_id] != [
            row for row in before.edges.values() if row.from_id == item_id
        ]
        deltas = [delta for delta in settled.deltas if delta.item_id == item_id]
        assert len(deltas) == bool(differs or evidence or edges)
        assert held.version == before.held[item_id].version + len(deltas)
        assert all(delta.patch == differs and delta.version == held.version for delta in deltas)


@given(HISTORIES)
def test_folded_fields_follow_from_the_evidence_that_is_left(history: list[Changes]) -> None:
    lane = grow_clusters(history)
    for item in lane.held.values():
        if item.kind == COUNTED:
            rows = [row for row in lane.evidence.values() if row.item_id == item.id]
            rows.sort(key=lambda row: (row.recorded_at, row.identity))
            assert item == item.with_fields(count(item, rows))


@given(HISTORIES, CHANGES)
def test_settling_what_was_settled_changes_nothing(history: list[Changes], changes: Changes) -> None:
    added = dataclasses.replace(changes, dropped_evidence=(), dropped_edges=(), edges=changes.edges[:1])
    lane = grow_clusters(history)
    lane.apply(added)
    before = lane.state()
    assert lane.apply(added).deltas == ()
    assert lane.state() == before


def test_creations_come_first_and_then_the_order_of_the_wishes() -> None:
    existing = CurrentState(items={name: item_of(name) for name in ("z", "a", "m")})
    changes = Changes(
        items=[item_of("new")],
        patches=[Patch("m", {"value": 1}, "second"), Patch("new", {"value": 2}, "made and marked")],
        evidence=[piece("z"), piece("new")],
        edges=[edge("a"), edge("m")],
    )
    settled = settle(changes, existing, entry_id="e", actor="me", at=moment(1))
    assert [(delta.item_id, delta.op, delta.n, delta.reason) for delta in settled.deltas] == [
        ("new", "create", 0, "made and marked"),
        ("m", "update", 1, "second"),
        ("z", "update", 2, "evidence"),
        ("a", "update", 3, "evidence"),
    ]
    assert [item.value for item in settled.created] == [2]
    assert settled.deltas[0].evidence_added == (piece("new").to_row(),)


def test_an_item_that_is_there_is_not_created_again() -> None:
    held = item_of("i1", value="held")
    settled = settle(
        Changes(items=[item_of("i1", value="again")]),
        CurrentState(items={"i1": held}),
        entry_id="e",
        actor="me",
        at=moment(1),
    )
    assert (settled.created, settled.updated, settled.deltas) == ((), (), ())


def test_a_fold_is_computed_at_creation_and_whenever_its_item_is_touched() -> None:
    lane = KeptLane()
    lane.apply(Changes(items=[item_of("i1", kind=COUNTED, importance=3)]))
    assert (lane.held["i1"].stage, lane.held["i1"].confidence) == ("0 pieces", 0.3)
    lane.apply(Changes(evidence=[piece("i1", "p", at=2), piece("i1", "q", at=1)]))
    assert lane.held["i1"].data["learned"] == ["q", "p"]  # in the order they were learned
    lane.apply(Changes(patches=[Patch("i1", {"importance": 9, "confidence": 0.0}, "edited")]))
    assert (lane.held["i1"].stage, lane.held["i1"].confidence) == ("2 pieces", 0.9)
    lane.apply(Changes(dropped_evidence=[piece("i1", "p"), piece("i1", "q")]))
    assert "learned" not in lane.held["i1"].data


def test_a_fold_gives_what_it_says() -> None:
    fold = Fold(frozenset({"stage", "label"}), lambda _item, _evidence: {"stage": "core"})
    with pytest.raises(PhronesisError, match="kind 'fact' gave"):
        fold(item_of("i1"), ())


def test_members_of_data_are_fields_of_their_own() -> None:
    before = item_of("i1", data={"a": 1, "b": {"c": 2}, "empty": None})
    after = before.with_fields({"data": {"b": {"c": 2}, "d": 4}})
    assert field_patch(before, after) == {"data.a": [1, None], "data.d": [None, 4]}
    assert field_patch(before, before.with_fields({"data.empty": None})) == {}


@pytest.mark.parametrize("there", [True, False])
def test_what_is_dropped_and_wished_in_one_is_replaced_or_stays(there: bool) -> None:
    lane = KeptLane()
    lane.apply(Changes(items=[item_of("i1"), item_of("i2")]))
    if there:
        lane.apply(Changes(evidence=[piece("i1", grade="A")], edges=[edge("i1", weight=0.5)]))
    before = lane.state()
    same = Changes(
        evidence=[piece("i1", grade="A")],
        dropped_evidence=[piece("i1")],
        edges=[edge("i1", weight=0.5)],
        dropped_edges=[edge("i1")],
    )
    settled = lane.apply(same)
    assert (lane.state() == before, len(settled.deltas)) == (there, not there)
    other = Changes(
        evidence=[piece("i1", grade="B")],
        dropped_evidence=[piece("i1")],
        edges=[edge("i1", weight=0.7)],
        dropped_edges=[edge("i1")],
    )
    delta = lane.apply(other).deltas[0]
    assert [row["grade"] for row in (*delta.evidence_removed, *delta.evidence_added)] == ["A", "B"]
    assert [row["weight"] for row in (*delta.edges_removed, *delta.edges_added)] == [0.5, 0.7]


def test_counted_evidence_is_not_counted_again() -> None:
    lane = KeptLane()
    lane.apply(Changes(items=[item_of("i1", kind=COUNTED)], evidence=[piece("i1"), piece("i1", grade="A")]))
    assert lane.apply(Changes(evidence=[piece("i1", at=5, grade="B")])).deltas == ()
    assert lane.held["i1"].stage == "1 pieces"
    assert FOLDS[COUNTED].fields == {"stage", "confidence", "data.learned"}


# What a change came to, in one word.


FOR = {"polarity": "support"}
AGAINST = {"polarity": "contra"}


def test_a_change_is_told_in_one_word() -> None:
    cases: list[tuple[Mapping[str, Sequence[Any]], list[Any], list[Any], str]] = [
        ({"ended": (None, "dissolved"), "content": ("a", "b")}, [], [], "dissolved"),
        ({"quarantine": (None, "override")}, [], [], "quarantined"),
        ({"quarantine": ("override", None)}, [], [], "released"),
        ({"status": ("archived", "active")}, [], [], "restored"),
        ({"content": ("a", "b"), "stage": ("emerging", "core")}, [], [], "modified"),
        ({"stage": ("core", "emerging")}, [AGAINST], [], "demoted"),
        ({"confidence": (0.4, 0.5)}, [AGAINST, FOR], [], "reinforced"),
        ({"confidence": (0.5, 0.4)}, [AGAINST], [], "contradicted"),
        ({"confidence": (0.5, 0.4)}, [], [FOR], "unsupported"),
    ]
    for fields, added, removed, word in cases:
        assert change_name("update", fields, added, removed) == word, fields


# Law 11 on drawn histories: what a rollback restores, subtracts or refuses.


GROWN = st.lists(CHANGES, min_size=1, max_size=6)
ENDING = {"status", "ended", "ended_by"}


def roll_back(lane: KeptLane, target: str, *, cascade: bool = False) -> Changes:
    entry: Any = SimpleNamespace(id=f"e{lane.n + 1}", payload={"target_id": target, "cascade": cascade})
    changes = undo_handler(FOLDS).apply(cast("Any", lane), entry, {})
    lane.apply(changes)
    return changes


def blockers(lane: KeptLane, target: str) -> list[str]:
    undo = find_undo(cast("Any", lane), target, cascade=False, folds=FOLDS)
    return [delta.id for delta in undo.blockers] if undo is not None else []


@given(GROWN)
def test_the_newest_change_is_restored_exactly_and_so_is_its_undoing(history: list[Changes]) -> None:
    before = grow_clusters(history[:-1])
    lane = grow_clusters(history)
    after = lane.state()
    roll_back(lane, f"e{lane.n}")
    assert lane.state() == before.state()
    if lane.history and lane.history[-1].entry_id == f"e{lane.n}":
        roll_back(lane, f"e{lane.n}")
        assert lane.state() == after


@given(GROWN, st.data())
def test_an_older_change_is_subtracted_and_nothing_else(history: list[Changes], data: st.DataObject) -> None:
    lane = grow_clusters(history)
    updates = [delta for delta in lane.history if delta.op == "update"]
    assume(updates)
    target = data.draw(st.sampled_from(updates))
    before = lane.copy()
    stand_in_the_way = blockers(lane, target.id)
    roll_back(lane, target.id)
    if stand_in_the_way:
        assert lane.state() == before.state()
        return
    folded = FOLDS[COUNTED].fields if lane.held[target.item_id].kind == COUNTED else frozenset()
    for item_id, item in lane.held.items():
        old, new = flat_row(before.held[item_id].to_row()), flat_row(item.to_row())
        mine = item_id == target.item_id
        for name in (old.keys() | new.keys()) - BOOKKEEPING - (folded if mine else frozenset()):
            expected = target.patch[name][0] if mine and name in target.patch else old.get(name)
            assert new.get(name) == expected
    assert _rows(lane.evidence.values()) == _subtracted(
        _rows(before.evidence.values()), target.evidence_added, target.evidence_removed
    )
    assert _rows(lane.edges.values()) == _subtracted(
        _rows(before.edges.values()), target.edges_added, target.edges_removed
    )


@given(GROWN, st.data())
def test_a_cascade_always_succeeds_and_leaves_what_was_before_the_oldest(
    history: list[Changes], data: st.DataObject
) -> None:
    lane = grow_clusters(history)
    n = data.draw(st.integers(2, lane.n))
    targets = lane.deltas_of_entry(f"e{n}")
    undo = find_undo(cast("Any", lane), f"e{n}", cascade=True, folds=FOLDS)
    assert (undo is None) == (not targets)
    roll_back(lane, f"e{n}", cascade=True)
    before = grow_clusters(history[: n - 2])
    for target in targets:
        restored, expected = (flat_row(one.held[target.item_id].to_row()) for one in (lane, before))
        assert all(
            restored.get(name) == expected.get(name)
            for name in target.patch
            if lane.held[target.item_id].kind != COUNTED or name not in FOLDS[COUNTED].fields
        )


@given(GROWN)
def test_a_creation_goes_with_all_that_stands_on_it_and_comes_back(history: list[Changes]) -> None:
    lane = grow_clusters(history)
    before = lane.state()
    creation = next(delta for delta in lane.history if delta.item_id == "i3")
    assert blockers(lane, creation.id) == [
        delta.id for delta in lane.history[::-1] if delta.item_id == "i3" and delta.op == "update"
    ]
    roll_back(lane, creation.id, cascade=True)
    gone = lane.held["i3"]
    assert (gone.status, gone.ended, gone.ended_by, gone.live) == ("archived", "retracted", f"e{lane.n}", False)
    assert not any(row.item_id == "i3" for row in lane.evidence.values())
    born = BIRTH.items[2].with_fields({"stage": "0 pieces", "confidence": 0.5})
    fields = set(gone.to_row()) - ENDING - BOOKKEEPING
    assert all(gone.to_row()[name] == born.to_row()[name] for name in fields)
    roll_back(lane, f"e{lane.n}")
    assert lane.state() == before


@given(GROWN)
def test_an_earlier_version_is_what_was_known_then(history: list[Changes]) -> None:
    lane = KeptLane()
    lane.apply(BIRTH)
    versions = [dict(lane.held)]
    for changes in history:
        lane.apply(changes)
        versions.append(dict(lane.held))
    for n, held in enumerate(versions, start=1):
        for item_id, known in held.items():
            later = [delta for delta in lane.deltas([item_id])[item_id] if int(delta.entry_id[1:]) > n]
            found = as_of(lane.held[item_id], later[::-1])
            assert {**found.to_row(), "updated_at": 0} == {**known.to_row(), "updated_at": 0}


def test_what_was_erased_since_is_passed_over() -> None:
    lane = KeptLane()
    lane.apply(Changes(items=[item_of("i1"), item_of("i2", value=0)]))
    lane.apply(Changes(patches=[Patch("i1", {"value": 1}, ""), Patch("i2", {"value": 1}, "")], evidence=[piece("i1")]))
    del lane.held["i1"]
    lane.evidence.clear()
    roll_back(lane, "e2")
    assert (lane.held["i2"].value, lane.evidence) == (0, {})


def _rows(rows: Any) -> list[str]:
    return sorted(dumps(row if isinstance(row, dict) else row.to_row()) for row in rows)


def _subtracted(rows: list[str], added: Any, removed: Any) -> list[str]:
    return sorted([*(row for row in rows if row not in _rows(added)), *_rows(removed)])


def test_two_learnings_with_different_evidence_do_not_conflict_though_both_moved_the_fold() -> None:
    lane = KeptLane()
    lane.apply(Changes(items=[item_of("i1", kind=COUNTED)]))
    lane.apply(Changes(evidence=[piece("i1", "first", at=2)]))
    lane.apply(Changes(evidence=[piece("i1", "second", at=3)]))
    assert "stage" in lane.history[1].patch
    assert "stage" in lane.history[2].patch
    roll_back(lane, "e2")
    assert (lane.held["i1"].stage, lane.held["i1"].data) == ("1 pieces", {"learned": ["second"]})


def test_the_same_field_of_a_kind_without_a_fold_does_conflict() -> None:
    lane = KeptLane()
    lane.apply(Changes(items=[item_of("i1"), item_of("i2", kind=COUNTED)]))
    lane.apply(Changes(patches=[Patch("i1", {"stage": "a"}, "")]))
    lane.apply(Changes(patches=[Patch("i1", {"stage": "b"}, "")]))
    assert blockers(lane, "e2") == [lane.history[-1].id]
    roll_back(lane, "e2")
    assert lane.held["i1"].stage == "b"
    roll_back(lane, "e2", cascade=True)
    assert lane.held["i1"].stage is None
