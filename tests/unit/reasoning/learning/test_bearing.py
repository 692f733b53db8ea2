"""What a run does to an item: what leaves it, and what may not."""

from datetime import UTC, datetime
from typing import Any

from phronesis.core.changes import Changes
from phronesis.core.entries import Entry
from phronesis.core.items import Item
from phronesis.core.relations import Edge, EvidenceRow
from phronesis.reasoning.claim_effects import ItemEffects
from phronesis.reasoning.laws.claim_status import CLAIMS_FOLD, current_block, written_of
from phronesis.reasoning.laws.records import Claim, ReasoningBlock

AT = datetime(2026, 1, 1, tzinfo=UTC)


ENTRY = Entry("e2", 1, 2, "learn", 1, "agent", AT, {})


RUN = Item(id="run", kind="run", content="r2", entry_id="e1", recorded_at=AT, updated_at=AT, run_id="r2")


def claim(claim_id: str, status: Any = "hypothesis") -> Claim:
    return Claim(claim_id=claim_id, status=status, facts={"source_run_ids": ["x"]}, inference=f"It holds, {claim_id}.")


def evidence(part: str, polarity: Any, run_id: str = "r1") -> EvidenceRow:
    return EvidenceRow(item_id="i", part=part, polarity=polarity, source_key=run_id, entry_id="e1", recorded_at=AT)


def held(*rows: EvidenceRow) -> Item:
    data = {
        name: value for name, value in written_of(ReasoningBlock(claims=(claim("c1"), claim("c2")))).items() if value
    }
    item = Item(id="i", kind="reasoning", content="", entry_id="e0", recorded_at=AT, updated_at=AT, data=data)
    return CLAIMS_FOLD(item, rows)


def said(claim_id: str, verdict: str, **more: Any) -> dict[str, Any]:
    return {"claim_id": claim_id, "verdict": verdict, "by": "rule", **more}


def bear(rows: list[dict[str, Any]], *before: EvidenceRow, proposed: Any = None, edges: Any = None) -> Changes:
    return ItemEffects(ENTRY, RUN, held(*before), rows, edges or {}).on_held(proposed, before)


def left(changes: Changes, *before: EvidenceRow) -> list[str]:
    [patch] = changes.patches
    return [one.claim_id for one in current_block(held(*before).with_fields(patch.fields)).claims]


PLAINLY_WRONG_LEAVES: list[tuple[list[EvidenceRow], str, list[str]]] = [
    ([evidence("c1", "contra")], "contra", ["c2"]),
    ([], "contra", ["c1", "c2"]),
    ([evidence("c1", "contra"), evidence("c1", "contra", "r0")], "support", ["c1", "c2"]),
    ([evidence("c1", "contra"), evidence("c1", "support", "r2")], "contra", ["c1", "c2"]),
]


def test_what_is_plainly_wrong_leaves_with_two_against_it() -> None:
    for before, verdict, stays in PLAINLY_WRONG_LEAVES:
        rows = [said("c1", verdict, delete="wrong"), said("c2", "support")]
        assert left(bear(rows, *before), *before) == stays, before


def test_a_new_claim_counts_the_run_too() -> None:
    block = ReasoningBlock(claims=(claim("c1"), claim("c2"), claim("c3")))
    changes = bear([said("c3", "support"), said("c1", "support")], proposed=block)
    assert [(row.part, row.polarity, row.origin) for row in changes.evidence] == [
        ("c1", "support", "rule"),
        ("c3", "support", "rule"),
    ]


def test_what_a_model_showed_stands_on_the_edge_beside_what_it_showed_before() -> None:
    known = Edge(
        type="supports",
        from_kind="item",
        from_id="i",
        to_kind="item",
        to_id="run",
        entry_id="e1",
        data={"claims": {"c2": {"model": "m", "reason": "then"}}},
    )
    row = {**said("c1", "support"), "by": "model", "model": "m", "quote": "q"}
    changes = bear([row, said("c2", "support")], evidence("c2", "support", "r2"), edges={("i", "supports"): known})
    [edge] = changes.edges
    assert edge.data == {"claims": {"c1": {"model": "m", "quote": "q"}, "c2": {"model": "m", "reason": "then"}}}
    assert edge.origin == "model"
    assert [row.origin for row in changes.evidence] == ["model"]
