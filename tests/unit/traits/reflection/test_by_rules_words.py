"""How the rules of a reflection read words: the table, and what is said of a trait."""

from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.errors import PhronesisError
from phronesis.traits.by_rules.memory_features import parse_tables, read, the_tables
from phronesis.traits.by_rules.statement import clause_of, soften, trait_sentence
from seen_memories import memory


def test_words_name_behaviours_in_any_form_and_only_as_whole_words() -> None:
    cases: list[tuple[str, bool]] = [
        ("Jogged to the mill", True),
        ("Went for a run", True),
        ("Ran a script on the server", False),
        ("Jogging before dawn", True),
        ("A pig and a jogglery", False),
        ("周末又去夜跑了", True),
        ("跑题了", False),
    ]
    for text, named in cases:
        assert ("run" in read(memory(0, text)).behaviours) is named, text


@given(st.text(max_size=80))
def test_any_text_is_read(text: str) -> None:
    found = read(memory(0, text))
    assert found.behaviours <= the_tables().behaviours.keys()
    assert found.situations <= the_tables().situations.keys()
    assert found.code in {"en", "zh"}


def test_what_is_over_is_told_from_what_goes_on() -> None:
    cases: list[tuple[str, bool]] = [
        ("I haven't been on the bike in months", True),
        ("Gave it up after the winter", True),
        ("Tuned the cello before the rehearsal", False),
        ("书柜塞满了", False),
        ("戒了咖啡", True),
    ]
    for text, ended in cases:
        assert ("ended" in read(memory(0, text)).marks) is ended, text


def test_a_memory_is_barred_by_its_kind_and_by_its_subject() -> None:
    assert not read(memory(0, "Runs", subject="user")).barred
    assert read(memory(0, "Runs", subject="Ann")).barred
    assert read(memory(0, "Run", kind="task")).barred


def test_a_trait_is_said_by_the_clause_that_tells_something() -> None:
    assert clause_of("User baked two loaves, then slept.") == "baked two loaves"
    assert clause_of("Yes. The user walked to the mill") == "The user walked to the mill"
    assert clause_of("我绕湖走了两圈，下雨了") == "绕湖走了两圈"
    assert trait_sentence("goes to bed early", "bedtime", "en") == "Often goes to bed early"
    assert trait_sentence("跑步", "weekend", "zh") == "经常周末跑步"
    assert soften("Now often goes running", "en") == "Sometimes goes running"
    assert soften("有时跑步", "zh") is None


def test_the_table_names_what_is_there() -> None:
    words = (files("phronesis.traits.by_rules") / "words.toml").read_text("utf-8")
    with pytest.raises(PhronesisError, match="run names 'soul'"):
        parse_tables(words.replace('run = ["exercise"', 'run = ["soul"'))
    with pytest.raises(PhronesisError, match="opposite names 'crawl'"):
        parse_tables(words.replace("[opposite]\n", '[opposite]\nrun = ["crawl"]\n'))
    assert words.count("\n") <= 300
