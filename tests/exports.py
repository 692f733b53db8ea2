"""Exports of other programs as their authors' documents describe them, made up here: nobody's data."""

import json
import subprocess
from pathlib import Path
from typing import Any


def chatgpt_conversation(identity: str = "c-1") -> dict[str, Any]:
    """Return a conversation in two languages whose first answer was given up: it lies on a side branch."""

    def node(name: str, parent: str | None, children: list[str], **message: Any) -> dict[str, Any]:
        return {"id": name, "parent": parent, "children": children, "message": message or None}

    def text(*parts: Any, form: str = "text") -> dict[str, Any]:
        return {"content_type": form, "parts": list(parts)}

    mapping = {
        "root": node("root", None, ["sys"]),
        "sys": node("sys", "root", ["u1"], id="sys", author={"role": "system"}, content=text("")),
        "u1": node(
            "u1",
            "sys",
            ["a0", "a1"],
            id="u1",
            author={"role": "user"},
            create_time=1_760_000_000.5,
            content=text("我住在杭州，对花生过敏。"),
        ),
        "a0": node(
            "a0",
            "u1",
            [],
            id="a0",
            author={"role": "assistant"},
            create_time=1_760_000_001,
            content=text("an answer that was given up"),
        ),
        "a1": node(
            "a1",
            "u1",
            ["th"],
            id="a1",
            author={"role": "assistant"},
            create_time=1_760_000_002,
            content=text("记住了。"),
            metadata={"model_slug": "gpt-x"},
        ),
        "th": node("th", "a1", ["u2"], id="th", author={"role": "assistant"}, content={"content_type": "thoughts"}),
        "u2": node(
            "u2",
            "th",
            ["a2"],
            id="u2",
            author={"role": "user"},
            create_time=1_760_000_100,
            content=text({"content_type": "image_asset_pointer"}, "What is on this picture?", form="multimodal_text"),
            metadata={"attachments": [{"name": "西湖.jpg", "size": 3}]},
        ),
        "a2": node(
            "a2", "u2", [], id="a2", author={"role": "assistant"}, create_time=1_760_000_101, content=text("A lake.")
        ),
    }
    return {"id": identity, "title": "杭州", "create_time": 1_760_000_000, "mapping": mapping, "current_node": "a2"}


def claude_conversation(identity: str = "k-1") -> dict[str, Any]:
    """Return a conversation with a tool's blocks, an attachment, and a message without words."""
    return {
        "uuid": identity,
        "name": "退火",
        "created_at": "2026-05-01T08:00:00Z",
        "chat_messages": [
            {
                "uuid": "m1",
                "sender": "human",
                "text": "退火温度定 250 °C。",
                "created_at": "2026-05-01T08:00:00.123456Z",
                "attachments": [{"file_name": "plan.md", "extracted_content": "…"}],
                "files": [{"file_name": "炉.png"}],
            },
            {
                "uuid": "m2",
                "sender": "assistant",
                "text": "",
                "created_at": "2026-05-01T08:00:05Z",
                "content": [{"type": "tool_use", "name": "search"}, {"type": "text", "text": "Noted."}],
            },
            {"uuid": "m3", "sender": "human", "text": " ", "created_at": "2026-05-01T08:01:00Z"},
            {"uuid": "m4", "sender": "human", "text": "And for how long?", "created_at": "2026-05-01T08:02:00Z"},
        ],
    }


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
