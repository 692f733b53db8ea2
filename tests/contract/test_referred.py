"""What becomes of a turn's references: the words of artifacts in every form, and why one was not taken in."""

from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest

from phronesis import Memory
from phronesis.core.results import ReferenceResult
from phronesis.log.recorder import RecordedEntry, Recorder

WORDS = "# Alarm\n\nPress TEST once a month."
POLICY = {
    "embedder": "none",
    "resources": {"urls": "summary", "files": "metadata", "artifacts": ["manual"], "timeout": 1},
}
SAID = [{"role": "user", "content": "Write down how the alarm is tested."}]


@pytest.fixture
def memory(database_url: str) -> Iterator[Memory]:
    with Memory.open(database_url, policy=POLICY) as opened:
        yield opened


def artifact(uri: str = "artifact:alarm", type_: str = "manual", **metadata: Any) -> dict[str, Any]:
    return {"type": "artifact", "uri": uri, "metadata": {"type": type_, **metadata}}


@pytest.mark.parametrize(
    "result",
    [
        WORDS,
        {"output": {"content": WORDS}},
        {"content": [{"type": "image", "data": "…"}, {"type": "text", "text": WORDS}]},
    ],
)
def test_the_words_of_an_artifact_are_taken_from_any_result(memory: Memory, result: object) -> None:
    calls = [{"id": "c1", "name": "write", "result": result}]
    done = memory.commit_turn("s", {"messages": SAID, "tool_calls": calls, "refs": [artifact(tool_call_id="c1")]})
    [section] = memory.get_all(kinds=["section"])
    assert (section.content, section.data["path"]) == ("Press TEST once a month.", ["Alarm"])
    [document] = memory.get_all(kinds=["document"])
    assert done.referred == (ReferenceResult("artifact:alarm", "artifact", mode="artifact", document_id=document.id),)
    assert memory.admin.rebuild(verify=True).equal


def test_why_a_reference_is_not_taken_in_is_said(memory: Memory) -> None:
    refs = [
        artifact(tool_call_id="c1"),
        artifact("artifact:chart", "picture", text="bars"),
        artifact("artifact:lost"),
        {"type": "artifact", "uri": "artifact:none"},
        {"type": "file", "uri": "notes.txt"},
        {"type": "url", "uri": "http://127.0.0.1:9/page"},
    ]
    calls = [{"id": "c1", "name": "draw", "result": {"image": "…"}}]
    turn = {"messages": SAID, "tool_calls": calls, "refs": refs}
    done = memory.commit_turn("s", turn, idempotency_key="k")
    assert [(one.uri, one.mode, one.code) for one in done.referred] == [
        ("artifact:alarm", None, "no_text"),
        ("artifact:chart", None, "type"),
        ("artifact:lost", None, "no_text"),
        ("artifact:none", None, "type"),
        ("notes.txt", "metadata", None),
        ("http://127.0.0.1:9/page", "summary", None),
    ]
    assert all((one.why is None) == (one.mode is not None) for one in done.referred)
    assert "resources.artifacts" in (done.referred[1].why or "")
    assert "tool_call_id" in (done.referred[2].why or "")
    memory.flush()
    later = memory.commit_turn("s", turn, idempotency_key="k").referred
    assert later[4].document_id == memory.get_all(kinds=["document"])[0].id
    assert (later[5].mode, later[5].code, later[5].document_id) == (None, "fetch.refused", None)
    assert later[5].why
    assert done.to_dict()["referred"][1]["code"] == "type"
    assert memory.admin.rebuild(verify=True).equal


def test_documents_are_there_on_return_though_another_process_interpreted_the_turn(database_url: str) -> None:
    append = Recorder.append
    with Memory.open(database_url, policy=POLICY) as memory, Memory.open(database_url, policy=POLICY) as other:

        def overtaken(recorder: Recorder, tenant: str, *given: Any) -> RecordedEntry:
            recorded = append(recorder, tenant, *given)
            lane_id, seq = recorded.entry.lane_id, recorded.entry.seq
            other.admin.components.writer.interpreter.drain(tenant, lane_id, until=seq)
            return recorded

        with mock.patch.object(Recorder, "append", overtaken):
            done = memory.commit_turn("s", {"messages": SAID, "refs": [artifact(text=WORDS)]})
        [document] = memory.get_all(kinds=["document"])
        assert [one.document_id for one in done.referred] == [document.id]


def test_what_the_policy_switches_off_is_said(database_url: str) -> None:
    policy = {"embedder": "none", "resources": {"urls": "off", "files": "off"}}
    refs = [{"type": "file", "uri": "notes.txt"}, {"type": "url", "uri": "https://example.org/"}]
    with Memory.open(database_url, policy=policy) as memory:
        done = memory.commit_turn("s", {"messages": SAID, "refs": refs})
        assert [(one.mode, one.code) for one in done.referred] == [(None, "off"), (None, "off")]
        assert ["resources.files" in (one.why or "") for one in done.referred] == [True, False]
        assert memory.commit_turn("s", {"messages": SAID}).referred == ()
        waiting = memory.commit_turn("s", {"messages": SAID, "refs": refs}, wait=False)
        assert (waiting.pending, waiting.referred) == (True, ())
        memory.erase(session_id="s")
        assert memory.admin.rebuild(verify=True).equal
