"""Embeddings of a lane's events (wholes, lesson parts, projections) and the search documents they belong to.

The parts of a lesson (attempt, result, reflection) are compared separately and their similarities added
(docs/decisions/13-experience-patterns.md).
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

import numpy as np

from phronesis.core.items import Item
from phronesis.experience.laws.event_draft import VIEWS
from phronesis.experience.laws.lexical_similarity import GrowableArray
from phronesis.experience.laws.ranking import Centre, usual_cosine
from phronesis.experience.laws.records import L1
from phronesis.experience.laws.similarity import Floats, SideBySide
from phronesis.experience.lesson_map import LANGUAGES, TEXTS, LessonMap, map_for
from phronesis.index.projections import ALIKE, ASIDE, CHUNK_CHARACTERS, Part, in_words
from phronesis.models.embedder import Embedder
from phronesis.store.columns import Halves
from phronesis.store.documents import document_texts
from phronesis.store.experience import ComparedDocument, changed_parts, read_halves
from phronesis.store.lane_view import LaneView

# Projection of events, patterns and principles to search documents (EMB-08).

MAX_WHOLE: Final = 2 * CHUNK_CHARACTERS
"""Characters of an event that are searched and compared: longer texts are logs, which the entry keeps in full."""


def view_part(view: str) -> str:
    """Return the name of the document part that holds a view."""
    return f"{ASIDE}{view}"


def whole_text(data: Mapping[str, Any]) -> str:
    """Return the text of a whole event: its views and its constraints, which are part of the situation."""
    texts = [text for view in VIEWS if (text := data.get(view, ""))]
    return "\n".join(dict.fromkeys([*texts, *data.get("constraints", ())]))[:MAX_WHOLE]


def project_event(item: Item) -> list[Part]:
    """Project an event as a whole, and as single views if it has more than one; equal views are stored once."""
    texts = {view: text for view in VIEWS if (text := item.data.get(view, ""))}
    first = {text: view for view, text in reversed(texts.items())}
    views = (
        [
            Part(view_part(view), text[:CHUNK_CHARACTERS], dated=False)
            for text, view in sorted(first.items(), key=lambda one: VIEWS.index(one[1]))
        ]
        if len(first) > 1
        else []
    )
    return [Part(ALIKE, whole_text(item.data), dated=False), *views]


def project_learned(item: Item) -> list[Part]:
    """Project a pattern or a principle as its content, which is readable text."""
    return in_words(item.content, dated=False)


WHOLE: Final = "whole"

LESSON: Final = ("attempt", "result", "reflection")
"""The views that describe a lesson; with situation and goal the comparison is worse."""

LEARNED: Final = "lesson"
"""The name of the metric that compares positions in the lesson map."""

TAUGHT: Final = "taught"
"""The name of the metric that compares wholes by the encoder that was trained on lessons."""


@dataclass(frozen=True, slots=True)
class CosineSpread:
    """The spread of cosines (``spread``), and the cosine from which two events may hold one lesson (``start``).

    Where all events of a lane are similar, the start is ``over_usual`` above the lane's mean cosine.
    """

    spread: float
    start: float
    over_usual: float | None = None


APART: Final = {LEARNED: CosineSpread(0.2, 0.0), TAUGHT: CosineSpread(0.14, 0.44, -0.03)}
"""Spread and start of the cosines of two events, by metric: standard deviations and means of unlike events of the
readable labelled sets (docs/decisions/14-lesson-encoders.md)."""


@dataclass(frozen=True, slots=True)
class Encoders:
    """The encoders of a comparison: the tenant's own, perhaps a second one, and those trained on lessons.

    ``of_lessons`` has none, or the one of `TAUGHT`.
    """

    own: Embedder
    beside: Embedder | None = None
    of_lessons: tuple[Embedder, ...] = ()

    @property
    def general(self) -> tuple[Embedder, ...]:
        """Return the encoders that were not trained on lessons, the tenant's own first."""
        return (self.own,) if self.beside is None else (self.own, self.beside)

    @property
    def all(self) -> tuple[Embedder, ...]:
        """Return all encoders, the tenant's own first."""
        return (*self.general, *self.of_lessons)

    @property
    def taught(self) -> Mapping[str, Embedder]:
        """Return the encoders trained on lessons, by the name of the metric that uses them."""
        return dict(zip((TAUGHT,), self.of_lessons, strict=False))

    @property
    def name(self) -> str:
        """The joined names of all encoders."""
        return " beside ".join(one.name for one in self.all)

    @property
    def map(self) -> LessonMap | None:
        """The lesson map fitted to the general encoders; None if there is none."""
        return map_for([one.name for one in self.general])


@dataclass(slots=True)
class FacetVectors:
    """Vectors of one kind, row by row, as stored half-precision numbers; ``at`` is their place, centred, in a row."""

    name: str
    encoder: Embedder
    at: slice
    centre: Centre | None = None
    _raw: GrowableArray[np.float16] = field(default_factory=lambda: GrowableArray(np.float16))

    def take(self, vectors: Halves) -> None:
        """Append rows."""
        self._raw.add(vectors)

    def repeat(self, rows: Sequence[int]) -> None:
        """Append copies of rows."""
        self._raw.add(self._raw.rows[list(rows)])

    def build(self, unrelated: Floats) -> None:
        """Compute the centre."""
        self.centre = Centre.of(self._raw.rows.astype(np.float32), unrelated, LANGUAGES)

    def centred(self, first: int) -> Floats:
        """Return the rows from ``first`` on less the centre. Requires `build`."""
        assert self.centre is not None  # it is built  # noqa: S101
        return self.centre.centred(self._raw.rows[first:].astype(np.float32))

    def weights(self, weight: float) -> Floats:
        """Return the weight of each component: a cosine in units of the spread of unrelated texts."""
        assert self.centre is not None  # it is built  # noqa: S101
        return np.full(self.encoder.dimension, weight / self.centre.spread, np.float32)


@dataclass(slots=True)
class LessonSpace:
    """Where lessons are compared: the place ``at`` in a row, and the cosine at which evidence for one lesson starts."""

    apart: CosineSpread
    at: slice
    _start: float = field(init=False)

    def __post_init__(self) -> None:
        """Start with the value measured on labelled sets, until the lane is known."""
        self._start = self.apart.start

    def build(self, held: Floats, unrelated: Floats) -> None:
        """Compute the start from the mean cosine of two events of the lane (``held``)."""
        if self.apart.over_usual is not None:
            usual = usual_cosine(held[:, :-1], unrelated)
            self._start = max(self.apart.start, usual + self.apart.over_usual)

    def weights(self, weight: float) -> Floats:
        """Return the weight of each component: the cosine above the start, in units of the spread."""
        out = np.full(self.at.stop - self.at.start, weight / self.apart.spread, np.float32)
        out[-1] *= -self._start
        return out


def with_presence(vectors: Floats | Halves) -> Floats:
    """Return rows of length 1 (or 0 where an event has no vector), with a column that says whether there is one."""
    return np.concatenate([vectors, np.any(vectors, axis=1)[:, None]], axis=1).astype(np.float32)


@dataclass(slots=True)
class EventVectors:
    """The vectors of a lane's events: wholes by each encoder, parts by the tenant's own; none without an encoder.

    ``told_apart`` are comparisons of lessons. All vectors of an event are one row: one multiplication compares them.
    """

    encoders: Encoders | None = None
    facets: Sequence[FacetVectors] = field(init=False)
    map: LessonMap | None = field(init=False)
    told_apart: Mapping[str, LessonSpace] = field(init=False)
    _rows: GrowableArray[np.float32] = field(init=False, default_factory=lambda: GrowableArray(np.float32))
    _width: int = field(init=False, default=0)
    _centred: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        """Allocate the columns: the wholes first, one block per encoder."""
        self.map, self.facets, self.told_apart = None, [], {}
        if self.encoders is None:
            return
        self.map = self.encoders.map
        seen = [(WHOLE, encoder) for encoder in self.encoders.general] + [(name, self.encoders.own) for name in LESSON]
        placed = {} if self.map is None else {LEARNED: self.map.dimension}
        placed |= {name: encoder.dimension for name, encoder in self.taught.items()}
        ends = np.cumsum([0, *(one.dimension for _, one in seen), *(width + 1 for width in placed.values())]).tolist()
        self._width = ends[-1]
        spans = [slice(begin, end) for begin, end in pairwise(ends)]
        self.facets = [FacetVectors(name, encoder, at) for (name, encoder), at in zip(seen, spans, strict=False)]
        self.told_apart = {
            name: LessonSpace(APART[name], at) for name, at in zip(placed, spans[len(seen) :], strict=True)
        }

    @property
    def built(self) -> bool:
        """Return whether there are vectors to compare."""
        return any(facet.centre is not None for facet in self.facets)

    @property
    def taught(self) -> Mapping[str, Embedder]:
        """Return the encoders trained on lessons, by the name of the metric that uses them."""
        return {} if self.encoders is None else self.encoders.taught

    @property
    def tried(self) -> FacetVectors:
        """The vectors of the attempt, which every event has."""
        return next(facet for facet in self.facets if facet.name == LESSON[0])

    def take(self, seen: "Seen") -> None:
        """Append the vectors of new events."""
        if self.encoders is None:
            return
        for facet in self.facets:
            facet.take(seen[facet.encoder.name, facet.name])
        placed: dict[str, Floats | Halves] = {name: seen[encoder.name, WHOLE] for name, encoder in self.taught.items()}
        if self.map is not None:
            given = [seen[encoder.name, name] for encoder in self.encoders.general for name in (WHOLE, *LESSON)]
            placed[LEARNED] = self.map.of(given)
        new = self._rows.room(len(seen[self.encoders.own.name, WHOLE]), self._width)
        for name, vectors in placed.items():  # the facets' are written when they are centred
            new[:, self.told_apart[name].at] = with_presence(vectors)

    def repeat(self, rows: Sequence[int]) -> None:
        """Append copies of rows."""
        for facet in self.facets:
            facet.repeat(rows)
        if self.facets:
            self._rows.add(self._rows.rows[list(rows)])

    def build(self, unrelated_of: Callable[[Embedder], Floats]) -> None:
        """Compute all centres from the vectors of `TEXTS`."""
        for facet in self.facets:
            facet.build(unrelated_of(facet.encoder))
        for name, encoder in self.taught.items():
            placed = self.told_apart[name]
            placed.build(self._rows.rows[:, placed.at], unrelated_of(encoder))
        self._centred = 0
        self.extend()

    def extend(self) -> None:
        """Centre the rows appended since."""
        for facet in self.facets:
            self._rows.rows[self._centred :, facet.at] = facet.centred(self._centred)
        self._centred = len(self._rows)

    def metric(self, weights: Mapping[str, float]) -> SideBySide:
        """Return the metric that compares all vectors with these weights; wholes share theirs."""
        alike = Counter(facet.name for facet in self.facets)
        counts = [one.weights(weights[one.name] / alike[one.name]) for one in self.facets]
        counts += [placed.weights(weights[name]) for name, placed in self.told_apart.items()]
        return SideBySide(self._rows.rows, np.concatenate(counts), "meaning")


Seen = Mapping[tuple[str, str], Halves]
"""Vectors of events by the encoder's name and the view's, `WHOLE` or one of `LESSON`: one row per event."""


def read_vectors_of(
    view: LaneView, lane_id: int, encoders: Encoders | None, fresh: Sequence[ComparedDocument], *, after: int
) -> Seen:
    """Return the vectors of events whose documents changed after an entry; missing ones are computed.

    An event of one text has no views; its attempt is that text. ModelError: the encoder's server is unavailable.
    """
    seen: dict[tuple[str, str], Halves] = {}
    if encoders is None:
        return seen
    for encoder in encoders.all:
        whole = vectors_of(view, lane_id, encoder, {one.id: one.item_id for one in fresh})
        seen[encoder.name, WHOLE] = whole
        if encoder is encoders.own or (encoder is encoders.beside and encoders.map is not None):
            parts = [_parts(view, lane_id, encoder, fresh, name, after=after) for name in LESSON]
            alone = ~np.any([part.any(axis=1) for part in parts], axis=0)
            parts[0][alone] = whole[alone]
            seen |= {(encoder.name, name): part for name, part in zip(LESSON, parts, strict=True)}
    return seen


def _parts(
    view: LaneView, lane_id: int, encoder: Embedder, fresh: Sequence[ComparedDocument], name: str, *, after: int
) -> Halves:
    """Return the vectors of one view of events, zeros for an event without it."""
    place = {document.item_id: n for n, document in enumerate(fresh)}
    changed = changed_parts(view.unit, lane_id, L1, view_part(name), after=after) if fresh else []
    owners = {one.id: one.item_id for one in changed if one.current_to is None and one.item_id in place}
    out = np.zeros((len(fresh), encoder.dimension), np.float16)
    out[[place[item] for item in owners.values()]] = vectors_of(view, lane_id, encoder, owners)
    return out


def vectors_of(view: LaneView, lane_id: int, encoder: Embedder, owners: Mapping[str, str]) -> Halves:
    """Return the vectors of documents, one row each; missing ones are computed. ``owners`` maps documents to events."""
    stored = read_halves(view.unit, lane_id, L1, encoder.name, list(owners))
    place = {document: n for n, document in enumerate(owners)}
    out = np.zeros((len(owners), encoder.dimension), np.float16)
    if stored.document_ids:
        out[[place[one] for one in stored.document_ids]] = stored.rows
    missing = place.keys() - stored.document_ids
    texts = document_texts(view.unit, {one: owners[one] for one in sorted(missing)})
    for one in sorted(missing):
        out[place[one]] = encoder.embed_query(texts.get(one, ""))
    return out


def unrelated_vectors(encoder: Embedder) -> Floats:
    """Return the vectors of the unrelated texts, encoded as events are."""
    return np.stack([encoder.embed_query(text) for text in TEXTS])
