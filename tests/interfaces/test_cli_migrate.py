"""The command that rewrites old memories: what it shows, what it does, and its exit code."""

import json
from pathlib import Path
from typing import Any

import pytest

ORDERS = "Next: try 2:1."


@pytest.fixture
def file(tmp_path: Path) -> str:
    rows = [{"id": "one", "content": "Zinc raises CO [C1]. Avoid acid."}, {"id": "two", "content": "锌提高选择性。"}]
    path = tmp_path / "old.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows), "utf-8")
    return str(path)


def test_a_file_is_shown_then_rewritten_then_known(call: Any, file: str) -> None:
    shown = call("migrate-memories", file, "--namespace", "lab", "--dry-run")
    assert shown.code == 0
    assert "-Zinc raises CO [C1]. Avoid acid." in shown.out
    assert "+TOPIC=Zinc raises CO" in shown.out
    assert "    without its alias: Zinc raises CO [C1]" in shown.out
    assert shown.out.endswith("2 would be rewritten\n")
    assert call("list", "--namespace", "lab", "--json").json == []
    done = call("migrate-memories", file, "--namespace", "lab", "--scope", "global")
    assert [line.split(" mem:")[0] for line in done.out.splitlines() if not line.startswith(" ")] == [
        "one: rewritten", "two: rewritten", "2 rewritten",
    ]  # fmt: skip
    again = call("migrate-memories", file, "--namespace", "lab", "--json").json
    assert again["counts"] == {"already": 2}
    assert [one["source"] for one in again["sources"]] == ["one", "two"]
    assert len(call("list", "--namespace", "lab", "--kind", "reasoning", "--json").json) == 2


def test_what_was_refused_gives_an_exit_code_and_its_rules(call: Any) -> None:
    call("add", ORDERS, "--kind", "procedure", "--user", "lin")
    refused = call("migrate-memories", "--user", "lin", "--kind", "procedure")
    assert refused.code == 1
    assert "left as they were" in refused.out
    assert "no_claim" in refused.out
    assert refused.out.endswith("1 left as they were\n")
    assert call("migrate-memories", "--user", "lin", "--kind", "fact").out == "there is nothing to rewrite\n"
    wrong = call("migrate-memories", "-", stdin=b"[7]")
    assert (wrong.code, "number 1 must be a JSON object" in wrong.err) == (2, True)
