"""What a search leaves out: sessions with what was taken from them, messages of a role, single items."""

import pytest

from phronesis import Memory
from phronesis.core.ids import make_scope
from phronesis.recall.query import Query
from phronesis.store.eligible import Exclusion, ReadConditions


@pytest.mark.parametrize(
    ("exclude", "left"),
    [
        (Exclusion(), {"I live in Ghent", "Ghent has 3 parks", "parks: Ghent 3", "Where is Ghent?"}),
        (Exclusion(sessions=frozenset({"old"})), {"Where is Ghent?"}),
        (Exclusion(roles=frozenset({"tool", "assistant"})), {"I live in Ghent", "Where is Ghent?"}),
    ],
)
def test_what_is_excluded_is_no_evidence(sqlite_url: str, exclude: Exclusion, left: set[str]) -> None:
    with Memory.open(sqlite_url, policy={"embedder": "none"}) as memory:
        memory.add(
            [{"role": "user", "content": "I live in Ghent."}, {"role": "assistant", "content": "Ghent has 3 parks."}],
            user_id="mia",
            session_id="old",
        )
        memory.add([{"role": "tool", "content": "parks: Ghent 3"}], user_id="mia", session_id="old", infer=False)
        asked = memory.add("Where is Ghent?", user_id="mia", session_id="now", infer=False).items[0].id

        def found(one: Exclusion) -> set[str]:
            searcher = memory._runtime._components.searcher
            query = Query("Where is Ghent?", make_scope(user_id="mia"), ReadConditions(exclude=one), 20)
            return {evidence.item.content.rstrip(".") for evidence in searcher.search(memory._runtime.tenant, query)}

        assert found(exclude) == left
        assert "Where is Ghent?" not in found(Exclusion(items=frozenset({asked})))
