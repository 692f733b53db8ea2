"""Argument models of the tools of experience, traits and reasoning, as those of ``arguments``."""

from typing import Annotated, Any, Literal

from pydantic import Field

from phronesis.interfaces.mcp.arguments import (
    BudgetedRead,
    Id,
    ItemId,
    Limit,
    MemoryReference,
    Owner,
    OwnerOfId,
    PointInTime,
    Time,
    Write,
)


class RecordExperience(Owner, Write):
    """Record an attempt.

    Call it after an attempt at a task whose outcome you know, success or failure, so that it is not tried in vain
    again.
    """

    attempt: str = Field(description="What was tried.", min_length=1)
    source_ref: str = Field(description="Where to look it up: file and line, commit, run, URL.", min_length=1)
    situation: str | None = Field(None, description="In what circumstances.")
    goal: str | None = Field(None, description="Towards what.")
    result: str | None = Field(None, description="What came of it.")
    reflection: str | None = Field(None, description="What to learn from it.")
    label: Literal["success", "failure", "unknown"] = "unknown"
    source_type: Id = Field("run", description="run (what an agent did), chat, log …; manual: a person wrote it.")
    observations: Any = Field(None, description="Measurements, outputs.")
    hints: dict[str, Any] | None = Field(None, description='{"artifacts": [names], "constraints": […]}')
    episode_id: Id | None = Field(None, description="Attempts towards one goal share it.")
    seq: Annotated[int, Field(ge=0)] | None = Field(None, description="The place in the episode.")
    occurred_at: Time | None = Field(None, description="When it was tried.")


class QueryExperience(Owner, PointInTime):
    """Ask what worked.

    Call it before you start a task and after something failed: what worked and what failed before in a situation like
    this, with its events.
    """

    situation: str = Field("", description="Where you are.")
    goal: str = Field("", description="What you are after.")
    constraints: list[str | dict[str, Any]] = Field(
        default_factory=list, description='What must not be done: "no internet".'
    )
    preferences: list[str | dict[str, Any]] = Field(default_factory=list, description="What you would rather do.")
    artifacts: list[str | dict[str, str]] | None = Field(
        None, description='Only about these names, or "file:src/app.py".'
    )
    label: Literal["success", "failure", "unknown"] | None = Field(None, description="Only such events.")
    limit: Limit = 10
    explain: bool = Field(False, description="Add shares of scores.")


class GiveFeedback(OwnerOfId, Write):
    """Give feedback.

    Say that a memory was useful or not, correct or incorrect. Call it after you used what a search or query_experience
    gave and know whether it helped, or when the user judges it.
    """

    target_id: ItemId
    kind: Literal["useful", "not_useful", "correct", "incorrect", "label", "merge", "split"] = Field(
        description="What to say of it. label, merge and split are for experience."
    )
    value: Any = Field(None, description="label: success, failure or unknown; merge: [ids]; split: [[ids], …].")
    reason: str | None = Field(None, description="Why.")


class GetUserTraits(PointInTime):
    """What a user is like.

    List what was learned about how a user works and what they prefer, the surest first, with stage and confidence. Call
    it to adapt tone and approach; these are inferences, not statements of the user.
    """

    user_id: Id | None = Field(None, description="Which user; default: the server's.")
    min_stage: Literal["trend", "candidate", "emerging", "established", "core"] = Field(
        "emerging", description="How sure at least."
    )
    subtype: Literal["behavior", "preference", "core"] | None = None
    context: Literal["work", "personal", "social", "learning", "general"] | None = None


class Reflect(Write):
    """Reflect on a user.

    Look at what was learned of a user since the last time, and draw traits from it. Call it when a conversation ends;
    it does nothing when nothing is due.
    """

    user_id: Id | None = Field(None, description="On which user; default: the server's.")
    force: bool = Field(False, description="Reflect even where nothing is due.")
    session_ended: bool = Field(False, description="A conversation is over: reflect now.")


class MemSearch(Owner, BudgetedRead):
    """Search claims.

    Search the bank of reasoning claims: what runs have supported or refuted, each claim with its status. Call it in a
    run before you propose something, and give your run_id.
    """

    query: str = Field(description="What is claimed, or asked.", min_length=1)
    scope: str | None = Field(None, description="Only items whose SCOPE line says so.")
    limit: Limit = 8
    run_id: Id | None = Field(None, description="Your run: what it saw is weighed when it is learned from.")


class MemGet(MemoryReference, Owner, BudgetedRead):
    """Read a reasoning item.

    Read one item of the reasoning bank with all its claims, facts, inferences, limits and evidence. Call it when
    mem_search found a claim you want to rely on, and give your run_id.
    """

    run_id: Id | None = Field(None, description="Your run: what it saw is weighed when it is learned from.")
