"""Memories of other programs: each is a statement of its source, dated, named, found, and imported once."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import exports
from phronesis.errors import InputError
from phronesis.importers import ImportRunner, ImportSummary, check_format
from phronesis.memory import Memory


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory.open("sqlite://", policy={"embedder": "none"}) as opened:
        yield opened


def take(memory: Memory, path: Path, form: str, **scope: Any) -> ImportSummary:
    """Import a path twice and return the first summary; the second changes nothing."""
    runner = ImportRunner(memory, **(scope or {"user_id": "lin"}))
    summary = runner.run(path, format=form)
    assert summary.errors == []
    before = memory.admin.rebuild(verify=True)
    assert before.equal
    again = runner.run(path, format=form)
    assert (again.recorded, again.known) == (0, summary.recorded)
    assert memory.admin.rebuild(verify=True).live_hash == before.live_hash
    return summary


def contents(memory: Memory, *kinds: str, **scope: Any) -> set[str]:
    return {one.content for one in memory.get_all(kinds=kinds, limit=100, **(scope or {"user_id": "lin"})).items}


def best(memory: Memory, query: str, **scope: Any) -> Any:
    return memory.search(query, **(scope or {"user_id": "lin"}))[0]


def test_chatgpt_gives_instructions_once_and_what_it_kept_but_no_tool_is_a_memory(
    memory: Memory, tmp_path: Path
) -> None:
    both = [exports.chatgpt_with_tools(), exports.chatgpt_with_tools("c-8")]
    summary = take(memory, exports.written(tmp_path / "conversations.json", both), "chatgpt")
    assert summary.skipped == {
        "said by a tool": 6,
        "said to a tool": 2,
        "content of type execution_output": 2,
        "hidden from the conversation": 2,
    }
    assert contents(memory, "message") == {
        "I am a nurse in Kiel.",
        "请用中文回答。",
        "Remember that I keep bees. How warm is it?",
        "21 °C.",
    }
    [about] = [one for one in memory.get_all(user_id="lin", kinds=["message"]).items if "nurse" in one.content]
    assert (about.role, about.metadata["chatgpt"]) == (
        "user",
        {"custom_instructions": "about_user_message", "conversation": "c-8"},
    )
    assert str(about.to_dict()["occurred_at"]).startswith("2020-09-13"), "the earliest conversation that has them"
    [kept] = [one for one in memory.get_all(user_id="lin", kinds=["fact"]).items if one.metadata.get("chatgpt")]
    assert (kept.content, kept.metadata["chatgpt"]) == ("User keeps bees.", {"tool": "bio", "conversation": "c-8"})
    assert str(kept.external_id).startswith("chatgpt:bio#")


def test_claude_gives_its_memory_projects_attachments_and_artifacts(memory: Memory, tmp_path: Path) -> None:
    summary = take(memory, exports.claude_archive(tmp_path / "export.zip"), "claude")
    assert summary.skipped == {"no text": 1, "a document without text": 1, "a project without words": 1}
    for query, uri in {
        "pipe organs in Bergen": "claude:memory/acc",
        "walnuts": "claude:memory/acc/food.md",
        "stops of the organ of Voss": "claude:project/p-1/memory",
        "stop names in German": "claude:project/p-1",
        "zinc trumpet pipes": "claude:project/p-1/d-1",
        "barn door in winter": "claude:k-2/g1/barn.txt",
        "feed the goats": "claude:k-2/artifact/plan",
    }.items():
        found = next(one for one in memory.search(query, user_id="lin") if one.item.kind == "section")
        assert str(found.sources[0].source_ref).startswith(f"{uri}#"), query
    titles = contents(memory, "document")
    assert {"Claude's memory of Voss organ", "Feeding plan", "barn.txt", "pipes.md"} <= titles
    assert "sunrise" in best(memory, "feed the goats at sunrise").item.content


def test_a_later_memory_of_claude_takes_the_place_of_the_former(memory: Memory, tmp_path: Path) -> None:
    path = exports.written(tmp_path / "memories.json", [exports.CLAUDE_MEMORY])
    take(memory, path, "claude")
    moved = {**exports.CLAUDE_MEMORY, "conversations_memory": "Ada restores pipe organs in Oslo."}
    assert ImportRunner(memory, user_id="lin").run(exports.written(path, [moved]), format="claude").recorded == 1
    words = "\n".join(contents(memory, "section"))
    assert "Oslo" in words
    assert "Bergen" not in words


def test_letta_gives_blocks_messages_and_files(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "sam.af"
    path.write_text(json.dumps(exports.LETTA, indent=2), "utf-8")
    summary = take(memory, path, "letta")
    assert summary.skipped == {"role system": 1, "role tool": 1, "no words to a person": 1, "a block without text": 1}
    human = memory.get(external_id="letta:Sam/human", user_id="lin")
    assert human.content == "First name: Chad\nInterests: sailing regattas"
    assert (human.agent_id, human.metadata["letta"]) == ("Sam", {"agent": "Sam", "label": "human"})
    assert memory.get(external_id="letta:Sam/persona", user_id="lin").subject == "Sam"
    assert memory.get(external_id="letta:shared/team", user_id="lin").content == "The team meets on Tuesdays."
    [turn] = memory.sessions.turns("letta:Sam", user_id="lin")
    assert [one["content"] for one in turn.messages] == ["My dog is called Pico.", "Hello, Pico!"]
    assert turn.messages[0]["created_at"].startswith("2025-10-31T22:56:56")
    assert "reef" in best(memory, "reef at Kiel").item.content

    changed = json.loads(json.dumps(exports.LETTA))
    changed["blocks"][0]["value"] = "First name: Chad\nSold the boat"
    path.write_text(json.dumps(json.dumps(changed)), "utf-8")  # as a client saves the text that the API gives
    assert check_format(path, None) == "letta"
    assert ImportRunner(memory, user_id="lin").run(path, format="letta").recorded == 1
    assert memory.get(human.id).ended == "superseded"
    assert take(memory, exports.written(tmp_path / "old.af", exports.LETTA_FIRST), "letta").recorded == 2


@pytest.mark.parametrize("form", ["database", "export"])
def test_claude_mem_gives_experience_of_projects_and_words_of_the_user(
    memory: Memory, tmp_path: Path, form: str
) -> None:
    if form == "database":
        path = exports.claude_mem_database(tmp_path / "claude-mem.db")
    else:
        path = tmp_path / "memories.json"
        path.write_text(json.dumps(exports.CLAUDE_MEM, indent=2), "utf-8")
    summary = take(memory, path, "claude-mem")
    assert summary.skipped["without text: observation"] == 1
    [decision] = memory.get_all(namespace="engine", kinds=["decision"]).items
    assert decision.content == (
        "Retries use exponential backoff\nThe uploader failed under load, so each retry waits twice as long.\n"
        "The first delay is 200 ms"
    )
    assert str(decision.to_dict()["occurred_at"]) == "2026-04-01T10:00:00Z"
    assert decision.metadata["claude_mem"]["files_modified"] == ["src/upload.py"]
    assert contents(memory, "episodic", namespace="engine") == {
        "Request: Make the upload robust\nLearned: The proxy drops idle connections"
    }
    [turn] = memory.sessions.turns("s-1", user_id="lin")
    assert turn.messages[0]["content"] == "Our staging bucket is called heron. Fix the upload."
    assert (turn.session_metadata["title"], turn.session_metadata["project"]) == ("Upload", "engine")
    if form == "database":
        assert contents(memory, "preference") >= {"Always write commit messages in English."}
        assert contents(memory, "preference", namespace="engine") == {"Never push to main."}
        asked = [{"role": "user", "message": {"content": "Our staging bucket is called heron. Fix the upload."}}]
        same = exports.written(tmp_path / "s-1.jsonl", asked[0])
        told = ImportRunner(memory, user_id="lin").run(same, format="cursor")
        assert told.skipped == {"recorded already, by hooks or from another export": 1}


def test_notes_are_documents_and_their_observations_items(memory: Memory, tmp_path: Path) -> None:
    summary = take(memory, exports.vault(tmp_path / "vault"), "markdown")
    assert summary.skipped == {
        "a note without words": 1,
        "written by Phronesis: 'phronesis store sync' takes edits of it back": 1,
    }
    [decision] = memory.get_all(user_id="lin", kinds=["decision"]).items
    assert decision.content == "Use JWT tokens for sign-in #security (after the audit)"
    assert decision.subject == "Authentication System"
    assert decision.metadata["markdown"] == {
        "note": "markdown:vault/auth-system",
        "category": "decision",
        "tags": ["security"],
        "context": "after the audit",
    }
    assert contents(memory, "fact") == {"A session ends after 24 hours", "李工负责登录"}
    documents = {one.content: one for one in memory.get_all(user_id="lin", kinds=["document"]).items}
    assert documents["Authentication System"].metadata["markdown"] == {
        "permalink": "auth-system",
        "tags": ["security", "api"],
        "links": [{"type": "implements", "target": "Authentication Spec"}, {"target": "Login Flow"}],
    }
    found = best(memory, "炉子的温度")
    assert str(found.sources[0].source_ref).startswith("markdown:vault/daily/2026-02-03.md#")
    assert str(found.item.to_dict()["valid_from"]).startswith("2026-02-03")


def test_a_path_without_notes_is_told_so(memory: Memory, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no note"):
        take(memory, tmp_path, "markdown")
    with pytest.raises(InputError, match="there is no folder"):
        take(memory, tmp_path / "x.md", "markdown")


def test_a_damaged_database_is_told_so(memory: Memory, tmp_path: Path) -> None:
    path = exports.claude_mem_database(tmp_path / "claude-mem.db")
    body = path.read_bytes()
    page = body.index(b"exponential") // 4096
    path.write_bytes(body[: page * 4096] + b"\xff" * 4096 + body[(page + 1) * 4096 :])
    with pytest.raises(InputError, match=r"claude-mem\.db is a damaged database"):
        ImportRunner(memory, user_id="lin").run(path, format="claude-mem")
    assert not memory.get_all(user_id="lin").items


def test_a_note_that_cannot_be_read_stops_no_other(memory: Memory, tmp_path: Path) -> None:
    (vault := tmp_path / "vault").mkdir()
    for name, text in {
        "bytes.md": b"\xff\xfe",
        "impossible.md": b"---\ncreated: 2026-13-45\n---\nThe kiln has two doors.\n",
        "invalid.md": b"---\ntitle: [\n---\nThe crane lifts nine tons.\n",
        "day.md": b"---\ndate: 2026-01-02\ntags: 'lab, #iron'\n---\nThe forge was lit.\n",
        "2026-99-99.md": b"The bellows leak.\n",
        "aliases.md": b"---\na: &a [x, x]\ntags: [*a, *a]\n---\nThe anvil is cold.\n",
    }.items():
        (vault / name).write_bytes(text)
    secret = tmp_path / "secret.md"
    secret.write_text("The key is under the mat.", encoding="utf-8")
    (vault / "link.md").symlink_to(secret)
    assert take(memory, vault, "markdown").skipped == {"not UTF-8": 1, "a link out of the folder": 1}
    assert len(contents(memory, "document")) == 5
    found = best(memory, "the forge was lit").item
    assert str(found.to_dict()["valid_from"]).startswith("2026-01-02")
    [day] = [one for one in memory.get_all(user_id="lin", kinds=["document"]).items if one.content == "day"]
    assert day.metadata["markdown"] == {"tags": ["lab", "iron"]}


def test_a_page_of_mem0_is_a_list(memory: Memory, tmp_path: Path) -> None:
    page = {"count": 2, "next": None, "previous": "https://x/?page=1", "results": [{"id": "1", "memory": "likes tea"}]}
    for indent in (None, 2):
        (tmp_path / "page.json").write_text(json.dumps(page, indent=indent), "utf-8")
        assert check_format(tmp_path / "page.json", None) == "mem0"
    assert take(memory, tmp_path / "page.json", "mem0").recorded == 1


def test_a_folder_is_of_the_format_that_is_named_where_both_fit(tmp_path: Path) -> None:
    repository = exports.repository(tmp_path / "project")
    assert check_format(repository, None) == "git"
    assert check_format(repository, "markdown") == "markdown"
    assert check_format(repository, "claude-code") == "claude-code"
    with pytest.raises(InputError, match="vault is not of the format git but of markdown; name markdown"):
        check_format(exports.vault(tmp_path / "vault"), "git")
