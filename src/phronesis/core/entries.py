"""Records of the log: entries and their payloads, outcomes, and the sessions, turns and documents read back from it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, TypedDict, TypeVar, cast

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


def item_timestamps(entry: Entry, at: datetime | None = None) -> dict[str, Any]:
    """Return the fields of an item that an entry makes and that holds since ``at``, by default since it is recorded."""
    made, since = entry.recorded_at, at or entry.recorded_at
    return {"entry_id": entry.id, "recorded_at": made, "updated_at": made, "occurred_at": since, "valid_from": since}


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
    outcomes: dict[str, Any]
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


# A document is an item of kind ``document`` that is not searched: its ``source_ref`` is the uri, its ``data`` holds
# ``title``, ``media_type``, ``type``, ``number`` (of its present version) and ``sections`` (ids in reading order). A
# section is an item of kind ``section``: its content is the section's own text, and its ``data`` holds ``document_id``,
# ``title`` (the document's), ``path`` (headings, outermost first), ``start`` and ``end`` (characters of the parsed
# text) and ``lines``. The sections of each version are stored in rows, as turns are.

DOCUMENT: Final = "document"
SECTION: Final = "section"


@dataclass(frozen=True, slots=True)
class Section:
    """One section of a text: its headings, outermost first, and the range of its own text, [start, end).

    Subsections are separate: the sections of one text do not overlap, and keep its order.
    """

    path: tuple[str, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """The result of parsing a document: its text and sections.

    ``media_type`` is that of the source (``application/pdf``), ``made_by`` the reader and its version.
    """

    title: str
    media_type: str
    text: str
    sections: Sequence[Section]
    made_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentRow:
    """One version of a document: the entry that brought it, and its number in the order in which they came, from 1."""

    document_id: str
    number: int
    entry_id: str
    uri: str
    title: str
    media_type: str
    type: str
    characters: int
    recorded_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionRow:
    """One section of a version of a document: its place in reading order, and its item."""

    document_id: str
    number: int
    n: int
    item_id: str
    path: tuple[str, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceRows:
    """What an entry adds to the resources: versions of documents, and their sections."""

    documents: tuple[DocumentRow, ...] = ()
    sections: tuple[SectionRow, ...] = ()
