"""The tables are whole, and what is wrong with one is said."""

import pytest

from phronesis.errors import PhronesisError
from phronesis.recall.planning.tables import FEATURES, parse_table

EMPTY = "\n".join(f'{name} = ["zzz"]' for name in FEATURES)


def test_what_is_wrong_with_a_table_is_said() -> None:
    cases: list[tuple[str, str]] = [
        ("= 3", "no TOML"),
        ("[features]\nchat = []", "is missing or no feature"),
        (f"[features]\nmagic = []\n{EMPTY}", "'magic'"),
        (f"[features]\n{EMPTY}".replace('"zzz"', '"<one>"', 1), "no piece <one>"),
        (f"[features]\n{EMPTY}".replace('"zzz"', '"(a"', 1), "no regular expression"),
    ]
    for source, what in cases:
        with pytest.raises(PhronesisError, match=what):
            parse_table("xx", source)
