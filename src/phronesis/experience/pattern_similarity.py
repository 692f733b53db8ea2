"""Similarity of patterns, by words and by embeddings if there is an encoder, and edges between similar patterns.

A pattern is compared by its most typical events. Patterns of different outcomes are grouped into one topic more readily
than those of the same outcome, which would have formed one pattern.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from phronesis.core.entries import Entry
from phronesis.core.relations import Edge
from phronesis.core.vectors import similar_pairs
from phronesis.engine.handler import PrepareContext
from phronesis.errors import ModelError
from phronesis.experience.counterexamples import TYPICAL, bags_of
from phronesis.experience.event_embeddings import unrelated_vectors, vectors_of
from phronesis.experience.event_matrix import EventTable
from phronesis.experience.event_views import SIMILAR, item_edge
from phronesis.experience.laws.lexical_similarity import TermCosine
from phronesis.experience.laws.ranking import Centre
from phronesis.experience.laws.records import L1
from phronesis.experience.laws.similarity import Cosine, Floats, ListedPairs
from phronesis.experience.laws.topics import PatternInput, group_topics
from phronesis.index.projections import ALIKE
from phronesis.models.embedders import Embedders
from phronesis.store.experience import changed_parts
from phronesis.store.lane_view import LaneView

MEANT_UNIT: Final = 0.87
"""Share of the spread of unrelated texts' cosines that is one unit of similarity."""

WORDS_UNIT: Final = 0.12
WORDS_OFFSET: Final = 0.05
"""Offset of the root of the cosine of two patterns' words (that of unrelated ones), in units of .12 beside vectors."""

SAME: Final = (5.3, 0.375)
OPPOSITE: Final = (4.9, 0.335)
"""Thresholds of similarity for one topic, with vectors and by words alone, for the same outcome and for two, chosen on
labelled/experience/dev.jsonl so that no patterns of two domains are joined."""

NAMED: Final = 0.5
"""Added for shared artifacts, failure families and episodes, in thresholds: not enough to join two patterns alone."""

STAYS: Final = 0.15
"""Added for having been in one topic before, so that a small change does not split a topic."""


@dataclass(slots=True)
class TopicLikeness:
    """Groups patterns into topics."""

    embedders: Embedders
    _unrelated: dict[str, Floats] = field(default_factory=dict)

    def topics(
        self, bench: PrepareContext, patterns: Sequence[PatternInput], joined: Sequence[Sequence[str]]
    ) -> list[list[int]]:
        """Return the topics, by the places of their patterns; ``joined`` are patterns that were in one topic before."""
        if not patterns:
            return []
        return group_topics(self.alike(bench, patterns, joined))

    def alike(self, bench: PrepareContext, patterns: Sequence[PatternInput], joined: Sequence[Sequence[str]]) -> Floats:
        """Return the similarity matrix of patterns, in units of the topic threshold."""
        rows = np.arange(len(patterns), dtype=np.int64)
        terms, means = self._read(bench, [[event.id for event in one.events[:TYPICAL]] for one in patterns])
        likeness = TermCosine(bags_of(patterns, terms)).matrix(rows, rows)
        by_words = means is None
        if means is not None:
            likeness = means + (likeness - WORDS_OFFSET) / WORDS_UNIT
        outcomes = np.array([one.outcome for one in patterns])
        same = outcomes[:, None] == outcomes[None, :]
        alike = likeness / np.where(same, SAME[by_words], OPPOSITE[by_words])
        place = {one.id: n for n, one in enumerate(patterns)}
        shared = similar_pairs({one.id: _named(one) for one in patterns}, threshold=1e-9)
        for (first, second), share in shared.items():
            alike[place[first], place[second]] += NAMED * share
            alike[place[second], place[first]] += NAMED * share
        for group in joined:
            held = [place[one] for one in group if one in place]
            alike[np.ix_(held, held)] += STAYS
        out: Floats = alike.astype(np.float32)
        return out

    def _read(self, bench: PrepareContext, typical: Sequence[Sequence[str]]) -> tuple[dict[str, bytes], Floats | None]:
        """Return the terms of patterns' typical events, and the cosines of the patterns' mean vectors, in units.

        There are no cosines without an encoder or while its server is unavailable.
        """
        encoder = self.embedders.serving(bench.tenant)
        wanted = {one for events in typical for one in events}
        with bench.view() as view:
            changed = changed_parts(view.unit, view.lane_id, L1, ALIKE, after=0)
            parts = [part for part in changed if part.item_id in wanted and part.current_to is None]
            terms = {part.item_id: part.terms for part in parts}
            if encoder is None:
                return terms, None
            try:
                rows = vectors_of(view, encoder, {part.id: part.item_id for part in parts})
                if encoder.name not in self._unrelated:
                    self._unrelated[encoder.name] = unrelated_vectors(encoder)
            except ModelError:
                return terms, None
        found = {part.item_id: row.astype(np.float32) for part, row in zip(parts, rows, strict=True)}
        blank = np.zeros(encoder.dimension, np.float32)
        means = np.stack([np.mean([found.get(one, blank) for one in events], axis=0) for events in typical])
        centre = Centre.of(means, self._unrelated[encoder.name])
        return terms, Cosine(centre.centred(means)).matrix(np.arange(len(means))) / (MEANT_UNIT * centre.spread)


def _named(pattern: PatternInput) -> frozenset[str]:
    episodes = {f"episode:{event.episode_id}" for event in pattern.events if event.episode_id}
    return frozenset({*pattern.artifacts, *pattern.families, *episodes})


# Edges between similar patterns that are not one (EMB-06), so that a query that finds one reaches the others.

LIKE: Final = 0.4
"""Similarity of the most typical members of two patterns for an edge, in thresholds and without shared neighbours."""

MOST: Final = 3
"""Edges from a pattern to those most similar to it; it may have more incoming ones."""

DIGITS: Final = 4


def similar_groups(table: EventTable, groups: Sequence[Sequence[int]]) -> list[list[tuple[int, float]]]:
    """Return for each group, its most typical member first, the later groups that are similar, with the similarity."""
    out: list[list[tuple[int, float]]] = [[] for _ in groups]
    if table.neighbours is None or not groups:
        return out
    owners: dict[int, list[int]] = {}
    for n, group in enumerate(groups):
        for row in group:
            owners.setdefault(row, []).append(n)
    centres = np.array([group[0] for group in groups], dtype=np.int64)
    nearest, _ = table.neighbours.lists(centres)
    pairs = {
        (min(n, other), max(n, other))
        for n, rows in enumerate(nearest.tolist())
        for row in rows
        for other in owners.get(row, ())
        if not set(groups[n]) & set(groups[other])
    }
    by_row: dict[tuple[int, int], tuple[int, int]] = {}
    for one, other in sorted(pairs):
        first, second = sorted((int(centres[one]), int(centres[other])))
        by_row[first, second] = (one, other)
    builder = ListedPairs(sorted(by_row), LIKE * table.belonging.likeness_unit)
    links = builder.build(table.neighbours.metric, np.unique(centres))
    found = sorted(((link.weight, *by_row[link.first, link.second]) for link in links), key=lambda one: (-one[0], one))
    had = [0] * len(groups)
    for weight, one, other in found:
        if min(had[one], had[other]) < MOST:
            had[one] += 1
            had[other] += 1
            share = min(1.0, weight / table.belonging.likeness_unit)
            out[min(one, other)].append((max(one, other), round(share, DIGITS)))
    return [sorted(others) for others in out]


def drawn_anew(
    view: LaneView, entry: Entry, touched: Sequence[str], wished: Mapping[tuple[str, str], float]
) -> tuple[list[Edge], list[Edge]]:
    """Return the edges to add and to remove so that ``touched`` patterns have only the ``wished`` ones among them."""
    known = {edge.identity: edge for edge in (*view.edges_from(touched, SIMILAR), *view.edges_to(touched, SIMILAR))}
    said = {frozenset((edge.from_id, edge.to_id)) for edge in known.values() if edge.grade is not None}
    edges = [
        item_edge(SIMILAR, one, other, entry.id, weight=weight)
        for (one, other), weight in sorted(wished.items())
        if frozenset((one, other)) not in said
    ]
    stays = {edge.identity for edge in edges}
    inside = set(touched)
    dropped = [
        edge
        for edge in known.values()
        if edge.grade is None and edge.identity not in stays and edge.from_id in inside and edge.to_id in inside
    ]
    drawn = [edge for edge in edges if edge.identity not in known or not edge.restates(known[edge.identity])]
    return drawn, sorted(dropped, key=lambda edge: edge.identity)
