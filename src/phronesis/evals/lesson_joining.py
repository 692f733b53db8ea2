"""How well it is known which groups of events are one pattern, and its fit (``phronesis bench lesson-joining``).

A file holds the labelled events of one author (tests/labelled/experience). They are ingested into a store of their own
and compared as an aggregation compares them. Files are dealt into `FOLDS`, and those of each are joined as the others
teach, beside by average link, which asks the same likeness of any two groups.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import numpy as np

from phronesis import Memory
from phronesis.config import DEFAULT_TENANT
from phronesis.core.experience.joining import Judge, learned_link
from phronesis.core.experience.linking import average_link
from phronesis.core.scope import Scope
from phronesis.derive.experience.lesson_joining import ARCHIVE, ASKED, joining, to_archive
from phronesis.derive.experience.meaning import Encoders
from phronesis.derive.experience.table import EventTables
from phronesis.errors import InputError
from phronesis.evals.experience_clusters import Agreement, ingested, load_events, pairs_of
from phronesis.evals.joining_learning import Compared, learned
from phronesis.models.embedders import load_embedders
from phronesis.storage.database import connect
from phronesis.storage.lane_view import LaneView
from phronesis.storage.lanes import find_lane

FOLDS: Final = 4
"""Parts that the files are dealt into: each is joined as three quarters of the authors teach."""

_EVER: Final = 2**62


@dataclass(frozen=True, slots=True)
class JoiningScore:
    """How the pairs that are found of one file agree with those that are one lesson."""

    data: str
    events: int
    pairs: int
    linked: Agreement
    joined: Agreement


@dataclass(frozen=True, slots=True)
class JoiningReport:
    """The scores of every file, in order."""

    scores: tuple[JoiningScore, ...]

    def to_markdown(self) -> str:
        """Give a table of precision / recall / F1, with the means of precision and F1 below."""
        head = "| data | events | pairs of one lesson | by average link | as it was learned |"
        rows = [f"| {one.data} | {one.events} | {one.pairs} | {one.linked} | {one.joined} |" for one in self.scores]
        means = [_mean([one.linked for one in self.scores]), _mean([one.joined for one in self.scores])]
        return "\n".join([head, "|" + " --- |" * 5, *rows, "", f"Mean precision / F1: {means[0]}; {means[1]}."])


def run_lesson_joining(
    data: Sequence[Path],
    *,
    embedder: str = "auto",
    out: Path | None = None,
    on_progress: Callable[[str, int, int], None] | None = None,
) -> JoiningReport:
    """Judge files by what the others teach; with ``out``, write there what all teach.

    One file is joined as the installed numbers say. InputError names a line that cannot be read, or says that there is
    nothing to compare by but words; MissingExtra says which encoder is not installed.
    """
    files: dict[Path, Compared] = {}
    for n, path in enumerate(data, start=1):
        files[path] = compared(path, embedder)
        if on_progress is not None:
            on_progress("files compared", n, len(data))
    scores: dict[Path, JoiningScore] = {}
    for fold in range(min(FOLDS, len(data))):
        held = data[fold::FOLDS]
        others = [files[path] for path in data if path not in held]
        judge = learned(others).asking(ASKED) if others else joining()
        scores |= {path: _score(path.name, files[path], judge) for path in held}
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        out.joinpath(ARCHIVE).write_bytes(to_archive(learned(list(files.values()))))
    return JoiningReport(tuple(scores[path] for path in data))


def compared(path: Path, embedder: str) -> Compared:
    """Give how alike the events of a file are, as an aggregation of a lane of them alone finds."""
    encoders = load_embedders(embedder)
    own = encoders.default
    if own is None:
        raise InputError(f"the embedder {embedder} compares by words alone; name an encoder", field="embedder")
    events = load_events(path)
    with TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/joining.db"
        with Memory.open(url, policy={"embedder": embedder}) as memory:
            places = ingested(memory, events, 0)
            memory.flush()
        database = connect(url)
        try:
            with database.transaction(DEFAULT_TENANT, "read") as unit:
                lane = find_lane(unit, Scope().write_lane)
                assert lane is not None  # it holds what was ingested  # noqa: S101
                held = Encoders(own, encoders.beside(own), encoders.of_lessons(own))
                table, _ = EventTables().of(LaneView(unit, lane), held, before=_EVER)
        finally:
            database.close()
    order = [places[one] for one in table.ids]
    names = sorted({name for event in events for name in event["patterns"]})
    patterns = [frozenset(names.index(name) for name in events[place]["patterns"]) for place in order]
    assert table.neighbours is not None  # it was caught up  # noqa: S101
    rows = table.everything()
    return Compared(table.neighbours.metric.matrix(rows, rows), table.outcomes().copy(), patterns, table.belonging)


def _score(name: str, one: Compared, judge: Judge) -> JoiningScore:
    gold = set(zip(*(side.tolist() for side in np.nonzero(np.triu(one.same, 1))), strict=True))
    linked, joined = set[tuple[int, int]](), set[tuple[int, int]]()
    for rows, lane in one.lanes():
        linked |= pairs_of(rows[group].tolist() for group in average_link(lane.alike, threshold=1.0))
        joined |= pairs_of(rows[group].tolist() for group in learned_link(lane.alike, judge, events=lane.events))
    return JoiningScore(name, len(one.outcomes), len(gold), Agreement.of(linked, gold), Agreement.of(joined, gold))


def _mean(found: Sequence[Agreement]) -> str:
    return " / ".join(f"{np.mean([one or 0.0 for one in column]):.3f}"
                      for column in zip(*((one.precision, one.f1) for one in found), strict=True))  # fmt: skip
