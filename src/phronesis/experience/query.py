"""The experience search: find seeds, traverse the graph, rank candidates and compose advice with sources."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

import numpy as np

from phronesis.core.items import Item
from phronesis.core.results import Degraded, Evidence, Match
from phronesis.core.timestamps import to_micros
from phronesis.errors import ModelError
from phronesis.experience.event_embeddings import view_part
from phronesis.experience.laws.answers import (
    CONTRARY,
    COUNTER,
    Answer,
    Conflict,
    LearnedEvidence,
    RankedRecord,
    Recommendations,
    Reference,
    advise,
    opposed_events,
    outcome_conflicts,
    sides,
)
from phronesis.experience.laws.event_draft import VIEWS
from phronesis.experience.laws.ranking import CROSS, DEPTH, SAME, THROUGH, WIDTH, score_of, standardise_cosines, weights
from phronesis.experience.laws.records import L1, PATTERN, L1Event, Pattern, event_of
from phronesis.experience.provenance import EvidenceChains
from phronesis.experience.query_candidates import (
    CandidatePool,
    QueryLane,
    cosines,
    query_lanes,
    read_meaning,
    read_words,
)
from phronesis.experience.query_graph import ExperienceQuestion, LaneGraph, TaskNames
from phronesis.index.projections import ALIKE, PROSE
from phronesis.index.tokens import tokenize
from phronesis.models.embedder import Embedder
from phronesis.models.embedders import Embedders
from phronesis.recall.as_of import searched_lanes
from phronesis.recall.evidence import snippet, sources_of
from phronesis.recall.scope_index import ScopeIndexes
from phronesis.recall.scoring.lane_arrays import Floats, Spread
from phronesis.recall.scoring.weights import DIGITS
from phronesis.store.database import Database, Unit
from phronesis.store.documents import read_vectors
from phronesis.store.experience import views_of
from phronesis.store.lanes import ActiveModel

WEIGHED: Final = 4
"""Events per listed one from which advice and conflicts are made: equal attempts are listed once."""

Shares = Mapping[str, float]
Beside = Mapping[str, list[str]]
"""By id, the ids on the other side of an item's conflicts."""


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
    known = {one for one, _ in (*patterns, *principles)}
    advised = Recommendations() if abstained else _make_recommendations(pool, records, ranked, known)
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
    pool: CandidatePool, events: Sequence[tuple[str, Shares]], records: Mapping[str, L1Event], beside: Beside
) -> list[Evidence]:
    sources: dict[str, Any] = {}
    for lane in pool.graph.lanes:
        own = [pool.items[one] for one, _ in events if pool.graph.lane_of(one) == lane]
        sources.update(sources_of(pool.graph.unit, lane.lane_id, own, as_of=pool.asked.wanted.as_of) if own else {})
    return [
        Evidence(records[one], sources=tuple(sources[one]), **_evidence(pool, records[one], ALIKE, shares, beside))
        for one, shares in events
    ]


def _learned_evidence(pool: CandidatePool, one: str, shares: Shares, beside: Beside) -> LearnedEvidence:
    chain = pool.chain_of[one]
    found = _evidence(pool, chain.record, PROSE, shares, beside)
    return LearnedEvidence(chain.record, sources=tuple(chain.sources), needs_validation=chain.needs_validation, **found)


def _evidence(pool: CandidatePool, item: Item, part: str, shares: Shares, beside: Beside) -> dict[str, Any]:
    """Return the score of an item, how it matched, and what conflicts with it, as fields of its evidence."""
    words, meaning = pool.met.get(item.id, (0.0, None))
    told = snippet(item.content, [word for word in pool.terms if len(word) > 1])
    match = Match(item.id, part, told, round(1.0 - max(words, meaning or 0.0), DIGITS))
    why = {name: round(share, DIGITS) for name, share in shares.items()} if pool.asked.explain else None
    score, conflicts = round(pool.score(shares), DIGITS), tuple(beside.get(item.id, ()))
    return {"score": score, "matched": (match,), "conflicts": conflicts, "why": why}


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
            side, against = (Reference(id_, items[id_].source_ref) for id_ in (one, other))
            out.append(Conflict(about=items[one].attempt, reason=CONTRARY, side=(side,), against=(against,)))
    for one in learned:
        chain = pool.chain_of[one]
        if chain.against:
            told = chain.record.summary if isinstance(chain.record, Pattern) else chain.record.action
            side_of = (Reference(one), *chain.events[:limit])
            out.append(Conflict(about=told, reason=COUNTER, side=side_of, against=tuple(chain.against)))
    return out


# Second ranking of the best events by the views that a question concerns: situation, goal and attempt.

LOOKED_AT: Final = 32
"""Events whose views are read."""

OF_SITUATION: Final[Mapping[str, float]] = {"situation": 1.0, "attempt": 0.9, "reflection": 0.9, "result": 0.6}
OF_GOAL: Final[Mapping[str, float]] = {"goal": 1.0, "attempt": 0.9, "reflection": 0.9}
"""Weights of views for a question about a situation or goal: the view of the same name counts most; attempts and
lessons often name the task too."""


def view_weights(asked: ExperienceQuestion) -> dict[str, float]:
    """Return the weight of each view for a question, by the name of its part."""
    asked_of = [by_view for text, by_view in ((asked.situation, OF_SITUATION), (asked.goal, OF_GOAL)) if text]
    views = {view for by_view in asked_of for view in by_view}
    return {view_part(view): max(by_view.get(view, 0.0) for by_view in asked_of) for view in sorted(views)}


def read_views(graph: LaneGraph, event_ids: Sequence[str], model_id: str) -> dict[str, dict[str, Floats]]:
    """Return the stored vectors of the views of some events, by event and part."""
    out: dict[str, dict[str, Floats]] = {}
    for lane in graph.lanes:
        own = [one for one in event_ids if graph.lane_of(one) == lane]
        views = {view.id: view for view in views_of(graph.unit, lane.lane_id, own)} if own else {}
        for row in read_vectors(graph.unit, lane.lane_id, model_id, list(views)):
            view = views[row.document_id]
            out.setdefault(view.item_id, {})[view.part] = row.embedding
    return out


def view_shares(
    views: Mapping[str, Mapping[str, Floats]], weights: Mapping[str, float], vector: Floats, spread: Spread
) -> dict[str, float]:
    """Return the best weighted similarity of the views of each event, in [0, 1]."""
    named = [(one, part, row) for one, parts in views.items() for part, row in parts.items() if part in weights]
    if not named:
        return {}
    rows = np.stack([row for _, _, row in named])
    shares = standardise_cosines(cosines(rows, vector), spread)
    out: dict[str, float] = {}
    for (one, part, _), share in zip(named, shares.tolist(), strict=True):
        out[one] = max(out.get(one, 0.0), weights[part] * share)
    return out


WEAK: Final = 0.15
"""Best share of the question's words below which words do not support an answer."""

CLEAR: Final = 0.75
"""Best standardised similarity from which embeddings alone support an answer: three standard deviations."""

FEW: Final = 20
"""Documents of experience below which standard deviations are not used and any matching word supports an answer."""


@dataclass(frozen=True, slots=True)
class _QueryVectors:
    """The vectors of a question, of its preferences, and of what went wrong."""

    encoder: Embedder | None
    question: Floats | None = None
    preferred: Floats | None = None
    degraded: tuple[Degraded, ...] = ()

    def is_comparable(self, model: ActiveModel) -> bool:
        """Return whether the vectors of a model are comparable with the question's; else words alone decide."""
        return self.encoder is not None and self.encoder.name == model.model_id


@dataclass(slots=True)
class ExperienceSearch:
    """Answers questions over the experience of the lanes that a scope sees. Thread-safe; read-only."""

    database: Database
    embedders: Embedders
    indexes: ScopeIndexes
    clock: Callable[[], datetime]
    names: TaskNames = field(default_factory=TaskNames)

    def answer(self, tenant: str, asked: ExperienceQuestion) -> Answer:
        """Return the answer to a question."""
        while True:
            encoded = self._encode_question(tenant, asked)
            with self.database.transaction(tenant, "read") as unit, self.indexes.lock:
                seen, model = searched_lanes(unit, asked.scope)
                if model is not None and self.embedders.note_active_model(tenant, model[0]):
                    continue  # reembedded since the last search: the question is encoded again
                found = [(lane, self.indexes.of(unit, lane, history=asked.wanted.past)) for lane in seen]
                if not (lanes := query_lanes(unit, found, asked)):
                    told = _explain(asked, lanes, encoded, None) if asked.explain else None
                    return Answer(abstained=True, degraded=encoded.degraded, explain=told)
                return self._make_answer(
                    unit, asked, lanes, encoded, model if model is not None and encoded.is_comparable(model) else None
                )

    def _make_answer(
        self,
        unit: Unit,
        asked: ExperienceQuestion,
        lanes: Sequence[QueryLane],
        encoded: _QueryVectors,
        model: ActiveModel | None,
    ) -> Answer:
        read_words(lanes, asked.text)
        spread = None
        if model is not None and encoded.question is not None:
            spread = read_meaning(unit, lanes, encoded.question, model)
        now = to_micros(self.clock()) if asked.wanted.as_of is None else asked.wanted.as_of
        graph = LaneGraph(unit, [one.lane for one in lanes], asked)
        pool = CandidatePool(asked, lanes, graph, EvidenceChains(graph), now)
        pool.gather(self.names)
        meant = _compare_views(pool, encoded, model, spread)
        pool.walk()
        pool.set_preferences(meant)
        abstained = _abstains(pool)
        ranked = pool.settle(abstained=abstained)
        abstained = abstained or not ranked
        answer = best_per_layer(pool, ranked, abstained=abstained)
        told = _explain(asked, lanes, encoded, answer.explain) if asked.explain else None
        return replace(answer, explain=told, degraded=encoded.degraded)

    def _encode_question(self, tenant: str, asked: ExperienceQuestion) -> _QueryVectors:
        """Return the question's vectors; without vectors, and marked as degraded, if the encoder is unavailable."""
        encoder = self.embedders.serving(tenant)
        if encoder is None or not asked.text:
            return _QueryVectors(encoder)
        try:
            preferred = self.embedders.question(encoder, asked.preferred) if asked.preferred else None
            return _QueryVectors(encoder, self.embedders.question(encoder, asked.text), preferred)
        except ModelError as error:
            return _QueryVectors(encoder, degraded=(Degraded("embed", error.code, "words", encoder.name),))


def _compare_views(
    pool: CandidatePool, encoded: _QueryVectors, model: ActiveModel | None, spread: Spread | None
) -> Mapping[str, float]:
    """Compare the best events by their views; return how far they match the preferences, by embeddings."""
    if model is None or spread is None or encoded.question is None:
        return {}
    together = {one: sum(pool.met[one][0:1]) + (pool.met[one][1] or 0.0) for one in pool.met}
    best = sorted(together, key=lambda one: (one not in pool.exact, -together[one], one))[:LOOKED_AT]
    views = read_views(pool.graph, best, model.model_id)
    pool.views = view_shares(views, view_weights(pool.asked), encoded.question, spread)
    if encoded.preferred is None:
        return {}
    return view_shares(views, {view_part("attempt"): 1.0}, encoded.preferred, spread)


def _abstains(pool: CandidatePool) -> bool:
    """Return whether nothing supports an answer; a question of slots alone is always answered."""
    if not pool.asked.text or pool.exact or any(map(pool.about_share, pool.items)):
        return not pool.items
    words = max((one[0] for one in pool.met.values()), default=0.0)
    meaning = max((one[1] or 0.0 for one in pool.met.values()), default=0.0)
    if sum(int(lane.rows.sum()) for lane in pool.lanes) < FEW:
        return words == 0.0
    return words < WEAK and meaning < CLEAR


def _explain(
    asked: ExperienceQuestion, lanes: Sequence[QueryLane], encoded: _QueryVectors, rest: Mapping[str, Any] | None
) -> dict[str, Any]:
    dense = any(one.meaning is not None for one in lanes)
    return {
        "channels": ["names", "artifacts", "words", *(["meaning", "views"] if dense else []), "graph"],
        "weights": weights(),
        "walk": {"depth": DEPTH, "width": WIDTH, "cross_layer": CROSS, "same_layer": SAME, "artifact": THROUGH},
        "embedder": encoded.encoder.name if encoded.encoder is not None else None,
        "lanes": [
            {"user_id": one.lane.user_id, "namespace": one.lane.namespace, "documents": int(one.rows.sum())}
            for one in lanes
        ],
        "constraints": {
            "read": [{"constraint": ban.constraint, "ruled_out": ban.phrase} for ban in asked.bans],
            "unread": list(asked.unread),
        },
        **(rest or {}),
    }
