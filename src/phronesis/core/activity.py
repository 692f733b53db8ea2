"""Records of activity: contexts composed, requests answered, latencies by route, and texts not learned from.

The log of contexts and requests holds ids, numbers and times, never text; it is bounded by ``ActivityLimits``.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal

from phronesis.core.items import Item
from phronesis.core.relations import ItemOutcome
from phronesis.core.serialization import Record

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
