"""The labelled table of old memories, and what of a row a rewriting gets wrong."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from labelled_texts import LABELLED_TEXTS
from phronesis.reasoning.migration_rewriting import OldMemory, Rewriting

ROWS: list[dict[str, Any]] = [
    json.loads(line) for line in (LABELLED_TEXTS / "free_text_memories.jsonl").read_text("utf-8").splitlines()
]


def memory_of(row: dict[str, Any]) -> OldMemory:
    return OldMemory(text=row["content"], origin=row["id"], title=row.get("title", ""), run_ids=row.get("run_ids", ()))


def faults(row: dict[str, Any], made: Rewriting) -> Iterator[str]:
    expect = row["expect"]
    if "refused" in expect:
        if [one.rule for one in made.violations] != [expect["refused"]] or made.blocks:
            yield f"refused by {[one.rule for one in made.violations]}"
        return
    if made.violations:
        yield f"refused: {made.violations}"
    claims = [claim for block in made.blocks for claim in block.claims]
    words = "\n".join(
        text for claim in claims for text in (claim.inference, claim.constraint, *claim.conditions, *claim.limitations)
    )
    found = {
        "blocks": len(made.blocks),
        "claims": len(claims),
        "facts": sum(claim.status == "fact" for claim in claims),
        "taken_out": dict(Counter(one.why for one in made.taken_out)),
    }
    yield from (f"{name}: {value}, not {expect[name]}" for name, value in found.items() if value != expect[name])
    yield from (f"lost: {text}" for text in expect["must"] if text not in words)
    yield from (f"kept: {text}" for text in expect["must_not"] if text in words)
    for name in ("conditions", "limitations"):
        had = {text for claim in claims for text in getattr(claim, name)}
        yield from (f"{name}: no {text!r} in {had}" for text in expect[name] if text not in had)
    constraints = [claim.constraint for claim in claims if claim.constraint]
    for avoided in expect["avoid"]:
        if not any(one.startswith("avoid[") and avoided in one for one in constraints):
            yield f"no avoid[{avoided}] in {constraints}"
    if len(constraints) != len(expect["avoid"]):
        yield f"{len(constraints)} constraints: {constraints}"
    if "topic" in expect and made.blocks[0].topic != expect["topic"]:
        yield f"topic {made.blocks[0].topic!r}"
