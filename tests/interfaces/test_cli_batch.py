"""``phronesis batch``: good, bad, repeated and conflicting rows, a report, a dry run, exit codes."""

import json
from pathlib import Path
from typing import Any

import pytest

from phronesis import Memory

HOLDS = "With Cu–Zn the selectivity of formate is at least 0.60."
BLOCK = (
    'RBMEM_CLAIMS_V1\nTOPIC=Cu–Zn\nCLAIMS_JSON=[{"claim_id":"c1","status":"hypothesis",'
    f'"facts":{{"source_run_ids":["x"]}},"inference":"{HOLDS}"}}]'
)
OUTPUT = {"M1": "Cu", "M2": "Zn", "atomic_ratio": "3:1", "modifier": "imidazole"}


def came(share: float, **said: str) -> dict[str, Any]:
    return {"products": [{"name": "formate", "value": 10 * share, "fraction": share}], **said}


PROS = "The total activity is at least 5. The fraction of formate is above 0.9."
ROWS: list[Any] = [
    {"run_id": "r1", "output": OUTPUT, "feedback": came(0.7)},
    {"run_id": "r2", "output": OUTPUT, "feedback": came(0.3), "learn": False},
    {"run_id": "r1", "output": OUTPUT, "feedback": came(0.7)},
    {"run_id": "r1", "output": OUTPUT, "raw": "another"},
    {"run_id": "r2", "learn": True},
    {"run_id": "r3", "raw": "later"},
    {"run_id": "r3", "feedback": came(0.8, pros=PROS)},
    {"run_id": "r9", "feedback": came(0.8)},
    {"raw": "without an id", "feedback": {"products": 1}},
    [1],
    {"raw": "without an id", "output": OUTPUT, "feedback": came(0.66)},
]
DONE = [
    (1, "recorded", "recorded", "recorded", None),
    (2, "recorded", "recorded", None, None),
    (3, "known", "known", "known", None),
    (4, None, None, None, ("conflict", "run_id")),
    (5, None, None, "recorded", None),
    (6, "recorded", None, None, None),
    (7, None, "recorded", "recorded", None),
    (8, None, None, None, ("not_found", "run_id")),
    (9, None, None, None, ("input.invalid", "feedback.products")),
    (10, None, None, None, ("input.invalid", "row")),
    (11, "recorded", "recorded", "recorded", None),
]


def written(rows: list[Any]) -> bytes:
    return "\n".join(json.dumps(row, ensure_ascii=False) for row in rows).encode()


@pytest.fixture
def bank(call: Any) -> str:
    call("add", "-", "--kind", "reasoning", "--user", "lin", stdin=BLOCK.encode())
    found: str = call("list", "--user", "lin", "--kind", "reasoning", "--json").json[0]["id"]
    return found


def report(path: Path) -> list[tuple[Any, ...]]:
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [
        (
            row["line"],
            row["run"],
            row["feedback"],
            row["learn"],
            row["error"] and (row["error"]["code"], row["error"]["field"]),
        )
        for row in rows
    ]


def standing(call: Any, bank: str) -> tuple[list[str], list[str]]:
    held = call("get", bank, "--json").json["data"]["standing"]["c1"]
    return sorted(held["support"]["run_ids"]), held["contra"]["run_ids"]


def test_each_row_is_told_of_and_none_stops_the_others(call: Any, bank: str, tmp_path: Path) -> None:
    told = tmp_path / "told.jsonl"
    done = call("runs", "batch", "-", "--user", "lin", "--report", str(told), stdin=written(ROWS))
    assert done.code == 1
    assert done.out.splitlines() == [
        "runs: 1 known already, 4 recorded",
        "feedback: 1 known already, 4 recorded",
        "learns: 1 known already, 4 recorded",
        "learned: 4 supports, 1 contras, 1 items added, 1 proposals not taken",
        "11 rows, 4 of them failed",
    ]
    assert [line.split(":")[0] for line in done.err.splitlines()] == ["line 4", "line 8", "line 9", "line 10"]
    assert report(told) == DONE
    assert [len(names) for names in standing(call, bank)] == [2, 1]

    again = call("runs", "batch", "-", "--user", "lin", "--report", str(told), stdin=written(ROWS))
    assert again.code == 1
    assert again.out.splitlines()[:3] == [
        "runs: 5 known already",
        "feedback: 5 known already",
        "learns: 5 known already",
    ]
    assert [row[4] for row in report(told)] == [row[4] for row in DONE]
    assert call("store", "rebuild", "--verify").code == 0


def test_a_dry_run_says_the_same_and_writes_nothing(call: Any, bank: str, tmp_path: Path, store: str) -> None:
    told = tmp_path / "told.jsonl"
    before = rows_of(store)
    done = call("runs", "batch", "-", "--user", "lin", "--dry-run", "--report", str(told), stdin=written(ROWS))
    assert done.code == 1
    assert "learned: " not in done.out
    assert "proposed: 1 items added, 1 proposals not taken" in done.out
    assert report(told) == [tuple("missing" if cell == "recorded" else cell for cell in row) for row in DONE]
    assert rows_of(store) == before
    call("runs", "batch", "-", "--user", "lin", stdin=written(ROWS))
    before = rows_of(store)
    call("runs", "batch", "-", "--user", "lin", "--dry-run", "--report", str(told), stdin=written(ROWS))
    assert {cell for row in report(told) for cell in row[1:4]} == {"known", None}
    assert rows_of(store) == before
    assert [len(names) for names in standing(call, bank)] == [2, 1]


def rows_of(store: str) -> dict[str, list[Any]]:
    """Give every row of every table."""
    with (
        Memory.open(store) as memory,
        memory.admin.components.database.transaction(memory.admin.tenant, "read") as unit,
    ):
        names = unit.driver.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall()
        return {name: unit.driver.execute(f'SELECT * FROM "{name}"').fetchall() for (name,) in names}


def test_a_list_a_byte_order_mark_and_other_ends_of_lines(call: Any, bank: str) -> None:
    rows = [{"run_id": f"r{n}", "output": OUTPUT, "feedback": came(0.7)} for n in range(3)]
    listed = call("runs", "batch", "-", "--user", "lin", "--json", stdin=json.dumps(rows, indent=2).encode()).json
    assert (listed["rows"], listed["failed"], listed["runs"]) == (3, 0, {"recorded": 3})
    windows = b"\xef\xbb\xbf" + written(rows).replace(b"\n", b"\r\n")
    again = call("runs", "batch", "-", "--user", "lin", "--json", stdin=windows).json
    assert (again["runs"], again["learns"]) == ({"known": 3}, {"known": 3})
    assert standing(call, bank) == (["r0", "r1", "r2"], [])


def test_mistakes_of_the_call(call: Any, tmp_path: Path) -> None:
    file = tmp_path / "runs.jsonl"
    file.write_bytes(written(ROWS))
    assert call("runs", "batch", str(tmp_path / "none.jsonl")).code == 2
    assert call("runs", "batch", str(file), "--report", str(file)).code == 2
    assert file.read_bytes() == written(ROWS)
    assert call("runs", "batch", str(file), "--user", "").code == 2
    assert call("runs", "batch", str(file), "--report", str(tmp_path / "none" / "x")).code == 1
