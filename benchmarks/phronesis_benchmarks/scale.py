"""How cost grows: one user with many memories, measured through the public API on either database."""

import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

import numpy as np

from phronesis import Memory
from phronesis.errors import InputError
from phronesis.models.embedder import Floats, HashingEmbedder
from phronesis_benchmarks.stopwatch import NO_TIME, Duration, Stopwatch, per_second

_USER: Final = "scale"
_TURNS_PER_SESSION: Final = 50
VOCABULARY: Final = 5_000
_WEIGHTS: Final = tuple(accumulate(1 / rank for rank in range(1, VOCABULARY + 1)))
_SYLLABLES: Final = ("ba", "de", "fi", "go", "lu", "ma", "ne", "pi", "ro", "su")
_WORDS_PER_MESSAGE: Final = 15
_WORDS_PER_QUESTION: Final = 8
_PAGE: Final = 100
WARM: Final = 3
"""Calls left out of the figures: they load the lane's index, and are reported as ``first``."""
HEAD: Final = "| call | first ms | wall p50 / p95 ms | CPU p50 / p95 ms |\n|---|---|---|---|\n"

Progress = Callable[[str, int, int], object]
"""Called with (what is being done, steps done, steps in all)."""


def draw_words(draw: random.Random, count: int) -> list[int]:
    """Return the numbers of words by Zipf's law, as texts have them."""
    return draw.choices(range(VOCABULARY), cum_weights=_WEIGHTS, k=count)


def spell(number: int) -> str:
    """Spell a number in syllables: as many words as there are numbers, and no digits."""
    return "".join(_SYLLABLES[int(digit)] for digit in f"{number:04}")


@contextmanager
def opened_place(url: str | None) -> Iterator[str]:
    """Yield the address of a database: ``url``, or a temporary SQLite file."""
    with tempfile.TemporaryDirectory(prefix="phronesis-bench-") as folder:
        yield url or f"sqlite:///{Path(folder) / 'memory.db'}"


class TimedEmbedder(HashingEmbedder):
    """The hashing encoder, with what each query took."""

    def __init__(self) -> None:
        self.times: list[Duration] = []

    def embed_query(self, text: str) -> Floats:
        """Encode, and note the time."""
        watch = Stopwatch()
        vector = super().embed_query(text)
        self.times.append(watch.read())
        return vector


@dataclass(frozen=True, slots=True)
class Latency:
    """Milliseconds of a call: wall clock, and CPU over all threads, which counts on a shared machine."""

    first: float
    p50: float
    p95: float
    cpu_p50: float
    cpu_p95: float

    @classmethod
    def of(cls, times: Sequence[Duration]) -> "Latency":
        """Summarise calls in their order."""
        wall = np.array([time.wall for time in times]) * 1000
        cpu = np.array([time.cpu for time in times]) * 1000
        p50, p95 = np.percentile(wall[WARM:], [50, 95])
        cpu_p50, cpu_p95 = np.percentile(cpu[WARM:], [50, 95])
        return cls(float(wall[0]), float(p50), float(p95), float(cpu_p50), float(cpu_p95))

    def cells(self) -> str:
        """Return the figures as cells of a Markdown row."""
        return f"{self.first:.0f} | {self.p50:.1f} / {self.p95:.1f} | {self.cpu_p50:.1f} / {self.cpu_p95:.1f}"


@dataclass(frozen=True, slots=True)
class ScaleReport:
    """What one run measured. The encoder is a hashing one, whose own time is below a millisecond a query."""

    database: str
    items: int
    ingest_per_second: float
    ingest_per_cpu_second: float
    search: Latency
    compose: Latency
    browse: Latency
    verify_seconds: float
    verify_equal: bool
    import_milliseconds: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return asdict(self)

    def to_markdown(self) -> str:
        """Return the table."""
        return (
            f"One user with {self.items:,} memories on {self.database}; hashing encoder; no language model.\n\n"
            f"{HEAD}| search | {self.search.cells()} |\n| compose_context | {self.compose.cells()} |\n"
            f"| get_all, {_PAGE} items of any page | {self.browse.cells()} |\n\n"
            f"Ingest, {_TURNS_PER_SESSION} messages a call: {self.ingest_per_second:.0f} messages/s,"
            f" {self.ingest_per_cpu_second:.0f} a CPU second. rebuild(verify=True): {self.verify_seconds:.1f} s,"
            f" equal: {self.verify_equal}. import phronesis: {self.import_milliseconds:.0f} ms."
        )


def run_scale(*, items: int = 10_000, url: str | None = None, calls: int = 100, seed: int = 0) -> ScaleReport:
    """Fill a store with ``items`` messages of one user and measure ``calls`` searches, composed contexts and pages.

    Without ``url``, in a SQLite file of its own that is deleted afterwards; a given database must hold no user of
    this benchmark yet. InputError for counts that cannot be measured.
    """
    if items < _TURNS_PER_SESSION or calls <= WARM:
        raise InputError(f"items must be at least {_TURNS_PER_SESSION}, calls more than {WARM}", field="items")
    draw = random.Random(seed)  # noqa: S311 - repeatable text, no secret
    with opened_place(url) as where, Memory.open(where, tenant="scale", embedder=HashingEmbedder()) as memory:
        spent = _fill(memory, items, draw)
        memory.flush()
        search = _timed(lambda text: memory.search(text, user_id=_USER), calls, draw)
        compose = _timed(lambda text: memory.compose_context("s0", text, user_id=_USER), calls, draw)
        browse = _browsed(memory, calls)
        watch = Stopwatch()
        verified = memory.admin.rebuild(verify=True)
        return ScaleReport(
            database=where.partition(":")[0],
            items=items,
            ingest_per_second=per_second(items, spent.wall),
            ingest_per_cpu_second=per_second(items, spent.cpu),
            search=search,
            compose=compose,
            browse=browse,
            verify_seconds=watch.read().wall,
            verify_equal=verified.equal,
            import_milliseconds=_import_time(),
        )


def _fill(memory: Memory, items: int, draw: random.Random) -> Duration:
    spent = NO_TIME
    for session in range(items // _TURNS_PER_SESSION):
        messages = [
            {"role": "user" if n % 2 == 0 else "assistant", "content": _text(draw, _WORDS_PER_MESSAGE), "id": f"m{n}"}
            for n in range(_TURNS_PER_SESSION)
        ]
        watch = Stopwatch()
        memory.commit_turn(f"s{session}", {"messages": messages}, user_id=_USER)
        spent += watch.read()
    return spent


def _timed(call: Callable[[str], object], calls: int, draw: random.Random) -> Latency:
    times: list[Duration] = []
    for _ in range(calls):
        question = _text(draw, _WORDS_PER_QUESTION)
        watch = Stopwatch()
        call(question)
        times.append(watch.read())
    return Latency.of(times)


def _browsed(memory: Memory, calls: int) -> Latency:
    """Walk all pages from the newest to the oldest, again and again until there were ``calls`` of them."""
    times: list[Duration] = []
    while len(times) < calls:
        cursor: str | None = None
        while True:
            watch = Stopwatch()
            page = memory.get_all(user_id=_USER, limit=_PAGE, cursor=cursor)
            times.append(watch.read())
            cursor = page.next_cursor
            if cursor is None:
                break
    return Latency.of(times)


def _text(draw: random.Random, words: int) -> str:
    return " ".join(f"word{n}" for n in draw_words(draw, words))


def _import_time() -> float:
    """Milliseconds that ``import phronesis`` adds to a bare interpreter; the least of five."""
    code = "import time; t = time.perf_counter(); import phronesis; print(time.perf_counter() - t)"
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
        for _ in range(5)
    ]
    return min(float(run.stdout) for run in runs) * 1000
