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


def test_rankings_are_scored_against_the_evidence(conversation: Conversation, embedder: CachedEmbedder) -> None:
    outcome = measure(diary([]), [conversation], embedder=embedder, seed=0)
    # Newest first: D10:2, D10:1, D2:2, D2:1.
    assert [row.ranked for row in outcome.rankings] == [("D10:2", "D10:1", "D2:2", "D2:1")] * 3
    assert [row.scores["mrr"] for row in outcome.rankings] == [1 / 3, 1 / 2, 1 / 4]
    assert outcome.quality["all"]["recall@5"].mean == 1
    assert outcome.quality["multi-hop"]["recall@1"].mean == 0


def test_costs_count_turns_and_calls(conversation: Conversation, embedder: CachedEmbedder) -> None:
    outcome = measure(diary([]), [conversation, conversation], embedder=embedder, seed=0)
    assert (outcome.ingest["session"].turns, outcome.ingest["session"].calls) == (8, 4)
    assert (outcome.ingest["message"].turns, outcome.ingest["message"].calls) == (8, 8)
    assert outcome.search.p95_ms >= outcome.search.p50_ms > 0


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
