"""Law 11 on drawn histories: what a rollback restores, subtracts or refuses."""

from types import SimpleNamespace
from typing import Any, cast

from hypothesis import assume, given
from hypothesis import strategies as st

from phronesis.core.changes import Changes, Patch, as_of
from phronesis.core.items import BOOKKEEPING, flat_row
from phronesis.core.serialization import dumps
from phronesis.engine.rollback import find_undo, undo_handler
from unit.core.kept_lane import BIRTH, CHANGES, COUNTED, FOLDS, KeptLane, item_of, piece

HISTORIES = st.lists(CHANGES, min_size=1, max_size=6)
ENDING = {"status", "ended", "ended_by"}


def grown(history: list[Changes]) -> KeptLane:
    lane = KeptLane()
    lane.apply(BIRTH)
    for changes in history:
        lane.apply(changes)
    return lane


def roll_back(lane: KeptLane, target: str, *, cascade: bool = False) -> Changes:
    entry: Any = SimpleNamespace(id=f"e{lane.n + 1}", payload={"target_id": target, "cascade": cascade})
    changes = undo_handler(FOLDS).apply(cast("Any", lane), entry, {})
    lane.apply(changes)
    return changes


def blockers(lane: KeptLane, target: str) -> list[str]:
    undo = find_undo(cast("Any", lane), target, cascade=False, folds=FOLDS)
    return [delta.id for delta in undo.blockers] if undo is not None else []


@given(HISTORIES)
def test_the_newest_change_is_restored_exactly_and_so_is_its_undoing(history: list[Changes]) -> None:
    before = grown(history[:-1])
    lane = grown(history)
    after = lane.state()
    roll_back(lane, f"e{lane.n}")
    assert lane.state() == before.state()
    if lane.history and lane.history[-1].entry_id == f"e{lane.n}":
        roll_back(lane, f"e{lane.n}")
        assert lane.state() == after


@given(HISTORIES, st.data())
def test_an_older_change_is_subtracted_and_nothing_else(history: list[Changes], data: st.DataObject) -> None:
    lane = grown(history)
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


@given(HISTORIES, st.data())
def test_a_cascade_always_succeeds_and_leaves_what_was_before_the_oldest(
    history: list[Changes], data: st.DataObject
) -> None:
    lane = grown(history)
    n = data.draw(st.integers(2, lane.n))
    targets = lane.deltas_of_entry(f"e{n}")
    undo = find_undo(cast("Any", lane), f"e{n}", cascade=True, folds=FOLDS)
    assert (undo is None) == (not targets)
    roll_back(lane, f"e{n}", cascade=True)
    before = grown(history[: n - 2])
    for target in targets:
        restored, expected = (flat_row(one.held[target.item_id].to_row()) for one in (lane, before))
        assert all(
            restored.get(name) == expected.get(name)
            for name in target.patch
            if lane.held[target.item_id].kind != COUNTED or name not in FOLDS[COUNTED].fields
        )


@given(HISTORIES)
def test_a_creation_goes_with_all_that_stands_on_it_and_comes_back(history: list[Changes]) -> None:
    lane = grown(history)
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


@given(HISTORIES)
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
