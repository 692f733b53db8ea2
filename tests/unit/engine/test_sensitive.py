"""What no trait may be inferred from is found by the classifier, or by plain words where no encoder is installed."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelled_texts import LABELLED_TEXTS
from phronesis.config import SENSITIVE_TOPICS, SensitiveRules
from phronesis.engine.content_guards import Chances, Guard

LABELLED = LABELLED_TEXTS / "sensitive"
PLAIN = "Runs five kilometres every morning."


def rows(split: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (LABELLED / f"{split}.jsonl").read_text("utf-8").splitlines()]


def judge(text: str) -> Chances:
    """Read the chance of physical health from the text: ``sick 0.4``."""
    word, _, chance = text.partition(" ")
    return {"physical_health": float(chance) if word == "sick" else 0.0, "religion": 0.9 if word == "beads" else 0.0}


def guard(
    topics: Sequence[str] = SENSITIVE_TOPICS, also: Sequence[str] = (), allow: Sequence[str] = (), by: Any = judge
) -> Guard:
    policy = SensitiveRules.model_construct(topics=tuple(topics), also=tuple(also), allow=tuple(allow))
    return Guard(policy, judge=by)


def found(text: str, by: Guard) -> str | None:
    finding = by.topic(text)
    return None if finding is None else finding.topic


@pytest.mark.slow
@pytest.mark.encoder
@pytest.mark.parametrize("language", ["en", "zh"])
def test_most_sensitive_texts_that_nobody_looked_at_are_known(language: str) -> None:
    by = Guard(SensitiveRules())
    told: Mapping[bool, list[bool]] = {True: [], False: []}
    for row in rows("test"):
        if row["language"] == language:
            told[row["topic"] is not None].append(by.of_trait(row["text"], ()) is not None)
    assert sum(told[True]) >= 0.65 * len(told[True])
    assert sum(told[False]) <= 0.08 * len(told[False])


@pytest.mark.encoder
@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("I have type 2 diabetes.", "physical_health"),
        ("我 有 糖 尿 病。", "physical_health"),
        ("我確診了憂鬱症。", "mental_health"),
        ("Ｉ ａｍ ａ Ｍｕｓｌｉｍ", "religion"),
        ("Ran along the river before work.", None),
        ("晚饭后拼了一会儿积木", None),
    ],
)
def test_width_script_and_gaps_hide_nothing(text: str, topic: str | None) -> None:
    assert found(text, Guard(SensitiveRules())) == topic


def test_a_trait_is_refused_for_its_words_or_for_half_of_its_evidence() -> None:
    by = guard()
    assert by.of_trait(PLAIN, [PLAIN, PLAIN]) is None
    assert by.of_trait(PLAIN, []) is None
    assert by.of_trait(PLAIN, ["sick 0.5", PLAIN, PLAIN]) is None
    for content, evidence in (
        ("sick 0.35", []),
        (PLAIN, ["sick 0.7", PLAIN]),
        (PLAIN, ["beads", "sick 0.6", "sick 0.7"]),
    ):
        finding = by.of_trait(content, evidence)
        assert finding is not None
        assert finding.topic == "physical_health"


def test_without_an_encoder_plain_words_are_known_and_whole() -> None:
    by = guard(by=lambda _: None)
    assert found("I have diabetes.", by) == "physical_health"
    assert found("我确诊了糖尿病", by) == "physical_health"
    assert found("The strokes of the brush", by) is None
    assert found("My insulin is in the fridge", guard(["religion"], by=lambda _: None)) is None
    assert found("My insulin is in the fridge", guard(allow=["insulin"], by=lambda _: None)) is None
    finding = by.topic("He takes Insulin, I think")
    assert finding is not None
    assert list(finding.words) == ["insulin"]


@given(st.text(max_size=40), st.text(max_size=60))
@settings(max_examples=50)
def test_what_is_forbidden_is_found_and_what_is_allowed_is_gone(phrase: str, text: str) -> None:
    by = guard((), also=[phrase])
    if any(map(str.isalnum, phrase)):
        assert by.topic(f"{text} {phrase} {text}") is not None
    assert guard(allow=[phrase], by=lambda _: None).topic(phrase) is None
