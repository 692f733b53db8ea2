"""The names that a policy uses: those of the page, the nearest first."""

from phronesis.conversation.extraction.memory_types import load_memory_types
from phronesis.core.items import KINDS
from phronesis.core.statements import STATED
from phronesis.core.values import KEYS, is_known, names_of, rule_for


def test_the_keys_are_those_of_the_page() -> None:
    types = list(load_memory_types())
    assert tuple(dict.fromkeys(row.key for row in types)) == KEYS
    assert {row.kind for row in types} <= STATED <= set(KINDS)


def test_the_nearest_name_counts() -> None:
    assert names_of("favorite.color", "preference") == ("favorite.color", "favorite.*", "preference")
    assert names_of("home_city", "profile") == ("home_city", "profile")
    rules = {"preference": 1, "favorite.*": 2, "favorite.颜色": 3}
    found = [rule_for(rules, key, "preference") for key in ("likes", "favorite.color", "favorite.颜色")]
    assert found == [1, 2, 3]
    assert rule_for(rules, "home_city", "profile") is None


def test_a_name_is_known_or_not() -> None:
    known = ["home_city", "favorite.*", "favorite.color", "favorite.颜色", "event"]
    assert [
        name for name in (*known, "favorite.", "favorite", "colour.x", "message", "") if is_known(name, STATED)
    ] == (known)
