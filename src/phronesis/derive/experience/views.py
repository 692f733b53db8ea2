"""The texts of a lane's events view by view, as arrays that can be compared (EMB-08).

They are read for the events that an aggregation looks at and not kept: as halves they would be a fifth more than what a
process holds of a lane with all encoders, two fifths more with one.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import combinations
from typing import Final

import numpy as np
import numpy.typing as npt

from phronesis.core.experience.drafts import VIEWS
from phronesis.core.experience.edge_building import Listed
from phronesis.core.experience.similarity import Cosine, Floats, Rows, SimilarityMetric, Term, WeightedSum
from phronesis.core.experience.viewing import SEEN, beside, cohesion, crossed, finer, view_groups
from phronesis.core.experience.words import Bags, TermCosine
from phronesis.core.items import Item
from phronesis.derive.experience.meaning import vectors_of
from phronesis.derive.experience.table import WORDS_OFFSET, WORDS_UNIT, Bag, EventTable
from phronesis.index.experience import view_part
from phronesis.index.projections import ALIKE
from phronesis.models.embedder import Embedder
from phronesis.storage.documents import documents_of_items
from phronesis.storage.lane_view import LaneView

BY_MEANING: Final = 5.5
BY_WORDS: Final = 9.0
"""How alike events must be in one view to make a pattern by it alone: with vectors, and by words.

With both encoders such patterns add two pairs to the nine readable labelled sets, both right; above 4.5 they added 20,
of which three were (docs/benchmarks.md)."""

ALONE: Final = ("situation", "attempt", "result", "reflection")
"""The views that a pattern may have alone; that a goal is shared says nothing of what was learned."""

SAMPLED: Final = 16
"""The most typical members, by which the cohesion of a view is told."""


@dataclass(frozen=True, slots=True)
class ViewTable:
    """Some events by place, with a metric for each view, and which of them have it."""

    places: Mapping[str, int]
    """By the event's id."""
    metrics: Mapping[str, SimilarityMetric]
    having: Mapping[str, frozenset[int]]
    threshold: float

    def cohesions(self, members: Sequence[str]) -> dict[str, float]:
        """Give how alike members are in each view that enough of them have, the most typical first."""
        rows = [self.places[one] for one in members[:SAMPLED]]
        out = {}
        for view, metric in self.metrics.items():
            there = np.array([row for row in rows if row in self.having[view]], dtype=np.int64)
            alike = cohesion(metric.matrix(there, there))
            if alike is not None and len(there) >= SEEN * len(rows):
                out[view] = round(max(0.0, alike), 2)
        return out

    def alike(self, names: Sequence[str], there: Rows) -> Floats:
        """Give how alike some events are in each of some views, in units of what a group by one needs."""
        least = np.minimum.reduce([self.metrics[name].matrix(there, there) for name in names])
        out: Floats = least / np.float32(self.threshold)
        return out

    def groups(
        self, pairs: Sequence[tuple[int, int]], known: Sequence[Sequence[int]], among: Mapping[str, AbstractSet[int]]
    ) -> list[tuple[tuple[str, ...], list[int]]]:
        """Give groups that are alike in one view, then in two, and no known ones, by place, each with its views.

        Those of one view are ``among`` the events that are named for it.
        """
        by_view: dict[str, list[list[int]]] = {}
        out: list[tuple[tuple[str, ...], list[int]]] = []
        every = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        for view in ALONE:
            there = np.array(sorted(self.having[view] & among[view]), dtype=np.int64)
            joined = Listed(every[np.isin(every, there).all(axis=1)], self.threshold)
            by_view[view] = view_groups(self.metrics[view], joined, threshold=self.threshold)
            found = beside(by_view[view], [*known, *(group for _, group in out)])
            out += [((view,), group) for group in found]
        for one, other in combinations(ALONE, 2):
            found = finer(crossed(by_view[one], by_view[other]), [*known, *(group for _, group in out)])
            out += [((one, other), group) for group in found]
        return out


@dataclass(slots=True)
class ViewReader:
    """Reads the views of a lane's events, each event once; by words where the lane's table is."""

    view: LaneView
    table: EventTable
    encoder: Embedder | None
    _vectors: dict[str, npt.NDArray[np.float16]] = field(default_factory=dict)
    """By the event's id: a row for each of `VIEWS`, halves as they are stored."""
    _bags: dict[str, Bag] = field(default_factory=dict)
    """By the text."""

    def of(self, items: Mapping[str, Item]) -> ViewTable:
        """Give the views of some events."""
        ids = sorted(items)
        places = {one: n for n, one in enumerate(ids)}
        texts = [{name: text for name in VIEWS if (text := items[one].data.get(name))} for one in ids]
        having = {name: frozenset(n for n, told in enumerate(texts) if name in told) for name in VIEWS}
        metrics: dict[str, SimilarityMetric]
        if self.encoder is None or not self.table.meaning.built:
            metrics = {name: self._by_words([told.get(name, "") for told in texts]) for name in VIEWS}
            return ViewTable(places, metrics, having, BY_WORDS)
        self._read(self.encoder, {one: told for one, told in zip(ids, texts, strict=True) if one not in self._vectors})
        held = [np.array([self._vectors[one][n] for one in ids], np.float32) for n in range(len(VIEWS))]
        metrics = {name: self._by_meaning(seen.reshape(len(ids), self.encoder.dimension))
                   for name, seen in zip(VIEWS, held, strict=True)}  # fmt: skip
        return ViewTable(places, metrics, having, BY_MEANING)

    def _by_words(self, texts: Sequence[str]) -> SimilarityMetric:
        for text in texts:
            if text not in self._bags:
                self._bags[text] = self.table.bag_of(text)
        terms = TermCosine(Bags.of([self._bags[text] for text in texts]), self.table.background())
        return WeightedSum([Term(terms, 1.0 / WORDS_UNIT, WORDS_OFFSET)])

    def _by_meaning(self, vectors: Floats) -> SimilarityMetric:
        centre = self.table.meaning.tried.centre
        assert centre is not None  # it is built  # noqa: S101
        return WeightedSum([Term(Cosine(centre.centred(vectors)), 1.0 / centre.spread)])

    def _read(self, encoder: Embedder, texts: Mapping[str, Mapping[str, str]]) -> None:
        """Read the vectors of each view, a row of zeros where an event has none.

        Of two views that say the same only the first is stored; an event of one text has its whole.
        """
        lane_id = self.view.lane_id
        current = [row for row in documents_of_items(self.view.unit, lane_id, list(texts)) if row.current_to is None]
        stored = {(row.item_id, row.part): row.id for row in current}
        wanted: dict[tuple[str, int], str] = {}
        for one, told in texts.items():
            first: dict[str, str] = {}
            for name, text in told.items():
                part = view_part(first.setdefault(text, name))
                document = stored.get((one, part)) or stored.get((one, ALIKE))
                if document is not None:
                    wanted[one, VIEWS.index(name)] = document
        owners = {row.id: row.item_id for row in current}
        vectors = vectors_of(self.view, lane_id, encoder, {one: owners[one] for one in wanted.values()})
        self._vectors |= {one: np.zeros((len(VIEWS), encoder.dimension), np.float16) for one in texts}
        for (one, n), document in wanted.items():
            self._vectors[one][n] = vectors[document]


def pairs_of_lists(place: Mapping[int, int], nearest: Mapping[int, Sequence[int]]) -> list[tuple[int, int]]:
    """Give the pairs of places of which one is a neighbour of the other; ``place`` and ``nearest`` are by row."""
    pairs = {(min(place[row], place[other]), max(place[row], place[other]))
             for row, others in nearest.items() for other in others if other in place}  # fmt: skip
    return sorted(pairs)
