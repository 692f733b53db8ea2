"""The commands of experience: from real output to an answer whose every line names its file and lines."""

import json
from pathlib import Path

import pytest

from interfaces.conftest import Call

DATA = Path(__file__).parents[1] / "unit" / "experience" / "sources" / "data"


@pytest.mark.slow
def test_from_lean_output_to_an_answer(call: Call) -> None:
    files = [str(path) for path in sorted(DATA.glob("lean_*.txt"))]
    told = call("learn", "ingest", "--source", "lean", *files)
    assert told.code == 0
    assert "missing_lemma" in told.out
    assert "lean_lake_1.txt#L12" in told.out
    grouped = call("learn", "aggregate")
    assert "new: failure" in grouped.out
    assert "rollback" in grouped.out
    assert call("learn", "aggregate").out.strip() == "nothing new to group"
    drawn = call("learn", "abstract")
    assert "if: " in drawn.out
    assert "because: " in drawn.out
    answer = call("learn", "query", "unknown constant", "--limit", "3")
    assert answer.code == 0
    for section in ("events", "patterns", "principles", "avoid"):
        assert f"\n{section}\n" in f"\n{answer.out}"
    assert ".txt#L" in answer.out
    full = call("learn", "query", "unknown constant", "--label", "failure", "--json").json
    assert all(".txt#L" in one["sources"][0]["source_ref"] for one in full["l1_evidence"])


def test_records_are_taken_in_once(call: Call, tmp_path: Path) -> None:
    rows = [{"attempt": f"step {n}", "source_ref": f"r:{n}", "label": "success"} for n in range(3)]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    for name in ("rows.jsonl", "rows.json", "rows.jsonl"):
        assert "3 events: 3 success" in call("learn", "ingest", str(tmp_path / name)).out
    assert len(call("list", "--kind", "l1", "--json").json) == 3
    wrong = call("learn", "ingest", "-", stdin=b"no json")
    assert (wrong.code != 0, wrong.err.count("\n")) == (True, 1)
    assert "--source" in wrong.err


def test_feedback_and_forgetting(call: Call) -> None:
    stdin = json.dumps([{"attempt": "tried it", "source_ref": "r", "label": "failure"}]).encode()
    ((event, _),) = call("learn", "ingest", "-", "--json", stdin=stdin).json
    said = call("learn", "feedback", event["id"], "label", "--value", "success", "--reason", "it had worked")
    assert said.code == 0
    assert "success" in said.out
    assert call("learn", "feedback", event["id"][-8:], "label", "--value", "great").code != 0
    for value in ('["0000"]', '[["0000"]]', '"0000"'):
        assert "ends with 0000" in call("learn", "feedback", event["id"], "split", "--value", value).err
    assert call("memory", "forget", "--dry-run").out.strip() == "nothing is to be forgotten"
    assert "no attempt was found" in call("learn", "ingest", "--source", "log", "-", stdin=b"hello").out


def test_the_source_of_an_event_is_shown(call: Call) -> None:
    notes = "Monday\n\nTried: oiled the hinge\nResult: it worked\n"
    ((event, _),) = call("learn", "ingest", "-", "--source", "manual", "--json", stdin=notes.encode()).json
    told = call("resources", "source", event["id"])
    assert "     3  Tried: oiled the hinge" in told.out
    assert "Monday" not in told.out
    assert "     1  Monday" in call("resources", "source", event["source_ref"], "--whole").out
    stdin = json.dumps([{"attempt": "x", "source_ref": "r", "payload": {"raw": "深"}}]).encode()
    call("learn", "ingest", "-", stdin=stdin)
    assert '"raw": "深"' in call("resources", "source", "r").out
    assert call("resources", "source", "r", "--json").json["payload"] == {"raw": "深"}
    stdin = json.dumps([{"attempt": "y", "source_ref": "beef", "payload": {"n": 1}}]).encode()
    call("learn", "ingest", "-", stdin=stdin)
    assert '"n": 1' in call("resources", "source", "beef").out  # a reference, though it could be a part of an id
    missing = call("resources", "source", "nowhere.log")
    assert (missing.code != 0, missing.err.count("\n")) == (True, 1)
