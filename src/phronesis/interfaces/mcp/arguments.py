"""Argument models of the tools; a model sees their JSON Schemas. Names are those of ``Memory``'s verbs.

The docstring of a tool's arguments is its title for people, and then tells a model when to call it.
"""

from typing import Annotated, Any, Final, Literal

from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from phronesis.core.text import MAX_ID_LENGTH
from phronesis.core.timestamps import check_form

STATED: Final = ("fact", "preference", "profile", "decision", "task", "event", "intention", "procedure", "episodic")
"""Kinds of items that a caller may state, the most frequent first; ``Memory.add`` refuses others."""

LEAST_BUDGET: Final = 60
"""Minimum token budget: a result can still say something, and how many were left out."""
MOST_BUDGET: Final = 100_000

Id = Annotated[str, Field(max_length=MAX_ID_LENGTH)]
Time = Annotated[
    str | float,
    BeforeValidator(check_form),
    Field(description="ISO 8601, UTC without an offset; or seconds since 1970."),
]
ItemId = Annotated[str, Field(description="mem:<id>, or the id alone.")]
Kind = Annotated[str, Field(max_length=40)]
StatedKind = Annotated[str, Field(json_schema_extra={"enum": list(STATED)})]
Limit = Annotated[int, Field(ge=1, le=200, description="Results at most.")]


class Arguments(ArgModelBase):
    """The arguments of a tool; a name that is none of them is refused, so that a slip is seen."""

    model_config = ConfigDict(extra="forbid", defer_build=True)


class Owner(Arguments):
    """Whose memory is meant."""

    user_id: Id | None = Field(None, description='Whose memory; default: the server\'s user. "": what is shared.')
    namespace: Id | None = Field(None, description="Which shared memory.")


class ScopeArguments(Owner):
    """Whose memory, and attributes to filter by."""

    agent_id: Id | None = Field(None, description="Of this agent.")
    session_id: Id | None = Field(None, description="Of this conversation.")
    run_id: Id | None = Field(None, description="Of this run.")


class BudgetedRead(Arguments):
    """What every read takes."""

    token_budget: Annotated[int, Field(ge=LEAST_BUDGET, le=MOST_BUDGET)] | None = Field(
        None, description="Tokens of the result at most."
    )


class PointInTime(BudgetedRead):
    """What a read looks back to."""

    as_of: Time | None = Field(None, description="What was known then.")
    valid_at: Time | None = Field(None, description="What held then.")


class Write(Arguments):
    """What every write takes."""

    idempotency_key: Id | None = Field(None, description="A call repeated with the same key is carried out once.")
    wait: bool = Field(True, description="False: return once durable.")


class OwnerOfId(Arguments):
    """Whose the memory is that an id names; another user's is not found."""

    user_id: Id | None = Field(None, description="Whose it is.")


class MemoryReference(OwnerOfId):
    """One memory."""

    id: ItemId


class Part(BaseModel):
    """A part of a turn."""

    model_config = ConfigDict(extra="forbid", defer_build=True)


class Message(Part):
    """A message of a conversation."""

    role: Literal["user", "assistant", "system", "tool"] = "user"
    content: str = Field(description="Word for word.")
    name: Id | None = Field(None, description="Who spoke.")
    id: Id | None = Field(None, description="Unique in its session; stored once.")
    external_id: Id | None = Field(None, description="The caller's own name for it.")
    created_at: Time | None = None
    metadata: dict[str, Any] | None = None


class ToolCall(Part):
    """A call of a tool in a turn."""

    name: Id
    args: Any = None
    result: Any = None
    status: Id | None = Field(None, description="ok, error …")
    id: Id | None = None
    created_at: Time | None = None
    metadata: dict[str, Any] | None = None


class Ref(Part):
    """Something a turn refers to. It is listed; what is read or fetched of it is the operator's policy."""

    type: Literal["file", "url", "artifact"]
    uri: str
    metadata: dict[str, Any] | None = None


class TurnEvents(Part):
    """What happened in one turn."""

    messages: list[Message] = Field(default_factory=list)
    tool_calls: list[ToolCall] | None = None
    refs: list[Ref] | None = None
    session_metadata: dict[str, Any] | None = None


def _turn_of(given: Any) -> Any:
    """Return the turn of messages that are given alone; JSON in a string is left for its parser."""
    if isinstance(given, str) and not given.lstrip().startswith(("{", "[")):
        return {"messages": [{"content": given}]}
    return {"messages": given} if isinstance(given, list) else given


class AddMemory(ScopeArguments, Write):
    """Remember this.

    Call it when the user says to remember something, or states what matters later: about themselves, a preference, a
    decision, a plan, a fact of the project. No secrets, nothing of this moment only. With kind, key and value a new
    value replaces the old.
    """

    content: str | list[Message] = Field(
        description="One statement that is clear by itself, or messages, oldest first."
    )
    infer: bool = Field(True, description="False: keep it word for word and derive nothing.")
    kind: StatedKind | None = Field(None, description="State one item of this kind; content is its text.")
    subject: Id | None = Field(None, description="With kind: whom or what it is about.")
    key: Id | None = Field(None, description="With kind: which property, such as home_city.")
    value: Any = Field(None, description="With key: its value; takes the place of the old one.")
    importance: Annotated[int, Field(ge=1, le=10)] | None = Field(
        None, description="1 small talk, 5 routine, 7 decision, 9 life event."
    )
    occurred_at: Time | None = Field(None, description="When it happened, if not now.")
    due: Time | None = Field(None, description="Of a task or intention.")
    expires: Time | None = Field(None, description="Of a task or intention.")
    external_id: Id | None = Field(None, description="Your own unique name for it.")
    metadata: dict[str, Any] | None = Field(None, description="Anything to filter by.")


class SearchMemories(ScopeArguments, PointInTime):
    """Search memories.

    Call it before you answer what may depend on the user or on earlier conversations or decisions. Cite what you use as
    [mem:<id>]. When nothing supports an answer, say so.
    """

    query: str = Field(description="The question or topic, in any language.", min_length=1)
    limit: Limit = 10
    min_score: Annotated[float, Field(ge=0, le=1)] | None = Field(None, description="Leave out what scores less.")
    kinds: list[Kind] | None = Field(None, description="Only these kinds: preference, decision, task, message …")
    filters: dict[str, Any] | None = Field(
        None,
        description="{field: value} or {field: {eq|ne|in|nin|gt|gte|lt|lte|contains: value}}, joined by AND, OR, NOT.",
    )
    explain: bool = Field(False, description="Add each channel's share of the score.")


class Forget(Owner, Write):
    """Forget this.

    Call it when the user asks to forget something. First with query: it lists what would go. Then, when those are the
    ones, with their ids: they are archived, and no read shows them any more.
    """

    query: str | None = Field(None, description="What is to be forgotten, in the user's words.", min_length=1)
    ids: list[ItemId] | None = Field(None, description="Which memories, as a first call or a search gave them.")
    external_id: Id | None = Field(None, description="The one of this name.")
    dry_run: bool | None = Field(
        None, description="true: only list what would go. Default: true with a query alone, false with ids."
    )
    reason: str | None = Field(None, description="Why; kept in the history.")


class GetMemory(Owner, PointInTime):
    """Read a memory.

    Read one memory in full by its id, citation or external_id, whatever its state. Call it when a search result is cut
    or you need its fields.
    """

    id: ItemId | None = None
    external_id: Id | None = Field(None, description="In place of id: the caller's own name for it.")


class ListMemories(ScopeArguments, PointInTime):
    """List memories.

    List what is remembered, newest first, page by page. Call it to look over everything of a user, kind or session; to
    answer a question, search instead.
    """

    kinds: list[Kind] | None = Field(None, description="Only these kinds.")
    filters: dict[str, Any] | None = Field(None, description="Conditions, as search_memories takes them.")
    limit: Limit = 20
    cursor: str | None = Field(None, description="next_cursor of the page before, with all else the same.")


class UpdateMemory(MemoryReference, Write):
    """Correct a memory.

    Call it when the user corrects something remembered: new words, a new value, or when it stopped being true. The
    history keeps the old version.
    """

    content: str | None = Field(None, description="The new words.")
    value: Any = Field(None, description="The value under the memory's key, where it has one.")
    metadata: dict[str, Any] | None = Field(None, description="Merged with what is there; null removes.")
    valid_to: Time | None = Field(None, description="When it stopped being true.")
    external_id: Id | None = None
    expected_version: Annotated[int, Field(ge=1)] | None = Field(
        None, description="Refuse if it is another version by now."
    )
    reason: str | None = Field(None, description="Why; kept in the history.")


class DeleteMemory(MemoryReference, Write):
    """Archive a memory.

    Take one memory out of all ordinary reads. Call it when something should never have been stored. It is archived, and
    can be brought back; erasing for good is for the operator.
    """

    reason: str | None = Field(None, description="Why; kept in the history.")


class MemoryHistory(MemoryReference, PointInTime):
    """History of a memory.

    List every change of a memory, oldest first: who, when, what it was before. Call it when the user asks how or since
    when something is known, or to find the delta to roll back.
    """


class ExplainMemory(MemoryReference, PointInTime):
    """Why a memory is held.

    Show why something is believed: the sources with their exact words, the evidence for and against, the history. Call
    it when the user asks where you know something from, or memories contradict each other.
    """


class RollbackMemory(OwnerOfId, Write):
    """Take a change back.

    Undo one change (delta_id), or all that one write changed (entry_id). Call it when a write turns out to have been
    wrong. It is itself a change, and can be taken back.
    """

    id: str = Field(description="A delta_id of memory_history, or the entry_id that a write gave.")
    cascade: bool = Field(False, description="Also take back later changes that stand on it.")


class ComposeContext(Owner, PointInTime):
    """Compose a context.

    Call it once at the start of a turn, instead of several searches: profile, preferences, what is due, a summary,
    recent turns and cited evidence in one text within token_budget.
    """

    session_id: Id = Field(description="This conversation.")
    user_message: str = Field(description="What the user just said.", min_length=1)
    agent_state: dict[str, Any] | None = Field(None, description="goal, task, topic.")
    agent_id: Id | None = None


class CommitTurn(Owner, Write):
    """Record a turn.

    Call it at the end of a turn, with the context_id it was answered with: messages, tool calls and references are
    recorded and learned from.
    """

    session_id: Id = Field(description="The conversation.")
    turn_events: Annotated[TurnEvents, BeforeValidator(_turn_of)] = Field(
        description="A turn, or the list of its messages."
    )
    agent_id: Id | None = None
    context_id: Id | None = None
    outcomes: dict[str, Any] | None = Field(None, description="By mark: used, ignored, contradicted.")
