"""Who a question names, and what mentions them under any name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.memory import Memory
from phronesis.recall.question_signals import mentioned_items, named_in, names_in

POLICY = {"embedder": "none"}


def test_what_might_be_a_name_is_a_candidate() -> None:
    cases: list[tuple[str, set[str]]] = [
        ("What did Alice's sister say?", {"alice", "sister", "alice sister", "what did alice sister"}),
        ("Where is Ludwig van der Rohe?", {"ludwig van der rohe", "rohe"}),
        ("who wrote to bob@corp.com about src/main.py", {"bob@corp.com", "src/main.py"}),
        ("see https://Example.com/A?b=c now", {"https://example.com/a?b=c"}),
        ("我和Alice去北京了吗", {"alice", "北京"}),
        ("ＡＬＩＣＥ　ｂ", {"alice b"}),
    ]
    for text, names in cases:
        assert names <= names_in(text)


@given(st.text(st.characters(), max_size=100))
def test_any_question_gives_names_that_are_not_empty(text: str) -> None:
    assert "" not in names_in(text)


def found(memory: Memory, name: str) -> set[str]:
    with memory._runtime._components.database.transaction(memory.admin.tenant, "read") as unit:
        lane = unit.connection.exec_driver_sql("SELECT lane_id FROM lanes").scalar_one()
        ids = mentioned_items(unit, lane, named_in(unit, lane, {name}))
    return {memory.get(item).content for item in ids}


def alias(memory: Memory, subject: str, other: str) -> None:
    memory.add(f"{subject} is {other}", kind="fact", subject=subject, key="alias", value=other)


@pytest.mark.parametrize(
    "pairs",
    [
        [("Robert", "Bob"), ("Bob", "Bobby")],
        [("Bob", "Bobby"), ("Robert", "Bob")],
        [("Bob", "Bob"), ("Bob", "Robert"), ("Robert", "Bob"), ("Bobby", "Robert")],
    ],
)
def test_every_name_finds_what_any_name_is_in_whatever_order_they_came(pairs: list[tuple[str, str]]) -> None:
    with Memory.open("sqlite://", policy=POLICY) as memory:
        for name in ("Bob", "Bobby", "Robert"):
            memory.add(f"and then {name} sang")
        for subject, other in pairs:
            alias(memory, subject, other)
        for name in ("bob", "bobby", "robert"):
            assert {f"and then {each} sang" for each in ("Bob", "Bobby", "Robert")} <= found(memory, name)
        assert found(memory, "nobody") == set()
        assert found(memory, "") == set()
        assert memory.admin.rebuild(verify=True).equal
