from collections.abc import Sequence
from pathlib import Path

import pytest

from phronesis_benchmarks.cached_embedder import CachedEmbedder
from phronesis_benchmarks.datasets import Conversation, Turn
from phronesis_benchmarks.runner import Contender, measure


class Diary:
    """Answers with everything it was told, newest first; keeps what was done to it in `log`."""

    def __init__(self, folder: Path, log: list[str], embedder: CachedEmbedder | None = None) -> None:
        assert list(folder.iterdir()) == []
        (folder / "used").touch()
        self._log = log
        self._ids: list[str] = []
        self._embedder = embedder
        log.append("open")

    def add(self, turns: Sequence[Turn]) -> None:
        assert len({turn.session_id for turn in turns}) == 1
        self._ids += [turn.id for turn in turns]
        self._log.append(f"add {len(turns)}")
        if self._embedder:
            self._embedder.embed_documents([turn.text for turn in turns])

    def settle(self) -> None:
        self._log.append("settle")

    def search(self, query: str, limit: int) -> Sequence[str]:
        self._log.append("search")
        if self._embedder:
            self._embedder.embed_query(query)
        return [*reversed(self._ids), *self._ids][: limit + 5]

    def close(self) -> None:
        self._log.append("close")


def diary(log: list[str], embedder: CachedEmbedder | None = None) -> Contender:
    return Contender("diary", "a fake", durable=False, open=lambda folder: Diary(folder, log, embedder))


def test_a_pass_that_encoded_is_measured_again(conversation: Conversation, embedder: CachedEmbedder) -> None:
    log: list[str] = []
    outcome = measure(diary(log, embedder), [conversation], embedder=embedder, seed=0)
    assert log.count("open") == 4  # to warm up; a session a call twice; a message a call once: its texts are known
    assert log.count("open") == log.count("close")
    assert log.count("search") == 1 + 3 + 2  # the first question was known from the search before the clock ran
    assert outcome.encoded_while_timed == 0


def test_a_system_is_closed_when_a_search_fails(conversation: Conversation, embedder: CachedEmbedder) -> None:
    log: list[str] = []

    class Broken(Diary):
        def search(self, query: str, limit: int) -> Sequence[str]:
            raise RuntimeError(query, limit)

    contender = Contender("broken", "a fake", durable=False, open=lambda folder: Broken(folder, log))
    with pytest.raises(RuntimeError):
        measure(contender, [conversation], embedder=embedder, seed=0)
    assert log[-1] == "close"
