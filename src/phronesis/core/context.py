"""A composed context: slots of blocks with sources, within one token budget; and the log of contexts and requests."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from typing import Any, Final, Literal

from phronesis.core.ids import CITATION_PREFIX
from phronesis.core.items import Item
from phronesis.core.relations import ItemOutcome
from phronesis.core.results import Evidence
from phronesis.core.serialization import Record

SLOTS = ("system_blocks", "working_summary", "recent_turns", "evidence", "user_message")
"""The slots in rendering order (source: the runtime's contract, section 8)."""

DUE_LABEL = "Due"
"""The label of system blocks with due items. It changes with time, so they follow the stable part, with the evidence.
"""


@dataclass(frozen=True, slots=True)
class Block(Record):
    """One block of a slot: text, its citations, and the role it is shown under.

    ``fenced``: the text comes from a source below the user's trust and is rendered as data, not as instruction. Blocks
    of one ``label`` are rendered as one group, one line each, ordered by ``place`` and then as given. ``about``
    follows the citations in parentheses. Summary lines of one ``batch`` are dropped together. The citations of recent
    turns are not rendered: they name the items with the same text.
    """

    text: str
    citations: Sequence[str] = ()
    role: str = "system"
    name: str | None = None
    fenced: bool = False
    label: str | None = None
    about: str = ""
    place: int = 0
    batch: str | None = None


@dataclass(frozen=True, slots=True)
class Budget(Record):
    """The token budget of a context, the share of each slot, and the maximum number of pieces.

    Evidence, then recent turns, may also take what other slots leave; the summary and the system blocks what slots
    leave in which there is nothing to show. ``snippet_tokens`` is fixed, and the counts are ceilings: how much
    evidence is shown is decided by what bears on the message.
    The defaults are this project's: enough for evidence first, with recent turns second.
    """

    total: int = 4_000
    system_blocks: int = 800
    working_summary: int = 400
    recent_turns: int = 1_200
    evidence: int = 2_000
    snippet_tokens: int = 300
    evidence_count: int = 24
    recent_turn_count: int = 8


@dataclass(frozen=True, slots=True)
class Candidates(Record):
    """The candidates of a context: for each slot the pieces to keep, best first.

    ``recent_turns`` are oldest first; when room is short the oldest go. ``taken_from`` maps the citation of what was
    derived to those of the messages it was taken from: where their words are shown, it says nothing new. ``held``: the
    scope holds something, whether or not any of it is a candidate, so that what the fences mean is explained. ``zone``
    is that in which days are told of what was said in no offset.
    """

    user_message: str
    system_blocks: Sequence[Block] = ()
    working_summary: Sequence[Block] = ()
    recent_turns: Sequence[Block] = ()
    evidence: Sequence[Evidence] = ()
    taken_from: Mapping[str, Sequence[str]] = field(default_factory=dict)
    held: bool = False
    zone: tzinfo = UTC


@dataclass(frozen=True, slots=True)
class ContextPackage(Record):
    """A composed context. ``token_count`` is that of the larger of its two renderings.

    The first ``stable_messages`` of ``messages`` (0 or 1) are the part that calls of one session share: a prompt
    cache's breakpoint belongs behind them. The text begins with the same characters. ``citations`` maps each alias in
    the renderings (``m1``, shown as ``[m1]``) to what it stands for: ``mem:<id>``, or ``policy:<n>``.

    ``explain`` says what each slot used and borrowed, how much of it is stable, what was dropped and why, what is
    disputed, which roles were without their model, and how the evidence was found.
    """

    context_id: str
    system_blocks: Sequence[Block]
    working_summary: Sequence[Block]
    recent_turns: Sequence[Block]
    evidence: Sequence[Evidence]
    user_message: str
    token_count: int
    token_budget: int
    explain: Mapping[str, Any] = field(default_factory=dict)
    text: str = ""
    messages: Sequence[Mapping[str, str]] = ()
    stable_messages: int = 0
    citations: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.text

    def shown_ids(self) -> list[str]:
        """Return the ids of the items whose words are in it, recent turns left out."""
        blocks = [*self.system_blocks, *self.working_summary]
        cited = [
            citation.removeprefix(CITATION_PREFIX)
            for block in blocks
            for citation in block.citations
            if citation.startswith(CITATION_PREFIX)
        ]  # a policy's line is no item
        return list(dict.fromkeys([*cited, *(item for one in self.evidence for item in (one.item.id, *one.same))]))

    def ids_by_section(self) -> dict[str, list[str]]:
        """Return the ids of the items that each section shows, recent turns included, without empty sections."""
        blocks = {name: getattr(self, name) for name in ("system_blocks", "working_summary", "recent_turns")}
        cited = {
            name: [
                citation.removeprefix(CITATION_PREFIX)
                for block in section
                for citation in block.citations
                if citation.startswith(CITATION_PREFIX)
            ]
            for name, section in blocks.items()
        }
        cited["evidence"] = [one.item.id for one in self.evidence]
        return {name: list(dict.fromkeys(ids)) for name, ids in cited.items() if ids}

    def aliases_by_section(self) -> dict[str, dict[str, str]]:
        """Return the id of the item that each alias stands for: ``evidence``, and ``standing`` for all else."""
        found = {one.item.id for one in self.evidence}
        out: dict[str, dict[str, str]] = {}
        for alias, citation in self.citations.items():
            if citation.startswith(CITATION_PREFIX):
                item_id = citation.removeprefix(CITATION_PREFIX)
                out.setdefault("evidence" if item_id in found else "standing", {})[alias] = item_id
        return out

    def render(self, form: Literal["text", "messages"] = "text") -> Any:
        """Return the prompt as one text, or as a list of ``{role, content}`` for a chat model."""
        return self.text if form == "text" else [dict(message) for message in self.messages]


# Activity: contexts composed, requests answered, latencies by route, and texts not learned from. The log of these holds
# ids, numbers and times, never text; it is bounded by ``ActivityLimits``.

UNRECOGNISED: Final = "unrecognised"
"""The rule of a message from which the extractor proposed nothing and of which it refused nothing."""

NOTHING_PROPOSED: Final = "the extractor proposed nothing from it"

SHOWN_SECTIONS: Final = ("system_blocks", "working_summary", "recent_turns", "evidence")
"""Sections of a context in the order of rendering."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivityLimits:
    """How many of a tenant's newest contexts and requests are kept, and for how many days; 0 records none."""

    contexts: int = 5_000
    requests: int = 10_000
    days: int = 30


USUAL_LIMITS: Final = ActivityLimits()
"""The limits where a policy says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextRecord(Record):
    """A context that was composed, or a search result that an agent was shown: ids and figures, no text.

    ``verb`` is ``compose_context``, or ``search`` for a search over MCP. ``user_id`` is None for a shared namespace,
    and with ``unknown_user``: nothing is stored for that user. ``session_id`` is None where the session recorded no
    turn. ``shown`` maps each section to the ids of the items in it. ``milliseconds`` is the time that the call took.
    """

    context_id: str
    at: datetime
    verb: str
    user_id: str | None = None
    unknown_user: bool = False
    namespace: str | None = None
    session_id: str | None = None
    agent_id: str | None = None
    token_count: int = 0
    token_budget: int = 0
    milliseconds: float = 0.0
    abstained: bool = False
    shown: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def item_count(self) -> int:
        """The number of different items shown."""
        return len({one for ids in self.shown.values() for one in ids})


ShownState = Literal["same", "changed", "ended", "archived", "quarantined", "gone", "remote"]
"""What became of an item since it was shown; ``gone``: erased, or rolled back. ``remote``: another server's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownItem(Record):
    """An item that a context showed, as it is now. ``before`` is its content then, where that differs.

    ``outcome`` is what became of it in the context, where a turn that was committed with the context says so.
    """

    section: str
    item_id: str
    state: ShownState
    item: Item | None = None
    before: str | None = None
    outcome: ItemOutcome | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextDetail(Record):
    """A context with the items that it showed, in the order of its sections."""

    context: ContextRecord
    items: Sequence[ShownItem] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRecord(Record):
    """A request that a server answered.

    ``interface`` is ``http`` or ``mcp``; ``route`` the method and declared route, or the tool. ``status`` is the HTTP
    status, or for a tool ``ok`` or the error's code. ``key_label`` is None where no key was given; ``user_id`` where
    the request named no user, or one for whom nothing is stored.
    """

    request_id: str
    at: datetime
    interface: str
    route: str
    status: str
    failed: bool
    milliseconds: float
    key_id: str | None = None
    key_label: str | None = None
    user_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteLatency(Record):
    """How long the recorded requests of a route took, in milliseconds: median, 95th percentile and longest."""

    interface: str
    route: str
    count: int
    failed: int
    p50: float
    p95: float
    longest: float


@dataclass(frozen=True, slots=True, kw_only=True)
class UnlearnedText(Record):
    """A text that became no memory: its rule and reason, and where it was said.

    ``id`` names it among the refusals of its entry. ``text`` is what was refused, perhaps an excerpt; ``message`` is
    the whole message, ``item_id`` the memory of its words. ``extractor`` is what refused or did not recognise it.
    """

    id: str
    entry_id: str
    recorded_at: datetime
    text: str
    rule: str
    reason: str
    role: str | None = None
    message: str | None = None
    item_id: str | None = None
    session_id: str | None = None
    user_id: str | None = None
    namespace: str | None = None
    extractor: str | None = None


@dataclass(frozen=True, slots=True)
class TimedRequest:
    """One request of a route: whether it failed, and how long it took."""

    interface: str
    route: str
    failed: bool
    milliseconds: float


def route_latencies(requests: Iterable[TimedRequest]) -> list[RouteLatency]:
    """Return the latencies by interface and route, the most frequent first; percentiles are of the nearest rank."""
    by_route: dict[tuple[str, str], list[TimedRequest]] = {}
    for one in requests:
        by_route.setdefault((one.interface, one.route), []).append(one)
    out = []
    for (interface, route), rows in by_route.items():
        times = sorted(row.milliseconds for row in rows)
        out.append(
            RouteLatency(
                interface=interface,
                route=route,
                count=len(rows),
                failed=sum(row.failed for row in rows),
                p50=_nearest_rank(times, 0.5),
                p95=_nearest_rank(times, 0.95),
                longest=times[-1],
            )
        )
    return sorted(out, key=lambda one: (-one.count, one.interface, one.route))


def _nearest_rank(ordered: Sequence[float], share: float) -> float:
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
