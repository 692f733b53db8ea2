"""Records of the log: entries, outcomes, and the sessions and turns read back from it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

# Entries, which are immutable, and the outcomes stored beside them.

ERASED: Final = {"$erased": True}
"""What stands in a payload for a part that was erased."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a lane's log.

    ``payload`` is the verb's checked input; parts that were erased are ``ERASED`` marks. ``seq`` counts from 1
    within the lane, without gaps. ``handler_version`` names the ``apply`` that interprets it, for ever.
    """

    id: str
    lane_id: int
    seq: int
    verb: str
    handler_version: int
    actor: str
    recorded_at: datetime
    payload: Mapping[str, Any]
    parent_id: str | None = None
    user_id: str | None = None
    namespace: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What preparing an entry gave: discrete JSON, kept for ever, so that a replay asks nobody again."""

    role: str
    made_by: str
    body: Mapping[str, Any] = field(default_factory=dict)
    n: int = 0


NOTHING: Final = Outcome(role="nothing", made_by="interpreter")
"""The outcome that says an entry was prepared and nothing was found: it is not prepared again."""


def is_erased(part: object) -> bool:
    """Return whether a payload's part is the mark of an erased one."""
    return isinstance(part, (dict, Mapping)) and part.get("$erased") is True


ROLES: Final = ("user", "assistant", "system", "developer", "tool")
REF_TYPES: Final = ("file", "url", "artifact")


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRow:
    """A session as derived: how much it holds, and its metadata merged in order (the last value of a key wins)."""

    session_id: str
    created_at: datetime
    updated_at: datetime
    turn_count: int = 0
    message_count: int = 0
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRow:
    """One turn: the entry that recorded it and its place in the session. The words are in the log."""

    entry_id: str
    session_id: str
    number: int
    recorded_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageRow:
    """One message: where it stands in the payload, and the item it became, or that says the same already."""

    entry_id: str
    n: int
    session_id: str
    item_id: str
    role: str
    message_id: str | None = None
    name: str | None = None
    occurred_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallRow:
    """One tool call: where it stands in the payload."""

    entry_id: str
    n: int
    session_id: str
    name: str
    call_id: str | None = None
    status: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RefRow:
    """One thing referred to: a file, a URL or an artifact."""

    entry_id: str
    n: int
    session_id: str
    ref_type: str
    uri: str


@dataclass(frozen=True, slots=True)
class SummaryLine:
    """One line of a summary, and the ids of the items that it stands on."""

    text: str
    of: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryRow:
    """What a model made of a session up to a turn. A later one takes its place.

    ``entry_id`` is the turn whose preparing made it, ``turn`` that turn's number, ``position`` that of the first
    message after it.
    """

    session_id: str
    entry_id: str
    turn: int
    position: int
    recorded_at: datetime
    lines: tuple[SummaryLine, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationRows:
    """What one entry adds to the record of conversations; a ``summary`` replaces the session's earlier one."""

    session: SessionRow
    turn: TurnRow
    messages: tuple[MessageRow, ...] = ()
    tool_calls: tuple[ToolCallRow, ...] = ()
    refs: tuple[RefRow, ...] = ()
    summary: SummaryRow | None = None
