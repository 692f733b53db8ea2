"""An agent that is about to do a thing sees how the user likes it done (NM-15)."""

from collections.abc import Iterator

import pytest

from cited_contexts import in_full
from phronesis import Memory

COMMITS = "When writing commit messages: imperative mood, no full stop."
TRAINS = "When booking trains: the quiet coach, a seat by the window."
WEEKLY = "写周报时：先写结果，再写问题，不超过三段。"

TALK = (
    "I commit the fix of the parser today, the message of commit {n} says what changed.",
    "The train to Leeds was late again, booking {n}.",
    "这周的周报我写了进展，第{n}条。",
    "Please write tests for the mailer, number {n}.",
)


@pytest.fixture
def memory(database_url: str) -> Iterator[Memory]:
    """Give a store in which much was said of what the procedures are about."""
    with Memory.open(database_url, policy={"embedder": "none"}) as opened:
        for text in (COMMITS, TRAINS, WEEKLY):
            opened.add(text, kind="procedure", user_id="lin")
        opened.add(
            [{"role": "user", "content": TALK[n % 4].format(n=n)} for n in range(120)], user_id="lin", infer=False
        )
        opened.add("When writing commit messages: name the ticket.", kind="procedure")
        yield opened


@pytest.mark.parametrize(
    ("message", "task", "expected"),
    [
        ("Write the commit message for the fix of the parser.", None, COMMITS),
        ("Commit this, please.", None, COMMITS),
        ("Go ahead.", "write a commit message", COMMITS),
        ("Book me the train to Leeds on Friday.", None, TRAINS),
        ("帮我写这周的周报", None, WEEKLY),
    ],
)
def test_the_procedure_that_bears_on_it_comes_first(
    memory: Memory, message: str, task: str | None, expected: str
) -> None:
    state = None if task is None else {"task": task}
    package = memory.compose_context("now", message, state, user_id="lin")
    assert package.evidence[0].item.content == expected
    assert package.evidence[0].item.citation in in_full(package)
    assert [one.item.content for one in package.evidence].count(expected) == 1
    small = memory.compose_context("now", message, state, user_id="lin", token_budget=400)
    assert small.token_count <= 400
    assert [one.item.content for one in small.evidence][:1] == [expected]


def test_what_bears_on_nothing_is_not_shown(memory: Memory) -> None:
    package = memory.compose_context("now", "What is the weather like?", user_id="lin")
    assert not [one for one in package.evidence if one.item.kind == "procedure"]
