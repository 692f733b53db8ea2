"""Group patterns by topic and derive principles from each group, with support, contradictions and refinements (EMB-10).

Successes and failures of one topic may support one principle together: do this, avoid that. Where the same action had
the other outcome, that side contradicts it. If the contradicting side differs in a slot (a failure family, an artifact,
a word of the situation, a source), it forms a narrower principle of its own.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from phronesis.core.items import Trust
from phronesis.core.vectors import components
from phronesis.experience.laws.neighbour_graph import average_link
from phronesis.experience.laws.records import L1Event
from phronesis.experience.laws.similarity import Floats

SUCCESS: Final = "success"
FAILURE: Final = "failure"
KNOWN: Final = (SUCCESS, FAILURE)
"""Outcomes that say something of an action."""

OPPOSED: Final = 0.5
"""Share of a pattern's events that must repeat the other pattern's action, for the two to contradict each other."""

HELD_BY: Final = 0.75
MISSED_BY: Final = 0.25
"""A slot explains counter-evidence when three quarters of the one hold it, and at most a quarter of support."""

REFINED: Final = 0.25
"""What is left of the weight of counter-evidence where a slot explains it: the principle holds elsewhere."""

MIN_COUNTER: Final = 2
"""Events of counter-evidence that a slot must explain: one event differs from all others by something."""

SAME_ACTION: Final = 0.7
UNCLEAR: Final = 0.5
"""How alike two attempts are (root of the cosine of their words) that are the same action; from the lower border on
nobody can tell. Of attempts at one lesson in tests/labelled/experience/dev.jsonl half share no word and 5 % reach .47;
of those at neighbouring lessons 1 % reach .56 and none .66: the same action must be said in nearly the same words."""

Repeats = Mapping[tuple[str, str], float]
"""By (event id, pattern id), how much the event did what the pattern's events did, where that is `UNCLEAR` or more."""

Terms = Callable[[str], Iterable[str]]
"""Gives the readable terms of a text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenPattern:
    """A pattern as abstraction sees it: its live events, the most typical first, and like ones of another outcome."""

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
        """How many sources speak for it: what one source says twice is one piece of evidence.

        Of a machine, the same words under other references are a burst, and one piece of evidence too.
        """
        named = {event.source_ref or event.id for event in self.events}
        said = {event.source_ref or event.id if event.trust >= Trust.USER else (origin_of(event), event.content)
                for event in self.events}  # fmt: skip
        return min(len(named), len(said))


def origin_of(event: L1Event) -> tuple[str, str]:
    """Return which source an event is of, whatever its references say: its type, and the host of an address."""
    _, sign, rest = (event.source_ref or "").partition("://")
    return event.source_type or "", rest.partition("/")[0].lower() if sign else ""


def independent_sources(events: Iterable[L1Event]) -> int:
    """Count the sources of events (`origin_of`): twelve pages of one host are one source."""
    return len({origin_of(event) for event in events})


def is_confirmed(events: Iterable[L1Event]) -> bool:
    """Return whether events can bear a principle: a person told one of them, or two sources are independent."""
    known = list(events)
    return any(event.trust >= Trust.USER for event in known) or independent_sources(known) > 1


@dataclass(frozen=True, slots=True)
class Slot:
    """What tells a narrower situation: its kind (family, artifact, situation, source_type) and value."""

    kind: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A principle before it has words.

    ``support`` are its patterns, the one that gives the action first; ``against`` patterns of the other outcome with
    the same action, ``counter`` such events of no pattern here. ``slots`` are, by pattern of ``against``, what explains
    it. ``slot`` and ``refines`` belong to a narrower principle: where it holds, the broader one's place in the list.
    """

    support: Sequence[SeenPattern]
    against: Sequence[SeenPattern] = ()
    counter: Sequence[L1Event] = ()
    slots: dict[str, Slot] = field(default_factory=dict)
    slot: Slot | None = None
    refines: int | None = None

    @property
    def lead(self) -> SeenPattern:
        """The pattern that gives the action: of successes where one supports it."""
        return self.support[0]

    @property
    def avoided(self) -> list[SeenPattern]:
        """The patterns of failures that support it beside the leading one."""
        return [one for one in self.support[1:] if one.outcome == FAILURE]

    @property
    def weights(self) -> dict[str, float]:
        """By pattern or event, the weight of its evidence: sources of a pattern, 1 of an event."""
        out = {one.id: float(one.mass) for one in self.support}
        for one in self.against:
            out[one.id] = one.mass * (REFINED if one.id in self.slots else 1.0)
        return out | {event.id: 1.0 for event in self.counter}

    @property
    def confidence(self) -> float:
        """Its confidence by what supports and contradicts it here."""
        weights = self.weights
        support = sum(weights[one.id] for one in self.support)
        return confidence_of(support, sum(weights.values()) - support)


CONFIDENCE_DIGITS: Final = 4


def confidence_of(support: float, contra: float) -> float:
    """Return support / (support + contra + 1), in [0, 1): as a pattern's n / (n + 1), one doubt always counted along.

    The mean of a Beta(0, 1) prior after so much evidence: rises with support, falls with what contradicts, 0 without
    support.
    """
    return round(support / (support + contra + 1.0), CONFIDENCE_DIGITS)


def draw(topic: Sequence[SeenPattern], repeats: Repeats, terms: Terms) -> list[Drawn]:
    """Return the principles of one topic: the broad one, those apart from it, and the narrower ones that refine it.

    A failure whose action may be that of a success, or may not, supports no principle with it: nobody could tell what
    to do. Patterns of unknown outcome support none.
    """
    known = sorted((one for one in topic if one.outcome in KNOWN), key=_strong)
    opposed = [(one, other) for one in known for other in known if _opposed(one, other, repeats, SAME_ACTION)]
    losing = _losing(opposed)
    standing = [one for one in known if one.id not in losing]
    if not standing:
        return []
    worked = [one for one in standing if one.outcome == SUCCESS]
    apart = [one for one in standing if any(_opposed(one, other, repeats, UNCLEAR) for other in worked)]
    support = worked + [one for one in standing if one.outcome == FAILURE and one not in apart]
    against = [one for one in known if one.id in losing]
    slots = {}
    for one in against:
        others = [event for winner in standing if (winner, one) in opposed for event in winner.events]
        slot = differing(one.events, others, terms)
        if slot is not None:
            slots[one.id] = slot
    broad = Drawn(support=support, against=against, counter=_loose(support, known, repeats), slots=slots)
    beside = [Drawn(support=[one], counter=_loose([one], known, repeats)) for one in apart]
    narrow = [Drawn(support=[one], slot=slots[one.id], refines=0) for one in against if one.id in slots]
    return [broad, *beside, *narrow]


def _strong(pattern: SeenPattern) -> tuple[int, str]:
    return (-pattern.mass, pattern.id)


def _opposed(one: SeenPattern, other: SeenPattern, repeats: Repeats, border: float) -> bool:
    """Return whether two patterns of different outcomes are of the same action, by either's events."""
    if one.outcome == other.outcome:
        return False
    return _repeated(one, other, repeats, border) or _repeated(other, one, repeats, border)


def _repeated(one: SeenPattern, other: SeenPattern, repeats: Repeats, border: float) -> bool:
    again = sum(repeats.get((event.id, other.id), 0.0) >= border for event in one.events)
    return again > 0 and again >= OPPOSED * len(one.events)


def _losing(opposed: Sequence[tuple[SeenPattern, SeenPattern]]) -> set[str]:
    """Return the patterns of the side with fewer sources, of all that contradict each other.

    Successes stand on a tie.
    """
    sides = {
        outcome: {one.id: one.mass for one, _ in opposed if one.outcome == outcome} for outcome in KNOWN
    }  # fmt: skip
    weaker = FAILURE if sum(sides[SUCCESS].values()) >= sum(sides[FAILURE].values()) else SUCCESS
    return set(sides[weaker])


def _loose(support: Sequence[SeenPattern], known: Sequence[SeenPattern], repeats: Repeats) -> list[L1Event]:
    """Return the events that contradict a supporting pattern and belong to no pattern of the topic."""
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


def differing(counter: Sequence[L1Event], support: Sequence[L1Event], terms: Terms) -> Slot | None:
    """Return the slot by which counter-evidence differs most from support.

    None where there is none that says enough.
    """
    if len(counter) < MIN_COUNTER:
        return None
    here, there = ([_slots(event, terms) for event in events] for events in (counter, support))
    for kind in range(len(SLOT_KINDS)):
        shares = {
            value: (_share(here, kind, value), _share(there, kind, value))
            for value in sorted(set[str]().union(*(slots[kind] for slots in here)))
        }  # fmt: skip
        telling = [(low - high, value) for value, (high, low) in shares.items() if high >= HELD_BY and low <= MISSED_BY]
        if telling:
            return Slot(SLOT_KINDS[kind], min(telling)[1])
    return None


SLOT_KINDS: Final = ("family", "artifact", "situation", "source_type")
"""Kinds of slots, the most telling first."""


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


def denies(attempt: str) -> bool:
    """Return whether an attempt says what was not done: it shares its words with one that did it, and is another."""
    return _DENIED.search(attempt[:MAX_SCANNED]) is not None


MAX_SCANNED: Final = 500
"""Characters of an attempt in which a denial is looked for."""


def grouped(alike: Floats) -> list[list[int]]:
    """Return the topics among patterns by a square matrix of how alike they are, 1 for what belongs together.

    By average link, so that no chain of neighbours makes one topic of two; single patterns are topics too.
    """
    out: list[list[int]] = []
    waiting = [(list(range(len(alike))), REACH)]
    while waiting:
        rows, reach = waiting.pop()
        near = np.argwhere(np.triu(alike[np.ix_(rows, rows)] >= reach, 1)).tolist()
        for part in components(range(len(rows)), [(one, other) for one, other in near]):
            held = [rows[n] for n in part]
            if len(held) <= MAX_COMPARED:
                out += [[held[n] for n in group] for group in average_link(alike[np.ix_(held, held)], threshold=1.0)]
            elif reach > CLOSEST:
                out.append(held)
            else:
                waiting.append((held, reach * STEP))
    return sorted(out)


REACH: Final = 0.6
STEP: Final = 1.15
CLOSEST: Final = 2.0
MAX_COMPARED: Final = 500
"""Patterns within reach of each other, how much closer they must be where they are more than are compared all with all,
and from where on they are one topic as they are: as for events (`experience.laws.clustering`)."""
