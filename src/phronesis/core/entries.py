"""Records of the log: entries, outcomes, and the sessions and turns read back from it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

# Entries, which are immutable, and the outcomes stored beside them.

ERASED: Final = {"$erased": True}
"""The mark of an erased part in a payload."""


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
    """The result of preparing an entry: JSON that is kept for ever, so that a replay needs no model."""

    role: str
    made_by: str
    body: Mapping[str, Any] = field(default_factory=dict)
    n: int = 0


NOTHING: Final = Outcome(role="nothing", made_by="interpreter")
"""The outcome of a preparation that found nothing, so that the entry is not prepared again."""


def is_erased(part: object) -> bool:
    """Return whether a payload's part is the mark of an erased one."""
    return isinstance(part, (dict, Mapping)) and part.get("$erased") is True


ROLES: Final = ("user", "assistant", "system", "developer", "tool")
REF_TYPES: Final = ("file", "url", "artifact")


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRow:
    """A derived session: its size, and its metadata merged in order (the last value of a key wins)."""

    session_id: str
    created_at: datetime
    updated_at: datetime
    turn_count: int = 0
    message_count: int = 0
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRow:
    """One turn: its entry and its place in the session. The text is in the log."""

    entry_id: str
    session_id: str
    number: int
    recorded_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageRow:
    """One message: its place in the payload, and the item made from it or equal to it."""

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
    """One tool call: its place in the payload."""

    entry_id: str
    n: int
    session_id: str
    name: str
    call_id: str | None = None
    status: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RefRow:
    """One reference: a file, a URL or an artifact."""

    entry_id: str
    n: int
    session_id: str
    ref_type: str
    uri: str


@dataclass(frozen=True, slots=True)
class SummaryLine:
    """One line of a summary, and the ids of its source items."""

    text: str
    of: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryRow:
    """A model's summary of a session up to a turn. A later one replaces it.

    ``entry_id`` is the turn whose preparation made it, ``turn`` that turn's number, ``position`` that of the first
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
    """The conversation rows of one entry; a ``summary`` replaces the session's earlier one."""

    session: SessionRow
    turn: TurnRow
    messages: tuple[MessageRow, ...] = ()
    tool_calls: tuple[ToolCallRow, ...] = ()
    refs: tuple[RefRow, ...] = ()
    summary: SummaryRow | None = None
