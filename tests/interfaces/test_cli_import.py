"""``phronesis import --format``: other programs' exports, on the command line."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

import exports
from phronesis.importers import FORMATS
from phronesis.interfaces.cli import upkeep


def test_an_export_is_counted_and_taken_in(call: Any, tmp_path: Path) -> None:
    path = str(exports.written(tmp_path / "conversations.json", [exports.chatgpt_conversation()]))
    arguments = ("import", path, "--format", "chatgpt", "--user", "lin")
    assert call(*arguments, "--dry-run").out.startswith("2 would be imported, 0 known already, 2 skipped, 0 failed\n")
    shown = call(*arguments)
    assert shown.code == 0, shown.err
    assert "    skipped: 1 × content of type thoughts\n" in shown.out
    assert call(*arguments, "--json").json["known"] == 2
    assert "花生" in call("search", "过敏", "--user", "lin").out


def test_what_could_not_be_taken_in_is_told(call: Any, tmp_path: Path) -> None:
    late = [{"id": "b", "memory": "from the future", "created_at": "2999-01-01T00:00:00Z"}]
    shown = call("store", "import", str(exports.written(tmp_path / "all.json", late)), "--format", "mem0")
    assert shown.code == 1
    assert "mem0:b: occurred_at" in shown.err


def test_the_format_is_told_by_the_content_and_a_wrong_one_is_refused(call: Any, tmp_path: Path) -> None:
    given = {
        "chatgpt": exports.written(tmp_path / "a.json", [exports.chatgpt_conversation()]),
        "claude": exports.written(tmp_path / "b.json", [exports.claude_conversation()]),
        "mem0": exports.written(tmp_path / "c.json", {"results": [{"id": "1", "memory": "likes tea"}]}),
        "langgraph": exports.written(tmp_path / "d.json", [{"namespace": ["a"], "key": "k", "value": {"text": "tea"}}]),
    }
    for name, path in given.items():
        other = "mem0" if name != "mem0" else "claude"
        refused = call("store", "import", str(path), "--format", other)
        assert (refused.code, refused.out) == (2, "")
        assert f"{path.name} is not of the format {other} but of {name}; name {name}. Expected is " in refused.err
        assert call("list", "--across", "tenant", "--json").json == []
    for path in given.values():
        assert call("store", "import", str(path), "--dry-run").out.split()[1:4] == ["would", "be", "imported,"]
    call("add", "tea")
    log = tmp_path / "log.jsonl"
    call("store", "export", str(log))
    assert "phronesis" in call("store", "import", str(log), "--format", "git").err
    notes = tmp_path / "notes.json"
    notes.write_text('{"a": 1}', "utf-8")
    assert "notes.json is not of a known format" in call("store", "import", str(notes)).err
    refused = call("store", "import", str(notes), "--format", "mem0")
    assert "notes.json is not of the format mem0; export it again, or name another" in refused.err
    assert "not of a known format" in call("store", "import", str(tmp_path)).err
    assert call("store", "import", str(tmp_path), "--format", "mem0").code == 2
    exports.repository(tmp_path / "project")
    assert call("store", "import", str(tmp_path / "project"), "--dry-run").code == 0


def test_the_formats_are_those_of_the_importers() -> None:
    assert set(upkeep.FORMATS) == {"phronesis", *FORMATS}


def test_watching_goes_on_with_transcripts_that_change(
    call: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def line(text: str) -> str:
        return json.dumps({"role": "user", "message": {"content": text}}) + "\n"

    path = tmp_path / "k1.jsonl"
    path.write_text(line("Where is preprod?"), encoding="utf-8")
    os.utime(path, (1_000, 1_000))
    passes = iter([line("Where is preprod?") + line("It is in Kiel."), None])

    def sleep(_seconds: float) -> None:
        text = next(passes)
        if text is None:
            raise KeyboardInterrupt
        path.write_text(text, encoding="utf-8")
        os.utime(path, (2_000, 2_000))

    monkeypatch.setattr("phronesis.interfaces.cli.upkeep.time.sleep", sleep)
    done = call("store", "import", str(path), "--format", "cursor", "--watch")
    assert done.code == 0
    assert done.out.count("1 imported") == 2
    assert call("store", "import", str(path), "--format", "git", "--watch").code == 2
