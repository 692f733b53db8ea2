"""Find the events that contradict a pattern: the same action in the same situation with another outcome.

Whether two attempts are the same action is decided by their words alone, so that no other matter counts against it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from phronesis.core.lazy_loading import load_once
from phronesis.experience.event_matrix import Bag, EventTable
from phronesis.experience.laws.lexical_similarity import TermBags, TermCosine
from phronesis.experience.laws.neighbour_graph import NOBODY
from phronesis.experience.laws.records import CONTRADICTS, L1, MEMBER_OF, L1Event, event_of
from phronesis.experience.laws.similarity import Floats, Rows
from phronesis.experience.laws.topics import KNOWN, UNCLEAR, PatternInput, denies
from phronesis.experience.lesson_map import TEXTS
from phronesis.index.projections import ALIKE
from phronesis.index.tokens import term_hash, tokenize, unpack_terms
from phronesis.store.experience import changed_parts, labelled_ids
from phronesis.store.lane_view import LaneView

TYPICAL: Final = 8
"""Most typical events of a pattern, by which it is compared."""

MAX_ATTEMPT: Final = 2_000
"""Characters of an attempt that are compared."""

SAME_MATTER: Final = 0.35
"""Similarity of an event's words to a pattern's (root of the cosine) from which its attempt is compared."""

MAX_LOOKED_AT: Final = 20
"""Events outside of patterns that are compared with one pattern, the most similar first."""

COHESION: Final = 0.8
"""Share of a pattern's own similarity that a repetition of its action must reach: where all its attempts have similar
wording, an attempt that shares half of the words is another action."""


def with_loose(view: LaneView, patterns: Sequence[PatternInput]) -> list[PatternInput]:
    """Return patterns with the events outside of patterns that contradict them added as counterexamples."""
    members = {event.id for one in patterns for event in one.events}
    labels = {one: label for label in KNOWN for one in labelled_ids(view.unit, view.lane_id, L1, label)}
    parts = changed_parts(view.unit, view.lane_id, L1, ALIKE, after=0)
    terms = {part.item_id: part.terms for part in parts if part.current_to is None}
    loose = [one for one in terms if one in labels and one not in members]
    if not loose:
        return list(patterns)
    metric = TermCosine(
        TermBags.of(
            _background([*(_summed(one, terms) for one in patterns), *(_counted([terms[one]]) for one in loose)])
        )
    )
    others = np.arange(len(loose), dtype=np.int64) + len(patterns)
    alike = metric.matrix(np.arange(len(patterns), dtype=np.int64), others)
    found = [
        _nearest(row, [labels[one] for one in loose], one.outcome) for one, row in zip(patterns, alike, strict=True)
    ]
    items = view.items(loose[n] for places in found for n in places)
    return [
        replace(
            one,
            counter=tuple(
                {
                    event.id: event
                    for event in (*one.counter, *(event_of(items[loose[n]]) for n in places if items[loose[n]].live))
                }.values()
            ),
        )
        for one, places in zip(patterns, found, strict=True)
    ]


def _nearest(row: Floats, labels: Sequence[str], outcome: str) -> list[int]:
    if outcome not in KNOWN:
        return []
    order = np.argsort(-row, kind="stable").tolist()
    near = [n for n in order if row[n] >= SAME_MATTER and labels[n] != outcome]
    return near[:MAX_LOOKED_AT]


def repeats(topic: Sequence[PatternInput]) -> dict[tuple[str, str], float]:
    """Return which events repeat the action of a pattern of the other outcome, by the words of the attempts."""
    events = {event.id: event for one in topic for event in (*one.events, *one.counter)}
    if len({event.label for event in events.values()}) < len(KNOWN):
        return {}
    place = {one: n for n, one in enumerate(events)}
    metric = TermCosine(TermBags.of(_background([_tokens(event.attempt[:MAX_ATTEMPT]) for event in events.values()])))
    out: dict[tuple[str, str], float] = {}
    for one in topic:
        own = [event for event in one.events if event.label == one.outcome][: 2 * TYPICAL]
        others = [event for event in events.values() if event.label in KNOWN and event.label != one.outcome]
        if one.outcome not in KNOWN or not own or not others:
            continue
        least = max(UNCLEAR, COHESION * _cohesion(metric.matrix(_rows(place, own), _rows(place, own))))
        alike = metric.matrix(_rows(place, others), _rows(place, own))
        senses = [denies(event.attempt) for event in own]
        for event, row in zip(others, alike.tolist(), strict=True):
            sense = denies(event.attempt)
            best = max((score for score, other in zip(row, senses, strict=True) if other == sense), default=0.0)
            if best >= least:
                out[event.id, one.id] = best
    return out


def _cohesion(alike: Floats) -> float:
    """Return the mean similarity of a pattern's attempts, each to its most similar one."""
    apart = alike - 2.0 * np.eye(len(alike), dtype=np.float32)
    return float(np.maximum(apart.max(axis=1), 0.0).mean())


def _rows(place: Mapping[str, int], events: Sequence[L1Event]) -> Rows:
    return np.array([place[event.id] for event in events], dtype=np.int64)


def bags_of(patterns: Sequence[PatternInput], terms: Mapping[str, bytes]) -> TermBags:
    """Return the terms of patterns followed by those of unrelated texts, so that what two patterns share is rare."""
    return TermBags.of(_background([_summed(one, terms) for one in patterns]))


def _summed(pattern: PatternInput, terms: Mapping[str, bytes]) -> Counter[int]:
    return _counted(terms.get(event.id, b"") for event in pattern.events[:TYPICAL])


def _counted(blobs: Iterable[bytes]) -> Counter[int]:
    counts: Counter[int] = Counter()
    for blob in blobs:
        for term, count in unpack_terms(blob).tolist():
            counts[int(term)] += int(count)
    return counts


def _tokens(text: str) -> Counter[int]:
    return Counter(term_hash(token) for token in tokenize(text))


@load_once
def _unrelated() -> tuple[Counter[int], ...]:
    return tuple(_tokens(text) for text in TEXTS)


def _background(counted: Sequence[Mapping[int, int]]) -> list[Bag]:
    """Return bags of numbered terms, followed by those of unrelated texts."""
    numbers: dict[int, int] = {}
    return [
        (
            np.array([numbers.setdefault(term, len(numbers)) for term in one], np.int32),
            np.array(list(one.values()), np.float32),
        )
        for one in (*counted, *_unrelated())
    ]


# Counterexamples of patterns: events of the other outcome that are similar to the most typical members.

COUNTER: Final = 0.5
"""Similarity to a pattern's members from which an event of the other outcome is a counterexample, in units of the
threshold and without shared neighbours, which events of two outcomes do not have."""

MAX_COUNTER: Final = 5
"""Counterexamples of a pattern, the most similar first."""

_TYPICAL: Final = 3
"""Members that are compared with the nearest events of the other outcome."""


def counterexamples(table: EventTable, groups: Sequence[Sequence[int]]) -> list[list[tuple[str, float]]]:
    """Return for each group, its most typical members first, the events of the other outcome that resemble them.

    Each comes with its similarity in units of `MembershipThresholds.likeness_unit`, the most similar first.
    """
    out = []
    for group in groups:
        assert table.neighbours is not None  # there are groups  # noqa: S101
        typical = np.array(group[:_TYPICAL], dtype=np.int64)
        met = np.unique(table.neighbours.across(typical))
        met = met[met != NOBODY]
        mean = table.neighbours.metric.matrix(typical, met).mean(axis=0) / table.belonging.likeness_unit
        like = [(table.ids[met[n]], float(mean[n])) for n in np.flatnonzero(mean >= COUNTER).tolist()]
        out.append(sorted(like, key=lambda one: (-one[1], one[0]))[:MAX_COUNTER])
    return out


def spoken_against(view: LaneView, table: EventTable, news: Sequence[str]) -> list[str]:
    """Return the patterns that some events contradict or contradicted, by the stored weights of members."""
    did = {edge.to_id for edge in view.edges_from(news, CONTRADICTS)}
    fresh = table.rows(news)
    if table.neighbours is None or not len(fresh):
        return sorted(did)
    opposite = table.neighbours.across(fresh)
    table.neighbours.lists(np.unique(opposite[opposite != NOBODY]))  # lists of a freshly read table are empty
    least = COUNTER * table.belonging.likeness_unit
    naming = table.neighbours.against(fresh, least)
    named = {edge.to_id for edge in view.edges_from([table.ids[row] for row in naming.tolist()], MEMBER_OF)}
    does = []
    for one, members in members_of(view, sorted(named - did)).items():
        typical = table.rows(members[:_TYPICAL])
        if not np.isin(typical, naming).any():
            continue
        if table.neighbours.metric.matrix(typical, fresh).mean(axis=0).max() >= least:
            does.append(one)
    return sorted({*did, *does})


def members_of(view: LaneView, patterns: Sequence[str]) -> dict[str, list[str]]:
    """Return the events of each pattern, the most typical first."""
    found: dict[str, list[tuple[str, float]]] = {one: [] for one in patterns}
    for edge in view.edges_to(patterns, MEMBER_OF):
        found[edge.to_id].append((edge.from_id, edge.weight))
    return {one: [event for event, _ in typical_first(members)] for one, members in found.items()}


def typical_first(members: Iterable[tuple[str, float]]) -> list[tuple[str, float]]:
    """Return members with their weights, the most typical first."""
    return sorted(members, key=lambda one: (-one[1], one[0]))
