"""Exports of other programs as their authors' documents describe them, made up here: nobody's data."""

import json
import shutil
import sqlite3
import subprocess
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "unit" / "importers" / "data"


def export(name: str) -> Any:
    """Return the value of an export, new at each call."""
    return json.loads((DATA / f"{name}.json").read_text("utf-8"))


def rows(name: str) -> list[Any]:
    """Return the lines of a transcript."""
    return [json.loads(line) for line in (DATA / f"{name}.jsonl").read_text("utf-8").splitlines()]


MEM0: list[dict[str, Any]] = export("mem0")
LANGGRAPH: list[dict[str, Any]] = export("langgraph")
LETTA: dict[str, Any] = export("letta")
LETTA_FIRST: dict[str, Any] = export("letta_first")
CLAUDE_MEM: dict[str, list[dict[str, Any]]] = export("claude_mem")
DIRECTIVES = CLAUDE_MEM.pop("directives")
CLAUDE_MEMORY: dict[str, Any] = export("claude_memory")
CLAUDE_PROJECTS: list[dict[str, Any]] = export("claude_projects")


def chatgpt_conversation(identity: str = "c-1") -> dict[str, Any]:
    """Return a conversation in two languages whose first answer was given up: it lies on a side branch."""
    return {**export("chatgpt_branches"), "id": identity}


def chatgpt_with_tools(identity: str = "c-9") -> dict[str, Any]:
    """Return a conversation with custom instructions, a memory that ChatGPT kept, and what tools were told and said.

    One under another id is earlier, and without the instructions as the user wrote them.
    """
    found: dict[str, Any] = json.loads(json.dumps(export("chatgpt_tools")).replace("c-9", identity))
    if identity != "c-9":
        found["create_time"] = 1.6e9
        found["mapping"][f"{identity}-n1"]["message"]["metadata"]["user_context_message_data"] = None
    return found


def claude_conversation(identity: str = "k-1") -> dict[str, Any]:
    """Return a conversation with a tool's blocks, an attachment, and a message without words."""
    return {**export("claude_conversation"), "uuid": identity}


def claude_artifacts() -> dict[str, Any]:
    """Return a conversation in which an artifact is made and changed, with an attached file."""
    found: dict[str, Any] = export("claude_artifacts")
    return found


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


def claude_archive(path: Path) -> Path:
    """Write an export of Claude as a zip archive and return where."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("data/users.json", json.dumps([{"uuid": "acc", "full_name": "Ada"}]))
        archive.writestr("data/conversations.json", json.dumps([claude_artifacts()]))
        archive.writestr("data/memories/acc.json", json.dumps(CLAUDE_MEMORY, indent=2))
        archive.writestr("data/projects.json", json.dumps(CLAUDE_PROJECTS))
    return path


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


def vault(folder: Path) -> Path:
    """Write a folder of notes and return where."""
    return Path(shutil.copytree(DATA / "vault", folder))
