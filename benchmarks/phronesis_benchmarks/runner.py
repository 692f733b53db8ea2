"""Run one system over conversations: what it finds, how fast it takes turns in and answers, what memory it needs."""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal, Protocol

import numpy as np

from phronesis_benchmarks.cached_embedder import CachedEmbedder
from phronesis_benchmarks.datasets import Conversation, Question, Turn
from phronesis_benchmarks.metrics import DEPTH, Estimate, Ranking, distinct, score, summarise
from phronesis_benchmarks.stopwatch import NO_TIME, Duration, PeakMemory, Stopwatch, per_second

Mode = Literal["session", "message"]
"""How many turns a call of ``add`` is given: those of a session, or one."""


@dataclass(frozen=True, slots=True)
class IngestCost:
    """Seconds to take in ``turns`` turns by ``calls`` calls: in ``add``, and in ``settle`` after the last of them."""

    turns: int
    calls: int
    adding: Duration
    settling: Duration

    def to_dict(self) -> dict[str, Any]:
        """Return counts, seconds, and turns per second: taken in (add), and ready to be found (add and settle)."""
        ready = self.adding + self.settling
        return {
            **asdict(self),
            "turns_per_second": per_second(self.turns, self.adding.wall),
            "turns_per_cpu_second": per_second(self.turns, self.adding.cpu),
            "ready_turns_per_second": per_second(self.turns, ready.wall),
            "ready_turns_per_cpu_second": per_second(self.turns, ready.cpu),
        }


@dataclass(frozen=True, slots=True)
class SearchCost:
    """Milliseconds of a search: percentiles over all questions."""

    p50_ms: float
    p95_ms: float
    cpu_p50_ms: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was measured of one system.

    ``memory_mb`` is the resident set before its first opening and ``peak_mb`` the highest seen, in MiB, None where
    the platform does not tell. ``encoded_while_timed`` counts texts that the embedder had to take inside a measured
    interval, and should be 0.
    """

    name: str
    label: str
    durable: bool
    quality: Mapping[str, Mapping[str, Estimate]]
    ingest: Mapping[Mode, IngestCost]
    search: SearchCost
    memory_mb: float | None
    peak_mb: float | None
    encoded_while_timed: int
    rankings: tuple[Ranking, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON values, the rankings too."""
        return {
            "name": self.name,
            "label": self.label,
            "durable": self.durable,
            "quality": {
                group: {metric: estimate.to_dict() for metric, estimate in row.items()}
                for group, row in self.quality.items()
            },
            "ingest": {mode: cost.to_dict() for mode, cost in self.ingest.items()},
            "search": asdict(self.search),
            "memory_mb": self.memory_mb,
            "peak_mb": self.peak_mb,
            "encoded_while_timed": self.encoded_while_timed,
            "rankings": [asdict(ranking) for ranking in self.rankings],
        }


_PASSES: Final = 2


class System(Protocol):
    """A memory that holds one conversation."""

    def add(self, turns: Sequence[Turn]) -> None:
        """Take in turns of one session, in order."""
        ...

    def settle(self) -> None:
        """Return when everything taken in can be found, vectors included."""
        ...

    def search(self, query: str, limit: int) -> Sequence[str]:
        """Return ids of turns, best first."""
        ...

    def close(self) -> None:
        """Release files and threads."""
        ...


@dataclass(frozen=True, slots=True)
class Contender:
    """A system to be measured: its name, its version and settings in words, and how to open an empty one.

    ``open`` is given an empty folder. ``durable`` says whether ``add`` writes files before it
    returns; how hard it syncs them is the system's own choice.
    """

    name: str
    label: str
    durable: bool
    open: Callable[[Path], System]


def measure(
    contender: Contender,
    conversations: Sequence[Conversation],
    *,
    embedder: CachedEmbedder,
    seed: int,
    on_progress: Callable[[int, int], None] | None = None,
) -> Outcome:
    """Measure one system, in a fresh folder and a fresh instance for each conversation and each way of adding.

    Rankings and search times are taken after a session a call and ``settle``. Opening and closing are not timed, and
    the embedder's own work is not either: an interval in which it was called is measured again, now that its results
    are known. ``on_progress`` is called with (conversations done, all). There must be at least one question.
    """
    trial = _Trial(contender, embedder)
    trial.warm_up(conversations[0])
    with PeakMemory() as memory:
        for done, conversation in enumerate(conversations, start=1):
            trial.hold(conversation)
            if on_progress:
                on_progress(done, len(conversations))
    return Outcome(
        name=contender.name,
        label=contender.label,
        durable=contender.durable,
        quality=summarise(trial.rankings, seed=seed),
        ingest={mode: _total(parts) for mode, parts in trial.costs.items()},
        search=_percentiles(trial.searches),
        memory_mb=memory.before,
        peak_mb=memory.peak,
        encoded_while_timed=trial.encoded,
        rankings=tuple(trial.rankings),
    )


class _Trial:
    """What one system has shown so far; ``encoded`` counts texts encoded inside intervals that count."""

    def __init__(self, contender: Contender, embedder: CachedEmbedder) -> None:
        self._contender = contender
        self._embedder = embedder
        self.rankings: list[Ranking] = []
        self.searches: list[Duration] = []
        self.costs: dict[Mode, list[IngestCost]] = {"session": [], "message": []}
        self.encoded = 0

    def warm_up(self, conversation: Conversation) -> None:
        """Take in a session, uncounted: what a process does but once would count against whoever comes first."""
        with (
            tempfile.TemporaryDirectory(prefix="phronesis-bench-") as folder,
            closing(self._contender.open(Path(folder))) as system,
        ):
            system.add(conversation.sessions()[0])
            system.settle()

    def hold(self, conversation: Conversation) -> None:
        """Add one conversation both ways, and ask its questions."""
        with self._filled(conversation.sessions(), "session") as system:
            if conversation.questions:
                system.search(conversation.questions[0].text, DEPTH)  # what the first search loads, later ones find
            for question in conversation.questions:
                ranked = self._ask(system, question)
                scores = score(ranked, question.evidence)
                self.rankings.append(
                    Ranking(conversation.id, question.id, question.category, ranked, question.evidence, scores)
                )
        with self._filled([(turn,) for turn in conversation.turns], "message"):
            pass

    @contextmanager
    def _filled(self, calls: Sequence[Sequence[Turn]], mode: Mode) -> Iterator[System]:
        """Return a system that was given the turns, call by call; closed at the end."""
        for attempt in range(1, _PASSES + 1):
            with (
                tempfile.TemporaryDirectory(prefix="phronesis-bench-") as folder,
                closing(self._contender.open(Path(folder))) as system,
            ):
                before = self._embedder.misses
                cost = _fill(system, calls)
                encoded = self._embedder.misses - before
                if encoded and attempt < _PASSES:
                    continue
                self.costs[mode].append(cost)
                self.encoded += encoded
                yield system
                return

    def _ask(self, system: System, question: Question) -> tuple[str, ...]:
        for _ in range(_PASSES):
            before = self._embedder.misses
            watch = Stopwatch()
            found = system.search(question.text, DEPTH)
            duration = watch.read()
            encoded = self._embedder.misses - before
            if not encoded:
                break
        self.encoded += encoded
        self.searches.append(duration)
        return distinct(found)[:DEPTH]


def _fill(system: System, calls: Sequence[Sequence[Turn]]) -> IngestCost:
    watch = Stopwatch()
    for turns in calls:
        system.add(turns)
    adding = watch.read()
    watch = Stopwatch()
    system.settle()
    return IngestCost(sum(map(len, calls)), len(calls), adding, watch.read())


def _total(parts: Sequence[IngestCost]) -> IngestCost:
    return IngestCost(
        turns=sum(part.turns for part in parts),
        calls=sum(part.calls for part in parts),
        adding=sum((part.adding for part in parts), NO_TIME),
        settling=sum((part.settling for part in parts), NO_TIME),
    )


def _percentiles(searches: Sequence[Duration]) -> SearchCost:
    wall = np.asarray([duration.wall for duration in searches]) * 1000
    cpu = np.asarray([duration.cpu for duration in searches]) * 1000
    middle, high = np.percentile(wall, [50, 95])
    return SearchCost(p50_ms=float(middle), p95_ms=float(high), cpu_p50_ms=float(np.percentile(cpu, 50)))
