"""New memories are linked to earlier ones that speak of the same."""

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from phronesis.core.items import Item
from phronesis.traits.behaviours import LINKED, MOST_LINKS, links_of

BORN = datetime(2026, 1, 1, tzinfo=UTC)


def memories(*texts: str) -> list[Item]:
    made: list[Any] = [
        Item(
            id=f"m{n}",
            kind="episodic",
            content=text,
            entry_id=f"e{n}",
            recorded_at=BORN + timedelta(hours=n),
            updated_at=BORN,
        )
        for n, text in enumerate(texts)
    ]
    return made


def test_what_shares_telling_words_is_linked_the_nearest_first() -> None:
    held = memories(
        "Jogged along the canal at dawn",
        "Read a book on bees",
        "昨天晨跑五公里",
        "Jogged along the canal",
        "今天晨跑五公里",
    )
    found = links_of(held, {"m3", "m4"})
    assert [(link.from_id, link.to_id) for link in found] == [("m3", "m0"), ("m4", "m2")]
    assert all(LINKED <= link.weight <= 1 for link in found)


def test_new_ones_are_linked_with_one_another_and_older_ones_with_nothing() -> None:
    held = memories("Jogged along the canal", "Jogged along the canal", "Jogged along the canal", "Baked rye bread")
    assert links_of(held, {"m3"}) == []
    assert {(link.from_id, link.to_id) for link in links_of(held, {"m1", "m2"})} == {
        ("m1", "m0"),
        ("m2", "m0"),
        ("m2", "m1"),
    }


def test_words_of_most_memories_link_nothing() -> None:
    held = memories(*(f"Today number{n}" for n in range(60)))
    assert links_of(held, {"m59"}) == []


@given(st.lists(st.text(max_size=40), max_size=12), st.sets(st.integers(0, 11)))
def test_links_lead_back_and_are_few(texts: list[str], fresh: set[int]) -> None:
    held = memories(*texts)
    found = links_of(held, {f"m{n}" for n in fresh})
    assert all(int(link.to_id[1:]) < int(link.from_id[1:]) and int(link.from_id[1:]) in fresh for link in found)
    assert all(sum(one.from_id == link.from_id for one in found) <= MOST_LINKS for link in found)
