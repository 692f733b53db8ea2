"""Records on one line, and as tables in a notebook."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest

from phronesis.core.context import ContextPackage
from phronesis.core.items import Item, Trust
from phronesis.core.reports import Page, UserInfo
from phronesis.core.results import AddResult, Degraded, EditResult, Evidence, Match, SearchResult
from phronesis.core.serialization import LINE, MAX_ROWS, Record, Records

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
ID = "0192ab34-0000-7000-8000-000000000000"


def item(content: str = "I live in Oslo", **more: Any) -> Item:
    return Item(id=ID, kind="profile", content=content, entry_id=ID, recorded_at=NOON, updated_at=NOON, **more)


@dataclass(frozen=True, slots=True)
class Odd(Record):
    """Fields of every sort, none of them words."""

    score: float = 0.5
    trust: Trust = Trust.USER
    part: Degraded | None = None
    numbers: Sequence[int] = ()
    told: dict[str, int] = field(default_factory=dict)
    label: str = ""


@pytest.mark.parametrize(
    ("record", "line"),
    [
        (
            item(),
            'Item("I live in Oslo", kind=profile, id=0192ab34, entry_id=0192ab34, recorded_at=2026-05-04 12:00, …)',
        ),
        (
            Evidence(item(), 0.834, matched=[Match("x", "whole", "Oslo", 0.1)]),
            'Evidence("I live in Oslo", score=0.83, kind=profile, id=0192ab34, matched=1)',
        ),
        (SearchResult((), abstained=True), "SearchResult(0, abstained=True)"),
        (
            SearchResult((Evidence(item(), 0.8), Evidence(item("a\n b"), 0.7))),
            'SearchResult(2: "I live in Oslo", "a b")',
        ),
        (Page((item("x" * 90),)), f'Page(1: "{"x" * 29}…")'),
        (AddResult(ID, [item()], pending=True), 'AddResult(1: "I live in Oslo", pending=True, entry_id=0192ab34)'),
        (EditResult(ID), "EditResult(entry_id=0192ab34)"),
        (
            UserInfo("ann lee", NOON, {"fact": 2}),
            'UserInfo(user_id="ann lee", last_recorded_at=2026-05-04 12:00, counts=1)',
        ),
        (
            Odd(0.25, Trust.TOOL, Degraded("a", "b", "c", "d"), [1, 2], {"x": 1}, "y"),
            "Odd(score=0.25, trust=tool, part=Degraded, numbers=2, told=1, label=y)",
        ),
        (Odd(), "Odd()"),
    ],
)
def test_a_record_is_one_short_line(record: Record, line: str) -> None:
    assert repr(record) == line
    assert len(line) <= LINE


def test_a_line_that_has_no_room_ends_in_dots() -> None:
    assert repr(item("x" * 500, key="y" * 500)) == f'Item("{"x" * 59}…", kind=profile, id=0192ab34, …)'
    assert repr(Odd(label="y" * 500)) == "Odd(…)"


def test_rows_are_a_table_and_escaped() -> None:
    found = SearchResult((Evidence(item("<b>Oslo</b>"), 0.8),))._repr_html_()
    assert "<b>" not in found
    assert "<th>content</th><th>score</th><th>kind</th><th>id</th>" in found
    assert f"<td>&lt;b&gt;Oslo&lt;/b&gt;</td><td>0.80</td><td>profile</td><td>{ID}</td>" in found
    assert "<p>SearchResult(0)</p>" in SearchResult(())._repr_html_()
    listed = Records([item()] * (MAX_ROWS + 5))
    assert listed == [item()] * (MAX_ROWS + 5)
    assert listed._repr_html_().count("<tr>") == MAX_ROWS + 1
    assert "<p>5 more</p>" in listed._repr_html_()
    assert Records([1])._repr_html_() == "<table><thead><tr></tr></thead><tbody><tr></tr></tbody></table>"


def test_a_record_alone_is_a_table_of_its_fields_and_a_context_its_text() -> None:
    assert item("<i>")._repr_html_().startswith(f"<table><caption>Item</caption><tr><th>id</th><td>{ID}</td></tr>")
    assert "<td>&lt;i&gt;</td>" in item("<i>")._repr_html_()
    package = ContextPackage("ctx", (), (), (), (), "Where?", 3, 10, text="# <System>\n")
    assert package._repr_html_() == "<pre># &lt;System&gt;\n</pre>"
    assert str(package) == package.text
    assert repr(package).startswith('ContextPackage("Where?", text="# <System>", context_id=ctx')


def test_every_record_has_this_line_and_no_other() -> None:
    kinds = [Record]
    for kind in kinds:
        kinds += kind.__subclasses__()
    assert len(kinds) > 30
    assert {kind.__repr__ for kind in kinds} == {Record.__repr__}
