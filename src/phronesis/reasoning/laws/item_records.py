"""Public records of the reasoning bank: items, runs, and the result of learning from a run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, Final, Literal

from phronesis.core.confidence import Judgement
from phronesis.core.items import Item
from phronesis.core.results import Degraded
from phronesis.core.serialization import Record, as_json
from phronesis.reasoning.laws.claim_status import current_block
from phronesis.reasoning.laws.records import REASONING, Claim, ReasoningBlock, Review

# Reasoning items, and the claims that matched a query.


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningItem(Item):
    """An item of the reasoning bank with its block, each claim in its current state.

    ``status`` is the item's life cycle, active or archived; the epistemic status is on the claims. ``entry_id`` is the
    entry that created it. While it is ``pending`` (recorded, not interpreted yet) it has no content.
    """

    topic: str = ""
    scope: str | None = None
    claims: Sequence[Claim] = ()
    pending: bool = False

    @property
    def item(self) -> Item | None:
        """The item as a general record; None while it is pending."""
        return None if self.pending else Item(**{name: getattr(self, name) for name in _ITEM})

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {**Item.to_dict(self), **{name: as_json(getattr(self, name)) for name in _OWN}}


_ITEM: Final = tuple(f.name for f in fields(Item))
_OWN: Final = ("topic", "scope", "claims", "pending")


def reasoning_item(item: Item) -> ReasoningItem:
    """Return the reasoning item of an item."""
    block = current_block(item)
    own = {name: getattr(item, name) for name in _ITEM}
    return ReasoningItem(**own, topic=block.topic, scope=block.scope, claims=block.claims)


def pending_item(item_id: str, block: ReasoningBlock, *, entry_id: str, at: datetime) -> ReasoningItem:
    """Return the record of an item whose entry is not interpreted yet."""
    return ReasoningItem(
        id=item_id,
        kind=REASONING,
        content="",
        entry_id=entry_id,
        recorded_at=at,
        updated_at=at,
        topic=block.topic,
        scope=block.scope,
        claims=block.claims,
        pending=True,
    )


@dataclass(frozen=True, slots=True)
class ClaimSeen(Record):
    """A claim that a search showed to a run: its current text (empty when it is gone), and its distance."""

    claim_id: str
    snippet: str
    distance: float | None


@dataclass(frozen=True, slots=True)
class MemoryUse(Record):
    """An item that a run read: ``via`` mem_get, or mem_search with the claims that matched the query."""

    item_id: str
    via: str
    matched_claims: Sequence[ClaimSeen] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord(Record):
    """A run as recorded, with its feedback.

    ``trace`` is the given trace (a mapping; anything else under ``steps``), with ``memories``: what the run read, as
    `MemoryUse`. ``feedback`` is None until there is some. ``facts`` are the FACTS as computed today (RB-15);
    ``learned`` the entries of the learns, oldest first, rolled-back ones included. ``review`` is the known review of
    its modifier; ``runs.list`` omits it.
    """

    run_id: str
    output: Mapping[str, Any]
    raw: str
    trace: Mapping[str, Any]
    memory_ids: Sequence[str]
    feedback: Mapping[str, Any] | None
    facts: Mapping[str, Any]
    learned: Sequence[str]
    item_id: str
    entry_id: str
    recorded_at: datetime
    status: str
    user_id: str | None = None
    namespace: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    review: Review | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged(Record):
    """The verdict of a run on a claim, and its effect.

    ``verdict`` is what the FACTS say; ``counted`` how the run counts for the claim: a run counts once, by its first
    verdict. ``before`` and ``after`` are the claim's status around this learn, ``support`` and ``contra`` its counts
    afterwards. ``by`` is rule or model; with the ``model`` come the ``quote`` of the FACTS or the ``reason`` it gave.
    ``deleted`` says why the claim was removed as wrong (``after`` is empty then); None if it was not.
    """

    item_id: str
    claim_id: str
    verdict: Judgement
    by: Literal["rule", "model"]
    before: str
    after: str
    counted: Judgement | None
    support: int
    contra: int
    model: str | None = None
    quote: str = ""
    reason: str = ""
    deleted: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedClass(Record):
    """A model's verdict on a claim (support, contra, irrelevant, delete) that does not count, and why."""

    item_id: str | None
    claim_id: str
    said: str
    rule: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped(Record):
    """A proposal that was not accepted: ``violations`` are the rules that it breaks, ``{rule, message, …}``."""

    action: str
    item_id: str | None
    content: str
    violations: Sequence[Mapping[str, Any]]
    made_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnResult(Record):
    """The result of learning from a run.

    ``entry_id`` is the entry to roll back: this call's or, if nothing changed any more, that of the learn that changed
    it. ``added`` and ``updated`` are items that proposals created or rewrote; ``judged`` lists every claim of every
    candidate. ``model`` is the model that was asked, or None; ``refused`` its verdicts that do not count; ``degraded``
    means that rules replaced it. ``pending``: recorded, and not interpreted yet.
    """

    entry_id: str
    run_id: str
    added: Sequence[ReasoningItem] = ()
    updated: Sequence[ReasoningItem] = ()
    judged: Sequence[Judged] = ()
    dropped: Sequence[Dropped] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    model: str | None = None
    refused: Sequence[RefusedClass] = ()
    degraded: Sequence[Degraded] = ()
    pending: bool = False
