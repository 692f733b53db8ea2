"""The tables of patterns: slots, macros, and what is said when one is wrong."""

from importlib.resources import files

import pytest

from phronesis.conversation.extracting.lexicon import Lexicon, Macros
from phronesis.conversation.extracting.tables import Pattern, PatternTable, parse_language, worked_out
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


@pytest.mark.parametrize("code", ["en", "zh"])
@pytest.mark.slow
def test_the_literals_that_are_stored_beside_the_tables_are_theirs(code: str) -> None:
    """When this fails, write what ``worked_out`` gives for the tables to ``<code>.literals.json``."""
    folder = files("phronesis.conversation.extracting")
    source = (folder / f"{code}.toml").read_text("utf-8")
    assert (folder / f"{code}.literals.json").read_text("utf-8") == worked_out(code, source)
