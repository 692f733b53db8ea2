"""``phronesis import --format``: other programs' exports, on the command line."""

import json
import os
from collections.abc import Callable
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
    shown = call("sessions", "show", "chatgpt:c-1", "--user", "lin").out
    assert "  杭州\n" in shown
    assert "    user (2025-10-09T" in shown, "when it was said, not when it was imported"


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


AGENT_FILE = json.dumps(exports.LETTA, indent=2)


def agent_file(path: Path) -> Path:
    path.write_text(AGENT_FILE, "utf-8")
    return path


MADE: dict[str, tuple[Callable[[Path], Path], str, str]] = {
    "chatgpt": (lambda to: exports.written(to, [exports.chatgpt_with_tools()]), "keeps bees", "--user lin"),
    "claude": (exports.claude_archive, "walnuts", "--user lin"),
    "letta": (agent_file, "sailing regattas", "--user lin"),
    "claude-mem": (exports.claude_mem_database, "exponential backoff", "--namespace engine"),
    "markdown": (exports.vault, "炉子的温度", "--user lin"),
    "mem0": (lambda to: exports.written(to, exports.MEM0[1:]), "bakery", "--user lin"),
    "langgraph": (lambda to: exports.written(to, exports.LANGGRAPH), "绿茶", "--user lin"),
}


@pytest.mark.parametrize("form", MADE)
def test_each_format_is_told_imported_once_found_and_explained(call: Any, tmp_path: Path, form: str) -> None:
    make, words, scope = MADE[form]
    path = str(make(tmp_path / "data"))
    arguments = ("store", "import", path, *(() if form == "claude-mem" else scope.split()), "--json")
    foreseen = call(*arguments, "--dry-run").json
    first = call(*arguments, "--format", form).json
    assert (foreseen["format"], foreseen["missing"]) == (form, first["recorded"])
    assert first["failed"] == 0
    again = call(*arguments).json
    assert (again["recorded"], again["known"]) == (0, first["recorded"])
    origin = f'"{form.replace("-", "_")}": '
    found = [one["item"] for one in call("search", words, *scope.split(), "--json").json["evidence"]]
    named = next(one for one in found if origin in json.dumps(one["metadata"]))
    assert words.split()[-1] in named["content"]
    assert origin in call("explain", named["id"], "--json").out


def test_a_broken_file_is_refused_with_what_was_expected_and_the_remedy(call: Any, tmp_path: Path) -> None:
    path = tmp_path / "sam.af"
    path.write_text(AGENT_FILE[:-9], "utf-8")
    refused = call("store", "import", str(path), "--format", "letta")
    assert refused.code == 2
    assert "sam.af is not of the format letta (sam.af: not JSON" in refused.err
    assert "; export it again, or name another format. Expected is an agent file of Letta (.af)" in refused.err
    archive = exports.claude_archive(tmp_path / "data.zip")
    archive.write_bytes(archive.read_bytes()[:400] + b"?" + archive.read_bytes()[401:])
    told = call("store", "import", str(archive), "--format", "claude").err
    assert "the archive data.zip cannot be read" in told
    assert "; download it again" in told
    assert call("list", "--across", "tenant", "--json").json == []


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
    passes = iter([line("Where is preprod?") + line("It is in Kiel."), "", None])

    def sleep(_seconds: float) -> None:
        text = next(passes)
        if text is None:
            raise KeyboardInterrupt
        if not text:  # the host deletes it: others may come
            path.unlink()
            return
        path.write_text(text, encoding="utf-8")
        os.utime(path, (2_000, 2_000))

    monkeypatch.setattr("phronesis.interfaces.cli.upkeep.time.sleep", sleep)
    done = call("store", "import", str(tmp_path), "--format", "cursor", "--watch")
    assert done.code == 0
    assert done.out.count("1 imported") == 2
    assert call("store", "import", str(tmp_path), "--format", "git", "--watch").code == 2
