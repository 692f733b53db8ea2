"""A model's proposals: each needs its quotation, a value that was said, and a held item that was shown."""

from datetime import UTC, datetime
from typing import Any

import pytest

from phronesis.conversation.extraction.gate import Gate, GateInput
from phronesis.conversation.extraction.memory_types import load_memory_types
from phronesis.conversation.extraction.proposed import (
    ExtractionAnswer,
    ModelGate,
    PartialDate,
    ProposedMemory,
)
from phronesis.core.items import Item
from phronesis.core.proposals import Proposal

AT = datetime(2026, 3, 10, 9, tzinfo=UTC)
TYPES = load_memory_types()


def held(n: int, content: str, **given: Any) -> Item:
    fields = {"subject": "user", "kind": "event", "key": "appointment", **given}
    return Item(id=f"held-{n}", content=content, entry_id="e", recorded_at=AT, updated_at=AT, **fields)


HELD = {
    1: held(1, "My dentist appointment is on Tuesday."),
    2: held(2, "Anna is allergic to penicillin.", subject="Anna", kind="profile", key="allergy"),
}
GATE = ModelGate(TYPES, Gate(), HELD)


def proposed(quote: str, **given: Any) -> ProposedMemory:
    fields = {"n": 0, "quote": quote, "subject": "user", "key": "home_city", "value": "Lyon", "content": quote, **given}
    return ProposedMemory.model_validate(fields)


def gated(text: str, one: ProposedMemory, role: str = "user", name: str | None = None) -> tuple[list[Proposal], str]:
    kept, refused = GATE([one], {0: GateInput(text, role, AT, name)})
    assert len(kept) + len(refused) == 1
    return kept, refused[0].rule if refused else ""


def taken(text: str, **given: Any) -> Proposal:
    (one,), _ = gated(text, proposed(**{"quote": text, **given}))
    return one


def test_what_is_quoted_and_stated_is_taken_with_its_type() -> None:
    text = "Hello! I live in Lyon, near the station."
    (one,), _ = gated(text, proposed("I live in Lyon", times={"happened": "2026-03-01"}))
    assert text[one.start : one.end] == one.quote
    assert (one.kind, one.subject, one.value, one.cardinality, one.importance) == ("profile", "user", "Lyon", "one", 7)
    assert one.occurred_at == "2026-03-01T00:00:00Z"
    (named,), _ = gated(text, proposed("I live in Lyon", times={"happened": "soon"}), name="Wei")
    assert (named.subject, named.occurred_at) == ("Wei", None)


def test_a_quotation_is_found_whatever_its_spaces_and_narrowed_to_its_sentence() -> None:
    text = "Should I move?  I live in  Lyon. Thanks!"
    (one,), _ = gated(text, proposed("should I move? I live in Lyon. Thanks!"))
    assert one.quote == "I live in  Lyon."
    assert text[one.start : one.end] == one.quote


def test_the_day_of_what_is_to_be_done_is_when_it_is_due() -> None:
    def due(when: str | None, key: str = "reminder") -> str | None:
        return taken("call Ana", key=key, value="call Ana", times={"due": when}).due

    assert due("2026-03-10") == "2026-03-10T00:00:00Z"
    assert due("2026-03-12T15:30") == "2026-03-12T15:30:00Z"
    assert due("2026-03-09") is due(None) is due("soon") is None
    assert due("2026-03-20", key="event") is None


def test_times_are_as_exact_as_they_are_said_and_what_is_past_is_over() -> None:
    one = taken("I worked in Lyon", key="employer", act="past", times={"happened": "2019", "ends": "2020-06"})
    assert (one.occurred_at, one.valid_to) == ("2019-01-01T00:00:00Z", "2020-07-01T00:00:00Z")
    assert one.notes == {"began_precision": "year", "ends_precision": "month"}
    assert taken("I lived in Lyon", act="past").valid_to == "2026-03-10T09:00:00Z"
    assert taken("I live in Lyon", times={"recurs": "every spring"}).notes == {"recurs": "every spring"}


@pytest.mark.parametrize("text", ["2026-13", "2026-02-30", "9999-12-31", "2026-01-01T25:00", "tomorrow", "", None])
def test_what_is_no_date_is_none(text: str | None) -> None:
    assert PartialDate.parse(text, AT) is None


def test_what_somebody_else_says_keeps_its_source_and_a_denial_its_key() -> None:
    text = "My doctor says I live in Lyon"
    assert taken(text, sure="reported", source="the doctor").notes == {"source": "the doctor"}
    assert taken("I don't drive.", key="not.skill", value="drive").key == "not.skill"
    assert taken("I live in Lyon", key="shoe_size").key == "fact"


def test_a_statement_takes_subject_and_type_of_the_held_item_that_it_changes() -> None:
    text = "The dentist moved to Thursday."
    one = taken(text, subject="user", key="task", value="Thursday", act="refine", held=[1, 9])
    assert (one.relation, one.held, one.key, one.kind) == ("refines", ("held-1",), "appointment", "event")
    ended = taken("Anna can have penicillin!", subject="anna", key="allergy", value="penicillin", act="end", held=[2])
    assert (ended.subject, ended.act, ended.relation) == ("Anna", "retract", "ends")


def test_a_replacement_by_somebody_else_ends_the_held_item_and_keeps_its_own_subject() -> None:
    text = "Ben bakes now, not Anna. The shop has two people."
    shown = {1: held(1, "Anna bakes.", subject="Anna", key="role"), 2: held(2, "Three work here.", subject="shop")}
    one = proposed("Ben bakes now, not Anna", subject="Ben", key="role", value="bakes", act="replace", held=[1, 2])
    kept, _ = ModelGate(TYPES, Gate(), shown)([one], {0: GateInput(text, "user", AT)})
    assert [(each.subject, each.act, each.relation, each.held) for each in kept] == [
        ("Ben", "assert", None, ()),
        ("Anna", "retract", "ends", ("held-1",)),
        ("shop", "retract", "ends", ("held-2",)),
    ]


def test_a_statement_about_one_person_names_nothing_held_of_another() -> None:
    one = taken("I can have penicillin!", key="allergy", value="penicillin", act="end", held=[2])
    assert (one.relation, one.held) == (None, ())


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ({"quote": "I live in Paris", "value": "Paris"}, "quotation"),
        ({"quote": "I live in Lyon", "value": "Marseille"}, "value"),
        ({"quote": "I live in Lyon", "value": "?"}, "value"),
        ({"quote": "I live in Lyon", "sure": "hedged"}, "low_confidence"),
    ],
)
def test_what_is_not_so_is_refused_by_name(given: dict[str, Any], rule: str) -> None:
    assert gated("I live in Lyon.", proposed(**given)) == ([], rule)


def test_what_is_inferred_or_said_in_other_words_is_kept_as_that() -> None:
    text = "I never eat anything with gluten."
    one = taken(text, key="diet", value="strictly gluten free food only")
    assert (one.basis, one.confidence) == ("inferred", 0.6)
    assert taken("I live in Lyon.", sure="inferred").basis == "inferred"


def test_the_assistant_is_no_source_and_a_message_must_exist() -> None:
    assert gated("You live in Lyon.", proposed("live in Lyon"), role="assistant") == ([], "assistant")
    kept, refused = GATE([proposed("x", n=3)], {})
    assert (kept, refused[0].rule) == ([], "message")


def test_one_invalid_row_costs_that_row_alone() -> None:
    good = {"n": 0, "quote": "a", "subject": "user", "key": "likes", "value": "a", "content": "a", "mood": "fine"}
    found = ExtractionAnswer.model_validate({"memories": [good, {"n": 0}], "note": "I did my best"})
    assert [one.value for one in found.memories] == ["a"]
    with pytest.raises(ValueError, match="quote"):
        ExtractionAnswer.model_validate({"memories": [{"n": 0}]})
