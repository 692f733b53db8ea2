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

from phronesis.core.experience.drafts import VIEWS
from phronesis.core.experience.edge_building import Listed
from phronesis.core.experience.growing import Growing
from phronesis.core.experience.neighbours import Pairs
from phronesis.core.experience.similarity import Cosine, Floats, Rows, SimilarityMetric, Term, WeightedSum
from phronesis.core.experience.viewing import SEEN, beside, cohesion, crossed, finer, view_groups
from phronesis.core.experience.words import Bags, TermCosine
from phronesis.core.items import Item
from phronesis.derive.experience.meaning import vectors_of
from phronesis.derive.experience.table import WORDS_OFFSET, WORDS_UNIT, Bag, EventTable
from phronesis.index.experience import view_part
from phronesis.models.embedder import Embedder
from phronesis.storage.experience import views_of
from phronesis.storage.halfvec import Halves
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
        self, pairs: Pairs, known: Sequence[Sequence[int]], among: Mapping[str, AbstractSet[int]]
    ) -> list[tuple[tuple[str, ...], list[int]]]:
        """Give groups that are alike in one view, then in two, and no known ones, by place, each with its views.

        Those of one view are ``among`` the events that are named for it.
        """
        by_view: dict[str, list[list[int]]] = {}
        out: list[tuple[tuple[str, ...], list[int]]] = []
        for view in ALONE:
            there = np.array(sorted(self.having[view] & among[view]), dtype=np.int64)
            joined = Listed(pairs[np.isin(pairs, there).all(axis=1)], self.threshold)
            by_view[view] = view_groups(self.metrics[view], joined, threshold=self.threshold)
            found = beside(by_view[view], [*known, *(group for _, group in out)])
            out += [((view,), group) for group in found]
        for one, other in combinations(ALONE, 2):
            found = finer(crossed(by_view[one], by_view[other]), [*known, *(group for _, group in out)])
            out += [((one, other), group) for group in found]
        return out


@dataclass(slots=True)
class _Read:
    """The vectors of one view that were read, halves as they are stored, and in which row those of each event are."""

    row_of: dict[str, int] = field(default_factory=dict)
    rows: Growing[np.float16] = field(default_factory=lambda: Growing(np.float16))

    def take(self, ids: Sequence[str], vectors: Halves) -> None:
        self.row_of |= {one: len(self.rows) + n for n, one in enumerate(ids)}
        self.rows.add(vectors)

    def of(self, ids: Sequence[str]) -> Floats:
        return self.rows.rows[[self.row_of[one] for one in ids]].astype(np.float32)


@dataclass(slots=True)
class ViewReader:
    """Reads the views of a lane's events, each once; by words where the lane's table is."""

    view: LaneView
    table: EventTable
    encoder: Embedder | None
    _read: Mapping[str, _Read] = field(default_factory=lambda: {name: _Read() for name in VIEWS})
    """By the view."""
    _bags: dict[str, Bag] = field(default_factory=dict)
    """By the text."""
    _worded: ViewTable | None = None
    """The last events by words, of which all are compared: they say how rare words are."""

    def of(self, items: Mapping[str, Item], wanted: Mapping[str, AbstractSet[str]]) -> ViewTable:
        """Give the views of some events; by meaning only those that are ``wanted`` of a view can be compared in it."""
        ids = sorted(items)
        texts = [{name: text for name in VIEWS if (text := items[one].data.get(name))} for one in ids]
        having = {name: frozenset(n for n, told in enumerate(texts) if name in told) for name in VIEWS}
        places = {one: n for n, one in enumerate(ids)}
        if self.encoder is None or not self.table.meaning.built:
            if self._worded is None or self._worded.places != places:
                metrics = {name: self._by_words([told.get(name, "") for told in texts]) for name in VIEWS}
                self._worded = ViewTable(places, metrics, having, BY_WORDS)
            return self._worded
        asked = {name: [n for n in sorted(having[name]) if ids[n] in wanted.get(name, ())] for name in VIEWS}
        self._take_in(self.encoder, dict(zip(ids, texts, strict=True)),
                      {name: [ids[n] for n in there] for name, there in asked.items()})  # fmt: skip
        seen = {name: self._by_meaning(ids, name, there) for name, there in asked.items()}
        return ViewTable(places, seen, having, BY_MEANING)

    def _by_words(self, texts: Sequence[str]) -> SimilarityMetric:
        for text in texts:
            if text not in self._bags:
                self._bags[text] = self.table.bag_of(text)
        terms = TermCosine(Bags.of([self._bags[text] for text in texts]), self.table.background())
        return WeightedSum([Term(terms, 1.0 / WORDS_UNIT, WORDS_OFFSET)])

    def _by_meaning(self, ids: Sequence[str], name: str, there: Sequence[int]) -> SimilarityMetric:
        centre = self.table.meaning.tried.centre
        assert centre is not None  # it is built  # noqa: S101
        vectors: Floats = np.zeros((len(ids), len(centre.mean)), np.float32)
        if there:
            vectors[there] = centre.centred(self._read[name].of([ids[n] for n in there]))
        return WeightedSum([Term(Cosine(vectors), 1.0 / centre.spread)])

    def _take_in(
        self, encoder: Embedder, texts: Mapping[str, Mapping[str, str]], asked: Mapping[str, Sequence[str]]
    ) -> None:
        """Read the vectors of views that are not there yet."""
        missing = {name: [one for one in ids if one not in self._read[name].row_of] for name, ids in asked.items()}
        lane_id = self.view.lane_id
        parts = views_of(self.view.unit, lane_id, {one for ids in missing.values() for one in ids})
        stored = {(row.item_id, row.part): row.id for row in parts}
        wanted = {(one, name): self._document(stored, one, texts[one], name)
                  for name, ids in missing.items() for one in ids}  # fmt: skip
        owners = {document: one for (one, _), document in wanted.items()}
        vectors = vectors_of(self.view, lane_id, encoder, owners)
        place = {document: n for n, document in enumerate(owners)}
        for name, ids in missing.items():
            self._read[name].take(ids, vectors[[place[wanted[one, name]] for one in ids]])

    def _document(self, stored: Mapping[tuple[str, str], str], one: str, texts: Mapping[str, str], name: str) -> str:
        """Give the document that holds a view: of two that say the same the first is stored, of one alone the whole."""
        first = next(view for view in VIEWS if texts.get(view) == texts[name])
        return stored.get((one, view_part(first))) or self.table.document_of(one)
