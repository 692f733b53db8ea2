"""Runs and learns as callers see them, as JSON."""

from datetime import UTC, datetime

from phronesis.reasoning.laws.item_records import ClaimSeen, Dropped, Judged, LearnResult, MemoryUse, RunRecord


def test_a_learn_is_json() -> None:
    judged = Judged(
        item_id="i",
        claim_id="c1",
        verdict="contra",
        by="rule",
        before="conclusion",
        after="hypothesis",
        counted="contra",
        support=3,
        contra=2,
    )
    dropped = Dropped(action="add", item_id=None, content="x", violations=({"rule": "protocol"},), made_by="m")
    told = LearnResult(entry_id="e", run_id="r", judged=(judged,), dropped=(dropped,)).to_dict()
    assert told["judged"][0]["after"] == "hypothesis"
    assert told["dropped"] == [
        {"action": "add", "item_id": None, "content": "x", "violations": [{"rule": "protocol"}], "made_by": "m"}
    ]
    assert (told["added"], told["facts"], told["pending"]) == ([], {}, False)


def test_a_run_is_json() -> None:
    seen = MemoryUse("i", "mem_search", (ClaimSeen("c1", "words", 0.25),))
    run = RunRecord(
        run_id="r",
        output={},
        raw="x",
        trace={"memories": (seen,)},
        memory_ids=("i",),
        feedback=None,
        facts={},
        learned=(),
        item_id="j",
        entry_id="e",
        recorded_at=datetime(2026, 1, 1, tzinfo=UTC),
        status="active",
    )
    told = run.to_dict()
    assert told["recorded_at"] == "2026-01-01T00:00:00Z"
    [memory] = told["trace"]["memories"]
    assert memory["matched_claims"] == [{"claim_id": "c1", "snippet": "words", "distance": 0.25}]
