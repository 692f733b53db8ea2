"""What a reflection looks at: each thing that a machine said once, and no composed context."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from phronesis.core.items import Item, Trust
from phronesis.traits.behaviours import LINKED, MOST_LINKS, links_of
from phronesis.traits.reflection_state import ReflectionInput

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)


def memory(n: int, content: str, kind: str = "event", **given: Any) -> Item:
    return Item(id=f"m{n}", kind=kind, content=content, entry_id="e", recorded_at=NOON, updated_at=NOON, **given)


def test_a_burst_of_one_machine_is_one_memory() -> None:
    twenty = [memory(n, "Ada went climbing", trust=Trust.TOOL, agent_id="gym") for n in range(20)]
    others = [
        memory(20, "Ada went climbing", trust=Trust.TOOL, agent_id="calendar"),
        memory(21, "Ada went swimming", trust=Trust.TOOL, agent_id="gym"),
        *(memory(n, "I went climbing", trust=Trust.USER) for n in (22, 23)),
    ]
    material = ReflectionInput(
        last=None, memories=[*twenty, *others], new=frozenset({"m0", "m5", "m22"}), traits={}, evidence={}
    )
    kept = material.readable()
    assert [one.id for one in kept.memories] == ["m0", "m20", "m21", "m22", "m23"]
    assert kept.new == {"m0", "m22"}


def test_what_holds_a_composed_context_is_not_read() -> None:
    pasted = (
        "# Memory\n<memory-787943378>\n[m1] (2026-05-01, user) I went running again.\n</memory-787943378>",
        "[m2] (2026-05-01, user) I went running again.",
        "<turn-787943378 role=user>I went running again.",
    )
    memories = [memory(n, text, trust=Trust.USER) for n, text in enumerate([*pasted, "I went running again."])]
    material = ReflectionInput(last=None, memories=memories, new=frozenset({"m0", "m3"}), traits={}, evidence={})
    assert [one.id for one in material.readable().memories] == ["m3"]
    assert material.readable().new == {"m3"}


def memories(*texts: str) -> list[Item]:
    made = enumerate(texts)
    return [replace(memory(n, text, kind="episodic"), recorded_at=NOON + timedelta(hours=n)) for n, text in made]


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
