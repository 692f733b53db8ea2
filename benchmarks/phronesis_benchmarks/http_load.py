"""A server under load: how long it takes to start, what HTTP adds to a search, and many clients at once.

The server is a process of its own on this machine, over the database that is named; the clients are threads of this
one. All of it is bounded, in memories, clients and seconds.
"""

import contextlib
import http.client
import json
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlsplit

from phronesis.errors import InputError, PhronesisError
from phronesis.memory import Memory

_PROGRAM: Final = (sys.executable, "-c", "from phronesis.interfaces.cli import main; main()")
_SERVED_POLICY: Final = "version: 1\nembedder: none\nserver: {access_log: false}\n"


@contextlib.contextmanager
def served(store: str) -> Iterator[tuple[float, str]]:
    """Serve a store by ``phronesis serve``; give the seconds until it listened, and host and port.

    PhronesisError when it does not start.
    """
    with tempfile.TemporaryDirectory(prefix="phronesis-serving-") as folder:
        policy = Path(folder, "brain.yml")
        policy.write_text(_SERVED_POLICY, "utf-8")
        began = time.perf_counter()
        called = [*_PROGRAM, "serve", "--url", store, "--port", "0", "--json", "--policy", str(policy)]
        with subprocess.Popen(called, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - our own program
            try:
                place = _told(process)
                yield time.perf_counter() - began, place
            finally:
                process.terminate()


def _told(process: "subprocess.Popen[str]") -> str:
    """Wait until a server says where it listens; give host and port."""
    told = ""
    while process.stdout is not None and not told.rstrip().endswith("}"):
        line = process.stdout.readline()
        if not line:
            raise PhronesisError("the server did not start; run phronesis serve to see why")
        told += line
    place: str = urlsplit(json.loads(told)["url"]).netloc
    return place


MOST_CLIENTS: Final = 1_000
MOST_SECONDS: Final = 600
MOST_MEMORIES: Final = 100_000

READS: Final = 0.9
"""The share of reads: an agent asks before it answers, and stores now and then."""

_USERS: Final = 20
_WORDS: Final = ("oolong", "kiln", "Lyon", "violin", "granite", "杭州", "绿茶", "火车", "摄影", "陶瓷")
_POLICY: Final = {"embedder": "none"}


@dataclass(frozen=True, slots=True)
class HttpReport:
    """Seconds, and how many requests went how. ``errors`` counts statuses of 400 and above, and lost connections."""

    memories: int
    clients: int
    seconds: float
    start: float
    call_p50: float
    empty_p50: float
    http_p50: float
    requests: int
    errors: dict[str, int]
    p50: float
    p99: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return asdict(self)

    def to_markdown(self) -> str:
        """Return a table."""
        rows = [
            ("server start", f"{self.start:.2f} s"),
            (f"search p50, library, {self.memories:,} memories", f"{self.call_p50 * 1000:.2f} ms"),
            ("p50 over HTTP of /healthz, which does nothing", f"{self.empty_p50 * 1000:.2f} ms"),
            ("search p50, HTTP", f"{self.http_p50 * 1000:.2f} ms"),
            (f"requests of {self.clients} clients in {self.seconds:.0f} s, 90 % reads", f"{self.requests:,}"),
            ("errors", str(sum(self.errors.values())) + (f" {self.errors}" if self.errors else "")),
            ("p50, p99 under load", f"{self.p50 * 1000:.1f} ms, {self.p99 * 1000:.1f} ms"),
        ]
        return "\n".join(["| what | figure |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows)])


@dataclass(slots=True)
class _Tally:
    """What the clients met. Each has its own; they are added up at the end."""

    seconds: list[float] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)


def run_http_load(
    *, url: str | None = None, memories: int = 1_000, calls: int = 200, clients: int = 20, seconds: float = 10.0
) -> HttpReport:
    """Fill a store, serve it, and measure; ``url`` is a database, else a temporary SQLite file.

    InputError for more than the bounds: this is a measurement of one machine, not a weapon.
    """
    bounds = {
        "memories": (memories, MOST_MEMORIES),
        "clients": (clients, MOST_CLIENTS),
        "seconds": (seconds, MOST_SECONDS),
        "calls": (calls, 10_000),
    }
    for name, (given, most) in bounds.items():
        if not 0 < given <= most:
            raise InputError(f"{name} must be more than 0 and at most {most:,}", field=name)
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="phronesis-http-"))
        store = url or f"sqlite:///{Path(folder) / 'memory.db'}"
        with Memory.open(store, policy=_POLICY) as memory:
            _fill(memory, memories)
            memory.flush()
            memory.search(_WORDS[0], user_id="u0")
            library = _timed(lambda n: memory.search(_WORDS[n % len(_WORDS)], user_id=_user(n)), calls)
        key, start, place = stack.enter_context(_keyed(store))
        client = stack.enter_context(contextlib.closing(_Client(place, key)))
        client.read(0)
        over_http = _timed(client.read, calls)
        empty = _timed(client.nothing, calls)
        tally = _together(place, key, clients, seconds)
    spent = sorted(tally.seconds) or [0.0]
    return HttpReport(
        memories,
        clients,
        seconds,
        start,
        library,
        empty,
        over_http,
        len(tally.seconds),
        dict(tally.errors),
        spent[len(spent) // 2],
        spent[int(len(spent) * 0.99)],
    )


class _Client:
    """One connection, kept open."""

    def __init__(self, place: str, key: str) -> None:
        self._connection = http.client.HTTPConnection(place, timeout=60)
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}

    def read(self, n: int) -> int:
        """Search; give the status."""
        return self._send("GET", f"/api/v1/memories?user_id={_user(n)}&query={quote(_WORDS[n % len(_WORDS)])}")

    def write(self, n: int) -> int:
        """Store a memory; give the status."""
        body = {"content": _text(n), "user_id": _user(n), "infer": False}
        return self._send("POST", "/api/v1/memories", json.dumps(body))

    def nothing(self, _n: int) -> int:
        """Ask whether the server answers; give the status."""
        return self._send("GET", "/healthz")

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _send(self, method: str, path: str, body: str | None = None) -> int:
        self._connection.request(method, path, body, self._headers)
        answered = self._connection.getresponse()
        answered.read()
        return answered.status


def _together(place: str, key: str, clients: int, seconds: float) -> _Tally:
    tallies = [_Tally() for _ in range(clients)]
    ends = time.monotonic() + seconds
    threads = [
        threading.Thread(target=_call, args=(_Client(place, key), random.Random(n), tally, ends))  # noqa: S311
        for n, tally in enumerate(tallies)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return _Tally([one for tally in tallies for one in tally.seconds], sum((t.errors for t in tallies), Counter()))


def _call(client: _Client, dice: random.Random, tally: _Tally, ends: float) -> None:
    with contextlib.closing(client):
        while time.monotonic() < ends:
            n, began = dice.randrange(1 << 20), time.perf_counter()
            try:
                status = client.read(n) if dice.random() < READS else client.write(n)
            except (OSError, http.client.HTTPException) as error:
                tally.errors[type(error).__name__] += 1
                client.close()
                continue
            tally.seconds.append(time.perf_counter() - began)
            if status >= http.client.BAD_REQUEST:
                tally.errors[str(status)] += 1


@contextlib.contextmanager
def _keyed(store: str) -> Iterator[tuple[str, float, str]]:
    """Serve a store to those with a key; give a key, the seconds until the server listened, and where it does."""
    with Memory.open(store, policy=_POLICY) as memory:
        token, key = memory.admin.keys.create("write", label="bench http")
    try:
        with served(store) as (start, place):
            yield token, start, place
    finally:
        with Memory.open(store, policy=_POLICY) as memory:
            memory.admin.keys.revoke(key.id)


def _fill(memory: Memory, count: int) -> None:
    for user in range(_USERS):
        said = [{"role": "user", "content": _text(n)} for n in range(user, count, _USERS)]
        if said:
            memory.add(said, user_id=_user(user), infer=False)


def _text(n: int) -> str:
    return f"Note {n}: {_WORDS[n % len(_WORDS)]} and {_WORDS[(n // 7) % len(_WORDS)]}."


def _user(n: int) -> str:
    return f"u{n % _USERS}"


def _timed(call: Callable[[int], object], count: int) -> float:
    """Return the median of ``count`` calls in seconds."""
    spent = []
    for n in range(count):
        began = time.perf_counter()
        call(n)
        spent.append(time.perf_counter() - began)
    return sorted(spent)[count // 2]
