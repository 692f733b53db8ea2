"""Blocks of claims, a lane to keep them in, and what tests ask of both."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from phronesis import Item, Memory
from phronesis.core.ids import LaneName
from phronesis.engine.edits import Call
from phronesis.engine.writer import Writer, WriteResult
from phronesis.reasoning.laws.block_format import parse
from phronesis.store.documents import DocumentRow, documents_of_items
from phronesis.store.lanes import find_lane

COPPER = {
    "claim_id": "c1",
    "status": "hypothesis",
    "facts": {"source_run_ids": ["r1"], "b": {"z": 1, "a": 0.61}},
    "inference": "Formate comes from *OCHO on copper next to titanium. The rest is noise.",
    "constraint": "avoid[Cu:Ti above 3:1]",
    "conditions": ["imidazole as modifier"],
    "limitations": ["two runs"],
    "support": {"count": 3, "run_ids": ["r1"], "note": "two by hand"},
    "weight": 0.5,
}
CHINESE = {
    "claim_id": "c2",
    "status": "fact",
    "facts": {"source_run_ids": ["r2"]},
    "inference": "三比一时甲酸占比为 0.41。其他产物没有变化。",
}
USER = "lin"


def block(*claims: Any, topic: str = "Cu and formate", scope: str | None = "tio2_expert", more: str = "") -> str:
    lines = [
        "RBMEM_CLAIMS_V1",
        f"TOPIC={topic}",
        *([f"SCOPE={scope}"] if scope is not None else []),
        *filter(None, [more]),
    ]
    return "\n".join([*lines, "CLAIMS_JSON=" + json.dumps(claims, ensure_ascii=False)])


def added(memory: Memory, *claims: Any, **given: Any) -> Item:
    item = memory.reasoning.add(block(*claims, **given), user_id=USER).item
    assert item is not None
    return item


def judge(memory: Memory, run_id: str, item_id: str, **judgements: str) -> str:
    rows = [{"item_id": item_id, "claim_id": claim, "judgement": said} for claim, said in judgements.items()]
    call = Call("acme", "tester")
    writer = memory.admin.components.writer
    return record_verdict(writer, call, LaneName("user", USER), run_id=run_id, judgements=rows).entry.id


def record_verdict(
    writer: Writer, call: Call, lane: LaneName | int, *, run_id: str, judgements: Sequence[Mapping[str, Any]]
) -> WriteResult:
    """Write an entry of the verb ``verdict``, as logs of older versions hold."""
    payload = {"run_id": run_id, "judgements": list(judgements)}
    return writer.write(call.tenant, lane, verb="verdict", payload=payload, actor=call.actor)


def shown(memory: Memory, item_id: str, claim_id: str = "c1") -> tuple[Any, ...]:
    """Status, support and contra of a claim as the item's block says them."""
    found = next(claim for claim in parse(memory.get(item_id).content).claims if claim.claim_id == claim_id)
    return found.status, (found.support.count, *found.support.run_ids), (found.contra.count, *found.contra.run_ids)


def indexed(memory: Memory, item_id: str) -> dict[str, str | None]:
    """The current search documents of an item."""
    return {row.part: row.text for row in stored(memory, item_id) if row.current_to is None}


def stored(memory: Memory, item_id: str) -> list[DocumentRow]:
    with memory.admin.components.database.transaction("acme", "read") as unit:
        lane = find_lane(unit, LaneName("user", USER))
        assert lane is not None
        return documents_of_items(unit, lane.lane_id, [item_id])


def verified(memory: Memory) -> bool:
    result = memory.admin.rebuild(verify=True)
    assert result.differences == ()
    return result.equal
