"""What the pages say: both languages say the same things, and every name that a page uses has words."""

import re
from importlib.resources import files
from pathlib import Path
from string import Formatter

import click
import pytest

import phronesis
from phronesis.conversation.extraction.memory_types import load_memory_types
from phronesis.interfaces import web
from phronesis.interfaces.cli.commands import find_command
from phronesis.interfaces.web.session import LANGUAGES, words_of
from phronesis.recall.fusion import JUDGED
from phronesis.recall.hits import CROWDED
from phronesis.recall.scoring.lane_arrays import BONUSES
from phronesis.recall.scoring.ranking import FEATURES, FURTHER

PACKAGE = Path(str(files(phronesis)))
CHECKED = sorted(path for path in PACKAGE.rglob("*.py") if "interfaces" not in path.parts)
FOLDER = Path(str(files(web)))
SOURCES = sorted([*(FOLDER / "templates").glob("*.html"), *FOLDER.glob("*.py"), *(FOLDER / "pages").glob("*.py")])
TABLES = {language: words_of(language).table for language in LANGUAGES}


def places(words: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(words) if name is not None}


@pytest.mark.parametrize("language", [one for one in LANGUAGES if one != "en"])
def test_every_language_has_the_same_names_with_the_same_places(language: str) -> None:
    table = TABLES[language]
    assert set(table) == set(TABLES["en"])
    assert {name: places(words) for name, words in table.items()} == {
        name: places(words) for name, words in TABLES["en"].items()
    }


def test_no_words_are_empty() -> None:
    assert [(language, name) for language, table in TABLES.items() for name, words in table.items() if not words] == []


def test_what_a_page_says_has_words() -> None:
    text = "\n".join(source.read_text("utf-8") for source in SOURCES)
    named = set(re.findall(r"""\bwords\(\s*["']([a-z_0-9]+\.[A-Za-z_0-9]+)["'](?! ~)""", text))
    chosen = re.findall(r"""\bwords\(\s*["']([a-z_0-9.]+)["'] if [^)]*? else ["']([a-z_0-9.]+)["']""", text)
    named |= {name for pair in chosen for name in pair}
    assert sorted(named - set(TABLES["en"])) == []
    begun = set(re.findall(r"""\bwords\(\s*["']([a-z_0-9]+\.[a-z_]*)["'] ~""", text))
    assert [one for one in begun if not any(name.startswith(one) for name in TABLES["en"])] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_reason_of_a_rank_and_every_check_has_words(language: str) -> None:
    whys = {*FEATURES, *BONUSES, FURTHER, CROWDED, JUDGED}
    checks = {
        name for source in CHECKED for name in re.findall(r"""Check\(\s*"([a-z_.]+)\"""", source.read_text("utf-8"))
    }
    assert checks > {"clock", "schema"}
    wanted = {f"why.{name}" for name in whys} | {f"check.{name}" for name in checks if not name.startswith("role.")}
    assert sorted(wanted - set(TABLES[language])) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_type_of_memory_has_a_name(language: str) -> None:
    keys = {f"key_of.{row.key[:-2]}" if row.family else f"key.{row.key}" for row in load_memory_types()}
    assert sorted(keys - set(TABLES[language])) == []


def test_every_command_that_a_page_tells_is_there() -> None:
    for source in SOURCES:
        for told in re.findall(r"<code>phronesis ([^<]+)</code>", source.read_text("utf-8")):
            assert not isinstance(find_command(told.split())[0], click.Group), source
