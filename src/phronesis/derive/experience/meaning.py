"""What the events of a lane mean: the vectors of their wholes, and of their lessons.

A whole says where something was tried and what came of it. The lesson is the mean of what was tried, what came of it
and what was made of that: of two events in one place that teach different things it says that they are different.
Measured on the labelled events, each makes the other better (docs/benchmarks.md).
"""

from collections.abc import Mapping, Sequence
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
from phronesis.storage.embedding_models import active_model
from phronesis.storage.lane_view import LaneView

LESSON: Final = ("attempt", "result", "reflection")
"""The views that a lesson is the mean of; situation and goal make it worse."""

_Halves = npt.NDArray[np.float16]


@dataclass(slots=True)
class Facet:
    """The vectors of one kind, row by row, and the same centred. Halves, as they are stored."""

    name: str
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
    """The vectors of a lane's events; empty where there is no encoder."""

    whole: Facet = field(default_factory=lambda: Facet("whole"))
    lesson: Facet = field(default_factory=lambda: Facet("lesson"))

    @property
    def built(self) -> bool:
        """Whether there are vectors to compare."""
        return self.whole.centre is not None

    def take(self, vectors: tuple[Floats, Floats]) -> None:
        """Add the wholes and lessons of new events."""
        self.whole.take(vectors[0])
        self.lesson.take(vectors[1])

    def repeat(self, rows: Sequence[int]) -> None:
        """Add rows that are there once more."""
        for facet in (self.whole, self.lesson):
            facet.take(facet.raw[list(rows)].astype(np.float32))

    def build(self, unrelated: Floats) -> None:
        """Centre everything, by the vectors of `TEXTS`."""
        self.whole.build(unrelated)
        self.lesson.build(unrelated)

    def extend(self) -> None:
        """Centre what came since."""
        self.whole.extend()
        self.lesson.extend()

    def cosines(self) -> list[tuple[Cosine, float]]:
        """Give the metrics, with the spread of each among unrelated texts."""
        return [(Cosine(facet.centred, facet.name), facet.centre.spread)
                for facet in (self.whole, self.lesson) if facet.centre is not None]  # fmt: skip


def read_vectors_of(
    view: LaneView, lane_id: int, encoder: Embedder | None, fresh: Sequence[Compared], *, after: int
) -> tuple[Floats, Floats]:
    """Give the wholes and the lessons of events whose documents changed after an entry; what is not stored is made.

    An event of one text has no views, and its lesson is that text. ModelError: the encoder's server is away.
    """
    if encoder is None:
        return (np.zeros((len(fresh), 0), np.float32),) * 2
    place = {document.item_id: n for n, document in enumerate(fresh)}
    wholes = vectors_of(view, lane_id, encoder, {one.id: one.item_id for one in fresh})
    views: dict[str, str] = {}
    for name in LESSON if fresh else ():
        changed = changed_parts(view.unit, lane_id, L1, view_part(name), after=after)
        views |= {one.id: one.item_id for one in changed if one.current_to is None and one.item_id in place}
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
    active = active_model(view.unit)
    if active is not None and active[0] == encoder.name and owners:
        out = {row.document_id: row.embedding for row in read_vectors(view.unit, lane_id, encoder.name, list(owners))}
    missing = {one: item for one, item in owners.items() if one not in out}
    texts = document_texts(view.unit, missing)
    return out | {one: encoder.embed_query(texts.get(one, "")) for one in missing}


def unrelated_vectors(encoder: Embedder) -> Floats:
    """Give the vectors of texts that have nothing in common, encoded as events are."""
    return np.stack([encoder.embed_query(text) for text in TEXTS])
