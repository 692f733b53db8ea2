"""The gate, measured on claims that somebody else labelled first (benchmarks/data/README.md)."""

import json
from typing import Any

import pytest

from labelled_texts import LABELLED_TEXTS
from phronesis.reasoning.claim_gate import gate
from unit.core.blocks import block, member

ROWS = [json.loads(line) for line in (LABELLED_TEXTS / "claims_gate.jsonl").read_text("utf-8").splitlines()]


def content(row: dict[str, Any]) -> str:
    if "content" in row:
        return str(row["content"])
    field, text = row["field"], row["text"]
    if field == "topic":
        return block(member(**row.get("extra", {})), topic=text)
    stated = [text] if field in ("conditions", "limitations") else text
    return block(member(**{field: stated, **row.get("extra", {})}))


def broken(row: dict[str, Any]) -> set[str]:
    return {violation.rule for violation in gate(content(row), row.get("status", "active"))}


@pytest.mark.slow
@pytest.mark.encoder
def test_what_is_refused_and_what_passes() -> None:
    rows = [row for row in ROWS if row["split"] == "test"]
    unlawful = [row for row in rows if not row["lawful"]]
    lawful = [row for row in rows if row["lawful"]]
    assert min(len(unlawful), len(lawful)) >= 50
    assert sum(row["rule"] in broken(row) for row in unlawful) >= 0.92 * len(unlawful)
    assert sum(not broken(row) for row in lawful) >= 0.96 * len(lawful)
