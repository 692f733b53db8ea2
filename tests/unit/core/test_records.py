"""The records of the log, of conversations, of results and contexts: frozen, and shown as plain JSON."""

import json
from collections.abc import Sequence
from dataclasses import FrozenInstanceError, dataclass, fields
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.core.context import Budget, ContextPackage
from phronesis.core.entries import ERASED, ConversationRows, Entry, Outcome, SessionRow, TurnRow, is_erased
from phronesis.core.items import Item, Trust
from phronesis.core.relations import MAX_NORMAL, Entity, Mention, normal_name
from phronesis.core.results import Check, ClaimMatch, DoctorReport, Evidence, Match, SearchResult, Source
from phronesis.core.serialization import as_json

AT = datetime(2026, 5, 1, tzinfo=UTC)
ITEM = Item(id="i", kind="fact", content="x", entry_id="e", recorded_at=AT, updated_at=AT)
EVIDENCE = Evidence(ITEM, 0.5, (Match("d", "whole", "x", 0.1),), (Source("e", occurred_at=AT),), why={"lexical": 0.5})


@dataclass(frozen=True)
class Point:
    x: int
    when: datetime


def test_any_record_is_plain_json() -> None:
    value = {"item": ITEM, 5: (Trust.USER, Point(1, AT)), "set": {"a"}, "none": None, "kind": Point}
    shown = as_json({**value, "kind": 1})
    assert shown["5"] == ["user", {"x": 1, "when": "2026-05-01T00:00:00Z"}]
    assert (shown["set"], shown["none"], shown["item"]["trust"]) == (["a"], None, "user")
    json.dumps(shown)
    assert as_json(Point) is Point  # a class is no record


def test_the_claims_that_matched_have_a_name_of_their_own() -> None:
    claim = ClaimMatch("i::claim::c1", "claim:c1", "x", 0.1, "i", "c1", "fact")
    found = Evidence(ITEM, 0.5, (claim, Match("i", "whole", "x", 0.2)))
    assert found.matched_claims == (claim,)
    assert found.to_dict()["matched_claims"] == [claim.to_dict()]
    assert found.to_dict()["matched"][0]["claim_status"] == "fact"
    assert "matched_claims" not in EVIDENCE.to_dict()


def test_evidence_is_shown_whole() -> None:
    shown = EVIDENCE.to_dict()
    assert shown["sources"][0]["occurred_at"] == "2026-05-01T00:00:00Z"
    assert shown["matched"][0]["part"] == "whole"
    json.dumps(shown)


def test_a_search_result_is_a_sequence() -> None:
    result = SearchResult((EVIDENCE,), abstained=True, explain={"channels": ["lexical"]})
    assert isinstance(result, Sequence)
    assert (len(result), result[0], result[:1], list(result)) == (1, EVIDENCE, (EVIDENCE,), [EVIDENCE])
    assert not SearchResult(())
    assert result.to_dict()["abstained"]
    json.dumps(result.to_dict())


def test_a_report_is_well_when_every_check_is() -> None:
    good, bad = Check("chain", True, "holds"), Check("disk", False, "full", "make room")
    assert DoctorReport((good,)).ok
    assert not DoctorReport((good, bad)).ok
    json.dumps(DoctorReport((good, bad)).to_dict())


def test_a_context_is_rendered_in_two_forms() -> None:
    package = ContextPackage("c", (), (), (), (EVIDENCE,), "hi", 3, 10, text="hi", messages=({"role": "user"},))
    assert package.render() == "hi"
    given_out = package.render("messages")
    assert given_out == [{"role": "user"}]
    given_out[0]["role"] = "changed"
    assert package.messages == ({"role": "user"},)
    json.dumps(package.to_dict())
    assert Budget().to_dict()["total"] == Budget().total


def test_records_are_frozen() -> None:
    session = SessionRow(session_id="s", created_at=AT, updated_at=AT)
    turn = TurnRow(entry_id="e", session_id="s", number=1, recorded_at=AT)
    rows = ConversationRows(session=session, turn=turn)
    entry = Entry("e", 1, 1, "add", 1, "agent", AT, {})
    for record in (session, turn, rows, entry, Outcome("r", "m"), EVIDENCE, Source("e")):
        with pytest.raises(FrozenInstanceError):
            setattr(record, fields(record)[0].name, "other")
    assert (session.turn_count, rows.messages, entry.payload) == (0, (), {})


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


def test_names_differ_by_accent_and_not_by_case_width_or_spaces() -> None:
    assert {normal_name(name) for name in ("Alice  B", "ALICE b", "Ａｌｉｃｅ\u3000B", " alice\nb ")} == {"alice b"}
    assert normal_name("Ålice") == normal_name("A\u030alice") != normal_name("Alice")
    assert normal_name("Straße") == normal_name("STRASSE")
    assert len(normal_name("\ufdfa" * 10_000)) == MAX_NORMAL
    assert len(normal_name("a " * 10_000)) <= MAX_NORMAL


def test_an_entity_is_told_by_its_fields() -> None:
    entity = Entity(id="1", name="A", normal="a", kind="name", entry_id="e")
    assert entity.canonical_id is None
    assert Mention(entity_id="1", item_id="i", start=0, end=1, entry_id="e").end == 1
