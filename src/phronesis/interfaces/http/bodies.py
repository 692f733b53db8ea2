"""Request bodies. An unknown field is an error; the verbs validate the values."""

from typing import Annotated, Any, Literal

import pydantic

from phronesis.core.api_keys import Role
from phronesis.core.timestamps import check_form
from phronesis.interfaces.authentication import Caller

Object = dict[str, Any]
Time = Annotated[str | int | float, pydantic.BeforeValidator(check_form)]
"""ISO 8601, or seconds since 1970 (milliseconds above 1e11)."""
Limit = Annotated[int, pydantic.Field(ge=1, le=10_000)]


class Form(pydantic.BaseModel):
    """Fields of a request, each under the name of the verb's argument."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    def arguments(self) -> dict[str, Any]:
        """Return the given fields as arguments of a verb."""
        return {name: value for name in self.model_fields_set if (value := getattr(self, name)) is not None}

    def of(self, caller: Caller) -> dict[str, Any]:
        """Return `arguments`; Forbidden where it looks across the tenant, and the caller may not."""
        if getattr(self, "across", None) is not None:
            caller.require_role(Role.ADMIN)
        return self.arguments()


class Body(Form):
    """A JSON body: a number in quotes is no number."""

    model_config = pydantic.ConfigDict(strict=True)


class Owner(Body):
    """Whose memory: a user's, or a shared namespace."""

    user_id: str | None = None
    namespace: str | None = None


class Attributes(Owner):
    """Whose memory, and of which agent, session and run."""

    agent_id: str | None = None
    session_id: str | None = None
    run_id: str | None = None


class PointInTime(Form):
    """What was known, and what held, at a time."""

    as_of: Time | None = None
    valid_at: Time | None = None


class OwnBody(Body):
    """Whose item the id in the path names: 404 for another user's."""

    user_id: str | None = None


class NewMemory(Attributes):
    """What to remember: a text, messages, or with ``kind`` one item."""

    content: str | list[Object]
    metadata: Object | None = None
    occurred_at: Time | None = None
    infer: bool = True
    kind: str | None = None
    supersedes: str | list[str] | None = None
    external_id: str | None = None
    importance: int | None = None
    subject: str | None = None
    key: str | None = None
    value: Any = None
    due: Time | None = None
    expires: Time | None = None
    time_zone: str | None = None


class MemorySearch(Attributes, PointInTime):
    """A question, and where to search for its answer; ``across`` needs an admin's key."""

    query: str
    kinds: list[str] | None = None
    filters: Object | None = pydantic.Field(default=None, description='As mem0\'s: {"importance": {"gte": 7}}.')
    limit: Limit = 10
    min_score: float | None = None
    exclude_session: str | None = None
    explain: bool = False
    time_zone: str | None = None
    across: Literal["tenant"] | None = None
    cursor: Any = pydantic.Field(default=None, description="Not taken: a search has no pages.")
    offset: Any = pydantic.Field(default=None, description="Not taken: a search has no pages.")


class Change(OwnBody):
    """What an item is given; the header If-Match says of which version."""

    content: str | None = None
    value: Any = None
    metadata: Object | None = None
    valid_to: Time | None = None
    external_id: str | None = None
    reason: str | None = None


class ReasonBody(OwnBody):
    """Why something is done."""

    reason: str | None = None


class Undo(OwnBody):
    """What is taken back: one delta, or all that an entry changed."""

    id: str
    cascade: bool = False


class NewTurn(Owner):
    """One turn of a session, as ``commit_turn`` takes it."""

    session_id: str
    turn_events: str | list[Object] | Object
    agent_id: str | None = None
    context_id: str | None = None
    outcomes: dict[str, str] | None = None
    time_zone: str | None = None


class ContextRequest(Owner, PointInTime):
    """What a context is composed for; ``explain``: with every record behind it, not only what is shown of them."""

    session_id: str
    user_message: str
    agent_state: Object | None = None
    agent_id: str | None = None
    token_budget: int | None = None
    plan: Object | None = None
    dry_run: bool = False
    time_zone: str | None = None
    explain: bool = False


class NewExperience(Owner):
    """Attempts: ``nei``, one or several, or the ``text`` of a source that is read for them."""

    nei: Object | list[Object] | None = None
    text: str | None = None
    source_type: str | None = None
    source_ref: str | None = None
    occurred_at: Time | None = None


class Grouping(Owner):
    """Where events are grouped; ``full`` groups all of them anew."""

    full: bool = False


class Question(Owner, PointInTime):
    """What is asked of the experience base."""

    situation: str = ""
    goal: str = ""
    constraints: list[str | Object] = []
    preferences: list[str | Object] = []
    artifacts: list[str | Object] | None = None
    label: str | None = None
    source_type: str | None = None
    since: str | None = None
    until: str | None = None
    limit: Limit = 10
    min_score: float | None = None
    explain: bool = False
    token_budget: int | None = None


class FeedbackBody(OwnBody):
    """Feedback on an item."""

    target_id: str
    kind: str
    value: Any = None
    reason: str | None = None


class Forgetting(Owner):
    """Where to forget, and whether to say only what would be."""

    session_id: str | None = None
    agent_id: str | None = None
    kinds: list[str] | None = None
    dry_run: bool = False


class Reflecting(Body):
    """Whether to reflect although nothing asks for it, or because a session ended."""

    force: bool = False
    session_ended: bool = False


class TraitChange(OwnBody):
    """What a trait is given; the header If-Match says of which version."""

    content: str | None = None
    context: str | None = None
    facet: str | None = None
    reason: str | None = None


class NewReasoning(Owner):
    """A block of claims."""

    content: str


class NewRun(Owner):
    """A run to record."""

    run: Object


class RunWord(Owner):
    """What came of a run."""

    feedback: Object


class Learning(Owner):
    """Which model learns; none: the policy's, or rules."""

    model: str | None = None


class NewResource(Owner):
    """A document: its text, or the page at ``url`` where the policy allows it."""

    text: str | None = None
    url: str | None = None
    uri: str | None = None
    title: str | None = None
    type: str | None = None
    media_type: str | None = None
    metadata: Object | None = None
    occurred_at: Time | None = None
    agent_id: str | None = None


class PlanRequest(Owner, PointInTime):
    """The message that a plan is made for."""

    message: str
    session_id: str | None = None
    agent_id: str | None = None
    agent_state: Object | None = None
    limit: Annotated[int, pydantic.Field(ge=1, le=1_000)] | None = None
    time_zone: str | None = None


class Verdict(OwnBody):
    """What becomes of an item in quarantine."""

    id: str
    action: Literal["release", "reject"]
    reason: str | None = None


class Merging(OwnBody):
    """The entities that are one."""

    ids: list[str]
    reason: str | None = None


class Splitting(OwnBody):
    """What leaves an entity: one of its names, or the items that are about another, perhaps of a ``name``."""

    alias: str | None = None
    items: list[str] | None = None
    name: str | None = None
    reason: str | None = None


class Previewing(Attributes):
    """The messages whose memories are previewed."""

    content: str | list[Object]
    occurred_at: Time | None = None
    importance: int | None = None
    time_zone: str | None = None


class ClaimsToCheck(Body):
    """A block of claims, and the status of the item that it would be."""

    content: str
    status: str = "active"
