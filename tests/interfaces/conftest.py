"""The command line, called in this process: what it printed and the code it left with."""

import io
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mcp_talk import Talk
from phronesis import Memory
from phronesis.interfaces.cli.dispatch import run
from phronesis.interfaces.mcp import Callers, Options, make_mcp


@dataclass(frozen=True)
class Outcome:
    """What one call of ``phronesis`` did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Return what was printed, read as JSON."""
        assert self.code == 0, self.err
        return json.loads(self.out)


Call = Callable[..., Outcome]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the URL of the store that commands use when none is named. No encoder: the tests are about words."""
    url = f"sqlite:///{tmp_path / 'cli.db'}"
    monkeypatch.setenv("PHRONESIS_URL", url)
    monkeypatch.setenv("PHRONESIS_EMBEDDER", "none")
    return url


@pytest.fixture
def call(store: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Call:
    """Return a function that runs ``phronesis`` with arguments."""

    def call(*arguments: str, stdin: bytes = b"") -> Outcome:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        capsys.readouterr()
        code = run(arguments)
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return call


@pytest.fixture
def memory() -> Iterator[Memory]:
    """Return a memory of words alone, for servers over it."""
    with Memory.open("sqlite://", policy={"version": 1, "embedder": "none"}) as opened:
        yield opened


TalkTo = Callable[..., Talk]


@pytest.fixture
def talk_to() -> Iterator[TalkTo]:
    """Return a function that connects a client to an MCP server over a memory; it takes the server's options."""
    with ExitStack() as connections:

        def talk_to(memory: Memory | Callers, *, mode: str = "auto", **options: Any) -> Talk:
            return connections.enter_context(Talk(make_mcp(memory, Options(**options)), mode=mode))

        yield talk_to


@pytest.fixture
def talk(memory: Memory, talk_to: TalkTo) -> Talk:
    """Return a client of a server with every tool, whose default user is 李雷."""
    return talk_to(memory, user_id="李雷", tools="all")
