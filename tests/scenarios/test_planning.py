"""The verb plan: from a message of a session to what is looked for."""

from datetime import UTC, datetime

import pytest

from phronesis import Memory
from phronesis.errors import InputError

NOW = datetime(2026, 5, 12, 9, tzinfo=UTC)


def opened(url: str, **policy: object) -> Memory:
    return Memory.open(url, policy={"embedder": "none", **policy}, clock=lambda: NOW)


def test_it_knows_the_names_and_the_session(database_url: str) -> None:
    with opened(database_url) as memory:
        memory.add("张伟是我的同事", user_id="lin", kind="fact", subject="张伟", key="relation", value="colleague")
        memory.commit_turn("s", {"messages": [{"role": "user", "content": "We look at DuckDB now"}]}, user_id="lin")
        before = memory.get_all(user_id="lin", limit=100)
        asked = memory.plan("张伟上周提到的端口是多少？", user_id="lin")
        assert asked.entities == ("张伟",)
        assert asked.time is not None
        assert str(asked.time.since.date()) == "2026-05-04"
        assert memory.plan("张伟上周提到的端口是多少？", user_id="ada").entities == ()
        follow = memory.plan("does it run on arm?", user_id="lin", session_id="s")
        assert follow.queries[1].text == "does it run on arm? DuckDB"
        assert (follow.scope.user_id, follow.scope.session_id) == ("lin", None)
        assert len(memory.plan("does it run on arm?", user_id="ada", session_id="s").queries) == 1
        assert memory.get_all(user_id="lin", limit=100) == before


def test_times_and_limits_are_the_callers(database_url: str) -> None:
    with opened(database_url, budgets={"evidence_count": 7}) as memory:
        assert memory.plan("what did I say yesterday?").limit == 7
        found = memory.plan("what did I say yesterday?", as_of="2026-01-02", limit=3, agent_state={"goal": "pack"})
        assert (found.limit, found.as_of, found.queries[-1].text) == (3, datetime(2026, 1, 2, tzinfo=UTC), "pack")
        assert found.time is not None
        assert str(found.time.since.date()) == "2026-01-01"
        for given, field in (
            ({"message": " "}, "message"),
            ({"message": "a", "limit": 0}, "limit"),
            ({"message": "a", "user_id": ""}, "user_id"),
            ({"message": "a", "as_of": "x"}, "as_of"),
            ({"message": "a", "agent_state": [1]}, "agent_state"),
        ):
            with pytest.raises(InputError) as caught:
                memory.plan(**given)
            assert caught.value.field == field
