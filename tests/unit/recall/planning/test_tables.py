"""The tables are whole, and what is wrong with one is said."""

import re

import pytest

from phronesis.errors import PhronesisError
from phronesis.recall.planning.tables import FEATURES, LANGUAGES, load_tables, parse_table, shows, without

EMPTY = "\n".join(f'{name} = ["zzz"]' for name in FEATURES)


def test_every_language_has_every_feature() -> None:
    assert [sorted(table.patterns) for table in load_tables()] == [sorted(FEATURES)] * len(LANGUAGES)


def test_a_piece_stands_for_its_text() -> None:
    table = parse_table(
        "xx", f'[pieces]\none = "a|b"\ntwo = "(?:<one>)c"\n[features]\n{EMPTY}'.replace('"zzz"', '"<two>$"', 1)
    )
    assert table.patterns[FEATURES[0]] == re.compile("(?:(?:a|b)c$)")


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


def test_words_of_either_language_show_a_feature() -> None:
    assert shows("doc", "the manual")
    assert shows("doc", "说明书")
    assert not shows("doc", "the dog")
    assert without("impersonal", "can i open it").split() == ["open", "it"]
