"""A question may hold what no database takes (NUL, half of a character): it is answered all the same."""

from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from phronesis import Memory
from phronesis.core.text import storable
from phronesis.errors import StorageRefused
from phronesis.store.conversations import find_session
from phronesis.store.schema import items

QUESTIONS = ["see https://a\0b/x now", "see https://a\ud800b/x now", '你好\0 "a\ud83d b"', "\ud83d"]


@pytest.fixture
def memory(database_url: str) -> Iterator[Memory]:
    with Memory.open(database_url, policy={"embedder": "none"}) as opened:
        opened.add("I read https://a.example/x now.", user_id="u")
        yield opened


def test_a_context_is_composed_and_gives_the_message_back_as_it_was(memory: Memory) -> None:
    for question in QUESTIONS:
        package = memory.compose_context("s", question, {"goal": question}, user_id="u")
        assert package.user_message == question
        assert storable(question) in package.text
        memory.commit_turn("s", {"messages": [{"role": "user", "content": question}]}, user_id="u")
        assert memory.compose_context("s", "And it?", user_id="u", dry_run=True).recent_turns


@pytest.mark.both_databases
def test_it_is_planned_and_the_plan_carried_out(memory: Memory) -> None:
    for question in QUESTIONS:
        plan = memory.plan(question, user_id="u", agent_state={"topic": question})
        assert plan.message == storable(question)
        memory.retrieve(plan)
        memory.search(question, user_id="u")


def test_a_plan_of_a_callers_own_may_hold_it_too(memory: Memory) -> None:
    for question in QUESTIONS:
        plan = {"message": question, "queries": [{"text": question}], "entities": [question], "scope": {"user_id": "u"}}
        memory.retrieve(plan)
        memory.compose_context("s", "Hello.", user_id="u", plan=plan)


@pytest.mark.both_databases
def test_what_the_database_is_given_all_the_same_is_refused_in_our_terms(memory: Memory, database_url: str) -> None:
    cases: list[str] = ["a\0b", "a\ud800b"]
    for name in cases:
        if database_url.startswith("sqlite") and "\0" in name:
            pytest.skip("SQLite takes it")
        database = memory.admin.components.database
        with pytest.raises(StorageRefused), database.transaction("default", "read") as unit:
            find_session(unit, 1, name)
        with pytest.raises(StorageRefused), database.transaction("default", "read") as unit:
            unit.run(sa.select(items.c.id).where(items.c.id == name))
