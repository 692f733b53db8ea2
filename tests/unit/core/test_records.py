"""The records of the log, of conversations, of results and contexts: frozen, and shown as plain JSON."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from phronesis.core.context import Budget, ContextPackage
from phronesis.core.entries import ERASED, is_erased
from phronesis.core.items import Item, Trust
from phronesis.core.relations import MAX_NORMAL, normal_name
from phronesis.core.results import AddResult, Evidence, Match, Source
from phronesis.core.serialization import as_json

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
