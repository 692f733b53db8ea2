"""Traits and reflections as callers see them: what an item of these kinds says, in the caller's words."""

from typing import Any

from phronesis.core.items import Item
from phronesis.core.relations import EvidenceRow
from phronesis.core.timestamps import isoformat
from phronesis.traits.laws.records import COUNTED, RefusedWish, cycle_of, not_due, told, trait_of
from phronesis.traits.laws.strength import TRAITS_FOLD
from unit.core.kept_lane import item_of, moment, piece

SPAN = {"start": isoformat(moment(0)), "end": isoformat(moment(14)), "days": 14}


def held(*rows: EvidenceRow, **data: Any) -> Item:
    full = {"subtype": "behavior", "context": "work", "first_observed": isoformat(moment(0)), **data}
    return TRAITS_FOLD(item_of("t", kind="trait", data=full), rows)


def test_a_trait_says_what_its_item_holds() -> None:
    rows = [piece("t", "a", at=0), piece("t", "b", at=5, grade="B"), piece("t", "c", at=6, polarity="contra"),
            piece("t", "e1", at=0, polarity="source")]  # fmt: skip
    item = held(*rows)
    found = trait_of(item, moment(6), evidence=rows, parents=["p"])
    assert (found.id, found.content, found.stage, found.subtype, found.context) == (
        "t", "words of t", "emerging", "behavior", "work",
    )  # fmt: skip
    assert found.confidence == item.confidence
    assert (found.facet, found.parent_ids, found.window, found.sides) == (None, ("p",), None, ())
    assert (found.first_observed, found.last_reinforced) == (moment(0), moment(5))
    assert (found.reinforcement_count, found.contradiction_count, found.expired_at) == (1, 1, None)
    assert [(row.memory_id, row.evidence_type, row.quality) for row in found.evidence] == [
        ("a", "supporting", None), ("b", "supporting", "B"), ("c", "contradicting", None),
    ]  # fmt: skip


def test_a_trend_has_a_window_in_the_place_of_a_confidence() -> None:
    found = trait_of(held(window=SPAN), moment(3))
    assert (found.stage, found.confidence, found.window, found.last_reinforced) == ("trend", None, SPAN, None)
    promoted = trait_of(held(piece("t", "b", at=5), piece("t", "c", at=6), window=SPAN), moment(6))
    assert (promoted.stage, promoted.confidence, promoted.window) == ("candidate", 0.3, None)


def test_what_ended_has_the_confidence_that_it_ended_with() -> None:
    lives = held(piece("t", "b", at=5))
    ended = lives.with_fields({"ended": "retracted", "valid_to": moment(6)})
    found = trait_of(ended, moment(500))
    assert (found.expired_at, found.confidence) == (moment(6), trait_of(lives, moment(6)).confidence)
    without_time = trait_of(lives.with_fields({"ended": "retracted"}), moment(6))
    assert (without_time.expired_at, without_time.confidence) == (None, found.confidence)
    assert trait_of(lives.with_fields({"valid_to": moment(6)}), moment(6)).expired_at is None  # it lives


def test_a_trait_is_plain_json_with_what_it_has_beside_an_item() -> None:
    side = trait_of(held(), moment(0))
    core = held(subtype="core", facet="value", begun={"confidence": 0.7, "cap": "emerging"})
    found = trait_of(core, moment(0), evidence=[piece("t", "a")], sides=[side]).to_dict()
    assert (found["subtype"], found["facet"], found["confidence"], found["stage"]) == ("core", "value", 0.7, "emerging")
    assert found["sides"][0]["confidence"] == 0.4
    assert found["evidence"][0]["memory_id"] == "a"
    assert found["first_observed"] == isoformat(moment(0))


def test_evidence_names_the_memory_and_what_it_says() -> None:
    row = piece("t", "key", at=2, grade="A", source_item_id="m1", source_entry_id="e0")
    bare = told(row)
    assert (bare.memory_id, bare.session_id, bare.content, bare.source_entry_id) == ("m1", None, None, "e0")
    full = told(row, item_of("m1", session_id="s"))
    assert (full.session_id, full.content, full.recorded_at, full.entry_id) == ("s", "words of m1", moment(2), "e2")
    assert told(piece("t", "key")).memory_id == "key"


def test_a_cycle_says_what_it_came_to() -> None:
    data = {
        "status": "completed", "trigger_type": "importance", "trigger_value": 31.0, "memories_scanned": 4,
        "traits_created": 1, "made_by": "rules/1", "spent": {"calls": 2, "tokens": 30, "cost": 0.5},
        "refused": [{"operation": "upgrades", "rule": "known", "reason": "it is there", "content": "Runs"}],
    }  # fmt: skip
    found = cycle_of(item_of("c", kind="cycle", data=data, user_id="alice"))
    assert (found.id, found.status, found.trigger_type, found.trigger_value) == ("c", "completed", "importance", 31.0)
    assert (found.memories_scanned, found.traits_created, found.traits_dissolved) == (4, 1, 0)
    assert (found.calls, found.tokens, found.cost, found.error, found.user_id) == (2, 30, 0.5, None, "alice")
    assert (found.started_at, found.completed_at) == (moment(0), moment(0))
    assert found.refused == (RefusedWish(operation="upgrades", rule="known", reason="it is there", content="Runs"),)


def test_a_round_that_was_skipped_was_not_completed() -> None:
    data = {"status": "failed", "trigger_type": "force", "error": "model.answer"}
    found = cycle_of(item_of("c", kind="cycle", data=data))
    assert (found.status, found.error, found.completed_at, found.started_at) == (
        "failed", "model.answer", None, moment(0),
    )  # fmt: skip
    assert [getattr(found, name) for name in COUNTED] == [0] * len(COUNTED)
    assert (found.refused, found.made_by, found.calls) == ((), "", 0)


def test_what_was_not_due_made_nothing() -> None:
    found = not_due("not_yet", 3.0)
    assert (found.id, found.status, found.trigger_type, found.trigger_value) == (None, "not_due", "not_yet", 3.0)
