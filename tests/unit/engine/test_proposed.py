"""A model's proposals: each needs its quotation, a key that there is, a value that was said, and no objection."""

from datetime import UTC, datetime
from typing import Any

import pytest

from phronesis.conversation.extraction.gate import Gate
from phronesis.conversation.extraction.memory_types import load_memory_types
from phronesis.conversation.extraction.proposed import GateInput, ModelGate, ProposedMemory
from phronesis.core.proposals import Proposal

AT = datetime(2026, 3, 10, 9, tzinfo=UTC)
GATE = ModelGate(load_memory_types(), Gate())


def proposed(quote: str, **given: Any) -> ProposedMemory:
    fields: dict[str, Any] = {
        "n": 0,
        "quote": quote,
        "subject": "user",
        "key": "home_city",
        "value": "Lyon",
        "content": quote,
        "says": "holds",
        "sure": "stated",
        "replaces": None,
        "when": None,
        **given,
    }
    return ProposedMemory(**fields)


def gated(text: str, one: ProposedMemory, role: str = "user", name: str | None = None) -> tuple[list[Proposal], str]:
    kept, refused = GATE([one], {0: GateInput(text, role, AT, name)})
    assert len(kept) + len(refused) == 1
    return kept, refused[0].rule if refused else ""


def test_what_is_quoted_and_stated_is_taken_with_its_type() -> None:
    text = "Hello! I live in Lyon, near the station."
    (one,), _ = gated(text, proposed("I live in Lyon", when="2026-03-01"))
    assert text[one.start : one.end] == one.quote
    assert (one.kind, one.subject, one.value, one.cardinality, one.importance) == ("profile", "user", "Lyon", "one", 7)
    assert one.occurred_at == "2026-03-01T00:00:00Z"
    (named,), _ = gated(text, proposed("I live in Lyon", when="soon"), name="Wei")
    assert (named.subject, named.occurred_at) == ("Wei", None)


def test_the_day_of_what_is_to_be_done_is_when_it_is_due() -> None:
    def due(when: str | None, key: str = "reminder") -> str | None:
        one = proposed("call Ana", key=key, value="call Ana", content="Call Ana.", when=when)
        return gated("Remind me to call Ana.", one)[0][0].due

    assert due("2026-03-10") == "2026-03-10T00:00:00Z"
    assert due("2026-03-09") is due(None) is due("soon") is None
    assert due("2026-03-20", key="event") is None


@pytest.mark.parametrize(
    ("text", "given", "rule"),
    [
        ("I live in Lyon.", {"quote": "I live in Paris", "value": "Paris"}, "quotation"),
        ("I live in Lyon.", {"quote": "I live in Lyon", "key": "shoe_size"}, "key"),
        ("I live in Lyon.", {"quote": "I live in Lyon", "value": "Marseille"}, "value"),
        ("I live in Lyon.", {"quote": "I live in Lyon", "sure": "inferred"}, "low_confidence"),
    ],
)
def test_what_is_not_so_is_refused_by_name(text: str, given: dict[str, Any], rule: str) -> None:
    assert gated(text, proposed(**given)) == ([], rule)


def test_the_assistant_is_no_source_and_a_message_must_exist() -> None:
    assert gated("You live in Lyon.", proposed("live in Lyon"), role="assistant") == ([], "low_confidence")
    kept, refused = GATE([proposed("x", n=3)], {})
    assert (kept, refused[0].rule) == ([], "message")


def test_a_translation_is_put_back_and_a_repetition_counts_once() -> None:
    said = {0: GateInput("我住在里昂。", "user", AT)}
    one = proposed("我住在里昂", value="里昂", content="I live in Lyon.")
    kept, refused = GATE([one, one], said)
    assert [(each.content, each.value) for each in kept] == [("我住在里昂", "里昂")]
    assert refused == []
