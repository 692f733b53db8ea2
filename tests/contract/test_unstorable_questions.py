"""A question may hold what no database takes (NUL, half of a character): it is answered all the same."""

from collections.abc import Iterator

import pytest

from phronesis import Memory
from phronesis.core.text import replace_unstorable

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
        assert replace_unstorable(question) in package.text
        memory.commit_turn("s", {"messages": [{"role": "user", "content": question}]}, user_id="u")
        assert memory.compose_context("s", "And it?", user_id="u", dry_run=True).recent_turns


@pytest.mark.both_databases
def test_it_is_planned_and_the_plan_carried_out(memory: Memory) -> None:
    for question in QUESTIONS:
        plan = memory.plan(question, user_id="u", agent_state={"topic": question})
        assert plan.message == replace_unstorable(question)
        memory.retrieve(plan)
        memory.search(question, user_id="u")
