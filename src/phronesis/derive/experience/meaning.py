"""What the events of a lane mean: the vectors of their wholes, by one encoder or by two, and of their lessons' parts.

A whole says where something was tried and what came of it. What was tried, what came of it and what was made of that
are compared one by one, and what is alike in two of them adds up: of two events in one place that teach different
things it says that they are different. Their mean vector, which took their place once, is as
near to that of an event which tells one part alone as to that of one which agrees in all three
(docs/decisions/0044-parts-of-a-lesson.md). What two encoders take for the same is the same far sooner than what one
does, since they err apart; and where a map was fitted to what these encoders see, it says what of it makes a lesson.
So do encoders that were taught it, which see wholes alone: one of all languages, and one that reads English
(docs/decisions/0053-an-encoder-of-lessons.md, 0055-an-encoder-of-english-lessons.md).
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from phronesis.core.experience.centring import Centre, usual_cosine
from phronesis.core.experience.growing import Growing
from phronesis.core.experience.records import L1
from phronesis.core.experience.similarity import Cosine, CosineOver, Floats, Term
from phronesis.derive.experience.lesson_map import LessonMap, map_for
from phronesis.derive.experience.unrelated import LANGUAGES, TEXTS
from phronesis.index.experience import view_part
from phronesis.models.embedder import Embedder
from phronesis.storage.documents import Compared, changed_parts, document_texts, read_vectors
from phronesis.storage.embedding_models import has_model
from phronesis.storage.lane_view import LaneView

WHOLE: Final = "whole"

LESSON: Final = ("attempt", "result", "reflection")
"""The views that a lesson is told in; situation and goal make it worse."""

LEARNED: Final = "lesson"
"""The name of the metric that compares where the map puts events."""

TAUGHT: Final = "taught"
ENGLISH: Final = "taught in English"
"""The names of the metrics that compare wholes by the encoders that were taught what a lesson is; the second one reads
English alone, and sees nothing in other texts."""


@dataclass(frozen=True, slots=True)
class Apart:
    """How far cosines are apart (``spread``), and from where on one speaks for one lesson: ``start``.

    Where all events of a lane are much alike, it is ``over_usual`` over what two of them have anyway.
    """

    spread: float
    start: float
    over_usual: float | None = None


APART: Final = {LEARNED: Apart(0.2, 0.0), TAUGHT: Apart(0.14, 0.44, -0.03), ENGLISH: Apart(0.12, 0.48, 0.1)}
"""How far the cosines of two events of one author's are apart in each, and from where on one speaks for one lesson:
the standard deviations are means of the 37 readable sets of tests/labelled/experience, each by a map and an encoder
that other authors taught. What was taught is not centred, which takes part of it away again. Over what is usual the
starts lie as far as over what two unlike events of those sets have, .47 and .38: 188 failures of one agent in one text
game, of which two have .82, are one pattern of 151 without it, and with it seventeen of five and more."""

_Halves = npt.NDArray[np.float16]


@dataclass(frozen=True, slots=True)
class Encoders:
    """What events are compared by: the tenant's own encoder, perhaps one beside it, and those that were taught lessons.

    ``of_lessons`` has none, the one of `TAUGHT`, or this and the one of `ENGLISH`.
    """

    own: Embedder
    beside: Embedder | None = None
    of_lessons: tuple[Embedder, ...] = ()

    @property
    def general(self) -> tuple[Embedder, ...]:
        """Give those that were taught nothing about lessons, the tenant's own first."""
        return (self.own,) if self.beside is None else (self.own, self.beside)

    @property
    def all(self) -> tuple[Embedder, ...]:
        """Give them all, the tenant's own first."""
        return (*self.general, *self.of_lessons)

    @property
    def taught(self) -> Mapping[str, Embedder]:
        """Give those that were taught, by the name of the metric that compares what they see."""
        return dict(zip((TAUGHT, ENGLISH), self.of_lessons, strict=False))

    @property
    def name(self) -> str:
        """The names of all."""
        return " beside ".join(one.name for one in self.all)

    @property
    def map(self) -> LessonMap | None:
        """The map that was fitted to what the general ones see; None where there is none."""
        return map_for([one.name for one in self.general])


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
class Placed:
    """Where lessons are told apart: vectors row by row, which events have one, and where cosines begin to speak."""

    apart: Apart
    _start: float = field(init=False)
    _held: Growing[np.float32] = field(default_factory=lambda: Growing(np.float32))

    def __post_init__(self) -> None:
        """Start where sets of many authors do, until the lane is known."""
        self._start = self.apart.start

    def build(self, unrelated: Floats) -> None:
        """Find where cosines begin to speak for one lesson, by how alike two of the lane are anyway."""
        if self.apart.over_usual is not None:
            usual = usual_cosine(self._held.rows[:, :-1], unrelated)
            self._start = max(self.apart.start, usual + self.apart.over_usual)

    def add(self, vectors: Floats) -> None:
        """Add rows of length 1, or of 0 for an event in which its encoder sees nothing, behind those that are there."""
        there = np.any(vectors, axis=1)[:, None]
        self._held.add(np.concatenate([vectors, there], axis=1).astype(np.float32))

    def repeat(self, rows: Sequence[int]) -> None:
        """Add rows that are there once more."""
        self._held.add(self._held.rows[list(rows)])

    def term(self, name: str, weight: float) -> Term:
        """Give the metric of what cosines have over the start, in units of how far they are apart."""
        return Term(CosineOver(self._held.rows, self._start, name), weight / self.apart.spread)


@dataclass(slots=True)
class Meaning:
    """The vectors of a lane's events: wholes by each encoder, parts by the tenant's own; none without an encoder.

    ``told_apart`` are where lessons are told apart, by the map and by the encoder that was taught, as far as there are.
    """

    encoders: Encoders | None = None
    facets: Sequence[Facet] = field(init=False)
    map: LessonMap | None = field(init=False)
    told_apart: Mapping[str, Placed] = field(init=False)

    def __post_init__(self) -> None:
        """Make room for what the encoders see: the wholes first, one for each encoder."""
        self.map = None if self.encoders is None else self.encoders.map
        mapped = [] if self.map is None else [LEARNED]
        self.told_apart = {name: Placed(APART[name]) for name in (*mapped, *self.taught)}
        if self.encoders is None:
            self.facets = []
            return
        wholes = [Facet(WHOLE, encoder) for encoder in self.encoders.general]
        self.facets = [*wholes, *(Facet(name, self.encoders.own) for name in LESSON)]

    @property
    def built(self) -> bool:
        """Whether there are vectors to compare."""
        return any(facet.centre is not None for facet in self.facets)

    @property
    def taught(self) -> Mapping[str, Embedder]:
        """Give the encoders that were taught what a lesson is, by the name of the metric that compares by them."""
        return {} if self.encoders is None else self.encoders.taught

    @property
    def tried(self) -> Facet:
        """What was tried, which every event says, where there is an encoder."""
        return next(facet for facet in self.facets if facet.name == LESSON[0])

    def take(self, seen: "Seen") -> None:
        """Add the vectors of new events."""
        for facet in self.facets:
            facet.take(seen[facet.encoder.name, facet.name])
        if self.encoders is None:
            return
        if self.map is not None:
            given = [seen[encoder.name, name] for encoder in self.encoders.general for name in (WHOLE, *LESSON)]
            self.told_apart[LEARNED].add(self.map.of(given))
        for name, encoder in self.taught.items():
            self.told_apart[name].add(seen[encoder.name, WHOLE])

    def repeat(self, rows: Sequence[int]) -> None:
        """Add rows that are there once more."""
        for facet in self.facets:
            facet.take(facet.raw[list(rows)].astype(np.float32))
        for placed in self.told_apart.values():
            placed.repeat(rows)

    def build(self, unrelated_of: Callable[[Embedder], Floats]) -> None:
        """Centre everything, by the vectors of `TEXTS`."""
        for facet in self.facets:
            facet.build(unrelated_of(facet.encoder))
        for name, encoder in self.taught.items():
            self.told_apart[name].build(unrelated_of(encoder))

    def extend(self) -> None:
        """Centre what came since."""
        for facet in self.facets:
            facet.extend()

    def terms(self, weights: Mapping[str, float]) -> list[Term]:
        """Give the metrics in units of how far unrelated texts are apart, by what each counts; wholes share theirs."""
        alike = Counter(facet.name for facet in self.facets)
        terms = [Term(Cosine(one.centred, one.name), weights[one.name] / (one.centre.spread * alike[one.name]))
                 for one in self.facets if one.centre is not None]  # fmt: skip
        return terms + [placed.term(name, weights[name]) for name, placed in self.told_apart.items()]


Seen = Mapping[tuple[str, str], Floats]
"""Vectors of events by the encoder's name and the view's, `WHOLE` or one of `LESSON`: a row an event."""


def read_vectors_of(
    view: LaneView, lane_id: int, encoders: Encoders | None, fresh: Sequence[Compared], *, after: int
) -> Seen:
    """Give the vectors of events whose documents changed after an entry; what is not stored is made.

    An event of one text has no views, and what was tried is that text. The parts by the encoder beside are given where
    a map asks for them. ModelError: the encoder's server is away.
    """
    seen: dict[tuple[str, str], Floats] = {}
    if encoders is None:
        return seen
    for encoder in encoders.all:
        whole = _wholes(view, lane_id, encoder, fresh)
        seen[encoder.name, WHOLE] = whole
        if encoder is encoders.own or (encoder is encoders.beside and encoders.map is not None):
            parts = [_parts(view, lane_id, encoder, fresh, name, after=after) for name in LESSON]
            alone = ~np.any([part.any(axis=1) for part in parts], axis=0)
            parts[0][alone] = whole[alone]
            seen |= {(encoder.name, name): part for name, part in zip(LESSON, parts, strict=True)}
    return seen


def _wholes(view: LaneView, lane_id: int, encoder: Embedder, fresh: Sequence[Compared]) -> Floats:
    """Give the wholes of events by one encoder."""
    found = vectors_of(view, lane_id, encoder, {one.id: one.item_id for one in fresh})
    return np.stack([found[one.id] for one in fresh]) if fresh else np.zeros((0, encoder.dimension), np.float32)


def _parts(
    view: LaneView, lane_id: int, encoder: Embedder, fresh: Sequence[Compared], name: str, *, after: int
) -> Floats:
    """Give one view of events, a row of zeros where an event has none."""
    place = {document.item_id: n for n, document in enumerate(fresh)}
    changed = changed_parts(view.unit, lane_id, L1, view_part(name), after=after) if fresh else []
    owners = {one.id: one.item_id for one in changed if one.current_to is None and one.item_id in place}
    out = np.zeros((len(fresh), encoder.dimension), np.float32)
    for document, vector in vectors_of(view, lane_id, encoder, owners).items():
        out[place[owners[document]]] = vector
    return out


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
