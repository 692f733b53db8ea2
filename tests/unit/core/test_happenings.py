"""What a change came to, in one word."""

from collections.abc import Mapping, Sequence
from typing import Any

from phronesis.recall.as_of import change_name

FOR = {"polarity": "support"}
AGAINST = {"polarity": "contra"}


def test_a_change_is_told_in_one_word() -> None:
    cases: list[tuple[Mapping[str, Sequence[Any]], list[Any], list[Any], str]] = [
        ({"ended": (None, "dissolved"), "content": ("a", "b")}, [], [], "dissolved"),
        ({"quarantine": (None, "override")}, [], [], "quarantined"),
        ({"quarantine": ("override", None)}, [], [], "released"),
        ({"status": ("archived", "active")}, [], [], "restored"),
        ({"content": ("a", "b"), "stage": ("emerging", "core")}, [], [], "modified"),
        ({"stage": ("core", "emerging")}, [AGAINST], [], "demoted"),
        ({"confidence": (0.4, 0.5)}, [AGAINST, FOR], [], "reinforced"),
        ({"confidence": (0.5, 0.4)}, [AGAINST], [], "contradicted"),
        ({"confidence": (0.5, 0.4)}, [], [FOR], "unsupported"),
    ]
    for fields, added, removed, word in cases:
        assert change_name("update", fields, added, removed) == word, fields
