"""Relative words are shown with the day they mean, and days are reckoned in the offset that a message carries."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import pytest

from phronesis import Memory
from set_clock import Clock

START = datetime(2025, 11, 19, 12, tzinfo=UTC)


@pytest.fixture
def memory(database_url: str, clock: Callable[[], datetime]) -> Iterator[Memory]:
    with Memory.open(database_url, policy={"embedder": "none"}, clock=clock) as opened:
        yield opened


def say(memory: Memory, text: str, session: str = "s", **fields: str) -> None:
    memory.commit_turn(session, {"messages": [{"role": "user", "content": text, **fields}]}, user_id="lin")


def line(memory: Memory, words: str, question: str) -> str:
    package = memory.compose_context("new", question, user_id="lin")
    return next(one for one in package.text.splitlines() if words in one and one.startswith("[m"))


@pytest.mark.parametrize(
    ("text", "asked", "day"),
    [
        ("I moved to Utrecht last week.", ("Utrecht", "Where do I live?"), "last week: 2025-11-10 – 2025-11-16"),
        ("I like it that we meet on Monday.", ("meet", "When do we meet?"), "2025-11-19, user"),
        ("The auditors come next month.", ("auditors", "When do the auditors come?"), "next month: 2025-12"),
    ],
)
def test_a_line_tells_the_day_that_its_words_mean(
    memory: Memory, clock: Clock, text: str, asked: tuple[str, str], day: str
) -> None:
    say(memory, text)
    clock.now = datetime(2025, 12, 5, tzinfo=UTC)
    assert f"{day})" in line(memory, *asked)


@pytest.mark.parametrize(
    ("at", "text", "asked", "day"),
    [
        ("2024-02-05T07:00:00+08:00", "明天提醒我交房租。", "什么时候交房租？", "2024-02-06"),
        ("2024-02-05T07:00:00+08:00", "后天提醒我交报告。", "什么时候交报告？", "2024-02-07"),
        ("2024-02-05T22:00:00-08:00", "Remind me tomorrow to pay the rent.", "When do I pay the rent?", "2024-02-06"),
    ],
)
def test_days_are_those_of_the_offset_that_a_message_carries(
    memory: Memory, at: str, text: str, asked: str, day: str
) -> None:
    say(memory, text, created_at=at)
    (item,) = memory.get_all(user_id="lin", kinds=["task", "event"]).items
    assert item.data.get("due", item.to_dict()["occurred_at"]) == f"{day}T00:00:00Z"
    (message,) = memory.get_all(user_id="lin", kinds=["message"]).items
    assert message.occurred_at == datetime.fromisoformat(at)
    assert message.to_dict()["occurred_at"].endswith("Z")
    assert memory.sessions.turns("s", user_id="lin")[0].messages[0]["created_at"] == at
    assert f": {day})" in line(memory, text[:-1], asked)
    assert memory.admin.rebuild(verify=True).equal
    assert memory.admin.rederive(user_id="lin").changed == ()
