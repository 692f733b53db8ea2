"""What the pages say: words in both languages, what facts are called, and the HTML of a document's section."""

import re
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from string import Formatter

import click
import pytest

import phronesis
from phronesis.conversation.extraction.memory_types import load_memory_types
from phronesis.core.items import Item
from phronesis.interfaces import web
from phronesis.interfaces.cli.commands import find_command
from phronesis.interfaces.web.pages.item_edits import corrected
from phronesis.interfaces.web.pages.people import group_facts
from phronesis.interfaces.web.pages.resources import section_html
from phronesis.interfaces.web.rendering import key_text
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


# Facts: what they are called, how they are grouped, and what a correction changes.

EN = words_of("en")


AT = datetime(2026, 5, 1, tzinfo=UTC)


def fact(key: str | None, value: object = None, content: str = "Said so.", subject: str | None = "user") -> Item:
    return Item(
        id="1",
        kind="profile",
        content=content,
        entry_id="e",
        recorded_at=AT,
        updated_at=AT,
        key=key,
        value=value,
        subject=subject,
    )


@pytest.mark.parametrize(
    ("key", "english", "chinese"),
    [
        ("allergy", "Allergy", "过敏"),
        ("favorite.color", "Favourite color", "最喜欢的color"),
        ("not.allergy", "Not so: Allergy", "并非：过敏"),
        ("badge_number", "badge number", "badge number"),
        ("shoe.size", "shoe: size", "shoe: size"),
        (None, "Profile", "个人资料"),
    ],
)
def test_a_fact_is_called_by_its_key_in_words(key: str | None, english: str, chinese: str) -> None:
    assert (key_text(fact(key), EN), key_text(fact(key), words_of("zh"))) == (english, chinese)


def test_facts_are_grouped_by_subject_and_topic_the_user_and_what_matters_first() -> None:
    facts = [fact("diet", subject="Mia"), fact("email"), fact("not.allergy", subject="lin"), fact("shoe.size")]
    groups = [(group.subject, group.topic, len(group.facts)) for group in group_facts([*facts, fact("allergy")], "lin")]
    assert groups == [(None, "health", 2), (None, "contact", 1), (None, "other", 1), ("Mia", "health", 1)]


@pytest.mark.parametrize(
    ("said", "value", "content", "changed"),
    [
        ("I avoid nuts.", "nuts", "I avoid nuts.", ("I avoid nuts.", None)),
        ("I avoid nuts.", "", "I avoid figs.", ("I avoid figs.", None)),
        ("I avoid nuts.", "figs", "I avoid nuts.", ("I avoid figs.", "figs")),
        ("I avoid nuts.", "figs", "I avoid all figs.", ("I avoid all figs.", "figs")),
        ("They harm me.", "figs", "They harm me.", ("Allergy: figs", "figs")),
    ],
)
def test_a_new_value_takes_the_place_of_the_old_one_in_the_text(
    said: str, value: str, content: str, changed: tuple[str, str | None]
) -> None:
    assert corrected(fact("allergy", "nuts", said), content, value, EN) == changed


# Sections of documents as HTML: Markdown without foreign content, code and plain text as they are.

LINK = '<a href="https://example.org" rel="noreferrer noopener nofollow external">page</a>'


@pytest.mark.parametrize(
    ("markdown", "html"),
    [
        ("**bold** and `code`", "<p><strong>bold</strong> and <code>code</code></p>"),
        ("[page](https://example.org)", f"<p>{LINK}</p>"),
        ("[logout](/logout) [bad](javascript:alert)", "<p><a>logout</a> [bad](javascript:alert)</p>"),
        ("![a chart](https://evil.example/x.png)", '<p><span class="badge">a chart</span></p>'),
        ("![](data:image/png;base64,AA)", "<p></p>"),
        ("<b onclick=x>raw</b>", "<p>&lt;b onclick=x&gt;raw&lt;/b&gt;</p>"),
        ("> # Quoted", "<blockquote>\n<h3>Quoted</h3>\n</blockquote>"),
        ("|a|\n|-|\n|1|", "<td>1</td>"),
    ],
)
def test_markdown_is_rendered_without_foreign_content(markdown: str, html: str) -> None:
    shown = section_html(markdown, "text/markdown; charset=utf-8")
    assert shown.startswith('<div class="prose">')
    assert html in shown
    assert "<img" not in shown


@pytest.mark.parametrize(
    ("form", "start"), [("text/plain", '<p class="pre">'), ("text/x-python", "<pre"), (None, "<p")]
)
def test_other_texts_stand_as_they_are(form: str | None, start: str) -> None:
    shown = section_html("a < **b**\n  c", form)
    assert shown.startswith(start)
    assert "a &lt; **b**\n  c" in shown
