"""How composing and retrieving grow: one user with many memories and many pieces of documents, in two languages."""

import random
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from phronesis import Memory
from phronesis.core.ids import make_scope
from phronesis.core.retrieval_plan import RetrievalPlan, SubPlan, SubQuery
from phronesis.errors import InputError
from phronesis_benchmarks.scale import HEAD, WARM, Latency, Progress, TimedEmbedder, draw_words, opened_place, spell
from phronesis_benchmarks.stopwatch import NO_TIME, Duration, Stopwatch, per_second

_TENANT: Final = "compose-scale"
_USER: Final = "scale"
_MESSAGES: Final = 50
_SECTIONS: Final = 20
_MESSAGE_WORDS: Final = 15
_SECTION_WORDS: Final = 120
_QUESTION_WORDS: Final = 8
_PARTS: Final = 3
_CHARACTERS: Final = (
    "山水火木金土日月星云风雨雪雷电河海江湖田园花草树林鸟鱼马牛羊车船桥路门窗书笔纸灯茶饭菜酒糖盐油布衣帽鞋床桌椅钟表"
)


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
        return asdict(self)

    def to_markdown(self) -> str:
        """Return the table."""
        rows = [
            ("retrieve, both stores", self.retrieve),
            ("compose_context", self.compose),
            ("of a retrieve, encoding (not counted above)", self.encoding),
        ]
        return (
            f"One user with {self.items:,} memories and {self.sections:,} sections on {self.database}; hashing encoder;"
            f" no language model.\n\n{HEAD}"
            + "".join(f"| {name} | {one.cells()} |\n" for name, one in rows)
            + f"\nIngest of messages: {self.ingest_per_cpu_second:.0f} a CPU second. Of the places of a retrieve"
            f" {self.memory_places:.0%} were memory."
        )


def run_compose_scale(
    *,
    items: int = 100_000,
    sections: int = 10_000,
    calls: int = 100,
    url: str | None = None,
    seed: int = 0,
    on_progress: Progress = lambda *_: None,
) -> ComposeReport:
    """Fill a store with ``items`` messages of one user and documents of ``sections`` sections; time ``calls`` of each.

    Without ``url``, in a SQLite file of its own that is deleted afterwards; a given database must hold no user of this
    benchmark yet. InputError for counts that cannot be measured.
    """
    if items < _MESSAGES or sections < 0 or calls <= WARM:
        raise InputError(f"items must be at least {_MESSAGES}, sections 0, calls more than {WARM}", field="items")
    encoder = TimedEmbedder()
    bench = _Bench(random.Random(seed), encoder, on_progress)  # noqa: S311 - repeatable text, no secret
    with opened_place(url) as where, Memory.open(where, tenant=_TENANT, embedder=encoder) as memory:
        spent = bench.talk(memory, items)
        made = bench.documents(memory, sections)
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


@dataclass(slots=True)
class _Bench:
    """Talk and documents, the same for one seed, and the calls that are timed on them."""

    draw: random.Random
    encoder: TimedEmbedder
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

    def documents(self, memory: Memory, sections: int) -> int:
        """Ingest documents of some sections each; gives how many sections there are."""
        count = sections // _SECTIONS
        for n in range(count):
            text = "\n\n".join(f"## {self._text(3)}\n\n{self._text(_SECTION_WORDS)}" for _ in range(_SECTIONS))
            folder = n % (count // 10 + 1)
            memory.resources.ingest(
                text=f"# Manual {n}\n\n{text}",
                uri=f"file:///manuals/{folder}/{n}.md",
                title=f"Manual {n}",
                user_id=_USER,
            )
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
            self.on_progress("plan_executor", n, calls)
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
        self.encoder.times.clear()
        watch = Stopwatch()
        found = call(*given, **named)
        spent, encoded = watch.read(), sum(self.encoder.times, NO_TIME)
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
        numbers = draw_words(self.draw, words)
        if self._sentences % 2:
            return " ".join(map(spell, numbers))
        return "".join(map(_characters, numbers))


def _characters(number: int) -> str:
    first, second = divmod(number, len(_CHARACTERS))
    return _CHARACTERS[first % len(_CHARACTERS)] + _CHARACTERS[second]
