"""How the experience base's cost grows: many events of many topics, in English and Chinese."""

import random
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from phronesis import Memory
from phronesis.errors import InputError
from phronesis.models.embedder import HashingEmbedder
from phronesis.models.embedders import Embedders
from phronesis_benchmarks.scale import WARM, Latency
from phronesis_benchmarks.stand_ins import stand_ins
from phronesis_benchmarks.stopwatch import Duration, Stopwatch

ONE: Final = "one"
ALL: Final = "auto"
_TOLD: Final = {ONE: "hashing encoder", ALL: "stand-ins for the encoders that auto loads"}
_TENANT: Final = "experience-scale"
_BATCH: Final = 200
_MATES: Final = 8  # events of one topic, on average
_TOPIC_WORDS: Final = 12  # words that a topic has to itself
_OWN: Final = 4  # of a field's words, those of its topic
_COMMON: Final = 6  # and those that every text draws from, by Zipf's law
_VOCABULARY: Final = 5_000
_FIELDS: Final = ("situation", "attempt", "result", "reflection")
_LABELS: Final = ("failure", "failure", "success")
_SYLLABLES: Final = ("ba", "de", "fi", "go", "lu", "ma", "ne", "pi", "ro", "su")
_FIRST: Final = 0x4E00  # of Unicode's Chinese characters
_SECOND: Final = 500  # the second ones of a word; the first ones are as many as it takes


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperienceReport:
    """What one run measured, on one database. ``added`` is one event more with its vector, and ``grouped`` its pattern.

    ``together`` is both. ``encoders`` says what compared the events; encoding is a hash, below a millisecond a text.
    """

    database: str
    encoders: str
    events: int
    patterns: int
    ingest: Duration
    aggregate: Duration
    added: Latency
    grouped: Latency
    together: Latency
    query: Latency

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        plain: dict[str, Any] = {name: getattr(self, name) for name in ("database", "encoders", "events", "patterns")}
        for name in ("ingest", "aggregate", "added", "grouped", "together", "query"):
            one = getattr(self, name)
            plain[name] = {part: getattr(one, part) for part in one.__slots__}
        return plain

    def to_markdown(self) -> str:
        """Return the table."""
        rows = (
            ("one event more, with its vector", self.added),
            ("aggregate after it", self.grouped),
            ("both", self.together),
            ("query", self.query),
        )
        told = (
            f"Ingest, with vectors: {self.ingest.wall:.1f} s, CPU {self.ingest.cpu:.1f}. aggregate(full=True), into"
            f" {self.patterns:,} patterns: {self.aggregate.wall:.1f} s, CPU {self.aggregate.cpu:.1f}."
        )
        return "\n".join(
            (
                f"{self.events:,} events on {self.database}; {_TOLD[self.encoders]}; no language model.",
                "",
                "| call | first ms | wall p50 / p95 ms | CPU p50 / p95 ms |",
                "|---|---|---|---|",
                *(f"| {name} | {one.cells()} |" for name, one in rows),
                "",
                told,
            )
        )


def run_experience_scale(
    *,
    events: int = 20_000,
    calls: int = 50,
    url: str | None = None,
    seed: int = 0,
    encoders: str = ONE,
    on_progress: Callable[[str, int, int], object] = lambda *_: None,
) -> ExperienceReport:
    """Fill a store with ``events``, group them all; then time ``calls`` events more, and as many queries.

    Events are compared by one hashing encoder (``one``), or by stand-ins for all that ``auto`` loads (``auto``).
    Without ``url``, in a SQLite file of its own that is deleted afterwards; a given database must hold no store of
    this benchmark yet. InputError for counts that cannot be measured, and for other encoders.
    """
    if encoders not in _TOLD:
        raise InputError(f"encoders: {encoders!r} is not one of {', '.join(_TOLD)}", field="encoders")
    if events < 1 or calls <= WARM:
        raise InputError(f"events must be 1 at least, calls more than {WARM}", field="events")
    made = Attempts(random.Random(seed), topics=max(1, events // _MATES))  # noqa: S311 - repeatable text, no secret
    with tempfile.TemporaryDirectory() as folder:
        where = url or f"sqlite:///{Path(folder) / 'experience.db'}"
        with Memory.open(where, tenant=_TENANT, embedder=_compared_by(encoders)) as memory:
            watch = Stopwatch()
            for batch in made.batches(events):
                memory.ingest(batch)
                on_progress("adding events", made.count, events)
            memory.flush()
            ingest = watch.read()
            on_progress("grouping them all", 0, 1)
            watch = Stopwatch()
            grouping = memory.aggregate(full=True)
            aggregate = watch.read()
            added, grouped = _grow(memory, made, calls, on_progress)
            queries = _ask(memory, made, calls, on_progress)
    return ExperienceReport(
        database=where.partition(":")[0],
        encoders=encoders,
        events=events,
        patterns=len(grouping.new),
        ingest=ingest,
        aggregate=aggregate,
        query=Latency.of(queries),
        added=Latency.of(added),
        grouped=Latency.of(grouped),
        together=Latency.of([one + other for one, other in zip(added, grouped, strict=True)]),
    )


def _compared_by(encoders: str) -> HashingEmbedder | Embedders:
    return HashingEmbedder() if encoders == ONE else stand_ins()


def _grow(
    memory: Memory, made: "Attempts", calls: int, on_progress: Callable[[str, int, int], object]
) -> tuple[list[Duration], list[Duration]]:
    added, grouped = [], []
    for n in range(calls):
        event = made.event()
        watch = Stopwatch()
        memory.ingest(event)
        memory.flush()
        added.append(watch.read())
        watch = Stopwatch()
        memory.aggregate()
        grouped.append(watch.read())
        on_progress("adding one event", n, calls)
    return added, grouped


def _ask(
    memory: Memory, made: "Attempts", calls: int, on_progress: Callable[[str, int, int], object]
) -> list[Duration]:
    times = []
    for n in range(calls):
        asked = made.event()
        watch = Stopwatch()
        memory.query(situation=asked["situation"], goal=asked["goal"])
        times.append(watch.read())
        on_progress("asking", n, calls)
    return times


class Attempts:
    """Events of topics, the same for one seed."""

    def __init__(self, draw: random.Random, *, topics: int) -> None:
        self.count = 0
        self._draw = draw
        self._topics = topics
        self._weights = [1 / rank for rank in range(1, _VOCABULARY + 1)]

    def batches(self, events: int) -> Iterator[Sequence[Mapping[str, Any]]]:
        """Return events a call's worth at a time."""
        while self.count < events:
            yield [self.event() for _ in range(min(_BATCH, events - self.count))]

    def event(self) -> dict[str, Any]:
        """Draw a topic, and make an event of it."""
        self.count += 1
        topic = self._draw.randrange(self._topics)
        chinese = topic % 2 == 1
        texts = {field: self._text(topic, at, chinese=chinese) for at, field in enumerate(_FIELDS)}
        return texts | {
            "goal": self._text(topic, len(_FIELDS), chinese=chinese),
            "label": _LABELS[(topic // 2) % len(_LABELS)],
            "source_type": "run",
            "source_ref": f"runs/{self.count}.json",
        }

    def _text(self, topic: int, at: int, *, chinese: bool) -> str:
        """Half of the words are the topic's, the others common ones."""
        own = [_VOCABULARY + topic * _TOPIC_WORDS + n for n in range(_TOPIC_WORDS)]
        drawn = self._draw.sample(own[at % 2 :: 2], _OWN) + self._draw.choices(
            range(_VOCABULARY), self._weights, k=_COMMON
        )
        self._draw.shuffle(drawn)
        return "".join(map(_characters, drawn)) if chinese else " ".join(map(_word, drawn))


def _word(number: int) -> str:
    """Spell a number in syllables."""
    return "".join(_SYLLABLES[int(digit)] for digit in f"{number:04}")


def _characters(number: int) -> str:
    """Spell a number as two Chinese characters."""
    return chr(_FIRST + number // _SECOND) + chr(_FIRST + number % _SECOND)
