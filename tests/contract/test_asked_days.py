"""A question for a time finds what happened then, whatever words it has, before things of other times."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from phronesis import Memory

SAID = {
    "lease": ("2025-11-19T10:05:00Z", "We signed the lease for the new office yesterday."),
    "audit": ("2025-11-19T10:00:00Z", "I have a meeting with the auditors tomorrow at 3pm."),
    "zoo": ("2025-10-02T09:00:00Z", "I went to the zoo with Leo."),
    "printer": ("2025-09-01T09:00:00Z", "What happened to the printer, did anything happen?"),
    "lunch": ("2025-12-04T13:00:00Z", "Had lunch with Tom at the harbour."),
    "brakes": ("2025-11-25T10:00:00Z", "Fixed the bike's brakes."),
    "clinic": ("2025-11-06T10:00:00Z", "我昨天去了医院体检。"),
    "rent": ("2025-11-06T11:00:00Z", "今天交了房租。"),
}


@pytest.fixture
def memory(sqlite_url: str) -> Iterator[Memory]:
    """A memory asked on 2025-12-05."""
    with Memory.open(
        sqlite_url, policy={"embedder": "none"}, clock=lambda: datetime(2025, 12, 5, 12, tzinfo=UTC)
    ) as opened:
        for name, (at, text) in SAID.items():
            opened.add([{"role": "user", "content": text, "created_at": at}], user_id="ann", session_id=name)
        yield opened


def test_what_happened_then_is_first_and_supports_an_answer(memory: Memory) -> None:
    cases: list[tuple[str, set[str]]] = [
        ("What did I do on November 18, 2025?", {"lease"}),
        ("2025年11月18日我做了什么？", {"lease"}),
        ("What did I do yesterday?", {"lunch"}),
        ("我昨天做了什么？", {"lunch"}),
        ("What did I do in October 2025?", {"zoo"}),
        ("What did I do last week?", {"brakes"}),
    ]
    for question, first in cases:
        found = memory.search(question, user_id="ann")
        assert not found.abstained
        assert {found[0].item.session_id} == first


def test_a_day_on_which_nothing_happened_supports_no_answer(memory: Memory) -> None:
    assert memory.search("What did I do on July 5, 2025?", user_id="ann").abstained
    assert memory.search("2025年7月5日我做了什么？", user_id="ann").abstained
