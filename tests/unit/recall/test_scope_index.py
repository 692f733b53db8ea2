"""Places by item, and narrow questions that are remembered until their lane moves on."""

from typing import Any

import pytest

from phronesis import Memory
from phronesis.recall import search
from phronesis.recall.scope_index import ANSWERS
from phronesis.store.eligible import eligible_ids


def test_a_narrow_question_is_asked_once_until_the_lane_moves_on(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    ask = eligible_ids

    def counted(*given: Any) -> set[str]:
        asked.append(given)
        return ask(*given)

    monkeypatch.setattr(search, "eligible_ids", counted)
    with Memory.open(sqlite_url, policy={"embedder": "none"}) as memory:
        tea, milk = (
            memory.add(f"{what} is green", user_id="lin", session_id=what, infer=False).items[0].id
            for what in ("tea", "milk")
        )

        def found(session: str) -> list[str]:
            return [hit.item.id for hit in memory.search("green", user_id="lin", session_id=session)]

        assert [found("tea"), found("tea"), found("milk")] == [[tea], [tea], [milk]]
        before = len(asked)
        assert found("tea") == [tea]
        assert len(asked) == before
        memory.items.archive(tea)
        assert found("tea") == []
        assert len(asked) > before
        memory.items.unarchive(tea)
        for n in range(ANSWERS + 1):
            assert found(f"none {n}") == []
        assert found("tea") == [tea]
        memory.erase(id=tea)
        assert (found("tea"), found("milk")) == ([], [milk])
        assert [hit.item.id for hit in memory.search("green", user_id="lin", filters={"session_id": "milk"})] == [milk]
