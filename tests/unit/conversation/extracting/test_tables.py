"""The tables of patterns: slots, macros, and what is said when one is wrong."""

from importlib.resources import files

import pytest

from phronesis.conversation.extracting.lexicon import Lexicon, Macros
from phronesis.conversation.extracting.tables import Pattern, PatternTable, load_language, parse_language, worked_out
from phronesis.errors import PhronesisError


def table_of(*patterns: str, **macros: str) -> PatternTable:
    """Give a table of patterns that say nothing else."""
    known = Macros()
    for name, text in macros.items():
        known.add(name, text)
    return PatternTable([Pattern(p=one) for one in patterns], known, Lexicon())


def test_a_slot_takes_as_little_as_it_can_and_a_pattern_the_whole_clause() -> None:
    table = table_of("work as {job} at {employer}", "work <where> {employer=\\w+}", where="at")
    first = next(table.matches("work as a cook at ikea."))
    assert {name: text for name, (text, _, _) in first.slots.items()} == {"job": "a cook", "employer": "ikea"}
    assert [match.pattern.p for match in table.matches("work at ikea")] == ["work <where> {employer=\\w+}"]
    assert list(table.matches("work at ikea now")) == []


def test_patterns_come_in_the_order_of_the_table() -> None:
    table = table_of(*(f"a{{likes=b{{0,{n}}}}}" for n in range(1, 31)))
    assert [int(match.pattern.p[12:-2]) for match in table.matches("ab")] == list(range(1, 31))


def test_what_is_replaced_and_what_stands_twice_have_slots_of_their_own() -> None:
    table = table_of("{alias=\\w} = {alias=\\w} not {old:alias=\\w}")
    found = next(table.matches("a = b not c"))
    assert {name: text for name, (text, _, _) in found.slots.items()} == {"alias": "a", "alias2": "b", "old_alias": "c"}
    assert found.begins == 0


def test_tables_that_cannot_be_read_say_what_is_wrong() -> None:
    cases: list[tuple[str, str]] = [
        ("[whole", "is no TOML"),
        ("[colours]\nred = '1'", "unknown section 'colours'"),
        ("[text]\nsplit = '<nothing>'", "no macro <nothing>"),
        ("[pattern]\nwhole = ['(']", "is no regular expression"),
        ("[pattern]\nwhole = [{ p = 'a', colour = 1 }]", "pattern.whole, number 1"),
        ("[grammar]\nverbs_last = true", "xx.toml, grammar: .*verbs_last"),
    ]
    for source, said in cases:
        with pytest.raises(PhronesisError, match=said):
            parse_language("xx", source)


def test_both_languages_have_the_same_gates_and_texts() -> None:
    cases: list[str] = ["en", "zh"]
    for code in cases:
        one, other = load_language(code), load_language("en")
        after = {
            pattern.after for known in (one, other) for table in known.tables.values() for pattern in table.patterns
        }
        assert one.gates.keys() - after == other.gates.keys() - after  # what patterns ask for is a language's own
        assert one.text.keys() - {"short"} == other.text.keys() - {"short"}


def test_a_language_says_how_it_is_built_and_what_stands_behind_all_that_is_said() -> None:
    english, chinese = load_language("en"), load_language("zh")
    assert english.grammar.spaces
    assert not english.grammar.drops_subjects
    assert chinese.grammar.drops_subjects
    assert not chinese.grammar.spaces
    assert english.frames["me"] == "I"
    assert chinese.frames["me"] == "我"
    spoken = parse_language("xx", "[grammar]\ntail = '[呀]*'\n[pattern]\nsays = ['住{home_city}']")
    table = spoken.tables["says"]
    assert [one.slots["home_city"][0] for one in table.matches("住杭州呀")] == ["杭州"]
    assert [
        one.slots["home_city"][0]
        for one in parse_language("xx", "[pattern]\nsays = ['住{home_city}']").tables["says"].matches("住杭州呀")
    ] == ["杭州呀"]


def test_a_language_has_the_frames_that_its_expressions_ask_for() -> None:
    cases: list[str] = ["en", "zh"]
    for code in cases:
        language = load_language(code)
        asked = {
            "told_after": language.text["told_after"].compiled().groupindex.keys() - {"old"},
            "goes_on": {"thing", "its", "does", "is", "has"},
            "goes_on_to": {"must", "must_to"},
        }
        assert language.frames.keys() >= {"me", "of"}
        for name, frames in asked.items():
            assert language.text[name].pattern == "(?!)" or language.frames.keys() >= set(frames), name


@pytest.mark.parametrize("code", ["en", "zh"])
@pytest.mark.slow
def test_the_literals_that_are_stored_beside_the_tables_are_theirs(code: str) -> None:
    """When this fails, write what ``worked_out`` gives for the tables to ``<code>.literals.json``."""
    folder = files("phronesis.conversation.extracting")
    source = (folder / f"{code}.toml").read_text("utf-8")
    assert (folder / f"{code}.literals.json").read_text("utf-8") == worked_out(code, source)


def test_tables_whose_literals_are_not_stored_are_read_as_well() -> None:
    source = (files("phronesis.conversation.extracting") / "en.toml").read_text("utf-8")
    stored, fresh = load_language("en"), parse_language("en", source)
    for text in ("i like green tea", "my sister lives in oslo", "remind me to call sam"):
        for name, table in stored.tables.items():
            assert table.candidates(text) == fresh.tables[name].candidates(text)
