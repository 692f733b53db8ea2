"""Phronesis as it is measured: through its public API, on SQLite in a file."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

from phronesis import Memory
from phronesis_benchmarks.cached_embedder import CachedEmbedder
from phronesis_benchmarks.datasets import Turn
from phronesis_benchmarks.metrics import distinct
from phronesis_benchmarks.optional import installed_version
from phronesis_benchmarks.runner import Contender

Verb = Literal["add", "commit_turn"]
"""The two verbs for conversations."""

_TENANT: Final = "bench"
BENCH_SCOPE: Final[Mapping[str, Any]] = {"user_id": "bench"}
"""The one user that everything is written and searched as."""


def fill(memory: Memory, turns: Sequence[Turn]) -> None:
    """Commit turns of one session as one turn."""
    messages = [_message(turn) for turn in turns]
    memory.commit_turn(turns[0].session_id, {"messages": messages}, **BENCH_SCOPE)


class PhronesisSystem:
    """One user's lane, written by either of the two verbs for conversations."""

    def __init__(self, folder: Path, embedder: CachedEmbedder, *, verb: Verb, wait: bool = True) -> None:
        self._memory = Memory.open(f"sqlite:///{folder / 'memory.db'}", tenant=_TENANT, embedder=embedder)
        self._verb = verb
        self._wait = wait

    def add(self, turns: Sequence[Turn]) -> None:
        """Take in turns of one session by one call of the verb."""
        session_id = turns[0].session_id
        messages = [_message(turn) for turn in turns]
        if self._verb == "add":
            self._memory.add(messages, **BENCH_SCOPE, session_id=session_id, infer=False, wait=self._wait)
        else:
            self._memory.commit_turn(session_id, {"messages": messages}, **BENCH_SCOPE, wait=self._wait)

    def settle(self) -> None:
        """Wait for pending entries and vectors."""
        self._memory.flush()

    def search(self, query: str, limit: int) -> Sequence[str]:
        """Return the messages that the evidence comes from, each at its best rank."""
        found = self._memory.search(query, **BENCH_SCOPE, limit=limit)
        cited = (evidence.sources[0].message_id for evidence in found if evidence.sources)
        return distinct(message_id for message_id in cited if message_id)

    def close(self) -> None:
        """Close the memory."""
        self._memory.close()


def phronesis_contender(embedder: CachedEmbedder, *, verb: Verb, wait: bool = True) -> Contender:
    """Return Phronesis with one of its two verbs for conversations; ``embedder`` makes its vectors.

    Without ``wait`` a call returns when its entry is on disk, and the entry is interpreted after that.
    """
    options = [*(["infer=False"] if verb == "add" else []), *([] if wait else ["wait=False"])]
    called = f"{verb}({', '.join(options)})" if options else verb
    return Contender(
        f"phronesis-{verb}" if wait else f"phronesis-{verb}-later",
        f"{installed_version('phronesis')}, {called}, SQLite",
        durable=True,
        open=lambda folder: PhronesisSystem(folder, embedder, verb=verb, wait=wait),
    )


def _message(turn: Turn) -> dict[str, Any]:
    message = {"id": turn.id, "role": turn.role, "name": turn.speaker, "content": turn.text}
    if turn.occurred_at:
        message["created_at"] = turn.occurred_at.isoformat()
    return message
