"""Consolidation at its boundaries in time: what is said at one instant, what is still to come, and what follows."""

from datetime import UTC, datetime, timedelta
from typing import Any

from phronesis.conversation.laws import best_match, consolidate, enter, finish, retract
from phronesis.core.items import Item, Trust
from phronesis.core.statements import HeldStatement, Occurrence, Statement

START = datetime(2026, 1, 1, tzinfo=UTC)


def day(number: int) -> datetime:
    return START + timedelta(days=number)


def held(name: str, *said: int, starts: int | None = None, trust: Trust = Trust.USER, **fields: Any) -> HeldStatement:
    item = Item(
        **{
            "id": name,
            "kind": "profile",
            "key": "city",
            "content": name,
            "value": name,
            "entry_id": "e",
            "recorded_at": START,
            "updated_at": START,
            "trust": trust,
            "valid_from": None if starts is None else day(starts),
            **fields,
        }
    )
    return HeldStatement(item=item, sayings=[Occurrence(at=day(number), trust=trust) for number in said])


def new(value: str, said: int, **given: Any) -> Statement:
    saying = Occurrence(at=day(said), trust=given.pop("trust", Trust.USER))
    return Statement(
        **{
            "id": "new",
            "kind": "profile",
            "key": "city",
            "form": value,
            "saying": saying,
            "cardinality": "one",
            **given,
        }
    )


def test_what_is_still_to_come_is_left_alone_until_its_day() -> None:
    for said in (1, 5):
        verdict = consolidate(new("oslo", 5, ahead=False), [held("rome", said, starts=10)])
        assert (verdict.act, verdict.fields, verdict.patches) == ("ADD", {"valid_to": day(10)}, {})
    begun = consolidate(new("oslo", 5, ahead=False), [held("rome", 1, starts=5)])
    assert begun.act == "SUPERSEDE"
    assert begun.patches["rome"]["ended_by"] == "new"
    two = [held("rome", 1, starts=12), held("paris", 1, starts=10)]
    assert consolidate(new("oslo", 5, ahead=False), two).fields == {"valid_to": day(10)}
    retracted = held("rome", 1, starts=10, ended="retracted")
    assert consolidate(new("oslo", 5, ahead=False), [retracted]).fields == {}


def test_a_value_that_begins_later_lets_the_present_one_hold_until_then() -> None:
    saying = Occurrence(at=day(5), trust=Trust.USER, began=day(9))
    later = new("oslo", 5, ahead=True, saying=saying)
    assert consolidate(later, [held("rome", 1, starts=0)]).patches == {"rome": {"valid_to": day(9)}}
    assert consolidate(later, [held("rome", 1, starts=5)]).patches == {"rome": {"valid_to": day(9)}}
    unbegun = consolidate(later, [held("rome", 1, starts=6)]).patches["rome"]
    assert (unbegun["ended"], unbegun["valid_to"]) == ("superseded", day(9))


def test_an_earlier_statement_enters_as_history_up_to_the_first_that_followed() -> None:
    verdict = enter(new("oslo", 1), [held("rome", 3, 7)])
    assert (verdict.act, verdict.fields["valid_to"], verdict.fields["ended_by"]) == ("ADD", day(3), "rome")
    assert verdict.supersedes == (("rome", "new"),)
    assert enter(new("oslo", 1), [held("rome", 3, starts=2)]).fields["valid_to"] == day(2)
    assert enter(new("oslo", 1), [held("rome", 3, starts=1)]).fields["valid_to"] == day(1)
    first = enter(new("oslo", 1), [held("rome", 7), held("bonn", 3)])
    assert first.fields["ended_by"] == "bonn"


def test_a_repetition_counts_and_moves_the_start_back_only_when_it_is_earlier() -> None:
    again = consolidate(new("rome", 5), [held("rome", 2, starts=2)])
    assert (again.act, again.into, again.counted, again.patches) == ("NONE", "rome", True, {})
    earlier = consolidate(new("rome", 1), [held("rome", 2, starts=2)])
    assert earlier.patches == {"rome": {"occurred_at": day(1), "valid_from": day(1)}}
    tool = consolidate(new("rome", 5, trust=Trust.TOOL), [held("rome", 2, starts=2)])
    assert not tool.counted
    trusted = consolidate(new("rome", 5, trust=Trust.OPERATOR), [held("rome", 2, starts=2)])
    assert trusted.patches == {"rome": {"trust": Trust.OPERATOR}}


def test_what_was_said_between_separates_a_saying_from_its_item() -> None:
    ended = held("rome", 1, ended="superseded", ended_by="bonn")
    assert consolidate(new("rome", 0), [ended, held("bonn", 3)]).into == "rome"
    assert consolidate(new("rome", 2), [ended, held("bonn", 3)]).into == "rome"
    assert consolidate(new("rome", 4), [ended, held("bonn", 3)]).into is None
    assert consolidate(new("rome", 3), [ended, held("bonn", 3)]).into is None
    assert consolidate(new("rome", 0), [held("rome", 5), held("bonn", 3)]).into is None
    assert consolidate(new("rome", 0), [held("rome", 3), held("bonn", 3)]).into is None
    assert consolidate(new("rome", 0), [held("rome", 2), held("bonn", 3)]).into == "rome"


def test_taking_back_and_finishing_end_what_was_not_said_since() -> None:
    verdict = retract(new("rome", 5), [held("rome", 2, starts=2), held("bonn", 2)])
    assert verdict.patches == {"rome": {"ended": "retracted", "ended_by": None, "valid_to": day(5)}}
    assert set(retract(new("x", 5), [held("rome", 2), held("bonn", 2)], whole=True).patches) == {"rome", "bonn"}
    assert set(retract(new("x", 5), [held("rome", 2), held("bonn", 2)], named=["bonn"]).patches) == {"bonn"}
    assert retract(new("rome", 5), [held("rome", 9)]).act == "NONE"
    assert retract(new("rome", 5), [held("rome", 2, starts=9)]).patches["rome"]["valid_to"] == day(9)
    assert retract(new("rome", 5, until=day(4)), [held("rome", 2)]).patches["rome"]["valid_to"] == day(4)
    done = finish(new("x", 5), held("task", 2, starts=2))
    assert done.patches == {"task": {"ended": "retired", "ended_by": None, "valid_to": day(5)}}
    assert finish(new("x", 5), None).act == finish(new("x", 5), held("task", 9)).act == "NONE"


def test_the_best_match_shares_three_fifths_of_the_shorter_text() -> None:
    words = frozenset("abcde")
    assert best_match(words, {"x": frozenset("abcxyz")}) == "x"
    assert best_match(words, {"x": frozenset("abvxyz")}) is None
    assert best_match(words, {"x": frozenset("abcxyz"), "y": frozenset("abcdxy")}) == "y"
    assert best_match(words, {"x": frozenset("abcdef"), "y": frozenset("abcdefgh")}) == "x"
    assert best_match(words, {"x": words, "y": words}) == "y"
    assert best_match(frozenset(), {"x": words}) is None
    assert best_match(words, {}) is None
