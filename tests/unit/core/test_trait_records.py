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
