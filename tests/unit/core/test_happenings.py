"""What a change came to, in one word."""

from collections.abc import Mapping, Sequence
from typing import Any

from phronesis.recall.as_of import happening

FOR = {"polarity": "support"}
AGAINST = {"polarity": "contra"}


CHANGES: list[tuple[Mapping[str, Sequence[Any]], list[Any], list[Any], str]] = [
    ({"ended": (None, "dissolved"), "content": ("a", "b")}, [], [], "dissolved"),
    ({"ended": ("superseded", None)}, [], [], "revived"),
    ({"quarantine": (None, "override")}, [], [], "quarantined"),
    ({"quarantine": ("override", None)}, [], [], "released"),
    ({"status": ("active", "archived")}, [], [], "archived"),
    ({"status": ("archived", "active")}, [], [], "restored"),
    ({"content": ("a", "b"), "stage": ("emerging", "core")}, [], [], "modified"),
    ({"stage": ("trend", "candidate")}, [FOR], [], "promoted"),
    ({"stage": ("core", "emerging")}, [AGAINST], [], "demoted"),
    ({"stage": (None, "candidate")}, [], [], "changed"),
    ({"confidence": (0.4, 0.5)}, [AGAINST, FOR], [], "reinforced"),
    ({"confidence": (0.5, 0.4)}, [AGAINST], [], "contradicted"),
    ({}, [{"polarity": "origin"}], [], "changed"),
    ({"confidence": (0.5, 0.4)}, [], [FOR], "unsupported"),
]


def test_a_change_is_told_in_one_word() -> None:
    for fields, added, removed, word in CHANGES:
        assert happening("update", fields, added, removed) == word, fields


def test_a_first_version_is_created() -> None:
    assert happening("create", {"content": (None, "a")}, [FOR], []) == "created"
