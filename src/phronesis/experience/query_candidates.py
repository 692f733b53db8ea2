"""The candidates of a query: seeds by words, embeddings, names and artifacts, and what the graph adds, with signals."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import numpy as np

from phronesis.core.items import Item, Trust
from phronesis.core.relations import UNUSED
from phronesis.core.timestamps import to_micros
from phronesis.experience.laws.constraints import clauses_of
from phronesis.experience.laws.event_draft import artifacts_in
from phronesis.experience.laws.ranking import (
    ARTIFACT,
    ReachedNode,
    Signals,
    lane_cosine_statistics,
    length_of,
    relevance_of,
    score_of,
    shares_of,
    standardise_cosines,
    walk,
    word_shares,
)
from phronesis.experience.laws.records import ABOUT, L1, PATTERN, PRINCIPLE
from phronesis.experience.provenance import EvidenceChain, EvidenceChains
from phronesis.experience.query_graph import (
    LAYERS,
    MOST_HOLDERS,
    ExperienceQuestion,
    LaneGraph,
    TaskNames,
    days_of,
    event_place,
    is_called,
    normal_title,
    rank_events,
    usefulness_of,
    weight_of,
)
from phronesis.index.tokens import term_hash, tokenize
from phronesis.recall.scope_index import LaneIndex
from phronesis.recall.scoring.lane_arrays import Floats, Mask, Spread, best_of
from phronesis.recall.scoring.weights import DIGITS, EXPERIENCE, multiplier
from phronesis.store.database import Unit
from phronesis.store.documents import read_vectors, stack_embeddings
from phronesis.store.eligible import ReadConditions, eligible_ids
from phronesis.store.experience import holders
from phronesis.store.lanes import ActiveModel, Lane

FEWEST: Final = 10
"""Minimum of the limit for which candidates are collected, so that smaller limits give the same first answers."""

EVENTS_EACH: Final = 5
"""Candidate events per lane for each listed one, since equal texts are listed once."""

SPARE: Final = 8
"""Additional patterns and principles that are followed to their evidence: counter-evidence lowers a score
(`ranking.COUNTER`), and a member not read yet may raise one. A question matches a hundred by chance."""

UNFILTERED: Final = 4
"""Factor for items of another time, whose filters are applied only after they are read."""

RESCORED: Final = 50
"""Nearest documents of each lane whose cosine is recomputed from the stored half-precision vectors."""


@dataclass(slots=True)
class QueryLane:
    """One lane during a query: its index, the rows of experience, and the visible ones."""

    lane: Lane
    index: LaneIndex
    rows: Mask
    shown: Mask
    words: Floats = field(default_factory=lambda: np.zeros(0, np.float32))
    meaning: Floats | None = None

    def best(self, counts: Mapping[str, int]) -> list[str]:
        """Return the items of the best matching rows, kind by kind, each once, best first."""
        scores = self.words if self.meaning is None else self.words + self.meaning
        found: list[int] = []
        for kind, count in counts.items():
            rows = np.flatnonzero(self._rows_of(kind) & (scores > 0))
            best = rows[best_of(scores[rows], count)].tolist()
            found += sorted(best, key=lambda row: (-float(scores[row]), -row))
        return list(dict.fromkeys(self.index.item_ids[row] for row in found))

    def newest(self, counts: Mapping[str, int]) -> list[str]:
        """Return the items of the latest rows, kind by kind, for a question of slots without words."""
        found = [np.flatnonzero(self._rows_of(kind))[::-1][:count] for kind, count in counts.items()]
        return list(dict.fromkeys(self.index.item_ids[row] for rows in found for row in rows.tolist()))

    def _rows_of(self, kind: str) -> Mask:
        return self.shown & self.index.rows_of_kinds((kind,))

    def match(self, item_ids: Sequence[str]) -> dict[str, tuple[float, float | None]]:
        """Return the match of items by words and by embeddings, each by its best row."""
        rows = self.index.rows_of_items(item_ids)
        words = self.words[rows].tolist()
        meaning = [None] * len(words) if self.meaning is None else self.meaning[rows].tolist()
        out: dict[str, tuple[float, float | None]] = {}
        for row, told, meant in zip(rows.tolist(), words, meaning, strict=True):
            one = self.index.item_ids[row]
            before = out.get(one, (0.0, 0.0))
            out[one] = (max(told, before[0]), None if meant is None else max(meant, before[1] or 0.0))
        return out


def query_lanes(unit: Unit, found: Sequence[tuple[Lane, LaneIndex]], asked: ExperienceQuestion) -> list[QueryLane]:
    """Return the lanes that contain experience, with their visible rows."""
    out = []
    for lane, index in found:
        rows = index.rows_of_kinds(tuple(LAYERS), asked.wanted.as_of)
        if rows.any():
            out.append(QueryLane(lane, index, rows, _visible_rows(unit, lane, index, rows, asked)))
    return out


def _visible_rows(unit: Unit, lane: Lane, index: LaneIndex, rows: Mask, asked: ExperienceQuestion) -> Mask:
    """Filter the rows of events and patterns; past states are filtered item by item (`Asked.passes_filters`)."""
    narrowed, days = np.ones(len(rows), np.bool_), days_of(asked)
    if days is not None:
        narrowed &= index.rows_of_days(*days)
    if asked.artifacts:
        narrowed &= index.remembered_rows(
            ("about", asked.artifacts),
            lane.applied_seq,
            lambda: [end.far for one in asked.artifacts for end in holders(unit, lane.lane_id, one, ABOUT, most=None)],
        )
    shown = rows & (narrowed | ~index.rows_of_kinds((L1,)))
    for kind, attributes in asked.attributes.items() if not asked.wanted.past else ():
        if attributes:
            question = (kind, tuple(sorted(attributes.items())))
            read = partial(eligible_ids, unit, lane, ReadConditions(kinds=(kind,), attributes=attributes))
            shown &= index.remembered_rows(question, lane.applied_seq, read) | ~index.rows_of_kinds((kind,))
    return shown


def read_words(lanes: Sequence[QueryLane], text: str) -> None:
    """Score every row by the words of a question."""
    terms = list(map(term_hash, tokenize(text)))
    found = word_shares([(one.index.lexical, one.rows) for one in lanes], terms)
    for one, words in zip(lanes, found, strict=True):
        one.words = words


def read_meaning(unit: Unit, lanes: Sequence[QueryLane], vector: Floats, model: ActiveModel) -> Spread | None:
    """Score every row by the embedding of a question; return the spread of events' cosines, None without vectors.

    Events are encoded as queries and patterns as passages: each has its own spread of cosines. A document without a
    vector yet is scored by its words.
    """
    told: list[tuple[QueryLane, Floats, Mask]] = []
    for one in lanes:
        one.index.load_vectors(unit, *model)
        vectors = one.index.vectors
        if vectors is None or not vectors.row_count:
            continue
        scores, there = vectors.cosines(vector)
        missing = len(one.rows) - len(scores)
        told.append((one, np.pad(scores, (0, missing)), np.pad(there, (0, missing)) & one.rows))
    events = [(scores, there & one.index.rows_of_kinds((L1,))) for one, scores, there in told]
    learned = [(scores, there & ~own) for (_, own), (_, scores, there) in zip(events, told, strict=True)]
    spreads = [lane_cosine_statistics([scores[mask] for scores, mask in group]) for group in (events, learned)]
    if not any(mask.any() for group in (events, learned) for _, mask in group):
        return None
    for n, (one, scores, there) in enumerate(told):
        _rescore(unit, one, model.model_id, vector, (scores, there))
        meaning = one.words.copy()
        for group, spread in zip((events, learned), spreads, strict=True):
            mask = group[n][1]
            meaning[mask] = standardise_cosines(scores[mask], spread)
        one.meaning = np.where(one.rows, meaning, np.float32(0.0))
    return spreads[0]


def _rescore(unit: Unit, one: QueryLane, model_id: str, vector: Floats, known: tuple[Floats, Mask]) -> None:
    scores, there = known
    top = [row for row in best_of(np.where(there & one.shown, scores, np.float32(-2)), RESCORED).tolist() if there[row]]
    ids = {one.index.document_ids[row]: row for row in top}
    if found := read_vectors(unit, one.index.lane_id, model_id, list(ids)):
        scores[[ids[row.document_id] for row in found]] = cosines(stack_embeddings(found), vector)


def cosines(rows: Floats, vector: Floats) -> Floats:
    """Return the cosines of some vectors with one; 0 if either is zero."""
    lengths = np.linalg.norm(rows, axis=1) * np.linalg.norm(vector)
    out: Floats = np.divide(rows @ vector, lengths, out=np.zeros(len(rows), np.float32), where=lengths > 0)
    return out


def candidate_limits(asked: ExperienceQuestion) -> dict[str, int]:
    """Return the number of candidates of each kind that a question collects from each lane."""
    most = max(FEWEST, asked.limit)
    if asked.wanted.past and any(asked.attributes.values()):
        most *= UNFILTERED
    return {L1: EVENTS_EACH * most, PATTERN: most + SPARE, PRINCIPLE: most + SPARE}


SEEDS: Final = 24
"""Nodes from which the graph traversal starts: the most relevant."""

_DAY: Final = 86_400_000_000


@dataclass(slots=True)
class CandidatePool:
    """The candidates of a query: items by id, and their signals."""

    asked: ExperienceQuestion
    lanes: Sequence[QueryLane]
    graph: LaneGraph
    chains: EvidenceChains
    now: int
    items: dict[str, Item] = field(default_factory=dict)
    met: dict[str, tuple[float, float | None]] = field(default_factory=dict)
    exact: dict[str, int] = field(default_factory=dict)
    """Events whose name equals the question, with their place: 1 for the latest lesson."""
    by_name: bool = False
    """Whether the question is only a name that events have."""
    artifacts: tuple[str, ...] = ()
    views: Mapping[str, float] = field(default_factory=dict)
    liked: Mapping[str, float] = field(default_factory=dict)
    reached: Mapping[str, ReachedNode] = field(default_factory=dict)
    chain_of: dict[str, EvidenceChain] = field(default_factory=dict)
    beside: Mapping[str, float] = field(default_factory=dict)
    """The relevance of the best other event of the same episode, by event."""
    under: dict[str, float] = field(default_factory=dict)
    """The relevance of the best member, by pattern, and of the best pattern, by principle."""
    terms: Sequence[str] = ()
    """The words of the question."""
    scale: float = 1.0
    """Multiplier of scores (``scoring.weights.multiplier``)."""
    length: float = 0.0

    @property
    def dense(self) -> bool:
        """Whether embeddings were compared anywhere."""
        return any(one.meaning is not None for one in self.lanes)

    def gather(self, names: TaskNames) -> None:
        """Add what matches the question by name, words, embeddings, or named artifacts."""
        unit, texts = self.graph.unit, (self.asked.situation, self.asked.goal)
        self.terms = tokenize(self.asked.text)
        self.length = length_of(len(set(self.terms)))
        asked = {normal_title(text) for text in texts} - {""}
        found = [one for lane in self.lanes for name in sorted(asked) for one in names.events(unit, lane.lane, name)]
        named = self.graph.items(found)
        self.exact = rank_events([item for item in named.values() if any(is_called(item, name) for name in asked)])
        self.by_name = bool(self.exact) and len(asked) == 1
        self.artifacts = tuple(one.id for one in artifacts_in(texts))
        ids, counts = [*self.exact], candidate_limits(self.asked)
        for lane in self.lanes:
            for artifact in self.artifacts:
                ids += [end.far for end in holders(unit, lane.lane.lane_id, artifact, ABOUT, most=MOST_HOLDERS)]
        for lane in self.lanes:
            ids += lane.best(counts) if self.asked.text else lane.newest(counts)
        self.take(ids)

    def take(self, ids: Iterable[str]) -> None:
        """Add those of some items that are visible."""
        fresh = {one: item for one, item in self.graph.items(ids).items() if one not in self.items}
        self.items |= fresh
        for lane in self.lanes:
            self.met |= lane.match([one for one in fresh if self.graph.lane_of(one) == lane.lane])

    def walk(self) -> None:
        """Traverse the graph from the most relevant items, and from each pattern to its evidence."""
        relevant = {one: self.relevance(one) for one in self.items}
        best = sorted((one for one in relevant if relevant[one] > 0), key=lambda one: (-relevant[one], one))[:SEEDS]
        most = relevant[best[0]] if best else 1.0
        seeds = {one: relevant[one] / most for one in best} | dict.fromkeys(self.artifacts, 1.0)
        found = walk(self.graph.links, self.graph.nodes, seeds)
        self.reached = {one: step for one, step in found.items() if step.hops and step.node.layer != ARTIFACT}
        self.take(self.reached)
        self.chain_of = self.chains.of(self._ordered_parents())
        ends = [end for chain in self.chain_of.values() for end in (chain.typical, chain.latest) if end is not None]
        self.take(ends)
        self.beside = self._best_neighbours()
        for kind in (PATTERN, PRINCIPLE):  # principles rest on patterns, as these were weighed
            chains = {one: chain for one, chain in self.chain_of.items() if self.items[one].kind == kind}
            self.under |= {one: self._most_relevant(chain.below) for one, chain in chains.items()}

    def _ordered_parents(self) -> list[Item]:
        """Return the visible patterns and principles, ordered by the relevance known before they are followed."""
        out: list[Item] = []
        counts = candidate_limits(self.asked)
        for kind in (PATTERN, PRINCIPLE):
            held = [one for one, item in self.items.items() if item.kind == kind]
            for one in held:
                near = [other for other in self.graph.neighbours_in_evidence(one) if other in self.items]
                below = [other for other in near if LAYERS[self.items[other].kind] < LAYERS[kind]]
                self.under[one] = self._most_relevant(below)
            out += [self.items[one] for one, _ in self._best_first(held)[: counts[kind]]]
        return out

    def _most_relevant(self, ids: Iterable[str]) -> float:
        return max((self.relevance(one) for one in ids if one in self.items), default=0.0)

    def _best_neighbours(self) -> dict[str, float]:
        """Return, for each event of an episode, the relevance of the best other one with a different text."""
        episodes: dict[str, list[tuple[float, Item]]] = {}
        for one, item in self.items.items():
            if item.kind == L1 and item.run_id is not None:
                episodes.setdefault(item.run_id, []).append((self.relevance(one), item))
        out: dict[str, float] = {}
        for held in episodes.values():
            held.sort(key=lambda one: (-one[0], one[1].id))
            for _, item in held:
                out[item.id] = next((far for far, other in held if other.content != item.content), 0.0)
        return out

    def relevance(self, item_id: str) -> float:
        """Return the relevance of an item by the signals known so far: the sum of `relevance_of`."""
        return sum(relevance_of(Signals(**self._meets(item_id))).values())

    def about_share(self, item_id: str) -> float:
        """Return the share of the requested artifacts that an item is about."""
        if not self.artifacts:
            return 0.0
        data = self.items[item_id].data
        held = set(data.get("artifacts") or data.get("signature", {}).get("artifacts", ()))
        return len(held.intersection(self.artifacts)) / len(self.artifacts)

    def signals(self, item_id: str) -> Signals:
        """Return the signals of an item."""
        item, chain = self.items[item_id], self.chain_of.get(item_id)
        return Signals(
            **self._meets(item_id),
            usefulness=usefulness_of(item, self.graph.uses.get(item_id, UNUSED)),
            weight=weight_of(item),
            confidence=item.confidence,
            age=(self.now - to_micros(item.occurred_at or item.recorded_at)) / _DAY,
            counter=0.0 if chain is None else chain.counter,
            trust=item.trust / Trust.OPERATOR,
            preference=self.liked.get(item_id, 0.0),
        )

    def _meets(self, item_id: str) -> dict[str, Any]:
        """Return the signals of relevance, cached while the pool grows."""
        words, meaning = self.met.get(item_id, (0.0, 0.0 if self.dense else None))
        place, step = self.exact.get(item_id), self.reached.get(item_id)
        return {
            "words": words,
            "length": self.length,
            "meaning": meaning,
            "views": self.views.get(item_id, 0.0),
            "exact": place is not None,
            "latest": 1.0 / place if place is not None and self.by_name else 0.0,
            "artifacts": self.about_share(item_id),
            "graph": 0.0 if step is None else step.strength,
            "episode": self.beside.get(item_id, 0.0),
            "members": self.under.get(item_id, 0.0),
        }

    def set_preferences(self, meant: Mapping[str, float]) -> None:
        """Set how far each item is preferred, by its words or by ``meant`` (embeddings), whichever says more."""
        liking = self.asked.liking
        if liking is not None:
            self.liked = {
                one: liking(clauses_of(_action_words(item), tokenize)) or meant.get(one, 0.0)
                for one, item in self.items.items()
            }

    def score(self, shares: Mapping[str, float]) -> float:
        """Return the score, from 0 to 1, of the given shares."""
        return EXPERIENCE.score(score_of(shares)) * self.scale

    def settle(self, *, abstained: bool) -> list[tuple[str, dict[str, float]]]:
        """Return the relevant items with the requested minimum score, best first, each with the shares of its score.

        Scores are moved to the answer's side.
        """
        ranked = self._best_first(self.items)
        best = max((self.score(shares) for _, shares in ranked), default=0.0)
        self.scale = multiplier(best, abstained=abstained)
        least = self.asked.min_score
        return [one for one in ranked if least is None or round(self.score(one[1]), DIGITS) >= least]

    def _best_first(self, ids: Iterable[str]) -> list[tuple[str, dict[str, float]]]:
        found = list(ids)
        self.graph.read_uses(found)
        scored = [(one, shares_of(self.signals(one))) for one in found]
        if not self.asked.text:
            scored.sort(key=lambda one: (-event_place(self.items[one[0]])[1], one[0]))
            return scored
        kept = [(score, one, shares) for one, shares in scored if (score := score_of(shares)) > 0]
        kept.sort(key=lambda one: (-round(one[0], 6), *(-n for n in event_place(self.items[one[1]])[1:]), one[1]))
        return [(one, shares) for _, one, shares in kept]


def _action_words(item: Item) -> str:
    """Return the words of what is tried or advised."""
    if item.kind == L1:
        return str(item.data.get("attempt", ""))
    return str(item.data.get("recommendation" if item.kind == PATTERN else "action", ""))
