"""How the rules of a reflection read words: terms, tables, and what is said of a trait."""

from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.errors import PhronesisError
from phronesis.traits.by_rules.reading import read
from phronesis.traits.by_rules.tables import parse_tables, the_tables
from phronesis.traits.by_rules.terms import Terms, plain, words_of
from phronesis.traits.by_rules.voices import SubjectNames, of_somebody_else, voice_of
from seen_memories import memories, memory

ME = SubjectNames(frozenset({"User"}))


def terms() -> Terms:
    """Give a small table of terms."""
    found = Terms({"ran": "run"})
    found.add_english(["run", "went ~ run", "!run out", "?track", "?shoes", " "], "running")
    found.add_chinese(["跑步", "跑~公里", "!跑步鞋", "?鞋"], "running")
    return found


def test_terms_stand_for_behaviours_more_or_less_surely() -> None:
    cases: list[tuple[str, float | None]] = [
        ("Ran home", 1.0),
        ("went for a quick run", 1.0),
        ("run out of milk", None),
        ("new shoes", 0.5),
        ("shoes on the track", 1.0),
        ("跑了五公里", 1.0),
        ("跑了很远很远很远的路去买两公里外的", None),
        ("跑步鞋", None),
    ]
    for text, surely in cases:
        low = plain(text)
        assert terms().found(low, words_of(low, {"ran": "run"})).names.get("running") == surely


@given(st.text(max_size=80))
def test_any_text_is_read(text: str) -> None:
    found = read(memory(0, text), ME)
    assert found.behaviours == found.surely.keys() <= the_tables().behaviours.keys()
    assert found.code in {"en", "zh"}


def test_whom_a_memory_is_about() -> None:
    cases: list[tuple[str, SubjectNames, bool]] = [
        ("My sister runs every morning", ME, True),
        ("The user's husband bakes", ME, True),
        ("They made the boy a pawn in the play", SubjectNames(ME.names, first=True), True),
        ("用户说同事每天加班", ME, True),
    ]
    for text, named, else_ in cases:
        assert of_somebody_else(text, plain(text), named) is else_


def test_names_are_learned_from_how_people_are_introduced() -> None:
    found = voice_of(memories("Dario, my flatmate, came back", "室友 Wei 早起", "teammate Callum cycles", "With Rosa"))
    assert found.others == {"Dario", "Wei", "Callum"}
    assert "Rosa" in found.proper
    assert not found.told


def test_what_is_over_is_told_from_what_goes_on() -> None:
    cases: list[tuple[str, bool]] = [
        ("I haven't been on the bike in months", True),
        ("Gave it up after the winter", True),
        ("Stopped the rehearsal until everybody had tuned", False),
        ("书柜塞不下了", False),
    ]
    for text, ended in cases:
        [one] = memories(text)
        assert read(one, ME).ended is ended


def test_tables_name_what_is_there() -> None:
    folder = files("phronesis.traits.by_rules")
    behaviours, words = ((folder / name).read_text("utf-8") for name in ("behaviours.toml", "words.toml"))
    with pytest.raises(PhronesisError, match="run names 'crawl'"):
        parse_tables(behaviours.replace("exercise.run]\n", 'exercise.run]\nnot = ["crawl"]\n'), words)
    with pytest.raises(PhronesisError, match="names 'soul'"):
        parse_tables(behaviours.replace('core = "body"', 'core = "soul"', 1), words)
