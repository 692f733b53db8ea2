"""The names under which a policy speaks of what conversations state: keys, families of keys, and kinds."""

from collections.abc import Iterable, Mapping
from typing import Final, TypeVar

KEYS: Final = (
    "name", "alias", "age", "birthday", "gender", "nationality", "home_city", "hometown", "address", "timezone",
    "email", "phone", "employer", "job", "school", "field_of_study", "language", "skill", "hobby",
    "relationship_status", "partner", "child", "parent", "sibling", "friend", "colleague", "pet", "allergy",
    "diet", "health", "possession", "likes", "dislikes", "prefers", "favorite.*", "uses", "reply_language",
    "reply_style", "address_as", "task", "reminder", "plan", "goal", "decision", "event", "appointment",
    "life_event", "experience", "attribute.*", "located_in", "fact",
)  # fmt: skip
"""The keys of docs/memory-types.md, in its order; what ends in ``.*`` is a family."""

FAMILY: Final = ".*"
"""How the name of a family ends."""

Rule = TypeVar("Rule")


def names_of(key: str, kind: str) -> tuple[str, ...]:
    """Give the names that a policy may use for what stands under a key, the nearest first: key, family, kind."""
    family, dot, _ = key.partition(".")
    return (key, f"{family}{FAMILY}", kind) if dot else (key, kind)


def rule_for(rules: Mapping[str, Rule], key: str, kind: str) -> Rule | None:
    """Give the rule of the nearest name that has one, else None."""
    return next((rules[name] for name in names_of(key, kind) if name in rules), None)


def is_known(name: str, kinds: Iterable[str]) -> bool:
    """Tell whether a name is a key, one of a family (``favorite.color``), or one of ``kinds``."""
    family, dot, word = name.partition(".")
    return name in KEYS or name in kinds or (bool(dot and word) and f"{family}{FAMILY}" in KEYS)
