"""Payloads of the spine's verbs: what an entry of each holds, as JSON. Each engine declares those of its own verbs.

Every member may be missing: a writer leaves out what is empty, and older entries lack what came later.
"""

from collections.abc import Mapping
from typing import Any, TypedDict, TypeVar, cast

from phronesis.core.entries import Entry

P = TypeVar("P", bound=Mapping[str, Any])


def payload_of(entry: Entry, _form: type[P]) -> P:
    """Return an entry's payload, typed as its verb declares it. Nothing is checked: the log holds what was checked."""
    return cast("P", entry.payload)


class MessagePayload(TypedDict, total=False):
    """One message of a turn."""

    role: str
    content: Any
    id: str
    name: str
    created_at: str
    model: str
    metadata: dict[str, Any]
    external_id: str


class ToolCallPayload(TypedDict, total=False):
    """One tool call of a turn."""

    id: str
    name: str
    args: Any
    result: Any
    status: str
    created_at: str
    metadata: dict[str, Any]


class RefPayload(TypedDict, total=False):
    """One reference of a turn to a file, a page or an artifact."""

    type: str
    uri: str
    metadata: dict[str, Any]


class ScopePayload(TypedDict, total=False):
    """The attributes of a scope, which items inherit."""

    agent_id: str
    session_id: str
    run_id: str


class TurnPayload(ScopePayload, total=False):
    """The verbs ``turn`` and ``add``: what was said."""

    messages: list[MessagePayload]
    tool_calls: list[ToolCallPayload]
    refs: list[RefPayload]
    session_metadata: dict[str, Any]
    metadata: dict[str, Any]
    context_id: str
    occurred_at: str
    time_zone: str
    importance: int
    infer: bool
    supersedes: list[str]


class ItemPayload(ScopePayload, total=False):
    """The verb ``item``: one stated item."""

    kind: str
    content: str
    subject: str
    key: str
    value: Any
    metadata: dict[str, Any]
    importance: int
    occurred_at: str
    due: str
    expires: str
    trust: str
    external_id: str
    time_zone: str
    supersedes: list[str]


class EditPayload(TypedDict, total=False):
    """The verbs that edit one item: update, archive, pin, retract, release, reject and their opposites."""

    item_id: str
    reason: str
    expected_version: int
    content: str
    value: Any
    metadata: dict[str, Any]
    valid_to: str
    external_id: str


class ArchiveAllPayload(TypedDict, total=False):
    """The verb ``archive_all``: the attributes that an item must have."""

    attributes: dict[str, str]
    reason: str


class RollbackPayload(TypedDict, total=False):
    """The verb ``rollback``: a delta or an entry, and whether later changes go with it."""

    target_id: str
    cascade: bool


class ErasePayload(TypedDict, total=False):
    """The verb ``erase``: ids and part numbers, no text."""

    gone: list[str]
    anew: list[str]
    apart: list[tuple[str, str, int]]
    parts: dict[str, list[int]]
    everything: bool
    entries: list[str]
