"""Group patterns by topic and derive principles from each group, with support, contradictions and refinements (EMB-10).

Where the same action had the other outcome, that side contradicts it. If it differs in a slot (a failure family, an
artifact, a word of the situation, a source), it forms a narrower principle of its own.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Final

import numpy as np

from phronesis.core.items import Trust
from phronesis.experience.laws.clustering import MAX_COMPARED, REACH, reachable_components
from phronesis.experience.laws.evidence_fold import success_rate, support_ratio
from phronesis.experience.laws.neighbour_graph import average_link
from phronesis.experience.laws.records import L1Event
from phronesis.experience.laws.similarity import Floats

SUCCESS: Final = "success"
FAILURE: Final = "failure"
KNOWN: Final = (SUCCESS, FAILURE)
"""Outcomes that say something about an action."""

OPPOSED: Final = 0.5
"""Share of a pattern's events that must repeat the other pattern's action for the two to contradict each other."""

HELD_BY: Final = 0.75
MISSED_BY: Final = 0.25
"""A slot explains counter-evidence if at least three quarters of it have the slot, and at most a quarter of the
support."""

REFINED: Final = 0.25
"""Factor of the weight of counter-evidence that a slot explains: the principle still holds elsewhere."""

MIN_COUNTER: Final = 2
"""Events of counter-evidence that a slot must explain: a single event always differs in something."""

SAME_ACTION: Final = 0.7
UNCLEAR: Final = 0.5
"""Similarity of two attempts (root of the cosine of their words) that are the same action; from the lower value on it
is undecided: only nearly equal wording is the same action."""

Repeats = Mapping[tuple[str, str], float]
"""By (event id, pattern id), the similarity of the event's action to the pattern's, if at least `UNCLEAR`."""

CONFIDENCE_DIGITS: Final = 4

Terms = Callable[[str], Iterable[str]]
"""Returns the readable terms of a text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternInput:
    """The input of abstraction: a pattern with its live events, the most typical first, and its counterexamples."""

    id: str
    outcome: str
    summary: str = ""
    recommendation: str = ""
    terms: Sequence[str] = ()
    artifacts: Sequence[str] = ()
    families: Sequence[str] = ()
    situation: str = ""
    goal: str = ""
    events: Sequence[L1Event] = ()
    counter: Sequence[L1Event] = ()
    trust: int = 0

    @property
    def mass(self) -> int:
        """The number of distinct sources; equal texts of a machine under several references count once."""
        named = {event.source_ref or event.id for event in self.events}
        said = {
            event.source_ref or event.id if event.trust >= Trust.USER else (origin_of(event), event.content)
            for event in self.events
        }
        return min(len(named), len(said))


def origin_of(event: L1Event) -> tuple[str, str]:
    """Return the source of an event, whatever its references say: its type, and the host of an address."""
    _, sign, rest = (event.source_ref or "").partition("://")
    return event.source_type or "", rest.partition("/")[0].lower() if sign else ""


def independent_sources(events: Iterable[L1Event]) -> int:
    """Return the number of sources of events (`origin_of`): twelve pages of one host are one source."""
    return len({origin_of(event) for event in events})


def is_confirmed(events: Iterable[L1Event]) -> bool:
    """Return whether events can support a principle: one is a person's, or two sources are independent."""
    known = list(events)
    return any(event.trust >= Trust.USER for event in known) or independent_sources(known) > 1


@dataclass(frozen=True, slots=True)
class Slot:
    """The property that defines a narrower situation: its kind (family, artifact, situation, source_type) and value."""

    kind: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PrincipleDraft:
    """A principle before it is worded.

    ``support`` are its patterns, the one that gives the action first; ``against`` patterns of the other outcome with
    the same action, ``counter`` such events outside of patterns. ``slots`` are, by pattern of ``against``, what
    explains it. ``slot`` and ``refines`` belong to a narrower principle: where it applies, and the broader one's place
    in the list.
    """

    support: Sequence[PatternInput]
    against: Sequence[PatternInput] = ()
    counter: Sequence[L1Event] = ()
    slots: dict[str, Slot] = field(default_factory=dict)
    slot: Slot | None = None
    refines: int | None = None

    @property
    def lead(self) -> PatternInput:
        """The pattern that gives the action: one of successes, if any supports it."""
        return self.support[0]

    @property
    def avoided(self) -> list[PatternInput]:
        """The patterns of failures that support it beside the leading one."""
        return [one for one in self.support[1:] if one.outcome == FAILURE]

    @property
    def led(self) -> dict[str, L1Event]:
        """The events, by id, of the supporting patterns with the outcome of the leading one."""
        leading = [one for one in self.support if one.outcome == self.lead.outcome]
        return {event.id: event for one in leading for event in one.events}

    @property
    def weights(self) -> dict[str, float]:
        """By pattern or event, the weight of its evidence: the sources of a pattern, 1 for an event."""
        out = {one.id: float(one.mass) for one in self.support}
        for one in self.against:
            out[one.id] = one.mass * (REFINED if one.id in self.slots else 1.0)
        return out | {event.id: 1.0 for event in self.counter}

    @property
    def confidence(self) -> float:
        """The confidence by its support and contradictions."""
        weights = self.weights
        support = sum(weights[one.id] for one in self.support)
        return round(support_ratio(support, sum(weights.values()) - support), CONFIDENCE_DIGITS)


def draw(topic: Sequence[PatternInput], repeats: Repeats, terms: Terms) -> list[PrincipleDraft]:
    """Return the principles of one topic: the broad one, separate ones, and the narrower ones that refine it.

    A failure whose action is perhaps that of a success supports none with it; unknown outcomes support none.
    """
    known = sorted((one for one in topic if one.outcome in KNOWN), key=lambda one: (-one.mass, one.id))
    opposed = [(one, other) for one in known for other in known if _are_opposed(one, other, repeats, SAME_ACTION)]
    losing = _losing_ids(opposed)
    standing = [one for one in known if one.id not in losing]
    if not standing:
        return []
    worked = [one for one in standing if one.outcome == SUCCESS]
    apart = [one for one in standing if any(_are_opposed(one, other, repeats, UNCLEAR) for other in worked)]
    support = worked + [one for one in standing if one.outcome == FAILURE and one not in apart]
    against = [one for one in known if one.id in losing]
    slots = {}
    for one in against:
        others = [event for winner in standing if (winner, one) in opposed for event in winner.events]
        if (slot := distinguishing_slot(one.events, others, terms)) is not None:
            slots[one.id] = slot
    broad = PrincipleDraft(support=support, against=against, counter=_contrary(support, known, repeats), slots=slots)
    beside = [PrincipleDraft(support=[one], counter=_contrary([one], known, repeats)) for one in apart]
    narrow = [PrincipleDraft(support=[one], slot=slots[one.id], refines=0) for one in against if one.id in slots]
    return [broad, *beside, *narrow]


def _are_opposed(one: PatternInput, other: PatternInput, repeats: Repeats, border: float) -> bool:
    """Return whether two patterns of different outcomes have the same action, by either's events."""

    def repeated(own: PatternInput, far: PatternInput) -> bool:
        again = sum(repeats.get((event.id, far.id), 0.0) >= border for event in own.events)
        return again > 0 and again >= OPPOSED * len(own.events)

    return one.outcome != other.outcome and (repeated(one, other) or repeated(other, one))


def _losing_ids(opposed: Sequence[tuple[PatternInput, PatternInput]]) -> set[str]:
    """Return, of all patterns that contradict each other, those of the side with fewer sources; failures in a tie."""
    sides = {outcome: {one.id: one.mass for one, _ in opposed if one.outcome == outcome} for outcome in KNOWN}
    weaker = FAILURE if sum(sides[SUCCESS].values()) >= sum(sides[FAILURE].values()) else SUCCESS
    return set(sides[weaker])


def _contrary(support: Sequence[PatternInput], known: Sequence[PatternInput], repeats: Repeats) -> list[L1Event]:
    """Return the events outside of the topic's patterns that contradict a supporting pattern."""
    counted = {event.id for one in known for event in one.events}
    found = {
        event.id: event
        for one in support
        for event in one.counter
        if event.id not in counted
        and event.label in KNOWN
        and event.label != one.outcome
        and repeats.get((event.id, one.id), 0.0) >= SAME_ACTION
    }
    return [found[one] for one in sorted(found)]


def distinguishing_slot(counter: Sequence[L1Event], support: Sequence[L1Event], terms: Terms) -> Slot | None:
    """Return the slot in which counter-evidence differs most from support; None if none is clear enough."""
    if len(counter) < MIN_COUNTER:
        return None
    here, there = ([_slots(event, terms) for event in events] for events in (counter, support))
    for kind in range(len(SLOT_KINDS)):
        shares = {
            value: (_share(here, kind, value), _share(there, kind, value))
            for value in sorted(set[str]().union(*(slots[kind] for slots in here)))
        }
        telling = [(low - high, value) for value, (high, low) in shares.items() if high >= HELD_BY and low <= MISSED_BY]
        if telling:
            return Slot(SLOT_KINDS[kind], min(telling)[1])
    return None


SLOT_KINDS: Final = ("family", "artifact", "situation", "source_type")
"""Kinds of slots, the most informative first."""


def _slots(event: L1Event, terms: Terms) -> tuple[set[str], ...]:
    said = set(terms(f"{event.situation}\n{event.goal}"))
    named = {one.partition(":")[2] for one in event.artifacts}
    return ({event.family} if event.family else set(), named, said, {event.source_type} if event.source_type else set())


def _share(held: Sequence[tuple[set[str], ...]], kind: int, value: str) -> float:
    return sum(value in slots[kind] for slots in held) / max(1, len(held))


_DENIED: Final = re.compile(
    r"\b(?:not|never|without|no|skip(?:s|ped|ping)?|forg[eo]t|omit(?:ted)?|instead)\b|n't\b|[没未不别忘]|跳过|省略",
    re.IGNORECASE,
)


def is_denial(attempt: str) -> bool:
    """Return whether an attempt says what was not done, and so shares its words with the opposite action."""
    return _DENIED.search(attempt[:MAX_SCANNED]) is not None


MAX_SCANNED: Final = 500
"""Characters of an attempt in which a negation is searched."""


def group_topics(alike: Floats) -> list[list[int]]:
    """Return the topics among patterns, by average linkage of a similarity matrix in which 1 is the threshold."""
    near = np.argwhere(np.triu(alike >= REACH, 1))
    out: list[list[int]] = []
    for held in reachable_components(range(len(alike)), near, alike[tuple(near.T)]):
        if len(held) <= MAX_COMPARED:
            out += [[held[n] for n in group] for group in average_link(alike[np.ix_(held, held)], threshold=1.0)]
        else:
            out.append(held)
    return sorted(out)


KEPT: Final = 0.5
"""Confidence below which a principle ends: as much contradicts it as supports it."""

MAX_REFS: Final = 5
"""References to sources that a principle lists, for support and for contradictions each."""

_UNITS: Final = {
    "seconds run_seconds duration_seconds elapsed_seconds duration_s elapsed duration": 1.0,
    "milliseconds duration_ms elapsed_ms": 0.001,
    "minutes": 60.0,
    "hours": 3600.0,
}
_SECONDS: Final = {name: unit for names, unit in _UNITS.items() for name in names.split()}
"""Names of durations in observations, and their unit in seconds; the first present one counts."""


@dataclass(frozen=True, slots=True)
class PrincipleThresholds:
    """Thresholds for a principle: ``min_patterns`` that agree, or one of ``min_members`` events.

    ``change`` of the number of events, relative, has it reworded.
    """

    min_members: int = 3
    min_patterns: int = 2
    change: float = 0.25

    def is_sufficient(self, drawn: PrincipleDraft, *, refines: bool = False) -> bool:
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


def is_material_change(
    before: Mapping[str, Any],
    now: Mapping[str, Any],
    *,
    rows: Mapping[str, str],
    wished: Mapping[str, str],
    change: float,
) -> bool:
    """Return whether a principle's support changed enough for it to be reworded.

    ``rows`` and ``wished`` are polarities by source, ``before`` and ``now`` results of `evidence_counts`. Another
    pattern, or any new contradiction, is always enough.
    """
    if rows != wished or before.get("contra", 0) != now["contra"]:
        return True
    known = int(before.get("events", 0))
    return abs(int(now["events"]) - known) >= max(1.0, change * known)


def risk_of(drawn: PrincipleDraft) -> dict[str, Any]:
    """Return how often the action of the leading pattern failed, with the 95 % interval of `success_rate`."""
    outcome = drawn.lead.outcome
    did = drawn.led | {event.id: event for one in drawn.against if one.outcome != outcome for event in one.events}
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
    lead = drawn.led
    times = [taken for event in lead.values() if (taken := seconds_of(event.observations)) is not None]
    known = {event.id: event for one in (*drawn.support, *drawn.against) for event in one.events}
    held: dict[str, list[int]] = {event.episode_id: [] for event in lead.values() if event.episode_id}
    for event in known.values():
        if event.episode_id in held:
            held[event.episode_id].append(event.seq or 0)
    episodes = [max(len(places), *places) for places in held.values()]  # by their count, or their places
    return Cost(
        seconds=median(times) if times else None,
        timed=len(times),
        attempts=median(episodes) if episodes else None,
        episodes=len(episodes),
    )


def seconds_of(observations: Any) -> float | None:
    """Return the duration of an attempt from its observations; None if they have none."""
    if not isinstance(observations, Mapping):
        return None
    for name, unit in _SECONDS.items():
        value = observations.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0:
            return float(value) * unit
    return None


def references(events: Sequence[L1Event]) -> list[str]:
    """Return the references of some events, without repeats, the first `MAX_REFS`."""
    return list(dict.fromkeys(event.source_ref for event in events if event.source_ref))[:MAX_REFS]
