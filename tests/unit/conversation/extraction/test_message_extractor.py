"""How a message is read: whose it is, when it was, what is done with a role, and what holds for any text."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phronesis.conversation.extraction.extraction_rules import STARTER_VERSION
from phronesis.conversation.extraction.extractor import MessageExtractor
from phronesis.conversation.extraction.gate import MAX_REFUSALS, Gate
from phronesis.core.proposals import Proposal, Refusal

AT = datetime(2026, 3, 10, 9, tzinfo=UTC)
"""A Tuesday."""
EXTRACTOR = MessageExtractor()


def read(text: str, **message: Any) -> tuple[list[Proposal], list[Refusal]]:
    return EXTRACTOR.read(0, {"role": "user", **message}, text, AT)


def said(text: str, **message: Any) -> list[tuple[str, str, str | None]]:
    return [(one.subject, one.key, one.value) for one in read(text, **message)[0]]


def test_a_named_speaker_speaks_of_themselves() -> None:
    found, _ = read("Hi all, I live in Bern.", name="Jonas")
    assert [(one.subject, one.value, one.content) for one in found] == [
        ("Jonas", "Bern", "Jonas: Hi all, I live in Bern")
    ]


def test_a_plain_sentence_is_of_the_writer_and_its_value_begins_after_its_words() -> None:
    assert said("我住在北京") == [("user", "home_city", "北京")]
    assert ("user", "employer", "Siemens") in said("My sister Ana is a doctor. I work at Siemens.")


def test_what_is_to_be_done_is_due_on_a_day_that_was_said() -> None:
    cases: list[tuple[str, str | None]] = [
        ("Remind me on Monday to call Ana.", "2026-03-16"),
        ("周五提醒我给小芳打电话。", "2026-03-13"),
        ("I have to hand in the report by May 3.", "2026-05-03"),
        ("我得在六月前续签护照。", "2026-06-01"),
        ("I need to finish the thesis in May.", None),
        ("I need to call the bank.", None),
    ]
    for text, due in cases:
        (one,) = read(text)[0]
        assert one.kind in {"task", "intention"}
        assert one.due == (None if due is None else f"{due}T00:00:00Z")


def test_roles_and_thresholds() -> None:
    assert [one.rule for one in read("I live in Rome.", role="assistant")[1]] == ["assistant"]
    assert [one.rule for one in read("You are kind.", role="system")[1]] == ["operator"]
    strict = MessageExtractor(EXTRACTOR.types, Gate(user=0.95))
    found, refused = strict.read(0, {"role": "user"}, "I live in Rome.", AT)
    assert (found, [one.rule for one in refused]) == ([], ["low_confidence"])
    gate = Gate()
    assert [gate.passes(*one) for one in (("user", 0.8), ("tool", 0.8), ("inferred", 1.0))] == [True, False, True]
    assert not gate.passes("assistant", 1.0)
    assert Gate(inferred=0.5).passes("inferred", 0.9)
    assert not Gate(inferred=0.7).passes("inferred", 0.9)


def test_a_tool_says_nothing_about_the_user() -> None:
    for answer in ("I live in Rome.", "My name is Tool.", "Remind me to pay the invoice.", "我住在上海。"):
        assert said(answer, role="tool", name="web") == []
    assert [one.rule for one in read('{"title": "Retreat"}', role="tool", name="calendar")[1]] == ["code"]


def test_a_short_answer_is_understood_by_the_question_before_it() -> None:
    def answered(question: str, answer: str) -> list[tuple[str, str | None]]:
        found, _ = EXTRACTOR.read(0, {"role": "user"}, answer, AT, before=question)
        return [(one.key, one.value) for one in found]

    assert answered("Do you have any allergies?", "Yes, shellfish.") == [("allergy", "shellfish")]
    assert answered("Where would you like to fly to?", "Berlin.") == []
    assert answered("Quiz: who joins metal with heat?", "Welder.") == []


@pytest.mark.parametrize(
    "text",
    [
        "Does anybody here live in Ghent?",
        "If I lived in Ghent, I would cycle.",
        'My colleague said: "I live in Ghent."',
        "Improve my colleague's CV:\nI am a nurse. I speak French. I live in Turin.",
        "I used to live in Ghent.",
        "Translate: I am allergic to nuts.",
        "ok",
        "你住在上海吗？",
        "要是住在上海就好了。",
        "翻译成英文：我对花生过敏。",
    ],
)
def test_what_states_nothing_of_the_writer_is_not_remembered(text: str) -> None:
    assert [one for one in read(text)[0] if one.act == "assert"] == []


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("I don't have diabetes.", "health", "diabetes"),
        ("I'm not married.", "relationship_status", "married"),
        ("I've never been allergic to peanuts.", "allergy", "peanuts"),
        ("我从来不对花生过敏。", "allergy", "花生"),
    ],
)
def test_what_is_denied_is_at_most_taken_back(text: str, key: str, value: str) -> None:
    assert {(one.key, one.value, one.act) for one in read(text)[0]} <= {(key, value, "retract")}


def test_without_an_encoder_only_plain_sentences_are_understood() -> None:
    plain = MessageExtractor(EXTRACTOR.types, load=lambda: None)
    text = "I live in Lyon. My favourite color is green! I'm not sure. 我对花生过敏。你住在哪？"
    found, _ = plain.read(0, {"role": "user"}, text, AT)
    assert [(one.key, one.value) for one in found] == [
        ("home_city", "Lyon"),
        ("favorite.color", "green"),
        ("allergy", "花生"),
    ]
    assert plain.version == STARTER_VERSION
    assert plain.read(0, {"role": "user"}, "I live in a city that you know", AT)[0] == []


WORDS = 'I |live in |Paris|my sister Anna |is called |, |. |? |and |我|喜欢|茶|叫|了|，|。|`|"|“|”|yesterday |昨天|not '
PIECES = st.sampled_from([*WORDS.split("|"), "any more", "lol", "😂", "=", "\n", "{", "she ", "a cat", "\ue000"])


@settings(max_examples=25, deadline=None)
@given(text=st.one_of(st.lists(PIECES, max_size=14).map("".join), st.text(max_size=80)))
def test_any_text_is_read_and_every_quotation_stands_in_it(text: str) -> None:
    found, refused = read(text)
    assert all(text[one.start : one.end] == one.quote != "" for one in found)
    assert len(refused) <= MAX_REFUSALS
    assert found or refused
    assert [Proposal.from_dict(one.to_dict()) for one in found] == found
