"""Exports of other programs are taken in once, in order, with their times; what is passed over is told."""

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import exports
from phronesis.errors import InputError, StorageFull
from phronesis.importers import FORMATS, ImportRunner, ImportSummary
from phronesis.importers.import_call import ImportCall
from phronesis.memory import Memory

PLAIN = {"embedder": "none"}


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory.open("sqlite://", policy=PLAIN) as opened:
        yield opened


def taken(memory: Memory, path: Path, form: str, **more: Any) -> ImportSummary:
    return ImportRunner(memory, user_id=more.pop("user_id", None), namespace=more.pop("namespace", None)).run(
        path, format=form, **more
    )


def said(memory: Memory, session: str, **scope: Any) -> list[list[tuple[str, str]]]:
    turns = memory.sessions.turns(session, **scope)
    return [[(one["role"], one["content"]) for one in turn.messages] for turn in turns]


def test_chatgpt_gives_the_current_branch_in_turns(memory: Memory, tmp_path: Path) -> None:
    path = exports.written(tmp_path / "conversations.json", [exports.chatgpt_conversation()])
    summary = taken(memory, path, "chatgpt", user_id="lin")
    assert (summary.recorded, summary.known, summary.failed) == (2, 0, 0)
    assert summary.skipped == {"hidden from the conversation": 1, "content of type thoughts": 1}
    assert summary.passed_over[1] == {"ref": "chatgpt:c-1#th", "reason": "content of type thoughts"}
    assert said(memory, "chatgpt:c-1", user_id="lin") == [
        [("user", "我住在杭州，对花生过敏。"), ("assistant", "记住了。")],
        [("user", "What is on this picture?"), ("assistant", "A lake.")],
    ]
    first, second = memory.sessions.turns("chatgpt:c-1", user_id="lin")
    assert first.messages[0]["created_at"] == "2025-10-09T08:53:20.500000Z"
    assert second.messages[0]["metadata"] == {"attachments": ["西湖.jpg"]}
    assert memory.sessions.list(user_id="lin")[0].metadata == {"title": "杭州"}
    found = memory.search("对什么过敏？", user_id="lin")[0]
    assert "花生" in found.item.content
    assert found.sources[0].session_id == "chatgpt:c-1"
    assert memory.admin.rebuild(verify=True).equal


def test_claude_gives_words_times_and_names_of_attachments(memory: Memory, tmp_path: Path) -> None:
    path = exports.written(tmp_path / "conversations.json", [exports.claude_conversation()])
    summary = taken(memory, path, "claude", user_id="lin")
    assert (summary.recorded, summary.skipped) == (3, {"no text": 1})
    assert said(memory, "claude:k-1", user_id="lin") == [
        [("user", "退火温度定 250 °C。"), ("assistant", "Noted.")],
        [("user", "And for how long?")],
    ]
    first = memory.sessions.turns("claude:k-1", user_id="lin")[0].messages[0]
    assert first["metadata"] == {"attachments": ["plan.md", "炉.png"]}
    assert first["created_at"] == "2026-05-01T08:00:00.123456Z"


@pytest.mark.parametrize("form", ["chatgpt", "claude", "mem0"])
def test_a_folder_and_an_empty_file_are_told_so(memory: Memory, tmp_path: Path, form: str) -> None:
    with pytest.raises(InputError, match="is a folder; give the zip"):
        taken(memory, tmp_path, form)
    (tmp_path / "conversations.json").touch()
    with pytest.raises(InputError, match="is empty"):
        taken(memory, tmp_path / "conversations.json", form)


@pytest.mark.parametrize(
    "wrap", [lambda rows: rows, lambda rows: {"results": rows}, lambda rows: {"results": rows, "n": 3}]
)
def test_mem0_gives_facts_of_each_user(memory: Memory, tmp_path: Path, wrap: Any) -> None:
    summary = taken(memory, exports.written(tmp_path / "all.json", wrap(exports.MEM0)), "mem0")
    assert (summary.recorded, summary.skipped) == (2, {"no memory with words": 1})
    (peanuts,) = memory.get_all(user_id="tom").items
    assert (peanuts.kind, peanuts.content) == ("fact", "对花生过敏")
    assert peanuts.metadata == {"category": "health", "mem0": {"id": "a-1", "hash": "h"}}
    assert str(peanuts.to_dict()["occurred_at"]) == "2025-07-01T17:00:00Z"
    assert [item.content for item in memory.get_all(user_id="lin", agent_id="helper").items] == ["Works at a bakery"]


def test_a_langgraph_store_gives_the_words_of_its_values(memory: Memory, tmp_path: Path) -> None:
    lines = tmp_path / "store.jsonl"
    lines.write_text("\n".join(map(json.dumps, [*exports.LANGGRAPH, {"value": "a value alone"}])), "utf-8")
    summary = taken(memory, lines, "langgraph", user_id="lin")
    assert (summary.recorded, summary.skipped) == (4, {"a value without words": 1})
    held = {item.content: item.metadata["langgraph"] for item in memory.get_all(user_id="lin").items}
    assert set(held) == {"喜欢绿茶", '{"age": 30, "name": "Lin"}', "plain words", "a value alone"}
    assert held["plain words"] == {"namespace": ["a", "b"], "key": "k3"}
    assert held["喜欢绿茶"]["value"]["kind"] == "Memory"


def test_git_gives_an_experience_for_each_commit(memory: Memory, tmp_path: Path) -> None:
    folder = exports.repository(tmp_path / "炉")
    assert taken(memory, folder, "git", namespace="lab").recorded == 2
    answer = memory.query(situation="退火温度 读数", namespace="lab")
    event: Any = answer.l1_evidence[0]
    assert event.item.attempt == "修复退火温度读数"
    assert event.item.reflection == "传感器返回华氏度。"
    assert str(event.sources[0].source_ref).startswith("git:")
    assert memory.query(situation="", artifacts=["说明.md"], namespace="lab").l1_evidence
    assert taken(memory, folder, "git", namespace="lab").known == 2
    for path in (folder / ".git/refs/heads").iterdir():
        path.unlink()
    with pytest.raises(InputError, match="give a repository that has commits"):
        taken(memory, folder, "git", namespace="lab")


def test_a_commit_that_was_imported_otherwise_is_known(memory: Memory, tmp_path: Path) -> None:
    folder = exports.repository(tmp_path / "炉")
    [first, *_] = (step for step in FORMATS["git"].read(folder) if isinstance(step, ImportCall))
    memory.ingest({**first.arguments["nei"], "situation": "repository 炉"}, namespace="lab")
    summary = taken(memory, folder, "git", namespace="lab")
    assert (summary.recorded, summary.known) == (1, 1)


EXPORTS: list[tuple[str, Any]] = [
    ("chatgpt", [exports.chatgpt_conversation(), exports.chatgpt_conversation("c-2")]),
    ("claude", [exports.claude_conversation()]),
    ("mem0", exports.MEM0),
    ("langgraph", exports.LANGGRAPH),
]


def test_each_thing_is_looked_up_by_its_old_id(memory: Memory, tmp_path: Path) -> None:
    for form, export in EXPORTS:
        taken(memory, exports.written(tmp_path / f"{form}.json", export), form, user_id="lin")
    folder = exports.repository(tmp_path / "炉")
    taken(memory, folder, "git", user_id="lin")
    heads = [item.external_id for item in memory.get_all(user_id="lin", kinds=["l1"]).items]
    assert [len(str(one)) for one in heads] == [40, 40]
    for name, words in {
        "u1": "我住在杭州，对花生过敏。",
        "chatgpt:c-2#u1": "我住在杭州，对花生过敏。",  # u1 was the other conversation's already
        "m1": "退火温度定 250 °C。",
        "a-1": "对花生过敏",
        "memories/lin/k1": "喜欢绿茶",
        "a/b/k3": "plain words",
    }.items():
        assert memory.get(external_id=name, user_id="lin").content == words
    assert memory.get(external_id="u1", user_id="lin").session_id == "chatgpt:c-1"
    assert "attempt: " in memory.get(external_id=heads[0], user_id="lin").content
    held = [item.content for item in memory.get_all(user_id="lin", kinds=["message"], limit=1_000).items]
    assert held.count("我住在杭州，对花生过敏。") == 2, "an id that two conversations have loses no message"
    assert memory.admin.rebuild(verify=True).equal


@pytest.mark.parametrize(("form", "words"), [("mem0", "memory"), ("langgraph", "value")])
def test_what_says_something_else_under_its_id_takes_the_place_of_the_old(
    memory: Memory, tmp_path: Path, form: str, words: str
) -> None:
    export = {"mem0": exports.MEM0[1:2], "langgraph": exports.LANGGRAPH[2:3]}[form]
    path = exports.written(tmp_path / "export.json", export)
    taken(memory, path, form, user_id="lin")
    [old] = memory.get_all(user_id="lin").items
    exports.written(path, [{**export[0], words: "面包店的工作结束了"}])
    assert taken(memory, path, form, user_id="lin").recorded == 1
    [new] = memory.get_all(user_id="lin").items
    assert (new.content, new.external_id) == ("面包店的工作结束了", old.external_id)
    assert memory.get(old.id).ended == "superseded"
    assert taken(memory, path, form, user_id="lin").known == 1


def test_an_interrupted_import_goes_on(memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = exports.written(tmp_path / "c.json", [exports.chatgpt_conversation(str(n)) for n in range(3)])
    commit, calls = Memory.commit_turn, 0

    def full(self: Memory, *arguments: Any, **more: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls > 3:
            raise StorageFull("the disk is full")
        return commit(self, *arguments, **more)

    monkeypatch.setattr(Memory, "commit_turn", full)
    with pytest.raises(StorageFull):
        taken(memory, path, "chatgpt")
    monkeypatch.undo()
    summary = taken(memory, path, "chatgpt")
    assert (summary.recorded, summary.known) == (3, 3)


def test_a_conversation_that_has_grown_gives_what_is_new(memory: Memory, tmp_path: Path) -> None:
    conversation = exports.claude_conversation()
    path = exports.written(tmp_path / "c.json", [conversation])
    taken(memory, path, "claude")
    conversation["chat_messages"].append(
        {"uuid": "m5", "sender": "assistant", "text": "Two hours.", "created_at": "2026-05-01T08:02:05Z"}
    )
    summary = taken(memory, exports.written(path, [conversation]), "claude")
    assert (summary.recorded, summary.known) == (1, 2)
    words = [item.content for item in memory.get_all(kinds=["message"], limit=50).items]
    assert sorted(words).count("And for how long?") == 1


def test_what_was_erased_does_not_come_back(memory: Memory, tmp_path: Path) -> None:
    path = exports.written(tmp_path / "c.json", [exports.claude_conversation()])
    taken(memory, path, "claude", user_id="lin")
    assert memory.erase(session_id="claude:k-1", user_id="lin").clean
    assert taken(memory, path, "claude", user_id="lin").recorded == 0
    assert not memory.sessions.turns("claude:k-1", user_id="lin")


def test_one_bad_thing_does_not_stop_the_others(memory: Memory, tmp_path: Path) -> None:
    bad = {"id": "b", "memory": "from the future", "created_at": "2999-01-01T00:00:00Z"}
    path = tmp_path / "all.json"
    path.write_text(
        '[{"memory": "tea", "memory": "twice"}, 7, ' + json.dumps(bad) + ', {"id": "c", "memory": "茶"}]', "utf-8"
    )
    summary = taken(memory, path, "mem0")
    assert (summary.recorded, summary.failed, sum(summary.skipped.values())) == (1, 1, 2)
    assert summary.errors[0]["ref"] == "mem0:b"
    assert "occurred_at" in summary.errors[0]["message"]
    assert any(reason.startswith("not JSON") for reason in summary.skipped)


def test_a_zip_archive_is_read_where_it_lies(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("data/conversations.json", json.dumps([exports.chatgpt_conversation()]))
        archive.writestr("data/user.json", "{}")
    seen: list[tuple[int, int]] = []
    importing = ImportRunner(memory, on_progress=lambda done, total: seen.append((done, total)))
    assert importing.run(path, format="chatgpt").recorded == 2
    assert seen[-1][0] <= seen[-1][1]
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("user.json", "{}")
    with pytest.raises(InputError, match="holds no file"):
        importing.run(path, format="chatgpt")
