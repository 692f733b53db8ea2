"""The command that rewrites old memories: what it shows, what it does, and its exit code."""

import json
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def file(tmp_path: Path) -> str:
    rows = [{"id": "one", "content": "Zinc raises CO [C1]. Avoid acid."}, {"id": "two", "content": "锌提高选择性。"}]
    path = tmp_path / "old.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows), "utf-8")
    return str(path)


def test_a_file_is_shown_then_rewritten_then_known(call: Any, file: str) -> None:
    shown = call("store", "migrate-memories", file, "--namespace", "lab", "--dry-run")
    assert shown.code == 0
    assert "-Zinc raises CO [C1]. Avoid acid." in shown.out
    assert "+TOPIC=Zinc raises CO" in shown.out
    assert "    without its alias: Zinc raises CO [C1]" in shown.out
    assert shown.out.endswith("2 would be rewritten\n")
    assert call("list", "--namespace", "lab", "--json").json == []
    done = call("store", "migrate-memories", file, "--namespace", "lab", "--scope", "global")
    lines = [line.split()[:2] for line in done.out.splitlines() if not line.startswith(" ")]
    assert lines == [["one:", "rewritten"], ["two:", "rewritten"], ["2", "rewritten"]]
    again = call("store", "migrate-memories", file, "--namespace", "lab", "--json").json
    assert again["counts"] == {"already": 2}
    assert [one["source"] for one in again["sources"]] == ["one", "two"]
    assert len(call("list", "--namespace", "lab", "--kind", "reasoning", "--json").json) == 2
