"""The labelled traits keep their form: what is measured by them is only as good as they are."""

import json
from collections import Counter
from datetime import datetime
from typing import Any

import pytest

from labelled_texts import LABELLED_TEXTS

LABELLED = LABELLED_TEXTS / "traits"
SIZES = {"dev": 8, "test": 6}
KINDS = {"fact", "episodic", "preference", "event", "decision"}
CONTEXTS = {"work", "personal", "social", "learning", "general"}
WHYS = {"one-off", "sensitive", "hypothetical", "other-person", "look-alike", "routine-fact", "joke"}


def users(split: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (LABELLED / f"{split}.jsonl").read_text(encoding="utf-8").splitlines()]


USERS = [user for split in SIZES for user in users(split)]

each_split = pytest.mark.parametrize("split", SIZES)


def sessions_of(user: dict[str, Any]) -> dict[str, str]:
    return {memory["id"]: memory["session"] for memory in user["memories"]}


def groups(user: dict[str, Any]) -> list[list[str]]:
    found = [group["members"] for group in user["never"]]
    for trait in user["traits"]:
        found += [trait["members"], trait.get("contradicted_by", [])]
    return found


@each_split
def test_half_is_english_and_one_user_mixes_both(split: str) -> None:
    half = SIZES[split] // 2
    assert Counter(user["language"] for user in users(split)) == {"en": half, "zh": half - 1, "mixed": 1}


@each_split
def test_each_split_holds_what_is_hard(split: str) -> None:
    traits = [trait for user in users(split) for trait in user["traits"]]
    with_contradiction = [user for user in users(split) if any("contradicted_by" in trait for trait in user["traits"])]
    assert sum("sides" in trait for trait in traits) >= 2
    assert sum(trait.get("looks_sensitive", False) for trait in traits) >= 2
    assert len(with_contradiction) >= 4
    assert {group["why"] for user in users(split) for group in user["never"]} == WHYS


def test_users_and_texts_are_unique() -> None:
    assert len({user["user"] for user in USERS}) == len(USERS)
    texts = Counter(memory["text"] for user in USERS for memory in user["memories"])
    assert max(texts.values()) == 1


def test_memories_have_their_form_and_order() -> None:
    for user in USERS:
        memories = user["memories"]
        assert 25 <= len(memories) <= 45
        assert [memory["id"] for memory in memories] == [f"m{n}" for n in range(1, len(memories) + 1)]
        for memory in memories:
            assert set(memory) == {"id", "at", "session", "kind", "importance", "text"}
            assert memory["kind"] in KINDS
            assert memory["importance"] in range(1, 11)
            assert memory["text"] == memory["text"].strip() != ""
            assert memory["at"].endswith("Z")
        times = [datetime.fromisoformat(memory["at"]) for memory in memories]
        assert times == sorted(set(times))
        assert 59 <= (times[-1] - times[0]).days <= 186


def test_a_session_is_one_day_and_not_taken_up_again() -> None:
    for user in USERS:
        numbers = [int(memory["session"].removeprefix("s")) for memory in user["memories"]]
        assert numbers == sorted(numbers)
        assert set(numbers) == set(range(1, numbers[-1] + 1))
        assert 12 <= numbers[-1] <= 25
        days = {(memory["session"], memory["at"][:10]) for memory in user["memories"]}
        assert len(days) == len({day for _, day in days}) == numbers[-1]


def test_labels_name_memories_and_each_of_them_once() -> None:
    for user in USERS:
        labelled = [memory for group in groups(user) for memory in group]
        assert len(set(labelled)) == len(labelled)
        assert set(labelled) <= set(sessions_of(user))
        assert 8 <= len(user["memories"]) - len(labelled) <= 12


def test_traits_have_their_form() -> None:
    for user in USERS:
        traits, session_of = user["traits"], sessions_of(user)
        assert 3 <= len(traits) <= 5
        assert len({trait["id"] for trait in traits}) == len(traits)
        optional = {"sides", "contradicted_by", "looks_sensitive"}
        for trait in traits:
            assert set(trait) - optional == {"id", "about", "members", "context", "subtype"}
            assert trait["about"]
            assert trait["context"] in CONTEXTS
            assert trait["subtype"] == "behavior"
            assert len(trait["members"]) >= 3
            assert len({session_of[member] for member in trait["members"]}) >= 2


def test_two_sides_are_the_trait_and_what_contradicts_comes_later() -> None:
    for user in USERS:
        place = {memory["id"]: n for n, memory in enumerate(user["memories"])}
        for trait in user["traits"]:
            sides = trait.get("sides", [])
            assert len(sides) in {0, 2}
            assert all(side["about"] and len(side["members"]) >= 2 for side in sides)
            if sides:
                assert sorted(sides[0]["members"] + sides[1]["members"]) == sorted(trait["members"])
            last = max(place[member] for member in trait["members"])
            assert all(place[later] > last for later in trait.get("contradicted_by", []))


def test_what_must_not_become_a_trait() -> None:
    for user in USERS:
        session_of = sessions_of(user)
        for group in user["never"]:
            assert set(group) == {"members", "why"}
            assert len(group["members"]) >= 2
            sessions = {session_of[member] for member in group["members"]}
            assert (len(sessions) == 1) == (group["why"] == "one-off")
        sensitive = [group["members"] for group in user["never"] if group["why"] == "sensitive"]
        assert [len(members) >= 3 for members in sensitive] == [True]
