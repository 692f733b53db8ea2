"""What was tried, taken in: records and raw sources become events that say where they stand and who wrote them."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from phronesis import L1Event, Memory
from phronesis.errors import InputError, NotFound

NOW = datetime(2026, 3, 1, tzinfo=UTC)
LOG = Path(__file__).parents[1] / "unit" / "experience" / "sources" / "data" / "lean_lake_1.txt"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(f"sqlite:///{tmp_path / 'm.db'}", policy={"embedder": "none"}, clock=lambda: NOW) as opened:
        yield opened


def test_an_experience_says_what_decided_its_label(memory: Memory) -> None:
    told = {"attempt": "ran the tests", "observations": {"exit_code": 2}, "payload": {"raw": "…"}}
    ((event, meta),) = memory.ingest({**told, "source_ref": "ci:7", "source_type": "log"})
    assert (event.label, meta.signals != ()) == ("failure", True)
    assert any("exit" in signal for signal in meta.signals)
    assert (event.field_origin, event.trust.name) == ({"attempt": "model"}, "TOOL")
    assert (event.source_ref, meta.source_ref, meta.entry_id) == ("ci:7", "ci:7", event.entry_id)
    assert memory.get(event.id) == event


def test_what_nothing_decides_is_unknown(memory: Memory) -> None:
    ((event, meta),) = memory.ingest({"attempt": "it surely failed, I think", "source_ref": "note:1"})
    assert (event.label, meta.signals, event.field_origin) == ("unknown", (), {"attempt": "human"})


def test_many_are_one_entry_all_or_nothing(memory: Memory) -> None:
    good = {"attempt": "a", "source_ref": "r"}
    with pytest.raises(InputError, match="experience 1: attempt is missing") as refused:
        memory.ingest([good, {"source_ref": "r"}])
    assert refused.value.field == "nei[1].attempt"
    assert list(memory.get_all(kinds=["l1"])) == []
    told = memory.ingest([good, {**good, "attempt": "b"}])
    assert len({event.entry_id for event, _ in told}) == 1
    assert [event.attempt for event, _ in told] == ["a", "b"]
    with pytest.raises(InputError, match="1 to 1,000"):
        memory.ingest([good] * 1001)
    with pytest.raises(InputError, match="1 to 1,000"):
        memory.ingest([])


def test_attempts_of_an_episode_stand_in_order(memory: Memory) -> None:
    for seq, attempt in ((2, "third"), (0, "first"), (1, "second")):
        place = {"source_ref": f"t:{seq}", "episode_id": "task/4", "seq": seq}
        memory.ingest({"attempt": attempt, "goal": "open the safe" if seq else "", **place})
    memory.ingest({"attempt": "another task", "source_ref": "t:9", "episode_id": "task/5", "seq": 0})
    episode = memory.resources.get_episode("task/4")
    assert [event.attempt for event in episode.events] == ["first", "second", "third"]
    assert (episode.goal, episode.id) == ("open the safe", "task/4")
    with pytest.raises(NotFound):
        memory.resources.get_episode("task/6")
    with pytest.raises(NotFound):
        memory.resources.get_episode("task/4", namespace="elsewhere")


def test_an_event_names_the_artifacts_it_is_about(memory: Memory) -> None:
    hints = {"artifacts": [{"type": "concept", "name": "rewriting"}]}
    told = "rw with Nat.add_comm in src/Basic.lean, got ValueError; see `simp_all`"
    ((event, _),) = memory.ingest({"attempt": told, "source_ref": "r", "hints": hints})
    named = "concept:rewriting lemma:Nat.add_comm file:src/Basic.lean error_type:ValueError concept:simp_all"
    assert set(event.artifacts) == set(named.split())
    edges = memory.explain(event.id).edges
    assert {edge["to_id"] for edge in edges if edge["type"] == "about"} == set(event.artifacts)


def test_a_source_is_read_and_every_event_stands_in_its_lines(memory: Memory) -> None:
    told = memory.resources.ingest_source(path=LOG, source_type="lean")
    assert {event.label for event, _ in told} == {"success", "failure", "unknown"}
    lines = LOG.read_text("utf-8").splitlines()
    for event, meta in told:
        assert meta.lines is not None
        first, last = meta.lines
        assert event.source_ref == f"{LOG}#L{first}" + (f"-L{last}" if last != first else "")
        if event.label == "failure":
            assert any("error" in line for line in lines[first - 1 : last])
    assert "missing_lemma" in {event.family for event, _ in told}
    assert memory.admin.rebuild(verify=True).equal


def test_a_wrong_source_is_named(memory: Memory) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"source_type": "log"}, "text"),
        ({"text": "a", "path": "b", "source_type": "log"}, "text"),
        ({"text": "a", "source_type": "tea leaves"}, "source_type"),
        ({"path": "/nowhere/at all", "source_type": "log"}, "path"),
        ({"text": "a", "source_type": "log", "occurred_at": "2030-01-01"}, "occurred_at"),
    ]
    for given, field in cases:
        with pytest.raises(InputError) as refused:
            memory.resources.ingest_source(**given)
        assert refused.value.field == field


def test_a_file_that_is_no_text_is_refused(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "core.bin").write_bytes(b"\x7fELF" + bytes(range(256)) * 4)
    with pytest.raises(InputError, match="convert it to UTF-8"):
        memory.resources.ingest_source(path=tmp_path / "core.bin", source_type="log")
    (tmp_path / "empty.log").touch()
    with pytest.raises(InputError, match=r"empty\.log is empty"):
        memory.resources.ingest_source(path=tmp_path / "empty.log", source_type="log")
    (tmp_path / "large.log").write_text("x" * 8_000_001)
    with pytest.raises(InputError, match="split it"):
        memory.resources.ingest_source(path=tmp_path / "large.log", source_type="log")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_a_log_is_read_in_the_encoding_that_powershell_wrote(memory: Memory, tmp_path: Path, encoding: str) -> None:
    (tmp_path / "error.txt").write_bytes("ERROR disk is full\r\n".encode(encoding))
    ((event, _),) = memory.resources.ingest_source(path=tmp_path / "error.txt", source_type="log")
    assert event.result == "error: disk is full"


def test_a_format_that_nothing_reads_is_refused_by_its_name(memory: Memory) -> None:
    cases: list[tuple[str, str, str]] = [
        ('<?xml version="1.0"?><test-run id="2"><test-case result="Failed"/></test-run>', "log", "NUnit 3"),
        ('<testsuites><testsuite name="s"><properties & >', "log", "not well-formed"),
        ("<!DOCTYPE testsuites SYSTEM 'file:///etc/hostname'><testsuites/>", "log", "document type"),
        ('{"stats": {"failures": 1}, "failures": [{"title": "adds"}]}', "log", "one JSON document"),
        ('[{"prompt": "a", "completion": "b"}]', "run", "no run is found"),
        ('[{"instruction": "a", "output": "b"}]', "chat", "no conversation is found"),
    ]
    for text, source_type, named in cases:
        with pytest.raises(InputError, match=named) as refused:
            memory.resources.ingest_source(text=text, source_type=source_type)
        assert refused.value.field == "text"
        assert list(memory.get_all(kinds=["l1"])) == []


def test_one_event_of_a_call_can_be_erased_alone(memory: Memory) -> None:
    fed, lamp = "the walrus was fed with marzipan", "the lamp was switched off"
    told = memory.ingest([{"attempt": fed, "source_ref": "zoo:1"}, {"attempt": lamp, "source_ref": "home:1"}])
    certificate = memory.erase(id=told[0][0].id)
    assert certificate.clean
    with pytest.raises(NotFound):
        memory.get(told[0][0].id)
    kept = memory.get(told[1][0].id)
    assert isinstance(kept, L1Event)
    assert kept.attempt == lamp
    assert memory.admin.rebuild(verify=True).equal
    memory.erase(id=told[1][0].id)
    assert list(memory.get_all(kinds=["l1"])) == []
    assert memory.admin.rebuild(verify=True).equal
