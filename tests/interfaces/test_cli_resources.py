"""phronesis resource and context: documents taken in, listed, shown, and what a model is given of them."""

from pathlib import Path
from typing import Any

import pytest

MANUAL = """\
# Pump manual

What this pump is for.

## Resetting

Hold the red button for ten seconds until the lamp blinks twice.
"""
SPEC = "# 接口规范\n\n## 超时\n\n所有接口的超时时间是三十秒。\n"


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "接口规范.md"
    path.write_bytes(SPEC.encode("gb18030"))
    return path


def test_files_are_taken_in_listed_and_shown(call: Any, tmp_path: Path, spec: Path) -> None:
    manual = tmp_path / "pump.md"
    manual.write_text(MANUAL, "utf-8")
    taken = call("resources", "add", str(manual), str(spec), "--type", "manual")
    assert (taken.code, taken.err) == (0, "")
    first, second = taken.out.splitlines()
    assert first.endswith("Pump manual (version 1): 2 new sections, 0 as they were, 0 ended")
    assert "接口规范 (version 1): 1 new sections" in second
    listed = call("resources", "list").out.splitlines()
    assert next(line for line in listed if "version 1" in line).endswith("接口规范 (version 1, 1 sections)")
    assert any(line.endswith(manual.as_uri()) for line in listed)
    assert any(line.endswith(spec.as_uri()) for line in listed)
    shown = call("resources", "show", first.split()[0])
    lines = shown.out.splitlines()
    assert lines[:2] == ["Pump manual", f"   {manual.as_uri()}"]
    assert lines[2].startswith("   version 1 of ")
    assert f"{len(MANUAL)} characters" in lines[2]
    assert [line.partition("  [")[0] for line in lines[3:]] == ["  Pump manual", "    Resetting"]


def test_their_json_parses(call: Any, spec: Path) -> None:
    (taken,) = call("resources", "add", str(spec), "--uri", "规范.md", "--title", "规范", "--json").json
    document = taken["document"]
    assert (document["content"], document["source_ref"], taken["number"]) == ("规范", "规范.md", 1)
    assert [one["data"]["path"] for one in taken["sections"]] == [["接口规范", "超时"]]
    (listed,) = call("resources", "list", "--json").json
    assert listed["id"] == document["id"]
    shown = call("resources", "show", document["id"], "--json").json
    assert (shown["document"]["id"], shown["versions"][0]["number"]) == (document["id"], 1)
    assert shown["sections"][0]["source_ref"] == "规范.md#L5"
    assert call("resources", "list", "--user", "ann", "--limit", "1", "--json").json == [listed]
    assert call("resources", "show", taken["sections"][0]["id"]).code == 1  # no document
    assert call("resources", "show", document["id"], "--as-of", "2001-01-01").code == 1


def test_what_is_wrong_is_said(call: Any) -> None:
    cases: list[tuple[tuple[str, ...], int, str]] = [
        ((), 2, "give a FILE, --page or --text"),
        (("none.md",), 2, "none.md"),
        (("--text", "a", "--page", "https://example.com/", "--uri", "x"), 2, "--uri and --title are of one document"),
        (("--page", "https://example.com/"), 2, "resources.urls"),
    ]
    for arguments, code, told in cases:
        failed = call("resources", "add", *arguments)
        assert (failed.code, failed.out) == (code, "")
        assert told in failed.err
        assert "no documents there" in call("resources", "list").out
