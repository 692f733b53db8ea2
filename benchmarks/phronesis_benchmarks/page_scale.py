"""How long the pages take over a large store: a team's worth of people, one of whom has most of it.

The server is a process of its own, as ``phronesis serve`` starts it. A page is asked for once cold and some times warm;
what a browser adds is not in the figures.
"""

import contextlib
import http.client
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

from phronesis.errors import InputError, PhronesisError
from phronesis.memory import Memory
from phronesis_benchmarks.http_load import served

MOST_MEMORIES: Final = 1_000_000

_PEOPLE: Final = 50
_BIG: Final = "big"
_BIG_OF_FIVE: Final = (0, 2)
_BATCH: Final = 500
_SHARES: Final = {"messages": 0.7, "attempts": 0.15, "facts": 0.1, "runs": 0.01}
"""What a store holds: the rest is sentences that the rules read."""
_THINGS: Final = ("press", "pump", "kiln", "lathe", "dryer", "burner", "valve", "mixer", "泵", "窑炉", "离心机", "烘箱")
_WORDS: Final = ("oolong", "granite", "violin", "ceramic", "harbour", "ledger", "杭州", "绿茶", "火车", "摄影", "样品")

Progress = Callable[[str, int, int], object]


@dataclass(frozen=True, slots=True)
class PageTime:
    """Seconds of one page: the first time, and the median after it."""

    page: str
    path: str
    first: float
    p50: float


@dataclass(frozen=True, slots=True)
class PageReport:
    """What one run measured, on one database."""

    database: str
    memories: int
    pages: tuple[PageTime, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return asdict(self)

    def to_markdown(self) -> str:
        """Return the table, slowest first."""
        rows = sorted(self.pages, key=lambda one: -max(one.first, one.p50))
        cells = [f"| {one.page} | {one.first * 1000:.0f} | {one.p50 * 1000:.0f} |" for one in rows]
        told = f"{self.memories:,} memories of {_PEOPLE} people on {self.database}; no encoder."
        return "\n".join([told, "", "| page | first ms | p50 ms |", "|---|---|---|", *cells])


def run_page_scale(
    *, url: str | None = None, memories: int = 100_000, calls: int = 5, on_progress: Progress = lambda *_: None
) -> PageReport:
    """Fill a store with ``memories``, serve it, and ask for each page once and then ``calls`` times.

    ``url`` is a database that holds nothing of this benchmark yet, else a temporary SQLite file. InputError for counts
    that cannot be measured; PhronesisError for a page that fails.
    """
    for name, given, least, most in (("memories", memories, 1_000, MOST_MEMORIES), ("calls", calls, 1, 1_000)):
        if not least <= given <= most:
            raise InputError(f"{name} must be from {least:,} to {most:,}", field=name)
    with tempfile.TemporaryDirectory(prefix="phronesis-pages-") as folder:
        store = url or f"sqlite:///{Path(folder) / 'memory.db'}"
        with Memory.open(store, policy={"embedder": "none"}) as memory:
            fill(memory, memories, on_progress)
            pages = _pages(memory)
        with served(store) as (_, place):
            times = []
            for n, (name, path) in enumerate(pages.items()):
                on_progress("asking for pages", n, len(pages))
                times.append(_timed(place, name, path, calls))
    return PageReport(store.partition(":")[0], memories, tuple(times))


def fill(memory: Memory, memories: int, on_progress: Progress = lambda *_: None) -> None:
    """Fill a store: two fifths of everything is one person's."""
    counts = {name: int(memories * share) for name, share in _SHARES.items()}
    counts["sentences"] = memories - sum(counts.values())
    made = 0
    for name, count in counts.items():
        for begin in range(0, count, _BATCH):
            numbers = range(begin, min(begin + _BATCH, count))
            batch = begin // _BATCH
            user = _BIG if batch % 5 in _BIG_OF_FIVE else f"u{batch % (_PEOPLE - 1)}"
            _WRITES[name](memory, user, numbers)
            made += len(numbers)
            on_progress("filling the store", made, memories)
    memory.reflect(_BIG, force=True)
    memory.flush()


def _messages(memory: Memory, user: str, numbers: range) -> None:
    texts = [f"Note {n}: {_word(n)} and {_word(n // 7)} by the {_thing(n)}." for n in numbers]
    said = [{"role": "user", "content": text} for text in texts]
    memory.add(said, user_id=user, session_id=f"day/{numbers.start}", infer=False)


def _attempts(memory: Memory, user: str, numbers: range) -> None:
    memory.ingest([_attempt(n) for n in numbers], user_id=user)


def _attempt(n: int) -> dict[str, str]:
    return {
        "situation": f"The {_thing(n)} stops after {n % 50} minutes of {_word(n // 3)}",
        "goal": "it runs on",
        "attempt": f"changed part {n % 97} of the {_thing(n)}, try {n}",
        "result": f"it came out as {n % 11}",
        "label": "success" if n % 3 else "failure",
        "source_type": "manual",
        "source_ref": f"log/{n}",
    }


def _facts(memory: Memory, user: str, numbers: range) -> None:
    for n in numbers:
        value = f"{n % 9} bar"
        memory.add(
            f"Part {n} of the {_thing(n)} runs at {value}.",
            user_id=user,
            kind="fact",
            subject=f"part {n}",
            key="pressure",
            value=value,
        )


def _runs(memory: Memory, user: str, numbers: range) -> None:
    for n in numbers:
        run = {"run_id": f"run-{n}", "output": {"M1": "Cu", "M2": "Zn", "modifier": "benzoic acid"}, "raw": f"run {n}"}
        memory.runs.record(run, user_id=user)


def _sentences(memory: Memory, user: str, numbers: range) -> None:
    for n in numbers:
        said = {"role": "user", "content": f"I like {_word(n)} by the {_thing(n // 5)}."}
        memory.commit_turn(f"talk/{n // 10}", {"messages": [said]}, user_id=user)


_WRITES: Final[dict[str, Callable[[Memory, str, range], None]]] = {
    "messages": _messages,
    "attempts": _attempts,
    "facts": _facts,
    "runs": _runs,
    "sentences": _sentences,
}


def _thing(n: int) -> str:
    return _THINGS[n % len(_THINGS)]


def _word(n: int) -> str:
    return _WORDS[n % len(_WORDS)]


def _pages(memory: Memory) -> dict[str, str]:
    """Return the pages to ask for, by what they are called."""
    of_big = memory.get_all(user_id=_BIG, kinds=["fact"], limit=1)[0]
    tried_once = memory.get_all(user_id=_BIG, kinds=["l1"], limit=1)[0]
    session = memory.sessions.list(user_id=_BIG)[0].session_id
    run = memory.get_all(across="tenant", kinds=["run"], limit=1)[0]
    tried = {"situation": "The pump stops after 3 minutes", "goal": "it runs on", "user": _BIG}
    asked = urlencode({"user": _BIG})
    return {
        "home": "/",
        "home, a month": "/?span=month",
        "home, one person": f"/?{asked}",
        "memories": "/memories",
        "memories, one person": f"/memories?{asked}",
        "facts": "/memories?kind=fact",
        "ended": "/memories?state=ended",
        "search, everybody": "/memories?" + urlencode({"q": "oolong by the pump"}),
        "search, one person": "/memories?" + urlencode({"q": "绿茶 窑炉", "user": _BIG}),
        "an item": f"/memories/{of_big.id}",
        "sessions": f"/sessions?{asked}",
        "a session": "/sessions/view?" + urlencode({"id": session, "user": _BIG}),
        "composer": f"/composer?{asked}",
        "people": "/people",
        "a person": f"/people/view?id={_BIG}",
        "due": f"/people/due?id={_BIG}",
        "experience": f"/experience?{asked}",
        "experience, a question": "/experience?" + urlencode(tried),
        "experience, walked": f"/experience/walk?{asked}",
        "experience, its graph": "/experience/graph?" + urlencode({"id": tried_once.id, "user": _BIG}),
        "a session, summed up": "/sessions/summary?" + urlencode({"id": session, "user": _BIG}),
        "runs": "/runs",
        "a run": "/runs/view?" + urlencode({"id": run.run_id, "user": run.user_id}),
        "documents": "/resources",
        "quarantine": "/quarantine",
        "jobs": "/jobs",
        "jobs, waiting": "/jobs/waiting",
        "health": "/health",
        "health, checks": "/health/checks",
    }


def _timed(place: str, name: str, path: str, calls: int) -> PageTime:
    spent = []
    with contextlib.closing(http.client.HTTPConnection(place, timeout=120)) as connection:
        for _ in range(calls + 1):
            began = time.perf_counter()
            connection.request("GET", path)
            answered = connection.getresponse()
            answered.read()
            spent.append(time.perf_counter() - began)
            if answered.status != http.client.OK:
                raise PhronesisError(f"the page {path} answered {answered.status}")
    return PageTime(name, path, spent[0], sorted(spent[1:])[calls // 2])
