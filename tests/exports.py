"""Exports of other programs as their authors' documents describe them, made up here: nobody's data."""

import json
import sqlite3
import subprocess
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any


def chatgpt(identity: str, title: str, created: float, said: list[tuple[str, str | None, dict[str, Any]]]) -> Any:
    """Return a conversation of (id, the id before it, the message), which is at its last message."""
    mapping = {
        name: {
            "id": name,
            "parent": before,
            "children": [one for one, parent, _ in said if parent == name],
            "message": {"id": name, **message} if message else None,
        }
        for name, before, message in said
    }
    made = {"id": identity, "title": title, "create_time": created}
    return {**made, "mapping": mapping, "current_node": said[-1][0]}


def message(role: str, *parts: Any, at: float | None = None, form: str = "text", **more: Any) -> dict[str, Any]:
    """Return a message of ChatGPT."""
    time = {} if at is None else {"create_time": at}
    return {"author": {"role": role}, **time, "content": {"content_type": form, "parts": list(parts)}, **more}


def chatgpt_conversation(identity: str = "c-1") -> dict[str, Any]:
    """Return a conversation in two languages whose first answer was given up: it lies on a side branch."""
    shown = {"attachments": [{"name": "西湖.jpg", "size": 3}]}
    image = ({"content_type": "image_asset_pointer"}, "What is on this picture?")
    said: list[tuple[str, str | None, dict[str, Any]]] = [
        ("root", None, {}),
        ("sys", "root", message("system", "")),
        ("u1", "sys", message("user", "我住在杭州，对花生过敏。", at=1_760_000_000.5)),
        ("a0", "u1", message("assistant", "an answer that was given up", at=1_760_000_001)),
        ("a1", "u1", message("assistant", "记住了。", at=1_760_000_002, metadata={"model_slug": "gpt-x"})),
        ("th", "a1", message("assistant", form="thoughts")),
        ("u2", "th", message("user", *image, at=1_760_000_100, form="multimodal_text", metadata=shown)),
        ("a2", "u2", message("assistant", "A lake.", at=1_760_000_101)),
    ]
    found: dict[str, Any] = chatgpt(identity, "杭州", 1_760_000_000, said)
    return found


def claude_conversation(identity: str = "k-1") -> dict[str, Any]:
    """Return a conversation with a tool's blocks, an attachment, and a message without words."""
    attached = [{"file_name": "plan.md", "extracted_content": "Heat slowly, then hold."}]
    blocks = [{"type": "tool_use", "name": "search"}, {"type": "text", "text": "Noted."}]
    rows: list[tuple[str, str, str, dict[str, Any]]] = [
        ("human", "退火温度定 250 °C。", "00:00.123456", {"attachments": attached, "files": [{"file_name": "炉.png"}]}),
        ("assistant", "", "00:05", {"content": blocks}),
        ("human", " ", "01:00", {}),
        ("human", "And for how long?", "02:00", {}),
    ]
    said = [
        {"uuid": f"m{n}", "sender": sender, "text": text, "created_at": f"2026-05-01T08:{at}Z", **more}
        for n, (sender, text, at, more) in enumerate(rows, start=1)
    ]
    return {"uuid": identity, "name": "退火", "created_at": "2026-05-01T08:00:00Z", "chat_messages": said}


MEM0: list[dict[str, Any]] = [
    {
        "id": "a-1",
        "memory": "对花生过敏",
        "hash": "h",
        "user_id": "tom",
        "metadata": {"category": "health"},
        "created_at": "2025-07-01T10:00:00-07:00",
        "updated_at": None,
    },
    {
        "id": "a-2",
        "memory": "Works at a bakery",
        "user_id": "lin",
        "agent_id": "helper",
        "created_at": "2025-07-02T10:00:00Z",
    },
    {"id": "a-3", "memory": "", "user_id": "lin"},
]

LANGGRAPH: list[dict[str, Any]] = [
    {
        "namespace": ["memories", "lin"],
        "key": "k1",
        "value": {"kind": "Memory", "content": {"content": "喜欢绿茶"}},
        "created_at": "2026-01-01T00:00:00Z",
    },
    {"namespace": ["profile"], "key": "k2", "value": {"name": "Lin", "age": 30}},
    {"namespace": "a.b", "key": "k3", "value": "plain words"},
    {"namespace": ["x"], "key": "k4", "value": {}},
]


def written(path: Path, value: Any) -> Path:
    """Write a value as JSON and return where."""
    path.write_text(json.dumps(value, ensure_ascii=False), "utf-8")
    return path


def repository(folder: Path) -> Path:
    """Make a git repository with two commits, one of them in Chinese, and return where."""
    folder.mkdir()

    def git(*arguments: str) -> None:
        own = ("-c", "user.name=林", "-c", "user.email=lin@example.org", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *own, *arguments], cwd=folder, check=True, capture_output=True)

    git("init", "-q")
    for name, message in (
        ("furnace.py", "修复退火温度读数\n\n传感器返回华氏度。"),
        ("说明.md", "Describe the furnace"),
    ):
        (folder / name).write_text(name, "utf-8")
        git("add", "-A")
        git("commit", "-q", "-m", message)
    return folder


def chatgpt_with_tools(identity: str = "c-9") -> dict[str, Any]:
    """Return a conversation with custom instructions, a memory that ChatGPT kept, and what tools were told and said."""
    own = {"about_user_message": "I am a nurse in Kiel.", "about_model_message": "请用中文回答。"}
    wrapped = {"user_profile": "It follows.\nUser profile:\n```I am a nurse in Kiel.```", "user_instructions": ""}
    written = {"user_context_message_data": own if identity == "c-9" else None}
    instructions = message("user", metadata={"is_visually_hidden_from_conversation": True, **written})
    instructions["content"] = {"content_type": "user_editable_context", **wrapped}
    bio, web = ({"author": {"role": "tool", "name": name}} for name in ("bio", "web"))
    said = [
        message("system", ""),
        instructions,
        message("user", "Remember that I keep bees. How warm is it?", at=1.7e9),
        message("assistant", "User keeps bees.", at=1.7e9, recipient="bio"),
        message("tool", "Model set context updated.") | bio,
        message("assistant", '{"query": "weather"}', form="code", recipient="web"),
        message("tool", "{'temp': 21}", form="tether_quote") | web,
        message("tool", '{"temperature": 21}') | web,
        message("assistant", "21", form="execution_output"),
        message("assistant", "21 °C.", at=1.7e9 + 9),
    ]
    placed = [(f"{identity}-n{n}", f"{identity}-n{n - 1}" if n else None, one) for n, one in enumerate(said)]
    found: dict[str, Any] = chatgpt(identity, "Bees", 1.7e9 if identity == "c-9" else 1.6e9, placed)
    return found


def claude_artifacts() -> dict[str, Any]:
    """Return a conversation in which an artifact is made and changed, with an attached file."""

    def artifact(**given: Any) -> dict[str, Any]:
        return {"type": "tool_use", "name": "artifacts", "input": {"id": "plan", **given}}

    made = artifact(command="create", title="Feeding plan", content="# Feeding plan\n\nFeed the goats at noon.")
    changed = artifact(command="update", old_str="at noon", new_str="at sunrise")
    words = {"type": "text", "text": "Ok."}
    at = "2026-06-01T08:00:00Z"
    attached = {"file_name": "barn.txt", "extracted_content": "The barn door sticks in winter."}
    return {
        "uuid": "k-2",
        "name": "Goats",
        "chat_messages": [
            {"uuid": "g1", "sender": "human", "text": "Plan it.", "created_at": at, "attachments": [attached]},
            {"uuid": "g2", "sender": "assistant", "text": "", "created_at": at, "content": [made]},
            {"uuid": "g3", "sender": "assistant", "created_at": at, "content": [changed, words]},
        ],
    }


CLAUDE_MEMORY: dict[str, Any] = {
    "account_uuid": "acc",
    "conversations_memory": "**Work context**\n\nAda restores pipe organs in Bergen.",
    "project_memories": {"p-1": "The organ of Voss has 28 stops.", "p-2": ""},
    "memory_files": [{"path": "/food.md", "content": "Allergic to walnuts.", "updated_at": "2026-02-01T00:00:00Z"}],
}
CLAUDE_PROJECTS: list[dict[str, Any]] = [
    {
        "uuid": "p-1",
        "name": "Voss organ",
        "description": "Restoration until 2028.",
        "prompt_template": "Answer with stop names in German.",
        "updated_at": "2026-03-01T00:00:00Z",
        "docs": [
            {"uuid": "d-1", "filename": "pipes.md", "content": "# Pipes\n\nThe trumpet pipes are of zinc."},
            {"uuid": "d-2", "filename": "empty.md", "content": ""},
        ],
    },
    {"uuid": "p-0", "name": "How to use Claude", "prompt_template": "", "is_starter_project": True, "docs": []},
]


def claude_archive(path: Path) -> Path:
    """Write an export of Claude as a zip archive and return where."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("data/users.json", json.dumps([{"uuid": "acc", "full_name": "Ada"}]))
        archive.writestr("data/conversations.json", json.dumps([claude_artifacts()]))
        archive.writestr("data/memories/acc.json", json.dumps(CLAUDE_MEMORY, indent=2))
        archive.writestr("data/projects.json", json.dumps(CLAUDE_PROJECTS))
    return path


LETTA: dict[str, Any] = {
    "agents": [
        {
            "id": "agent-0",
            "name": "Sam",
            "block_ids": ["block-0", "block-1", "block-9"],
            "memory_blocks": [],
            "messages": [
                {"id": "message-0", "role": "system", "content": [{"type": "text", "text": "You are Sam."}]},
                {
                    "id": "message-1",
                    "role": "user",
                    "content": [
                        {"type": "text", "text": '{"type": "user_message", "message": "My dog is called Pico."}'}
                    ],
                    "created_at": "2025-10-31T22:56:56.459100+00:00",
                },
                {"id": "message-2", "role": "user", "content": '{"type": "login", "last_login": "never"}'},
                {
                    "id": "message-3",
                    "role": "assistant",
                    "content": [{"type": "text", "text": "I should greet."}],
                    "tool_calls": [{"function": {"name": "send_message", "arguments": '{"message": "Hello, Pico!"}'}}],
                    "created_at": "2025-10-31T22:57:00+00:00",
                },
                {"id": "message-4", "role": "tool", "content": [{"type": "text", "text": '{"status": "OK"}'}]},
            ],
        }
    ],
    "blocks": [
        {"id": "block-0", "label": "human", "value": "First name: Chad\nInterests: sailing regattas"},
        {"id": "block-1", "label": "persona", "value": "I am Sam. My voice is soft.", "description": "The agent."},
        {"id": "block-2", "label": "team", "value": "The team meets on Tuesdays."},
        {"id": "block-3", "label": "empty", "value": " "},
    ],
    "files": [{"id": "file-0", "file_name": "charts.txt", "content": "The reef at Kiel is marked in red."}],
    "groups": [],
    "sources": [],
    "tools": [],
}
LETTA_FIRST: dict[str, Any] = {
    "agent_type": "memgpt_agent",
    "name": "Old",
    "core_memory": [{"label": "human", "value": "Chad grows dahlias.", "limit": 5000}],
    "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}], "created_at": "2025-04-01T00:00:00Z"}],
}

CLAUDE_MEM: dict[str, list[dict[str, Any]]] = {
    "observations": [
        {
            "id": 1,
            "memory_session_id": "m-1",
            "project": "engine",
            "type": "decision",
            "title": "Retries use exponential backoff",
            "narrative": "The uploader failed under load, so each retry waits twice as long.",
            "facts": '["The first delay is 200 ms", "The uploader failed under load"]',
            "concepts": '["trade-off"]',
            "files_modified": '["src/upload.py"]',
            "created_at": "2026-04-01T10:00:00.000Z",
            "created_at_epoch": 1_775_037_600_000,
        },
        {"id": 2, "memory_session_id": "m-1", "project": "engine", "type": "change", "created_at_epoch": 1},
    ],
    "sessions": [
        {"content_session_id": "s-1", "memory_session_id": "m-1", "project": "engine", "custom_title": "Upload"}
    ],
    "summaries": [
        {
            "memory_session_id": "m-1",
            "project": "engine",
            "request": "Make the upload robust",
            "learned": "The proxy drops idle connections",
            "created_at_epoch": 1_775_037_700_000,
        }
    ],
    "prompts": [
        {
            "content_session_id": "s-1",
            "prompt_number": 1,
            "prompt_text": "Our staging bucket is called heron. Fix the upload.",
            "created_at_epoch": 1_775_037_500_000,
        },
        {"content_session_id": "s-1", "prompt_number": 2, "prompt_text": ""},
    ],
}
DIRECTIVES: list[dict[str, Any]] = [
    {
        "scope": "global",
        "content": "Always write commit messages in English.",
        "status": "active",
        "created_at_epoch": 5,
    },
    {
        "scope": "project",
        "project": "engine",
        "content": "Never push to main.",
        "status": "active",
        "created_at_epoch": 6,
    },
    {"scope": "global", "content": "Gone.", "status": "removed", "created_at_epoch": 7},
]


def claude_mem_database(path: Path) -> Path:
    """Write claude-mem's database, with tables of the columns that are read, and return where."""
    tables = {"sdk_sessions": "sessions", "observations": "observations"}
    tables |= {"session_summaries": "summaries", "user_prompts": "prompts", "directives": "directives"}
    with closing(sqlite3.connect(path)) as connection:
        for table, name in tables.items():
            rows: list[dict[str, Any]] = {**CLAUDE_MEM, "directives": DIRECTIVES}[name]
            columns = list(dict.fromkeys(column for row in rows for column in row))
            connection.execute(f"CREATE TABLE {table} ({', '.join(columns)})")
            marks = ", ".join("?" * len(columns))
            values = [[row.get(column) for column in columns] for row in rows]
            connection.executemany(f"INSERT INTO {table} VALUES ({marks})", values)
        connection.commit()
    return path


NOTES = {
    "auth.md": """---
title: Authentication System
permalink: auth-system
tags: [security, api]
created: 2026-01-10T14:30:00Z
---

# Authentication System

See [[Login Flow]].

- [decision] Use JWT tokens for sign-in #security (after the audit)
- [fact] A session ends after 24 hours
- [ ] write the tests
- [x] read the code
- [a link](https://example.org) to a page
- [人] 李工负责登录

- implements [[Authentication Spec]]

```
- [fact] not an observation
```
""",
    "daily/2026-02-03.md": "今天把炉子的温度调到了 250 度。 #炉子\n",
    "exported.md": "---\ntype: Fact\nphronesis: {id: x}\n---\n\nOur own.\n",
    "empty.md": "---\ntitle: Nothing\n---\n",
    ".obsidian/help.md": "not a note",
}


def vault(folder: Path) -> Path:
    """Write a folder of notes and return where."""
    for name, text in NOTES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    return folder
