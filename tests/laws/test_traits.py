"""Traits: the stage never exceeds the cap, evidence moves confidence by its grade, and records say what items hold."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from phronesis.core.items import Item
from phronesis.core.relations import EvidenceRow
from phronesis.traits.laws.records import cycle_of, evidence_record, not_due, trait_of
from phronesis.traits.laws.strength import TRAITS_FOLD

AT = datetime(2026, 1, 1, tzinfo=UTC)
WINDOW = {"start": "2026-01-01T00:00:00Z", "end": "2026-01-10T00:00:00Z", "days": 9}


def day(number: float) -> datetime:
    return AT + timedelta(days=number)


def row(polarity: Any, at: float, *, source: str = "m", grade: str | None = "A") -> EvidenceRow:
    return EvidenceRow(
        item_id="t", polarity=polarity, source_key=f"{source}{at}", entry_id=f"e{at}", recorded_at=day(at), grade=grade
    )


def trait(*rows: EvidenceRow, ended: str | None = None, **data: Any) -> Item:
    item = Item(
        id="t",
        kind="trait",
        content="x",
        entry_id="e",
        recorded_at=AT,
        updated_at=AT,
        ended=ended,
        data={"subtype": "behavior", "context": "work", **data},
    )
    return TRAITS_FOLD(item, rows)


def test_the_record_of_a_trait() -> None:
    given = trait_of(trait(row("support", 1)), day(1), evidence=[row("support", 1), row("useful", 1)], parents=["p"])
    assert (given.subtype, given.context, given.facet, given.usefulness) == ("behavior", "work", None, 0.0)
    assert (given.parent_ids, given.reinforcement_count, given.contradiction_count) == (("p",), 1, 0)
    assert (given.window, given.first_observed, given.last_reinforced) == (None, None, day(1))
    assert [one.evidence_type for one in given.evidence] == ["supporting"]
    assert given.expired_at is None
    assert given.to_dict()["subtype"] == "behavior"
    trend = trait_of(trait(window=WINDOW), day(1))
    assert (trend.confidence, trend.window) == (None, WINDOW)
    faded = trait_of(trait(), day(100))
    assert faded.confidence == pytest.approx(0.4 * 2.718281828 ** (-0.005 * 100), abs=1e-6)
    ended = trait_of(trait(ended="dissolved"), day(100))
    assert ended.stage == "dissolved"
    assert evidence_record(row("contra", 1)).memory_id == "m1"


def test_the_record_of_a_reflection() -> None:
    data = {"status": "completed", "trigger_type": "force", "traits_created": 2, "spent": {"calls": 1, "tokens": 3}}
    made = Item(id="c", kind="cycle", content="x", entry_id="e", recorded_at=AT, updated_at=AT, data=data)
    found = cycle_of(made)
    assert (found.traits_created, found.memories_scanned, found.calls, found.tokens, found.cost) == (2, 0, 1, 3, 0.0)
    assert (found.started_at, found.completed_at, found.made_by, found.pending) == (AT, AT, "", False)
    failed = cycle_of(made.with_fields({"data.status": "failed", "data.spent": None, "data.error": "x"}))
    assert (failed.completed_at, failed.calls, failed.tokens, failed.error) == (None, 0, 0, "x")
    skipped = not_due("not_yet", 3.0)
    assert (skipped.id, skipped.status, skipped.trigger_type, skipped.trigger_value) == (
        None,
        "not_due",
        "not_yet",
        3.0,
    )
    assert (skipped.memories_scanned, skipped.cost, skipped.refused) == (0, 0.0, ())
