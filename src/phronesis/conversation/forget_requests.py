"""Requests to forget something, made by a user in a conversation: open tasks until somebody carries them out.

A sentence alone deletes nothing. The request becomes a task of the user under ``KEY``, due at once, so that contexts
show it and ``due`` lists it, and ``gated`` says which verb to call. It ends when something that it names is deleted or
retracted, or when the request itself is deleted.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from phronesis.conversation.extraction.gate import refusal
from phronesis.conversation.extraction.starter import forget_targets
from phronesis.core.changes import Changes, Patch
from phronesis.core.entries import Entry, is_erased
from phronesis.core.items import Item
from phronesis.core.proposals import USER, Proposal, Refusal
from phronesis.core.timestamps import isoformat, parse_local
from phronesis.index.tokens import tokenize
from phronesis.models.text_features import has_han
from phronesis.store.lane_view import LaneView

KEY: Final = "forget_request"
KIND: Final = "task"

IMPORTANCE: Final = 8
"""Importance of a request, above that of a user's task: it is addressed to the memory itself."""

CLOSING: Final = frozenset({"archive", "archive_all", "retract"})
"""Verbs by which somebody removes an item from what is held."""

_ENGLISH, _CHINESE = "asked to forget: {}", "要求忘记：{}"
"""The content of a request."""


def forget_requests(n: int, text: str, at: datetime, *, speaker: str | None) -> tuple[list[Proposal], list[Refusal]]:
    """Return the requests to forget in a user's message, and for each the refusal that names the verb to call."""
    found = forget_targets(text)
    proposals = [
        Proposal(
            n=n,
            quote=text[start:end],
            start=start,
            end=end,
            kind=KIND,
            subject=speaker or USER,
            key=KEY,
            value=target,
            content=(_CHINESE if has_han(target) else _ENGLISH).format(target),
            importance=IMPORTANCE,
            due=isoformat(at),
        )
        for start, end, target in found
    ]
    return proposals, [refusal(n, text[start:end], KEY) for start, end, _ in found]


def requests_in(entry: Entry, texts: Mapping[int, str]) -> tuple[list[Proposal], list[Refusal]]:
    """Return the requests to forget in the user's messages among ``texts``, by number, with their refusals."""
    proposals: list[Proposal] = []
    refusals: list[Refusal] = []
    for n, text in texts.items():
        message = entry.payload["messages"][n]
        if not is_erased(message) and message["role"] == "user":
            found, told = forget_requests(n, text, said_at(entry, message), speaker=message.get("name"))
            proposals += found
            refusals += told
    return proposals, refusals


def said_at(entry: Entry, message: Mapping[str, Any]) -> datetime:
    """Return when a message of an entry was said, in its own time zone."""
    given = message.get("created_at") or entry.payload.get("occurred_at")
    return entry.recorded_at if given is None else parse_local(given, field="created_at")


def with_requests_met(view: LaneView, entry: Entry, changes: Changes, held: Mapping[str, Item]) -> Changes:
    """Return changes that also end the requests which they fulfil (``handler.Consequence``)."""
    if entry.verb not in CLOSING:
        return changes
    gone = [
        held[patch.item_id]
        for patch in changes.patches
        if patch.item_id in held
        and held[patch.item_id].key != KEY
        and (patch.fields.get("status") == "archived" or patch.fields.get("ended") == "retracted")
    ]
    if not gone:
        return changes
    words = {word for item in gone for word in tokenize(f"{item.content} {item.value or ''}")}
    fields = {"ended": "retired", "ended_by": entry.id, "valid_to": entry.recorded_at}
    met = [
        Patch(one.id, fields, "carried out")
        for one in view.find(kinds=[KIND], key=KEY)
        if not words.isdisjoint(tokenize(str(one.value))) and all(patch.item_id != one.id for patch in changes.patches)
    ]
    return replace(changes, patches=[*changes.patches, *met]) if met else changes
