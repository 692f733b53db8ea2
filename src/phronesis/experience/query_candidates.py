"""The candidate pool of a query: items gathered from lanes and from the graph, each with its ranking signals."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from phronesis.core.items import Item, Trust
from phronesis.core.relations import UNUSED
from phronesis.core.timestamps import to_micros
from phronesis.experience.laws.constraints import clauses_of
from phronesis.experience.laws.ranking import (
    ARTIFACT,
    ReachedNode,
    Signals,
    length_of,
    relevance_of,
    score_of,
    shares_of,
    walk,
)
from phronesis.experience.laws.records import L1, PATTERN, PRINCIPLE
from phronesis.experience.provenance import EvidenceChain, EvidenceChains
from phronesis.experience.query_graph import LAYERS, ExperienceQuestion, LaneGraph, usefulness_of, weight_of
from phronesis.experience.query_seeds import (
    QueryLane,
    TaskNames,
    about,
    is_called,
    named_artifacts,
    normal_title,
    taken_up,
)
from phronesis.index.tokens import tokenize
from phronesis.recall.scoring.weights import DIGITS, EXPERIENCE, multiplier

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
    dense: bool = field(init=False)
    """Whether embeddings were compared anywhere."""

    def __post_init__(self) -> None:
        self.dense = any(one.meaning is not None for one in self.lanes)

    def gather(self, names: TaskNames) -> None:
        """Add what matches the question by name, words, embeddings, or named artifacts."""
        found: list[str] = []
        self.terms = tokenize(self.asked.text)
        self.length = length_of(len(set(self.terms)))
        asked = {normal_title(text) for text in (self.asked.situation, self.asked.goal)} - {""}
        for lane in self.lanes:
            for name in sorted(asked):
                found += names.events(self.graph.unit, lane.lane, name)
        named = self.graph.items(found)
        self.exact = _rank_events([item for item in named.values() if any(is_called(item, name) for name in asked)])
        self.artifacts = named_artifacts(self.asked)
        ids = [*self.exact, *about(self.graph.unit, self.lanes, self.artifacts)]
        counts = taken_up(self.asked)
        for lane in self.lanes:
            ids += lane.best(counts) if self.asked.text else lane.newest(counts)
        self.take(ids)

    def take(self, ids: Iterable[str]) -> None:
        """Add those of some items that are visible."""
        fresh = {one: item for one, item in self.graph.items(ids).items() if one not in self.items}
        self.items |= fresh
        for lane in self.lanes:
            self.met |= lane.met([one for one in fresh if self.graph.lane_of(one) == lane.lane])

    def walk(self) -> None:
        """Traverse the graph from the most relevant items, and from each pattern to its evidence."""
        relevant = {one: self.relevance(one) for one in self.items}
        best = sorted((one for one in relevant if relevant[one] > 0), key=lambda one: (-relevant[one], one))[:SEEDS]
        most = relevant[best[0]] if best else 1.0
        seeds = {one: relevant[one] / most for one in best} | dict.fromkeys(self.artifacts, 1.0)
        found = walk(self.graph, seeds)
        self.reached = {one: step for one, step in found.items() if step.hops and step.node.layer != ARTIFACT}
        self.take(self.reached)
        self.chain_of = self.chains.of(self._ordered_parents())
        ends = [end for chain in self.chain_of.values() for end in (chain.typical, chain.latest) if end is not None]
        self.take(ends)
        self.beside = self._best_neighbours()
        for kind in (PATTERN, PRINCIPLE):  # principles rest on patterns, as these were weighed
            self.under |= self._best_members(kind)

    def _ordered_parents(self) -> list[Item]:
        """Return the visible patterns and principles, ordered by the relevance known before they are followed."""
        out: list[Item] = []
        counts = taken_up(self.asked)
        for kind in (PATTERN, PRINCIPLE):
            held = [one for one, item in self.items.items() if item.kind == kind]
            for one in held:
                near = [other for other in self.graph.around(one) if other in self.items]
                below = [other for other in near if LAYERS[self.items[other].kind] < LAYERS[kind]]
                self.under[one] = max(map(self.relevance, below), default=0.0)
            out += [self.items[one] for one, _ in self._best_first(held)[: counts[kind]]]
        return out

    def _best_members(self, kind: str) -> dict[str, float]:
        """Return the relevance of the best evidence of each pattern or principle."""
        out = {}
        for one, chain in self.chain_of.items():
            if self.items[one].kind == kind:
                held = [below for below in chain.below if below in self.items]
                out[one] = max(map(self.relevance, held), default=0.0)
        return out

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

    @property
    def by_name(self) -> bool:
        """Return whether the question is only a name that events have."""
        return (
            bool(self.exact) and len({normal_title(one) for one in (self.asked.situation, self.asked.goal)} - {""}) == 1
        )

    def like(self, meant: Mapping[str, float]) -> None:
        """Set how far each item is preferred, by its words or by ``meant`` (embeddings), whichever says more."""
        liking = self.asked.liking
        if liking is not None:
            self.liked = {
                one: liking(clauses_of(_action_words(item), tokenize)) or meant.get(one, 0.0)
                for one, item in self.items.items()
            }

    def ranked(self) -> list[tuple[str, dict[str, float]]]:
        """Return all relevant items, best first, each with the shares of its score."""
        return self._best_first(self.items)

    def score(self, shares: Mapping[str, float]) -> float:
        """Return the score, from 0 to 1, of the given shares."""
        return EXPERIENCE.score(score_of(shares)) * self.scale

    def settle(
        self, ranked: Sequence[tuple[str, dict[str, float]]], *, abstained: bool
    ) -> list[tuple[str, dict[str, float]]]:
        """Return the ranked items with the requested minimum score; scores are moved to the answer's side."""
        best = max((self.score(shares) for _, shares in ranked), default=0.0)
        self.scale = multiplier(best, abstained=abstained)
        least = self.asked.min_score
        return [one for one in ranked if least is None or round(self.score(one[1]), DIGITS) >= least]

    def _best_first(self, ids: Iterable[str]) -> list[tuple[str, dict[str, float]]]:
        found = list(ids)
        self.graph.read_uses(found)
        scored = [(one, shares_of(self.signals(one))) for one in found]
        if not self.asked.text:
            scored.sort(key=lambda one: (-_place(self.items[one[0]])[1], one[0]))
            return scored
        kept = [(score, one, shares) for one, shares in scored if (score := score_of(shares)) > 0]
        kept.sort(key=lambda one: (-round(one[0], 6), *(-n for n in _place(self.items[one[1]])[1:]), one[1]))
        return [(one, shares) for _, one, shares in kept]


def _action_words(item: Item) -> str:
    """Return the words of what is tried or advised."""
    if item.kind == L1:
        return str(item.data.get("attempt", ""))
    return str(item.data.get("recommendation" if item.kind == PATTERN else "action", ""))


def _place(item: Item) -> tuple[bool, int, int]:
    """Return whether an event has a lesson, when it happened, and its place in its episode."""
    seq = -1 if item.position is None else item.position
    return (bool(item.data.get("reflection")), to_micros(item.occurred_at or item.recorded_at), seq)


def _rank_events(events: Sequence[Item]) -> dict[str, int]:
    """Return the places of events of one name: those with lessons first, then by time and place in the episode."""
    episodes: dict[str, int] = {}
    for event in events:
        episode = event.run_id or event.id
        episodes[episode] = max(episodes.get(episode, 0), _place(event)[1])

    def key(event: Item) -> tuple[bool, int, int, int, str]:
        told, at, seq = _place(event)
        return (told, episodes[event.run_id or event.id], seq, at, event.id)

    return {event.id: n for n, event in enumerate(sorted(events, key=key, reverse=True), 1)}
