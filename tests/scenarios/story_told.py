"""A story of twelve sessions in two languages, told to a memory, and the table of what it then holds."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from phronesis import Memory
from phronesis.conversation.extraction.memory_types import MemoryTypes, load_memory_types
from phronesis.core.items import Item
from phronesis.core.values import NORMALISERS

DATA = Path(__file__).parent / "data"
STORY: Mapping[str, Any] = json.loads((DATA / "story.json").read_text("utf-8"))
TABLE: Mapping[str, Any] = json.loads((DATA / "story_items.json").read_text("utf-8"))
USER: str = STORY["user_id"]

Row = tuple[str, str, str, str]
"""Subject, key, value and state, in the form in which they are compared."""


def turns_of(session: Mapping[str, Any]) -> Iterator[list[dict[str, Any]]]:
    """Give a session's messages by turn: each message of the user begins one, but for two of one moment."""
    turn: list[dict[str, Any]] = []
    for said in session["turns"]:
        if turn and said["role"] == "user" and said["at"] != turn[-1]["created_at"]:
            yield turn
            turn = []
        message = {"role": said["role"], "content": said["text"], "created_at": said["at"]}
        turn.append(message | ({"name": said["name"]} if said.get("name") else {}))
    yield turn


def tell(memory: Memory) -> None:
    """Tell the whole story; before each turn a context is composed, as an agent does."""
    for session in STORY["sessions"]:
        for messages in turns_of(session):
            asked = messages[0]["content"]
            package = memory.compose_context(session["id"], asked, user_id=USER)
            memory.commit_turn(session["id"], {"messages": messages}, user_id=USER, context_id=package.context_id)


def held(memory: Memory) -> list[Item]:
    """Give all that was learned, whatever became of it; names are told apart by ``aliases``."""
    found: dict[str, Item] = {}
    for ended in (None, "superseded", "retracted", "retired"):
        filters = {"ended": {"eq": ended}} if ended else None
        found |= {item.id: item for item in memory.get_all(user_id=USER, limit=1000, filters=filters)}
    return [item for item in found.values() if item.kind != "message" and item.key != "alias"]


def rows_held(memory: Memory) -> list[Row]:
    """Give the table as it is."""
    types = load_memory_types()
    items = held(memory)
    disputed = {
        found
        for item in items
        if item.live
        for edge in memory.explain(item.id).edges
        if edge["type"] == "contradicts"
        for found in (edge["from_id"], edge["to_id"])
    }
    return sorted(
        row(
            types,
            item.kind,
            item.subject or "",
            item.key or "",
            value=str(item.value or item.content),
            state="disputed" if item.live and item.id in disputed else item.ended or "live",
        )
        for item in items
    )


def rows_expected(rows: Sequence[Mapping[str, Any]] = TABLE["items"]) -> list[Row]:
    """Give the table as it was written down before the code."""
    types = load_memory_types()
    return sorted(
        row(types, one["kind"], one["subject"], one["key"], value=one["value"], state=one["status"]) for one in rows
    )


def row(types: MemoryTypes, kind: str, subject: str, key: str, *, value: str, state: str) -> Row:
    """Give a row in the form in which it is compared."""
    known = types.find(key, kind) or types.find(key)
    form = NORMALISERS[known.form] if known is not None and known.form in NORMALISERS else NORMALISERS["text"]
    return NORMALISERS["text"](subject), key, form(value), state


def matched(got: Sequence[Row], expected: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """Give what was not expected and what is missing; a value may say more than the table, or less."""
    left = list(expected)
    extra = []
    for one in got:
        same = [
            each
            for each in left
            if (each[0], each[1], each[3]) == (one[0], one[1], one[3]) and (each[2] in one[2] or one[2] in each[2])
        ]
        if same:
            left.remove(min(same, key=lambda each: abs(len(each[2]) - len(one[2]))))
        else:
            extra.append(one)
    return extra, left
