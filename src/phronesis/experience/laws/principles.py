"""Rules for principles: when one is created, when it is reworded, and its support, risk and cost (EMB-10)."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

from phronesis.experience.laws.evidence_fold import success_rate
from phronesis.experience.laws.records import L1Event
from phronesis.experience.laws.topics import FAILURE, KNOWN, SUCCESS, PrincipleDraft, independent_sources

KEPT: Final = 0.5
"""Confidence below which a principle ends: as much contradicts it as supports it."""

MAX_REFS: Final = 5
"""References to sources that a principle lists, for support and for contradictions each."""

_SECONDS: Final = (
    ("seconds", 1.0),
    ("run_seconds", 1.0),
    ("duration_seconds", 1.0),
    ("elapsed_seconds", 1.0),
    ("duration_s", 1.0),
    ("elapsed", 1.0),
    ("duration", 1.0),
    ("milliseconds", 0.001),
    ("duration_ms", 0.001),
    ("elapsed_ms", 0.001),
    ("minutes", 60.0),
    ("hours", 3600.0),
)
"""Names of durations in observations, and their unit in seconds; the first present one counts."""


@dataclass(frozen=True, slots=True)
class PrincipleThresholds:
    """Thresholds for a principle: ``min_patterns`` that agree, or one of ``min_members`` events.

    ``change`` of the number of events, relative, has it reworded.
    """

    min_members: int = 3
    min_patterns: int = 2
    change: float = 0.25

    def lets_begin(self, drawn: PrincipleDraft, *, refines: bool = False) -> bool:
        """Return whether there is enough support for a principle; one that ``refines`` another needs one pattern."""
        enough = len(drawn.support) >= self.min_patterns or len(drawn.lead.events) >= self.min_members
        return drawn.confidence >= KEPT and (enough or refines)


def evidence_counts(drawn: PrincipleDraft) -> dict[str, int]:
    """Return the counts of patterns, events, outcomes and independent sources, and of events that contradict them."""
    events = {event.id: event for one in drawn.support for event in one.events}
    against = {event.id for one in drawn.against for event in one.events} | {event.id for event in drawn.counter}
    labels = [event.label for event in events.values()]
    return {
        "patterns": len(drawn.support),
        "events": len(events),
        "successes": labels.count(SUCCESS),
        "failures": labels.count(FAILURE),
        "sources": independent_sources(events.values()),
        "contra": len(against - events.keys()),
    }


def material(
    before: Mapping[str, Any],
    now: Mapping[str, Any],
    *,
    rows: Mapping[str, str],
    wished: Mapping[str, str],
    change: float,
) -> bool:
    """Return whether a principle's support changed enough for it to be reworded.

    ``rows`` and ``wished`` are the polarities of evidence by source, ``before`` and ``now`` results of
    `evidence_counts`. Another pattern, or any new contradiction, is always enough.
    """
    if rows != wished or before.get("contra", 0) != now["contra"]:
        return True
    known = int(before.get("events", 0))
    return abs(int(now["events"]) - known) >= max(1.0, change * known)


def risk_of(drawn: PrincipleDraft) -> dict[str, Any]:
    """Return how often the action of the leading pattern failed, with the 95 % interval of `success_rate`."""
    outcome = drawn.lead.outcome
    did = {event.id: event for one in drawn.support if one.outcome == outcome for event in one.events}
    did |= {event.id: event for one in drawn.against if one.outcome != outcome for event in one.events}
    did |= {event.id: event for event in drawn.counter if event.label != outcome}
    known = [event for event in did.values() if event.label in KNOWN]
    return success_rate(sum(event.label == FAILURE for event in known), len(known))


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of an action: the median duration in seconds, if observed, and the median of attempts per episode."""

    seconds: float | None = None
    timed: int = 0
    attempts: float | None = None
    episodes: int = 0


def cost_of(drawn: PrincipleDraft) -> Cost:
    """Return the duration of the leading patterns' action, and the number of attempts in their episodes."""
    outcome = drawn.lead.outcome
    lead = {event.id: event for one in drawn.support if one.outcome == outcome for event in one.events}
    times = [taken for event in lead.values() if (taken := seconds_of(event.observations)) is not None]
    episodes = [
        _attempts(drawn, episode) for episode in sorted({one.episode_id for one in lead.values() if one.episode_id})
    ]
    return Cost(
        seconds=median(times) if times else None,
        timed=len(times),
        attempts=median(episodes) if episodes else None,
        episodes=len(episodes),
    )


def _attempts(drawn: PrincipleDraft, episode: str) -> int:
    """Return the number of known attempts of an episode, by their places or their count."""
    events = {event.id: event for one in (*drawn.support, *drawn.against) for event in one.events}
    held = [event for event in events.values() if event.episode_id == episode]
    return max(len(held), *(0 if event.seq is None else event.seq for event in held), 1)


def seconds_of(observations: Any) -> float | None:
    """Return the duration of an attempt from its observations; None if they have none."""
    if not isinstance(observations, Mapping):
        return None
    for name, unit in _SECONDS:
        value = observations.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0:
            return float(value) * unit
    return None


def references(events: Sequence[L1Event]) -> list[str]:
    """Return the references of some events, without repeats, the first `MAX_REFS`."""
    return list(dict.fromkeys(event.source_ref for event in events if event.source_ref))[:MAX_REFS]
