"""What the events of a lane mean: the vectors of their wholes, and of their lessons, by one encoder or by two.

A whole says where something was tried and what came of it. The lesson is the mean of what was tried, what came of it
and what was made of that: of two events in one place that teach different things it says that they are different.
Measured on the labelled events, each makes the other better (docs/benchmarks.md). What two encoders take for the same
is the same far sooner than what one does, since they err apart.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from phronesis.core.experience.centring import Centre
from phronesis.core.experience.growing import Growing
from phronesis.core.experience.records import L1
from phronesis.core.experience.similarity import Cosine, Floats
from phronesis.derive.experience.unrelated import LANGUAGES, TEXTS
from phronesis.index.experience import view_part
from phronesis.models.embedder import Embedder
from phronesis.storage.documents import Compared, changed_parts, document_texts, read_vectors
from phronesis.storage.embedding_models import has_model
from phronesis.storage.lane_view import LaneView

LESSON: Final = ("attempt", "result", "reflection")
"""The views that a lesson is the mean of; situation and goal make it worse."""

FACETS: Final = ("whole", "lesson")
"""What each encoder sees of an event."""

_Halves = npt.NDArray[np.float16]


@dataclass(frozen=True, slots=True)
class Encoders:
    """What events are compared by: the tenant's own encoder, and perhaps one beside it."""

    own: Embedder
    beside: Embedder | None = None

    @property
    def all(self) -> tuple[Embedder, ...]:
        """Give them, the tenant's own first."""
        return (self.own,) if self.beside is None else (self.own, self.beside)

    @property
    def name(self) -> str:
        """The names of all."""
        return " beside ".join(one.name for one in self.all)


@dataclass(slots=True)
class Facet:
    """The vectors of one kind, row by row, and the same centred. Halves, as they are stored."""

    name: str
    encoder: Embedder
    centre: Centre | None = None
    _raw: Growing[np.float16] = field(default_factory=lambda: Growing(np.float16))
    _centred: Growing[np.float32] = field(default_factory=lambda: Growing(np.float32))

    @property
    def raw(self) -> _Halves:
        """The vectors as they came."""
        return self._raw.rows

    @property
    def centred(self) -> Floats:
        """Less the centre, as far as there is one."""
        return self._centred.rows

    def take(self, vectors: Floats) -> None:
        """Add rows behind those that are there."""
        self._raw.add(vectors)

    def build(self, unrelated: Floats) -> None:
        """Centre all rows anew."""
        vectors = self.raw.astype(np.float32)
        self.centre = Centre.of(vectors, unrelated, LANGUAGES)
        self._centred = Growing(np.float32)
        self._centred.add(self.centre.centred(vectors))

    def extend(self) -> None:
        """Centre the rows that came since."""
        if self.centre is not None and len(self._centred) < len(self._raw):
            self._centred.add(self.centre.centred(self.raw[len(self._centred) :].astype(np.float32)))


@dataclass(slots=True)
class Meaning:
    """The vectors of a lane's events, wholes and lessons by each encoder; nothing where there is none."""

    encoders: Encoders | None = None
    facets: Sequence[Facet] = field(init=False)

    def __post_init__(self) -> None:
        """Make room for what the encoders see."""
        seeing = () if self.encoders is None else self.encoders.all
        self.facets = [Facet(name, encoder) for encoder in seeing for name in FACETS]

    @property
    def built(self) -> bool:
        """Whether there are vectors to compare."""
        return any(facet.centre is not None for facet in self.facets)

    @property
    def lesson(self) -> Facet:
        """The lessons, where there is an encoder."""
        return self.facets[1]

    def take(self, vectors: Sequence[Floats]) -> None:
        """Add the vectors of new events, facet by facet."""
        for facet, rows in zip(self.facets, vectors, strict=True):
            facet.take(rows)

    def repeat(self, rows: Sequence[int]) -> None:
        """Add rows that are there once more."""
        for facet in self.facets:
            facet.take(facet.raw[list(rows)].astype(np.float32))

    def build(self, unrelated_of: Callable[[Embedder], Floats]) -> None:
        """Centre everything, by the vectors of `TEXTS`."""
        for facet in self.facets:
            facet.build(unrelated_of(facet.encoder))

    def extend(self) -> None:
        """Centre what came since."""
        for facet in self.facets:
            facet.extend()

    def cosines(self) -> list[tuple[Cosine, float]]:
        """Give the metrics, with the spread of each among unrelated texts."""
        return [(Cosine(facet.centred, facet.name), facet.centre.spread)
                for facet in self.facets if facet.centre is not None]  # fmt: skip


def read_vectors_of(
    view: LaneView, lane_id: int, encoders: Encoders | None, fresh: Sequence[Compared], *, after: int
) -> list[Floats]:
    """Give the vectors of events whose documents changed after an entry, facet by facet; what is not stored is made.

    An event of one text has no views, and its lesson is that text. ModelError: the encoder's server is away.
    """
    if encoders is None:
        return []
    there = {document.item_id for document in fresh}
    views: dict[str, str] = {}
    for name in LESSON if fresh else ():
        changed = changed_parts(view.unit, lane_id, L1, view_part(name), after=after)
        views |= {one.id: one.item_id for one in changed if one.current_to is None and one.item_id in there}
    return [rows for encoder in encoders.all for rows in _seen(view, lane_id, encoder, fresh, views)]


def _seen(
    view: LaneView, lane_id: int, encoder: Embedder, fresh: Sequence[Compared], views: Mapping[str, str]
) -> tuple[Floats, Floats]:
    """Give the wholes and the lessons of events by one encoder; ``views`` are their items by the documents of views."""
    place = {document.item_id: n for n, document in enumerate(fresh)}
    wholes = vectors_of(view, lane_id, encoder, {one.id: one.item_id for one in fresh})
    whole = np.stack([wholes[one.id] for one in fresh]) if fresh else np.zeros((0, encoder.dimension), np.float32)
    lesson = np.zeros_like(whole)
    counts = np.zeros(len(fresh), np.float32)
    for document, vector in vectors_of(view, lane_id, encoder, views).items():
        lesson[place[views[document]]] += vector
        counts[place[views[document]]] += 1
    alone = counts == 0
    lesson[~alone] /= counts[~alone, None]
    lesson[alone] = whole[alone]
    return whole, lesson


def vectors_of(view: LaneView, lane_id: int, encoder: Embedder, owners: Mapping[str, str]) -> dict[str, Floats]:
    """Give the vectors of documents, whose items' ids stand beside them; those that are not stored yet are made."""
    out: dict[str, Floats] = {}
    if owners and has_model(view.unit, encoder.name):
        out = {row.document_id: row.embedding for row in read_vectors(view.unit, lane_id, encoder.name, list(owners))}
    missing = {one: item for one, item in owners.items() if one not in out}
    texts = document_texts(view.unit, missing)
    return out | {one: encoder.embed_query(texts.get(one, "")) for one in missing}


def unrelated_vectors(encoder: Embedder) -> Floats:
    """Give the vectors of texts that have nothing in common, encoded as events are."""
    return np.stack([encoder.embed_query(text) for text in TEXTS])
