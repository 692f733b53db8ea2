"""``phronesis import --format``: other programs' exports, on the command line."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

import exports


def test_an_export_is_counted_and_taken_in(call: Any, tmp_path: Path) -> None:
    path = str(exports.written(tmp_path / "conversations.json", [exports.chatgpt_conversation()]))
    arguments = ("import", path, "--format", "chatgpt", "--user", "lin")
    assert call(*arguments, "--dry-run").out.startswith(
        "2 would be taken in, 0 known already, 2 passed over, 0 failed\n"
    )
    shown = call(*arguments)
    assert shown.code == 0, shown.err
    assert "    passed over: 1 × content of type thoughts\n" in shown.out
    assert call(*arguments, "--json").json["known"] == 2
    assert "花生" in call("search", "过敏", "--user", "lin").out


def test_what_could_not_be_taken_in_is_told(call: Any, tmp_path: Path) -> None:
    late = [{"id": "b", "memory": "from the future", "created_at": "2999-01-01T00:00:00Z"}]
    shown = call("import", str(exports.written(tmp_path / "all.json", late)), "--format", "mem0")
    assert shown.code == 1
    assert "mem0:b: occurred_at" in shown.err


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

    monkeypatch.setattr("phronesis.interfaces.cli.imports.time.sleep", sleep)
    done = call("import", str(path), "--format", "cursor", "--watch")
    assert done.code == 0
    assert done.out.count("1 taken in") == 2
    assert call("import", str(path), "--format", "git", "--watch").code == 2
