"""The commands of the reasoning bank, and the usual ones on items of it."""

import json
from pathlib import Path
from typing import Any

import pytest

LAWFUL = (
    'RBMEM_CLAIMS_V1\nTOPIC=Cu\nCLAIMS_JSON=[{"claim_id":"c1","status":"hypothesis",'
    '"facts":{"source_run_ids":["r1"]},"inference":"Copper binds formate."}]'
)
WRONG = LAWFUL.replace("hypothesis", "verified").replace("formate", "[C12]")


@pytest.fixture
def added(call: Any) -> str:
    """Return the id of an item that was added."""
    identity: str = call("add", "-", "--kind", "reasoning", "--user", "lin", "--json", stdin=LAWFUL.encode()).json["id"]
    return identity


def test_what_is_broken_is_listed_with_its_place(call: Any) -> None:
    checked = call("learn", "check-claims", "-", stdin=WRONG.encode())
    assert checked.code == 1
    first, second = checked.out.splitlines()
    assert first.startswith("line 3 claim_status claim c1: claims[0].status must be one of fact,")
    assert second.startswith("line 3 kb_alias claim c1: ")
    checked = call("learn", "check-claims", "--json", "--status", "gone", stdin=WRONG.encode())
    assert (checked.code, [row["rule"] for row in json.loads(checked.out)]) == (
        1,
        ["claim_status", "item_status", "kb_alias"],
    )
    assert call("learn", "check-claims", stdin=b"\xff").code == 2


def test_a_refused_block_is_told_of_line_by_line(call: Any) -> None:
    refused = call("add", WRONG, "--kind", "reasoning")
    assert (refused.code, refused.out) == (2, "")
    assert [line.split(": ")[1] for line in refused.err.splitlines()] == [
        "line 3 claim_status claim c1",
        "line 3 kb_alias claim c1",
    ]
    refused = call("add", LAWFUL, "--kind", "reasoning", "--subject", "Cu")
    assert (refused.code, "--subject has no place here" in refused.err) == (2, True)


def test_the_usual_commands_work_on_it(call: Any, added: str) -> None:
    assert call("get", added).out.startswith("RBMEM_CLAIMS_V1\nTOPIC=Cu\nCLAIMS_JSON=[{")
    assert "Copper binds formate." in call("search", "copper", "--user", "lin").out
    new = LAWFUL.replace("Copper", "Zinc")
    assert call("update", added, "-", stdin=new.encode()).out.startswith(f"{added[-8:]}  v2  active  RBMEM_CLAIMS_V1")
    assert call("update", added, WRONG).code == 2
    last = call("memory", "history", added, "--json").json[-1]
    assert last["verb"] == "update_reasoning"
    call("rollback", last["delta_id"])
    assert "Copper" in call("get", added, "--json").json["content"]
    assert call("list", "--user", "lin", "--kind", "reasoning", "--json").json[0]["id"] == added


# The command that rewrites old memories: what it shows, what it does, and its exit code.


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
