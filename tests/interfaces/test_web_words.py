"""What the pages say: both languages say the same things, and every name that a page uses has words."""

import re
from importlib.resources import files
from pathlib import Path
from string import Formatter

import pytest

from phronesis.interfaces import web
from phronesis.interfaces.web.words import LANGUAGES, words_of

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


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_what_a_page_says_has_words(source: Path) -> None:
    text = source.read_text("utf-8")
    named = set(re.findall(r"""\bwords\(\s*["']([a-z_0-9]+\.[A-Za-z_0-9]+)["'](?! ~)""", text))
    chosen = re.findall(r"""\bwords\(\s*["']([a-z_0-9.]+)["'] if [^)]*? else ["']([a-z_0-9.]+)["']""", text)
    named |= {name for pair in chosen for name in pair}
    assert sorted(named - set(TABLES["en"])) == []
    begun = set(re.findall(r"""\bwords\(\s*["']([a-z_0-9]+\.[a-z_]*)["'] ~""", text))
    assert [one for one in begun if not any(name.startswith(one) for name in TABLES["en"])] == []
