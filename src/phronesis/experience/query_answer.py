"""Build an answer from ranked candidates: records with their evidence, sources, conflicts and advice."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from phronesis.core.entries import Entry
from phronesis.core.ids import Scope
from phronesis.core.items import Item
from phronesis.core.relations import EvidenceRow
from phronesis.core.results import Evidence, Match
from phronesis.experience.laws.answers import (
    Answer,
    Conflict,
    LearnedEvidence,
    RankedRecord,
    Recommendations,
    Reference,
    advise,
    contrary_conflict,
    counter_conflict,
    opposed_events,
    outcome_conflicts,
    sides,
)
from phronesis.experience.laws.event_draft import VIEWS
from phronesis.experience.laws.evidence_fold import members_of
from phronesis.experience.laws.principle_text import first_sentences
from phronesis.experience.laws.ranking import score_of
from phronesis.experience.laws.records import (
    L1,
    PATTERN,
    PRINCIPLE,
    Aggregation,
    EventSource,
    L1Event,
    Pattern,
    Principle,
    event_of,
    pattern_of,
    principle_of,
)
from phronesis.experience.provenance import find_source
from phronesis.experience.query_candidates import CandidatePool
from phronesis.index.projections import ALIKE, PROSE
from phronesis.index.tokens import tokenize
from phronesis.recall.as_of import evidence_at
from phronesis.recall.evidence import snippet, sources_of
from phronesis.recall.scoring.weights import DIGITS
from phronesis.store.database import Database, Unit
from phronesis.store.deltas import deltas_of_entry
from phronesis.store.items import lane_of_item, read_items
from phronesis.store.lanes import get_lane

# Records of events, patterns and principles with their members, supporting and contradicting evidence.


@dataclass(frozen=True, slots=True)
class ExperienceBook:
    """Reads the records of the experience engine. Read-only."""

    database: Database

    def record(self, tenant: str, item: Item, as_of: int | None = None) -> Item:
        """Return an item as the record of its kind, as it was ``as_of`` a time (microseconds)."""
        if item.kind == L1:
            return event_of(item)
        with self.database.transaction(tenant, "read") as unit:
            return as_records(unit, [item], as_of=as_of)[0]

    def source(self, tenant: str, scope: Scope, named: str) -> EventSource:
        """Return the original input of an event, by its id or by a reference that the scope sees."""
        with self.database.transaction(tenant, "read") as unit:
            return find_source(unit, scope, named)

    def came_to(self, tenant: str, entry: Entry, kind: str = PATTERN) -> Aggregation:
        """Return the patterns that an aggregation changed, or the principles an abstraction changed (``kind``)."""
        with self.database.transaction(tenant, "read") as unit:
            # Items of which only edges changed, such as events, are not among them and are not read.
            made = {
                delta.item_id: delta
                for delta in deltas_of_entry(unit, entry.lane_id, entry.id)
                if delta.op == "create" or delta.patch or delta.evidence_added or delta.evidence_removed
            }
            held = read_items(unit, get_lane(unit, entry.lane_id), list(made))
            items = [held[one] for one in made if one in held and held[one].kind == kind]
            records = as_records(unit, items)
        new, retired, changed = [], [], []
        for one in records:
            delta = made[one.id]
            if delta.op == "create":
                new.append(one)
            elif "ended" in delta.patch:
                retired.append(one)
            else:
                changed.append(one)
        mapping: dict[str, list[str]] = {}
        for one in (*new, *changed):
            members = [event for event, _ in one.members] if isinstance(one, Pattern) else ()
            for below in one.patterns if isinstance(one, Principle) else members:
                mapping.setdefault(below, []).append(one.id)
        return Aggregation(entry.id, tuple(new), tuple(changed), tuple(retired), mapping)


def as_records(unit: Unit, items: Sequence[Item], *, as_of: int | None = None) -> list[Item]:
    """Return items of one lane as the records of their kinds."""
    learned = [item.id for item in items if item.kind in (PATTERN, PRINCIPLE)]
    lane_id = lane_of_item(unit, learned[0]) if learned else None
    if lane_id is None:
        return [_record(item, ()) for item in items]
    rows = evidence_at(unit, lane_id, learned, as_of)
    against = read_items(unit, get_lane(unit, lane_id), [one["id"] for item in items for one in _counter(item)])
    return [_record(_quote_counterexamples(item, against), rows.get(item.id, ())) for item in items]


def _counter(item: Item) -> Sequence[Mapping[str, Any]]:
    return item.data.get("counterexamples", ()) if item.kind == PATTERN else ()


def _quote_counterexamples(item: Item, against: Mapping[str, Item]) -> Item:
    """Return a pattern whose counterexamples quote their attempts."""
    told = [
        {**one, "attempt": first_sentences(against[one["id"]].data.get("attempt", ""))} if one["id"] in against else one
        for one in _counter(item)
    ]
    return replace(item, data={**item.data, "counterexamples": told}) if told else item


def _record(item: Item, rows: Sequence[EvidenceRow]) -> Item:
    if item.kind == L1:
        return event_of(item)
    if item.kind == PATTERN:
        return pattern_of(item, members_of(item, rows))
    if item.kind == PRINCIPLE:
        return principle_of(
            item,
            patterns=[row.source_key for row in rows if row.polarity == "support" and not row.part],
            counter=[row.source_key for row in rows if row.polarity == "contra" and not row.part],
        )
    return item


WEIGHED: Final = 4
"""Events per listed one from which advice and conflicts are made: equal attempts are listed once."""

Shares = Mapping[str, float]


def best_per_layer(pool: CandidatePool, ranked: Sequence[tuple[str, Shares]], *, abstained: bool) -> Answer:
    """Return the best of each layer, at most ``limit``; equal statements of several events are listed once."""
    limit = pool.asked.limit
    events, repeated = _drop_repetitions(pool, [one for one in ranked if pool.items[one[0]].kind == L1])
    learned = [one for one in ranked if one[0] in pool.chain_of]
    patterns = [one for one in learned if pool.items[one[0]].kind == PATTERN][:limit]
    principles = [one for one in learned if pool.items[one[0]].kind != PATTERN][:limit]
    records = {one: event_of(pool.items[one]) for one, _ in events[: WEIGHED * limit]}
    conflicts = _conflicts(pool, list(records.values()), [one for one, _ in (*patterns, *principles)], limit)
    beside = sides(conflicts)
    advised = (
        Recommendations()
        if abstained
        else _make_recommendations(pool, records, ranked, {one for one, _ in (*patterns, *principles)})
    )
    reached = {
        one: {"from": step.via, "by": step.by, "hops": step.hops, "strength": round(step.strength, DIGITS)}
        for one, step in pool.reached.items()
    }
    return Answer(
        l1_evidence=_events(pool, events[:limit], records, beside),
        l2_patterns=[_learned_evidence(pool, one, shares, beside) for one, shares in patterns],
        l3_principles=[_learned_evidence(pool, one, shares, beside) for one, shares in principles],
        recommended_attempts=advised.recommended,
        avoid=advised.avoid,
        excluded=advised.excluded,
        abstained=abstained,
        conflicts=conflicts,
        explain={"pool": len(pool.items), "reached": reached, "repeated": repeated},
    )


def _drop_repetitions(
    pool: CandidatePool, events: Sequence[tuple[str, Shares]]
) -> tuple[list[tuple[str, Shares]], dict[str, list[str]]]:
    """Return events without those that have the text and outcome of a better one."""
    first: dict[tuple[Any, ...], str] = {}
    repeated: dict[str, list[str]] = {}
    out = []
    for one, shares in events:
        item = pool.items[one]
        key = (item.label, *(item.data.get(view) for view in VIEWS))
        if key in first:
            repeated.setdefault(first[key], []).append(one)
        else:
            first[key] = one
            out.append((one, shares))
    return out, repeated


def _events(
    pool: CandidatePool,
    events: Sequence[tuple[str, Shares]],
    records: Mapping[str, L1Event],
    beside: Mapping[str, list[str]],
) -> list[Evidence]:
    sources: dict[str, Any] = {}
    for lane in pool.graph.lanes:
        own = [pool.items[one] for one, _ in events if pool.graph.lane_of(one) == lane]
        sources.update(sources_of(pool.graph.unit, lane.lane_id, own, as_of=pool.asked.wanted.as_of) if own else {})
    return [
        Evidence(
            records[one],
            round(pool.score(shares), DIGITS),
            _matches_of(pool, records[one], ALIKE),
            tuple(sources[one]),
            tuple(beside.get(one, ())),
            _shares_of(pool, shares),
        )
        for one, shares in events
    ]


def _learned_evidence(
    pool: CandidatePool, one: str, shares: Shares, beside: Mapping[str, list[str]]
) -> LearnedEvidence:
    chain = pool.chain_of[one]
    return LearnedEvidence(
        chain.record,
        round(pool.score(shares), DIGITS),
        _matches_of(pool, chain.record, PROSE),
        tuple(chain.sources),
        tuple(beside.get(one, ())),
        _shares_of(pool, shares),
        needs_validation=chain.needs_validation,
    )


def _matches_of(pool: CandidatePool, item: Item, part: str) -> tuple[Match, ...]:
    words, meaning = pool.met.get(item.id, (0.0, None))
    told = snippet(item.content, [word for word in pool.terms if len(word) > 1])
    return (Match(item.id, part, told, round(1.0 - max(words, meaning or 0.0), DIGITS)),)


def _shares_of(pool: CandidatePool, shares: Shares) -> dict[str, float] | None:
    return {name: round(share, DIGITS) for name, share in shares.items()} if pool.asked.explain else None


def _make_recommendations(
    pool: CandidatePool, records: Mapping[str, L1Event], ranked: Sequence[tuple[str, Shares]], learned: set[str]
) -> Recommendations:
    found = []
    for one, shares in ranked:
        score, relevance = round(pool.score(shares), DIGITS), score_of(shares)
        if one in records:
            found.append(RankedRecord(records[one], score, relevance))
        elif one in learned:
            chain = pool.chain_of[one]
            found.append(RankedRecord(chain.record, score, relevance, chain.events, chain.needs_validation))
    return advise(found, pool.asked.bans, tokenize, limit=pool.asked.limit)


def _conflicts(pool: CandidatePool, events: Sequence[L1Event], learned: Sequence[str], limit: int) -> list[Conflict]:
    """Return conflicts among the listed items, and the counter-evidence of listed patterns and principles."""
    near = events[: 2 * limit]
    out = outcome_conflicts(opposed_events(near, tokenize))
    known = {frozenset((one.id, other.id)) for conflict in out for one in conflict.side for other in conflict.against}
    items = {event.id: event for event in near}
    for one, other in pool.graph.contradicting(list(items)):
        if frozenset((one, other)) not in known:
            out.append(
                contrary_conflict(
                    items[one].attempt, Reference(one, items[one].source_ref), Reference(other, items[other].source_ref)
                )
            )
    for one in learned:
        chain = pool.chain_of[one]
        if chain.against:
            told = chain.record.summary if isinstance(chain.record, Pattern) else chain.record.action
            out.append(counter_conflict(told, [Reference(one), *chain.events[:limit]], chain.against))
    return out
