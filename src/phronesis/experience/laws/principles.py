"""Rules for principles: when one is created, when it is reworded, and its support, risk and cost (EMB-10)."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

from phronesis.experience.laws.evidence_fold import success_rate
from phronesis.experience.laws.records import L1Event
from phronesis.experience.laws.topics import FAILURE, KNOWN, SUCCESS, Drawn, independent_sources

KEPT: Final = 0.5
"""The confidence below which a principle dissolves: as much speaks against it as for it."""

MAX_REFS: Final = 5
"""References to sources that a principle names, of support and of what contradicts it."""

_SECONDS: Final = (
    ("seconds", 1.0), ("run_seconds", 1.0), ("duration_seconds", 1.0), ("elapsed_seconds", 1.0), ("duration_s", 1.0),
    ("elapsed", 1.0), ("duration", 1.0), ("milliseconds", 0.001), ("duration_ms", 0.001), ("elapsed_ms", 0.001),
    ("minutes", 60.0), ("hours", 3600.0),
)  # fmt: skip
"""Names under which observations tell how long an attempt took, and their unit in seconds; the first one counts."""


@dataclass(frozen=True, slots=True)
class Worth:
    """What it takes for patterns to make a principle, and for it to be said anew.

    ``min_patterns`` that agree, or one of ``min_members`` events; ``change`` is the share by which the events behind it
    must have changed in number.
    """

    min_members: int = 3
    min_patterns: int = 2
    change: float = 0.25

    def lets_begin(self, drawn: Drawn, *, refines: bool = False) -> bool:
        """Return whether there is enough for a principle; one that ``refines`` another needs a pattern and no more."""
        enough = len(drawn.support) >= self.min_patterns or len(drawn.lead.events) >= self.min_members
        return drawn.confidence >= KEPT and (enough or refines)


def standing(drawn: Drawn) -> dict[str, int]:
    """Count what is behind a principle: supporting patterns, their events and independent sources, how these came out.

    ``contra`` are the events that contradict it.
    """
    events = {event.id: event for one in drawn.support for event in one.events}
    against = {event.id for one in drawn.against for event in one.events} | {event.id for event in drawn.counter}
    labels = [event.label for event in events.values()]
    return {
        "patterns": len(drawn.support), "events": len(events), "successes": labels.count(SUCCESS),
        "failures": labels.count(FAILURE),
        "sources": independent_sources(events.values()),
        "contra": len(against - events.keys()),
    }  # fmt: skip


def material(
    before: Mapping[str, Any],
    now: Mapping[str, Any],
    *,
    rows: Mapping[str, str],
    wished: Mapping[str, str],
    change: float,
) -> bool:
    """Return whether a principle's support changed so much that it is to be said anew.

    Args:
        before: what `standing` gave when it was last said.
        now: what it gives now.
        rows: by source, the polarity of the evidence there is.
        wished: by source, that of the evidence there would be.
        change: the share of ``before``'s events by which their number must have changed.

    Another pattern, or anything new that contradicts it, is always material.
    """
    if rows != wished or before.get("contra", 0) != now["contra"]:
        return True
    known = int(before.get("events", 0))
    return abs(int(now["events"]) - known) >= max(1.0, change * known)


def risk_of(drawn: Drawn) -> dict[str, Any]:
    """Return how often the action of a principle failed, with the 95 % interval of `success_rate`.

    The action is what the leading pattern did, so what contradicts it counts, and what it is to be done instead of does
    not. Where the principle is to avoid it, that is the share of failures of what is avoided.
    """
    outcome = drawn.lead.outcome
    did = {event.id: event for one in drawn.support if one.outcome == outcome for event in one.events}
    did |= {event.id: event for one in drawn.against if one.outcome != outcome for event in one.events}
    did |= {event.id: event for event in drawn.counter if event.label != outcome}
    known = [event for event in did.values() if event.label in KNOWN]
    return success_rate(sum(event.label == FAILURE for event in known), len(known))


@dataclass(frozen=True, slots=True)
class Cost:
    """What an action takes: the median of seconds where observations tell them, and of attempts in an episode."""

    seconds: float | None = None
    timed: int = 0
    attempts: float | None = None
    episodes: int = 0


def cost_of(drawn: Drawn) -> Cost:
    """Return what the leading patterns' action took, and how many attempts the episodes behind it had."""
    outcome = drawn.lead.outcome
    lead = {event.id: event for one in drawn.support if one.outcome == outcome for event in one.events}
    times = [taken for event in lead.values() if (taken := seconds_of(event.observations)) is not None]
    episodes = [
        _attempts(drawn, episode) for episode in sorted({one.episode_id for one in lead.values() if one.episode_id})
    ]
    return Cost(
        seconds=median(times) if times else None, timed=len(times), attempts=median(episodes) if episodes else None,
        episodes=len(episodes),
    )  # fmt: skip


def _attempts(drawn: Drawn, episode: str) -> int:
    """Return how many attempts of an episode are known: by their places, or by their number."""
    events = {event.id: event for one in (*drawn.support, *drawn.against) for event in one.events}
    held = [event for event in events.values() if event.episode_id == episode]
    return max(len(held), *(0 if event.seq is None else event.seq for event in held), 1)


def seconds_of(observations: Any) -> float | None:
    """Return how long an attempt took, as its observations tell it; None where they do not."""
    if not isinstance(observations, Mapping):
        return None
    for name, unit in _SECONDS:
        value = observations.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0:
            return float(value) * unit
    return None


def references(events: Sequence[L1Event]) -> list[str]:
    """Return where some events come from, without repeats, the first `MAX_REFS`."""
    return list(dict.fromkeys(event.source_ref for event in events if event.source_ref))[:MAX_REFS]
