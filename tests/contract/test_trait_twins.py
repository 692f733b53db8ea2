"""What a reflection wishes twice, again in other words, or of one conversation alone."""

from collections.abc import Iterator
from typing import Any

import pytest

from phronesis.traits.laws.records import ReflectionCycle
from told_traits import USER, Told, again, against, behavior, telling, trend, upgrade

SENTENCE = "Checks the weather over the harbour before going out to sail with friends on the old wooden boat"
"""Long enough that a comma more or less leaves it where it is, for an encoder."""


@pytest.fixture
def told(database_url: str) -> Iterator[Told]:
    with telling(database_url, embedder="hashing") as opened:
        yield opened
        assert opened.differences() == ()


def said(name: str, wish: dict[str, Any], words: str) -> dict[str, Any]:
    """Give a wish in other words."""
    return {**wish, "as": name, ("new_content" if "new_content" in wish else "content"): words}


def refused(cycle: ReflectionCycle) -> list[tuple[str, str]]:
    return [(one.operation, one.rule) for one in cycle.refused]


def test_an_upgrade_in_other_words_than_a_preference_is_refused(told: Told) -> None:
    for name in ("tea", "games", "chess"):
        told.behave(name, cycles=2)
    told.remember("more")
    told.reflect(upgrades=[said("calm", upgrade("", "tea", "games"), SENTENCE)])
    told.remember("still more", days=1)
    cycle = told.reflect(
        upgrades=[said("calmer", upgrade("", "tea", "chess"), SENTENCE + ","), upgrade("bold", "games", "chess")]
    )
    assert refused(cycle) == [("upgrades", "known")]
    assert sorted(told.shown(subtype="preference")) == ["bold", "calm"]


@pytest.mark.parametrize("words", [SENTENCE, SENTENCE + ","], ids=["same", "other"])
def test_a_behaviour_takes_the_place_of_a_trend_that_says_it(told: Told, words: str) -> None:
    told.remember("a")
    told.reflect(new_trends=[said("of late", trend("", "a"), SENTENCE)])
    told.remember("b", "c", days=1)
    told.reflect(new_behaviors=[said("few", behavior("", "b", "c"), words)])
    [stands] = told.memory.get_user_traits(USER, "trend")
    assert (stands.id, stands.stage) == (told.ids["of late"], "trend")  # two more memories only confirm it
    told.remember("d", "e", "f", days=1)
    cycle = told.reflect(new_behaviors=[said("always", behavior("", "d", "e", "f"), words)])
    assert (cycle.traits_created, refused(cycle)) == (1, [])
    assert told.memory.get(told.ids["of late"]).ended == "superseded"
    [found] = told.memory.get_user_traits(USER, "trend")
    assert (found.stage, found.confidence) == ("candidate", 0.4)
    assert len(found.evidence) == 6


def test_an_upgrade_has_what_speaks_against_its_parts(told: Told) -> None:
    for name in ("tea", "games"):
        told.behave(name, cycles=2)
    told.remember("no", days=1)
    told.reflect(contradictions=[against("tea", "no")])
    told.remember("yes", days=1)
    told.reflect(reinforcements=[again("tea", "yes")])
    before = told.trait("tea")
    told.remember("more", days=1)
    told.reflect(upgrades=[upgrade("calm", "tea", "games")])
    made = told.trait("calm")
    assert sorted({row.evidence_type for row in made.evidence}) == ["contradicting", "supporting"]
    assert (made.contradiction_count, before.contradiction_count) == (0, 1)
    best = max(told.trait(name).confidence or 0 for name in ("tea", "games"))
    assert made.confidence == pytest.approx(best + 0.1, abs=1e-3)


def test_three_memories_of_one_conversation_are_no_behaviour(told: Told) -> None:
    told.remember(*"abc", session_id="one")
    cycle = told.reflect(new_behaviors=[behavior("tea", *"abc")])
    assert refused(cycle) == [("new_behaviors", "one_conversation")]
    assert told.shown() == []
    told.remember("d", days=1, session_id="one")  # some callers have one session a user, and it goes on for years
    told.reflect(new_behaviors=[behavior("tea", *"abcd")])
    assert told.shown() == ["tea"]
