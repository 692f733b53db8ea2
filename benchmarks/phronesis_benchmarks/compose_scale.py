"""How composing and retrieving grow: one user with many memories and many pieces of documents, in two languages."""

import random
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

from phronesis import Memory
from phronesis.core.ids import make_scope
from phronesis.core.retrieval_plan import RetrievalPlan, SubPlan, SubQuery
from phronesis.errors import InputError
from phronesis.models.embedder import Floats, HashingEmbedder
from phronesis_benchmarks.scale import WARM, Latency
from phronesis_benchmarks.stopwatch import NO_TIME, Duration, Stopwatch, per_second

_TENANT: Final = "compose-scale"
_USER: Final = "scale"
_MESSAGES: Final = 50
_SECTIONS: Final = 20
_MESSAGE_WORDS: Final = 15
_SECTION_WORDS: Final = 120
_QUESTION_WORDS: Final = 8
_PARTS: Final = 3
_VOCABULARY: Final = 5_000
_WEIGHTS: Final = tuple(accumulate(1 / rank for rank in range(1, _VOCABULARY + 1)))
"""Words by Zipf's law, as texts have them."""
_SYLLABLES: Final = ("ba", "de", "fi", "go", "lu", "ma", "ne", "pi", "ro", "su")
_CHARACTERS: Final = (
    "山水火木金土日月星云风雨雪雷电河海江湖田园花草树林鸟鱼马牛羊车船桥路门窗书笔纸灯茶饭菜酒糖盐油布衣帽鞋床桌椅钟表"
)

Ingest = Callable[..., object]
Progress = Callable[[str, int, int], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComposeReport:
    """What one run measured, on one database. The figures of calls are without the query's encoding."""

    database: str
    items: int
    sections: int
    ingest_per_cpu_second: float
    retrieve: Latency
    compose: Latency
    encoding: Latency
    memory_places: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        plain = {name: getattr(self, name) for name in self.__slots__}
        for name in ("retrieve", "compose", "encoding"):
            plain[name] = {part: getattr(plain[name], part) for part in Latency.__slots__}
        return plain

    def to_markdown(self) -> str:
        """Return the table."""
        rows = [
            ("retrieve, both stores", self.retrieve),
            ("compose_context", self.compose),
            ("of a retrieve, encoding (not counted above)", self.encoding),
        ]
        return "\n".join(
            (
                (
                    f"One user with {self.items:,} memories and {self.sections:,} sections on {self.database}; hashing"
                    " encoder; no language model."
                ),
                "",
                "| call | first ms | wall p50 / p95 ms | CPU p50 / p95 ms |",
                "|---|---|---|---|",
                *(f"| {name} | {one.cells()} |" for name, one in rows),
                "",
                (
                    f"Ingest of messages: {self.ingest_per_cpu_second:.0f} a CPU second. Of the places of a retrieve"
                    f" {self.memory_places:.0%} were memory."
                ),
            )
        )


class _TimedEmbedder(HashingEmbedder):
    """The hashing encoder, with what its queries took since it was last asked."""

    def __init__(self) -> None:
        self._spent = NO_TIME

    def embed_query(self, text: str) -> Floats:
        """Encode, and note the time."""
        watch = Stopwatch()
        vector = super().embed_query(text)
        self._spent += watch.read()
        return vector

    def taken(self) -> Duration:
        """Return the time, and begin anew."""
        spent, self._spent = self._spent, NO_TIME
        return spent


def run_compose_scale(
    *,
    items: int = 100_000,
    sections: int = 10_000,
    calls: int = 100,
    url: str | None = None,
    seed: int = 0,
    ingest: Ingest | None = None,
    on_progress: Progress = lambda *_: None,
) -> ComposeReport:
    """Fill a store with ``items`` messages of one user and documents of ``sections`` sections; time ``calls`` of each.

    Without ``url``, in a SQLite file of its own that is deleted afterwards; a given database must hold no user of this
    benchmark yet. ``ingest`` (memory, text, uri, title) stores a document, by default ``resources.ingest``. InputError
    for counts that cannot be measured.
    """
    if items < _MESSAGES or sections < 0 or calls <= WARM:
        raise InputError(f"items must be at least {_MESSAGES}, sections 0, calls more than {WARM}", field="items")
    encoder = _TimedEmbedder()
    bench = _Bench(random.Random(seed), encoder, on_progress)  # noqa: S311 - repeatable text, no secret
    with _place(url) as where, Memory.open(where, tenant=_TENANT, embedder=encoder) as memory:
        spent = bench.talk(memory, items)
        made = bench.documents(memory, sections, ingest or _ingested)
        on_progress("making vectors", 0, 1)
        memory.flush()
        retrieve, encoding, places = bench.retrieves(memory, calls)
        compose = bench.composes(memory, calls)
    return ComposeReport(
        database=where.partition(":")[0],
        items=items // _MESSAGES * _MESSAGES,
        sections=made,
        ingest_per_cpu_second=per_second(items, spent.cpu),
        retrieve=retrieve,
        compose=compose,
        encoding=encoding,
        memory_places=places,
    )


@contextmanager
def _place(url: str | None) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        yield url or f"sqlite:///{Path(folder) / 'compose.db'}"


def _ingested(memory: Memory, text: str, uri: str, title: str) -> None:
    store: Any = memory
    store.resources.ingest(text=text, uri=uri, title=title, user_id=_USER)


@dataclass(slots=True)
class _Bench:
    """Talk and documents, the same for one seed, and the calls that are timed on them."""

    draw: random.Random
    encoder: _TimedEmbedder
    on_progress: Progress
    _sentences: int = field(default=0)

    def talk(self, memory: Memory, items: int) -> Duration:
        """Commit sessions of one call each; gives what they took."""
        spent = NO_TIME
        count = items // _MESSAGES
        for session in range(count):
            messages = [
                {"role": "user" if n % 2 == 0 else "assistant", "content": self._text(_MESSAGE_WORDS), "id": f"m{n}"}
                for n in range(_MESSAGES)
            ]
            watch = Stopwatch()
            memory.commit_turn(f"s{session}", {"messages": messages}, user_id=_USER)
            spent += watch.read()
            self.on_progress("committing sessions", session, count)
        return spent

    def documents(self, memory: Memory, sections: int, ingest: Ingest) -> int:
        """Ingest documents of some sections each; gives how many sections there are."""
        count = sections // _SECTIONS
        for n in range(count):
            text = "\n\n".join(f"## {self._text(3)}\n\n{self._text(_SECTION_WORDS)}" for _ in range(_SECTIONS))
            folder = n % (count // 10 + 1)
            ingest(memory, f"# Manual {n}\n\n{text}", f"file:///manuals/{folder}/{n}.md", f"Manual {n}")
            self.on_progress("ingesting documents", n, count)
        return count * _SECTIONS

    def retrieves(self, memory: Memory, calls: int) -> tuple[Latency, Latency, float]:
        """Time retrieves; gives also what encoding took of them, and the share of places that were memory."""
        times, encoding, memories, places = [], [], 0, 0
        for n in range(calls):
            pack, spent, encoded = self._timed(memory.retrieve, self._plan())
            times.append(spent)
            encoding.append(encoded)
            memories += sum(one.item.kind != "section" for one in pack)
            places += len(pack)
            self.on_progress("retrieving", n, calls)
        return Latency.of(times), Latency.of(encoding), memories / max(1, places)

    def composes(self, memory: Memory, calls: int) -> Latency:
        """Time composed contexts."""
        times = []
        for n in range(calls):
            question = self._text(_QUESTION_WORDS)
            times.append(self._timed(memory.compose_context, "s0", question, user_id=_USER)[1])
            self.on_progress("composing", n, calls)
        return Latency.of(times)

    def _timed(self, call: Callable[..., Any], *given: Any, **named: Any) -> tuple[Any, Duration, Duration]:
        self.encoder.taken()
        watch = Stopwatch()
        found = call(*given, **named)
        spent, encoded = watch.read(), self.encoder.taken()
        return found, Duration(spent.wall - encoded.wall, spent.cpu - encoded.cpu), encoded

    def _plan(self) -> RetrievalPlan:
        text = self._text(_QUESTION_WORDS)
        more = tuple(SubQuery(self._text(_PARTS), 0.5, "expansion") for _ in range(_PARTS))
        queries = (SubQuery(text), *more)
        return RetrievalPlan(
            "bench",
            text,
            "lookup",
            "en",
            queries,
            resources_needed=True,
            memory=SubPlan("memory", queries),
            resources=SubPlan("resources", queries),
            scope=make_scope(user_id=_USER),
        )

    def _text(self, words: int) -> str:
        """Return a text of so many words, every other one in Chinese, two characters a word."""
        self._sentences += 1
        numbers = self.draw.choices(range(_VOCABULARY), cum_weights=_WEIGHTS, k=words)
        if self._sentences % 2:
            return " ".join(map(_word, numbers))
        return "".join(map(_characters, numbers))


def _word(number: int) -> str:
    """Spell a number in syllables: as many words as there are numbers."""
    return "".join(_SYLLABLES[int(digit)] for digit in f"{number:04}")


def _characters(number: int) -> str:
    first, second = divmod(number, len(_CHARACTERS))
    return _CHARACTERS[first % len(_CHARACTERS)] + _CHARACTERS[second]
