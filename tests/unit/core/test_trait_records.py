"""Traits and reflections as callers see them: what an item of these kinds says, in the caller's words."""

from typing import Any

from phronesis.core.items import Item
from phronesis.core.relations import EvidenceRow
from phronesis.core.timestamps import isoformat
from phronesis.traits.laws.records import trait_of
from phronesis.traits.laws.strength import TRAITS_FOLD
from unit.core.kept_lane import item_of, moment, piece


def held(*rows: EvidenceRow, **data: Any) -> Item:
    full = {"subtype": "behavior", "context": "work", "first_observed": isoformat(moment(0)), **data}
    return TRAITS_FOLD(item_of("t", kind="trait", data=full), rows)


def test_a_trait_says_what_its_item_holds() -> None:
    rows = [
        piece("t", "a", at=0),
        piece("t", "b", at=5, grade="B"),
        piece("t", "c", at=6, polarity="contra"),
        piece("t", "e1", at=0, polarity="source"),
    ]
    item = held(*rows)
    found = trait_of(item, moment(6), evidence=rows, parents=["p"])
    assert (found.id, found.content, found.stage, found.subtype, found.context) == (
        "t",
        "words of t",
        "emerging",
        "behavior",
        "work",
    )
    assert found.confidence == item.confidence
    assert (found.facet, found.parent_ids, found.window, found.sides) == (None, ("p",), None, ())
    assert (found.first_observed, found.last_reinforced) == (moment(0), moment(5))
    assert (found.reinforcement_count, found.contradiction_count, found.expired_at) == (1, 1, None)
    assert [(row.memory_id, row.evidence_type, row.quality) for row in found.evidence] == [
        ("a", "supporting", None),
        ("b", "supporting", "B"),
        ("c", "contradicting", None),
    ]


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
