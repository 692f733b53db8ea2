"""The records of the log, of conversations, of results and contexts: frozen, and shown as plain JSON."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.core.context import Budget, ContextPackage
from phronesis.core.entries import ERASED, is_erased
from phronesis.core.items import Item, Trust
from phronesis.core.relations import MAX_NORMAL, normal_name
from phronesis.core.reports import FIRST_PAUSE, LONGEST_PAUSE, Page, UserInfo, pause_after
from phronesis.core.results import AddResult, Degraded, EditResult, Evidence, Match, SearchResult, Source
from phronesis.core.serialization import LINE, MAX_ROWS, Record, Records, as_json

AT = datetime(2026, 5, 1, tzinfo=UTC)
ITEM = Item(id="i", kind="fact", content="x", entry_id="e", recorded_at=AT, updated_at=AT)
EVIDENCE = Evidence(ITEM, 0.5, (Match("d", "whole", "x", 0.1),), (Source("e", occurred_at=AT),), why={"lexical": 0.5})


@dataclass(frozen=True)
class Point:
    x: int
    when: datetime


@dataclass(frozen=True)
class Single:
    x: int


def test_any_record_is_plain_json() -> None:
    value = {"item": ITEM, 5: (Trust.USER, Point(1, AT)), "set": {"a"}, "none": None, "kind": Point}
    shown = as_json({**value, "kind": 1})
    assert shown["5"] == ["user", {"x": 1, "when": "2026-05-01T00:00:00Z"}]
    assert (shown["set"], shown["none"], shown["item"]["trust"]) == (["a"], None, "user")
    json.dumps(shown)
    assert as_json(Point) is Point  # a class is no record
    assert as_json(Single(1)) == {"x": 1}


def test_a_context_is_rendered_in_two_forms() -> None:
    package = ContextPackage("c", (), (), (), (EVIDENCE,), "hi", 3, 10, text="hi", messages=({"role": "user"},))
    assert package.render() == "hi"
    given_out = package.render("messages")
    assert given_out == [{"role": "user"}]
    given_out[0]["role"] = "changed"
    assert package.messages == ({"role": "user"},)
    json.dumps(package.to_dict())
    assert Budget().to_dict()["total"] == Budget().total


def test_only_the_mark_itself_is_an_erased_part() -> None:
    assert is_erased(ERASED)
    assert is_erased({"$erased": True, "session_id": "s"})
    others: list[object] = [None, "x", [], {}, {"$erased": False}, {"$erased": 1}, "$erased"]
    for other in others:
        assert not is_erased(other)


@given(st.text(st.characters(), max_size=40))
def test_a_normal_name_is_its_own(name: str) -> None:
    once = normal_name(name)
    assert once == once.strip()
    assert "  " not in once
    assert len(once) <= MAX_NORMAL


def test_a_write_without_an_entry_waits_in_an_outbox() -> None:
    assert AddResult("", pending=True).queued
    assert not AddResult("0192ab34-0000-7000-8000-000000000000", pending=True).queued


# A page is a sequence of what is listed, and says how to go on.


def test_a_page_is_a_sequence_and_plain_data() -> None:
    page = Page(("a", "b", "c"), "next")
    assert (len(page), page[0], page[1:], list(page), "b" in page) == (3, "a", ("b", "c"), ["a", "b", "c"], True)
    assert page.to_dict() == {"items": ["a", "b", "c"], "next_cursor": "next"}


def test_a_page_equals_any_list_of_the_same_members() -> None:
    page = Page(("a", "b"), "next")
    assert page == ["a", "b"]
    assert page == ("a", "b")
    assert page != ["a"]
    assert page != "ab"
    assert Page() == []
    assert page == Page(("a", "b"), "next")
    assert page != Page(("a", "b"))
    assert len({page, Page(("a", "b"), "next")}) == 1


# The pauses of who works by itself.


def test_each_failure_doubles_the_pause() -> None:
    assert [pause_after(n) / FIRST_PAUSE for n in (1, 2, 3)] == [1, 2, 4]


@given(st.integers(1, 10**9))
def test_no_pause_is_longer_than_the_longest(failures: int) -> None:
    assert FIRST_PAUSE <= pause_after(failures) <= pause_after(failures + 1) <= LONGEST_PAUSE
    assert pause_after(failures, longest=timedelta(minutes=1)) == timedelta(minutes=1)


# Records on one line, and as tables in a notebook.


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
