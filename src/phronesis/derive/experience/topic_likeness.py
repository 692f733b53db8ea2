"""How alike patterns are, and whether an event did what a pattern's events did.

By words, and by meaning where there is an encoder.

A pattern is compared as its most typical events: the sum of their words, the mean of their vectors, and what they name.
Patterns of different outcomes are of one topic sooner than those of the same, which would else have been one pattern.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from phronesis.core.clustering import similar_pairs
from phronesis.core.experience.centring import Centre
from phronesis.core.experience.records import L1
from phronesis.core.experience.similarity import Cosine, Floats
from phronesis.core.experience.topics import SeenPattern, grouped
from phronesis.core.experience.words import TermCosine
from phronesis.derive.experience.contradicting import TYPICAL, bags_of
from phronesis.derive.experience.meaning import unrelated_vectors
from phronesis.derive.handler import Bench
from phronesis.errors import ModelError
from phronesis.index.projections import ALIKE
from phronesis.models.embedder import Embedder
from phronesis.models.embedders import Embedders
from phronesis.storage.compared import changed_parts
from phronesis.storage.documents import document_texts, read_vectors
from phronesis.storage.embedding_models import active_model

MEANT_UNIT: Final = 0.87
"""Share of the spread of unrelated texts' cosines that is one unit of likeness."""

WORDS_UNIT: Final = 0.12
WORDS_OFFSET: Final = 0.05
"""The root of the cosine of two patterns' words, of which unrelated ones have .05, in units of .12 beside vectors."""

SAME: Final = (5.3, 0.375)
OPPOSITE: Final = (4.9, 0.335)
"""How alike two patterns of one topic are, with vectors and by words alone: of the same outcome, and of two. Chosen on
tests/labelled/experience/dev.jsonl so that no patterns of two domains are joined; of the six matters there in which one
thing works and another fails, five are found with vectors and three by words."""

NAMED: Final = 0.5
"""What naming the same artifacts, failure families and episodes adds, in thresholds: alone it joins none."""

STAYS: Final = 0.15
"""What having been one topic adds: a topic does not fall apart over a little."""


@dataclass(slots=True)
class TopicLikeness:
    """Finds topics among patterns."""

    embedders: Embedders
    _unrelated: dict[str, Floats] = field(default_factory=dict)

    def topics(self, bench: Bench, patterns: Sequence[SeenPattern], joined: Sequence[Sequence[str]]) -> list[list[int]]:
        """Give the topics, by the places of their patterns; ``joined`` are patterns that were of one topic before."""
        if not patterns:
            return []
        return grouped(self.alike(bench, patterns, joined))

    def alike(self, bench: Bench, patterns: Sequence[SeenPattern], joined: Sequence[Sequence[str]]) -> Floats:
        """Give how alike patterns are, in units of what makes a topic."""
        rows = np.arange(len(patterns), dtype=np.int64)
        typical = [event.id for one in patterns for event in one.events[:TYPICAL]]
        terms, vectors = self._read(bench, typical)
        words = TermCosine(bags_of(patterns, terms)).matrix(rows, rows)
        dense = self._dense(patterns, vectors)
        by_words = dense is None
        likeness = words if dense is None else dense + (words - WORDS_OFFSET) / WORDS_UNIT
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

    def _dense(
        self, patterns: Sequence[SeenPattern], vectors: tuple[Embedder, Mapping[str, Floats]] | None
    ) -> Floats | None:
        if vectors is None:
            return None
        encoder, found = vectors
        means = np.stack([np.mean([found[event.id] for event in one.events[:TYPICAL]], axis=0) for one in patterns])
        centre = Centre.of(means.astype(np.float32), self._unrelated[encoder.name])
        rows = np.arange(len(patterns), dtype=np.int64)
        out: Floats = Cosine(centre.centred(means)).matrix(rows) / (MEANT_UNIT * centre.spread)
        return out

    def _read(
        self, bench: Bench, ids: Sequence[str]
    ) -> tuple[dict[str, bytes], tuple[Embedder, Mapping[str, Floats]] | None]:
        """Give the events' words, and their vectors; None without an encoder, or while its server is away."""
        encoder = self.embedders.serving(bench.tenant)
        wanted = set(ids)
        with bench.view() as view:
            parts = [part for part in changed_parts(view.unit, view.lane_id, L1, ALIKE, after=0)
                     if part.item_id in wanted and part.current_to is None]  # fmt: skip
            terms = {part.item_id: part.terms for part in parts}
            active = active_model(view.unit)
            owners = {part.id: part.item_id for part in parts}
            known = encoder is not None and active is not None and active[0] == encoder.name
            stored = read_vectors(view.unit, view.lane_id, encoder.name, list(owners)) if encoder and known else []
            found = {owners[row.document_id]: row.embedding for row in stored}
            missing = {one: owner for one, owner in owners.items() if owner not in found}
            texts = document_texts(view.unit, missing) if encoder is not None else {}
        if encoder is None:
            return terms, None
        try:
            for document, owner in missing.items():
                found[owner] = encoder.embed_query(texts.get(document, ""))
            if encoder.name not in self._unrelated:
                self._unrelated[encoder.name] = unrelated_vectors(encoder)
        except ModelError:
            return terms, None
        blank = np.zeros(encoder.dimension, np.float32)
        return terms, (encoder, {one: found.get(one, blank) for one in wanted})


def _named(pattern: SeenPattern) -> frozenset[str]:
    episodes = {f"episode:{event.episode_id}" for event in pattern.events if event.episode_id}
    return frozenset({*pattern.artifacts, *pattern.families, *episodes})
