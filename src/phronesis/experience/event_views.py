"""Compare events by single views, read links that people set between events, and extract readable terms (EMB-08)."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import combinations
from typing import Final

import numpy as np

from phronesis.core.items import Item
from phronesis.core.relations import Edge, Origin
from phronesis.experience.event_embeddings import vectors_of, view_part
from phronesis.experience.event_matrix import WORDS_OFFSET, WORDS_UNIT, EventTable
from phronesis.experience.laws.clustering import SEEN, cohesion, distinct_groups, intersect_groups, view_groups
from phronesis.experience.laws.event_draft import VIEWS
from phronesis.experience.laws.lexical_similarity import TermBags, TermCosine
from phronesis.experience.laws.neighbour_graph import ImpliedPairs, PairConstraints, Pairs, resolve_pairs
from phronesis.experience.laws.records import APART, SIMILAR, TOGETHER
from phronesis.experience.laws.similarity import Cosine, Floats, ListedPairs, Rows, SimilarityMetric, Term, WeightedSum
from phronesis.index.tokens import CHINESE_FUNCTION_CHARACTERS, CHINESE_STOP_BIGRAMS, ENGLISH_STOP_WORDS
from phronesis.models.embedder import Embedder
from phronesis.store.dialects import Halves
from phronesis.store.experience import views_of
from phronesis.store.lane_view import LaneView

# Readable terms of a text: Latin words as written, and Chinese character sequences that may be words.

MAX_READ: Final = 4_000
"""Characters of a text that are examined."""

LONGEST: Final = 4
"""Characters of a Chinese term at most: nearly all words are shorter."""

_WORDS: Final = re.compile(r"(?<![A-Za-z0-9_])[A-Za-z][A-Za-z0-9_'\-.]{1,40}[A-Za-z0-9](?![A-Za-z0-9_])")
_HAN: Final = re.compile("[\u3400-\u9fff]{2,}")

_LIGHT: Final = frozenset(
    """
one two three first second last next new old other another every each several many much few less least time times
way thing things something anything nothing everything everybody somebody someone anyone nobody without within
against along around across among toward towards upon onto per via since though although however whether either
neither already still yet again always never often ever now today later soon instead rather quite really even almost
enough make makes made making take takes took taken taking put puts putting get gets got getting give gives gave
given go goes went gone going come comes came coming use used using uses tried try tries trying told tell tells said
say says saying see saw seen seeing know knew known want wanted need needed needs let lets keep kept seem seems
seemed look looked looking found find finds left right done doing turn turned ask asked back away far near long
short big small good bad better best worse worst well like able sure whole half part
    """.split()
)
"""Stop words: numbers, pronouns, adverbs and light verbs."""

_EDGES: Final = CHINESE_FUNCTION_CHARACTERS | frozenset(
    "一二两三几个些每把从对向给让等后前再又才只没不有去来到得地所已这那此其某会能要可应该上下里中时用为以由于因则若如"
)
"""Characters with which no term begins or ends: numbers, prepositions, auxiliaries, places."""


def readable(text: str) -> list[str]:
    """Return a text's Latin words in lower case, and its Chinese character sequences of two to `LONGEST`."""
    words = [
        word
        for word in map(str.lower, _WORDS.findall(text[:MAX_READ]))
        if word not in ENGLISH_STOP_WORDS and word not in _LIGHT
    ]
    return words + [stretch for run in _HAN.findall(text[:MAX_READ]) for stretch in _stretches(run)]


def _stretches(run: str) -> list[str]:
    found = (run[begin : begin + size] for size in range(2, LONGEST + 1) for begin in range(len(run) - size + 1))
    return [one for one in found if one[0] not in _EDGES and one[-1] not in _EDGES and one not in CHINESE_STOP_BIGRAMS]


# Must-link and cannot-link pairs that people set between events, stored as edges (EMB-15).


def constraints_from_edges(view: LaneView, ids: Iterable[str]) -> ImpliedPairs:
    """Return the must-link and cannot-link pairs of events, and of the events they must be together with."""
    together, apart = set[tuple[str, str]](), set[tuple[str, str]]()
    known, waiting = set[str](), sorted(set(ids))
    while waiting:
        known.update(waiting)
        edges = [*view.edges_from(waiting, SIMILAR), *view.edges_to(waiting, SIMILAR)]
        together |= {(edge.from_id, edge.to_id) for edge in edges if edge.grade == TOGETHER}
        apart |= {(edge.from_id, edge.to_id) for edge in edges if edge.grade == APART}
        waiting = sorted({one for pair in together for one in pair} - known)
    return ImpliedPairs(frozenset(together), frozenset(apart))


def must_link_closure(view: LaneView, ids: Collection[str]) -> set[str]:
    """Return the events that must be together with any of some."""
    return {one for pair in constraints_from_edges(view, ids).together for one in pair}


def constraint_pairs(view: LaneView, ids: Iterable[str], table: EventTable) -> PairConstraints:
    """Return the must-link and cannot-link pairs among some events, by row of the table."""
    found = list(ids)
    rows, groups = {table.ids[row]: row for row in table.rows(found).tolist()}, table.groups
    return resolve_pairs(constraints_from_edges(view, found), rows, {row: int(groups[row]) for row in rows.values()})


def item_edge(
    kind: str,
    one: str,
    other: str,
    entry_id: str,
    *,
    weight: float = 1.0,
    grade: str | None = None,
    origin: Origin = "rule",
) -> Edge:
    """Return an edge from one item to another."""
    ends = {"from_kind": "item", "from_id": one, "to_kind": "item", "to_id": other}
    return Edge(type=kind, entry_id=entry_id, weight=weight, grade=grade, origin=origin, **ends)  # type: ignore[arg-type]


BY_MEANING: Final = 5.5
BY_WORDS: Final = 9.0
"""Similarity in one view that makes a pattern by that view alone: with vectors, and by words (docs/decisions/13)."""

ALONE: Final = ("situation", "attempt", "result", "reflection")
"""The views by which a pattern may be made alone; a shared goal says nothing about a lesson."""

SAMPLED: Final = 16
"""Most typical members, by which the cohesion of a view is computed."""


@dataclass(frozen=True, slots=True)
class ViewTable:
    """Some events by place, with a metric for each view, and the events that have it."""

    places: Mapping[str, int]
    """Places by the event's id."""
    metrics: Mapping[str, SimilarityMetric]
    having: Mapping[str, frozenset[int]]
    threshold: float

    def cohesions(self, members: Sequence[str]) -> dict[str, float]:
        """Return the mean similarity of members, the most typical first, in each view that enough of them have."""
        rows = [self.places[one] for one in members[:SAMPLED]]
        out = {}
        for view, metric in self.metrics.items():
            there = np.array([row for row in rows if row in self.having[view]], dtype=np.int64)
            alike = cohesion(metric.matrix(there, there))
            if alike is not None and len(there) >= SEEN * len(rows):
                out[view] = round(max(0.0, alike), 2)
        return out

    def alike(self, names: Sequence[str], there: Rows) -> Floats:
        """Return the similarity of some events in some views, in units of the threshold of a group by one view."""
        least = np.minimum.reduce([self.metrics[name].matrix(there, there) for name in names])
        out: Floats = least / np.float32(self.threshold)
        return out

    def groups(
        self, pairs: Pairs, known: Sequence[Sequence[int]], among: Mapping[str, AbstractSet[int]]
    ) -> list[tuple[tuple[str, ...], list[int]]]:
        """Return groups by one view, formed ``among`` its events, then by two crossed views, without known ones."""
        by_view: dict[str, list[list[int]]] = {}
        out: list[tuple[tuple[str, ...], list[int]]] = []
        for view in ALONE:
            there = np.array(sorted(self.having[view] & among[view]), dtype=np.int64)
            joined = ListedPairs(pairs[np.isin(pairs, there).all(axis=1)], self.threshold)
            by_view[view] = view_groups(self.metrics[view], joined, threshold=self.threshold)
            found = distinct_groups(by_view[view], [*known, *(group for _, group in out)], subsets=False)
            out += [((view,), group) for group in found]
        for one, other in combinations(ALONE, 2):
            found = distinct_groups(
                intersect_groups(by_view[one], by_view[other]), [*known, *(group for _, group in out)]
            )
            out += [((one, other), group) for group in found]
        return out


@dataclass(slots=True)
class ViewReader:
    """Reads the views of a lane's events, each once; terms are numbered as in the lane's table."""

    view: LaneView
    table: EventTable
    encoder: Embedder | None
    _read: dict[tuple[str, str], Halves] = field(default_factory=dict)
    """Vectors by event and view, as stored half-precision numbers."""
    _worded: ViewTable | None = None
    """The last events by words; idf is computed over all that were read."""

    def of(self, items: Mapping[str, Item], wanted: Mapping[str, AbstractSet[str]]) -> ViewTable:
        """Return the views of some events; by embeddings, only those ``wanted`` for a view can be compared in it."""
        ids = sorted(items)
        texts = [{name: text for name in VIEWS if (text := items[one].data.get(name))} for one in ids]
        having = {name: frozenset(n for n, told in enumerate(texts) if name in told) for name in VIEWS}
        places = {one: n for n, one in enumerate(ids)}
        if self.encoder is None:
            if self._worded is None or self._worded.places != places:
                metrics = {name: self._by_words([told.get(name, "") for told in texts]) for name in VIEWS}
                self._worded = ViewTable(places, metrics, having, BY_WORDS)
            return self._worded
        asked = {name: [n for n in sorted(having[name]) if ids[n] in wanted.get(name, ())] for name in VIEWS}
        self._read_views(self.encoder, {(ids[n], name): texts[n] for name, there in asked.items() for n in there})
        seen = {name: self._by_meaning(ids, name, there) for name, there in asked.items()}
        return ViewTable(places, seen, having, BY_MEANING)

    def _by_words(self, texts: Sequence[str]) -> SimilarityMetric:
        terms = TermCosine(TermBags.of([self.table.bag_of(text) for text in texts]), self.table.background())
        return WeightedSum([Term(terms, 1.0 / WORDS_UNIT, WORDS_OFFSET)])

    def _by_meaning(self, ids: Sequence[str], name: str, there: Sequence[int]) -> SimilarityMetric:
        centre = self.table.meaning.tried
        vectors: Floats = np.zeros((len(ids), len(centre.mean)), np.float32)
        if there:
            read = np.stack([self._read[ids[n], name] for n in there])
            vectors[there] = centre.centred(read.astype(np.float32))
        return WeightedSum([Term(Cosine(vectors), 1.0 / centre.spread)])

    def _read_views(self, encoder: Embedder, asked: Mapping[tuple[str, str], Mapping[str, str]]) -> None:
        """Read the vectors of events' views, given with the event's texts, that are not cached yet."""
        missing = asked.keys() - self._read.keys()
        parts = views_of(self.view.unit, self.view.lane_id, {one for one, _ in missing})
        stored = {(row.item_id, row.part): row.id for row in parts}
        documents = {(one, name): self._document(stored, one, asked[one, name], name) for one, name in sorted(missing)}
        owners = {document: one for (one, _), document in documents.items()}
        rows = dict(zip(owners, vectors_of(self.view, encoder, owners), strict=True))
        self._read |= {view: rows[document] for view, document in documents.items()}

    def _document(self, stored: Mapping[tuple[str, str], str], one: str, texts: Mapping[str, str], name: str) -> str:
        """Return the id of the document that holds a view: the first of equal ones, or an event's only one."""
        first = next(view for view in VIEWS if texts.get(view) == texts[name])
        return stored.get((one, view_part(first))) or self.table.documents[one]
