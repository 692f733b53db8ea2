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
from phronesis.experience.laws.ranking import Centre
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

LEARNED_SPREAD: Final = 0.2
"""Standard deviation of the cosines of positions in the lesson map, on readable labelled sets that taught it nothing
(docs/decisions/14-lesson-encoders.md)."""


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
class EventVectors:
    """The vectors of a lane's events: wholes by each encoder, parts by the tenant's own, which is the first.

    Where a lesson map was fitted to the encoders, events are compared by it, too. All vectors of an event are one row:
    one multiplication compares them.
    """

    encoders: Sequence[Embedder] = ()
    facets: Sequence[FacetVectors] = field(init=False)
    map: LessonMap | None = field(init=False)
    _placed: int = field(init=False)
    """Where the positions in the lesson map begin in a row."""
    _rows: GrowableArray[np.float32] = field(init=False, default_factory=lambda: GrowableArray(np.float32))
    _centred: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        """Allocate the columns: the wholes first, one block per encoder."""
        seen = [(WHOLE, encoder) for encoder in self.encoders]
        seen += [(name, encoder) for encoder in self.encoders[:1] for name in LESSON]
        ends = np.cumsum([0, *(one.dimension for _, one in seen)]).tolist()
        self.facets = [FacetVectors(*one, slice(*at)) for one, at in zip(seen, pairwise(ends), strict=True)]
        self.map = map_for([one.name for one in self.encoders])
        self._placed = ends[-1]

    @property
    def model(self) -> str | None:
        """The joined names of the encoders; None without any."""
        return " beside ".join(one.name for one in self.encoders) or None

    @property
    def built(self) -> bool:
        """Return whether there are vectors to compare."""
        return any(facet.centre is not None for facet in self.facets)

    @property
    def tried(self) -> FacetVectors:
        """The vectors of the attempt, which every event has."""
        return next(facet for facet in self.facets if facet.name == LESSON[0])

    def take(self, seen: "Seen") -> None:
        """Append the vectors of new events."""
        if not self.encoders:
            return
        for facet in self.facets:
            facet.take(seen[facet.encoder.name, facet.name])
        width = self._placed + (0 if self.map is None else self.map.dimension)
        new = self._rows.room(len(seen[self.encoders[0].name, WHOLE]), width)  # facets are written when centred
        if self.map is not None:
            given = [seen[encoder.name, name] for encoder in self.encoders for name in (WHOLE, *LESSON)]
            new[:, self._placed :] = self.map.of(given)

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
        if self.map is not None:
            counts.append(np.full(self.map.dimension, weights[LEARNED] / LEARNED_SPREAD, np.float32))
        return SideBySide(self._rows.rows, np.concatenate(counts))


Seen = Mapping[tuple[str, str], Halves]
"""Vectors of events by the encoder's name and the view's, `WHOLE` or one of `LESSON`: one row per event."""


def read_vectors_of(view: LaneView, vectors: EventVectors, fresh: Sequence[ComparedDocument], *, after: int) -> Seen:
    """Return the vectors of events whose documents changed after an entry; missing ones are computed.

    An event of one text has no views; its attempt is that text. ModelError: the encoder's server is unavailable.
    """
    seen: dict[tuple[str, str], Halves] = {}
    for n, encoder in enumerate(vectors.encoders):
        whole = vectors_of(view, encoder, {one.id: one.item_id for one in fresh})
        seen[encoder.name, WHOLE] = whole
        if n == 0 or vectors.map is not None:
            parts = [_parts(view, encoder, fresh, name, after=after) for name in LESSON]
            alone = ~np.any([part.any(axis=1) for part in parts], axis=0)
            parts[0][alone] = whole[alone]
            seen |= {(encoder.name, name): part for name, part in zip(LESSON, parts, strict=True)}
    return seen


def _parts(view: LaneView, encoder: Embedder, fresh: Sequence[ComparedDocument], name: str, *, after: int) -> Halves:
    """Return the vectors of one view of events, zeros for an event without it."""
    place = {document.item_id: n for n, document in enumerate(fresh)}
    changed = changed_parts(view.unit, view.lane_id, L1, view_part(name), after=after) if fresh else []
    owners = {one.id: one.item_id for one in changed if one.current_to is None and one.item_id in place}
    out = np.zeros((len(fresh), encoder.dimension), np.float16)
    out[[place[item] for item in owners.values()]] = vectors_of(view, encoder, owners)
    return out


def vectors_of(view: LaneView, encoder: Embedder, owners: Mapping[str, str]) -> Halves:
    """Return the vectors of documents, one row each; missing ones are computed. ``owners`` maps documents to events."""
    stored = read_halves(view.unit, view.lane_id, L1, encoder.name, list(owners))
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
