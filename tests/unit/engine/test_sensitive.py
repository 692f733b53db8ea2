"""What no trait may be inferred from is found, and its look-alikes are not: measured on texts labelled first."""

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from growth import assert_cut_off, repeated
from labelled_texts import LABELLED_TEXTS
from phronesis.config import SENSITIVE_TOPICS, SensitiveRules
from phronesis.engine.sensitive_topics import Guard
from phronesis.engine.sensitive_topics.tables import load_tables
from phronesis.models.text_features import MAX_SCANNED

LABELLED = LABELLED_TEXTS / "sensitive"
GUARD = Guard(SensitiveRules())
SICK = "I have type 2 diabetes."
PLAIN = "I run five kilometres every morning."
load_tables()  # once, and not in the time of a test


def rows(split: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (LABELLED / f"{split}.jsonl").read_text("utf-8").splitlines()]


def guard(topics: Sequence[str] = SENSITIVE_TOPICS, also: Sequence[str] = (), allow: Sequence[str] = ()) -> Guard:
    return Guard(SensitiveRules.model_construct(topics=tuple(topics), also=tuple(also), allow=tuple(allow)))


def found(text: str, by: Guard = GUARD) -> str | None:
    finding = by.topic(text)
    return None if finding is None else finding.topic


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(
    ("split", "plain", "paraphrase", "false"), [("dev", 1.0, 1.0, 0.0), ("test", 0.95, 0.75, 0.03)]
)
def test_recall_and_false_alarms(split: str, plain: float, paraphrase: float, false: float, language: str) -> None:
    # Of test, nobody looked at the mistakes.
    told: Counter[tuple[str, bool]] = Counter()
    for row in rows(split):
        if row["language"] == language:
            told[row["why"], found(row["text"]) is not None] += 1
    assert told["plain", True] >= plain * (told["plain", True] + told["plain", False])
    assert told["paraphrase", True] >= paraphrase * (told["paraphrase", True] + told["paraphrase", False])
    harmless = sum(told[why, hit] for why in ("look-alike", "ordinary") for hit in (True, False))
    assert told["look-alike", True] + told["ordinary", True] <= false * harmless


def test_what_only_looks_sensitive_is_not() -> None:
    cases: list[str] = [
        "讨论会上师妹讲得最好",
        "强迫症又犯了，把书单的编号重排一遍",
        "上瘾了，又抽了一个盲盒",
        "Had the whole class in stitches",
        "An overdose of opera this weekend",
        "Found it in a boot",
    ]
    for text in cases:
        assert found(text) is None


def test_what_is_sensitive_beside_its_look_alikes_still_is() -> None:
    cases: list[tuple[str, str]] = [
        ("上师给我灌顶", "religion"),
        ("强迫症又犯了，门锁看了二十遍", "mental_health"),
        ("An overdose of pills again", "addiction"),
        ("No meat until Easter", "religion"),
        ("My hand needed stitches", "physical_health"),
        ("Weighed myself three times before noon", "mental_health"),
        ("Hid food in the drawer", "mental_health"),
    ]
    for text, topic in cases:
        assert found(text) == topic


def test_width_script_and_gaps_hide_nothing() -> None:
    assert found("我 有 糖 尿 病。") == "physical_health"
    assert found("我確診了憂鬱症。") == "mental_health"
    assert found("Ｉ ａｍ ａ Ｍｕｓｌｉｍ") == "religion"
    assert found("我有PTSD。") == "mental_health"


def test_a_trait_is_refused_for_its_words_or_for_half_of_its_evidence() -> None:
    assert GUARD.of_trait(PLAIN, [PLAIN, PLAIN]) is None
    assert GUARD.of_trait(PLAIN, []) is None
    assert GUARD.of_trait(PLAIN, [SICK, PLAIN, PLAIN]) is None
    for_its_words = GUARD.of_trait("Plans the week around her dialysis.", [PLAIN])
    assert for_its_words is not None
    assert for_its_words.topic == "physical_health"
    half = GUARD.of_trait(PLAIN, [SICK, PLAIN])
    assert half is not None
    assert half.topic == "physical_health"
    mixed = GUARD.of_trait(PLAIN, ["I am a Muslim.", SICK, "My asthma is back.", PLAIN, PLAIN])
    assert mixed is not None
    assert mixed.topic == "physical_health"
    assert len(mixed.words) >= 2


def test_hints_of_one_matter_count_together() -> None:
    hints = ["Tablets again before lunch.", "The waiting room was full.", "Felt dizzy on the stairs."]
    assert [found(text) for text in hints] == [None, None, None]
    told = GUARD.of_trait(PLAIN, hints)
    assert told is not None
    assert told.topic == "physical_health"
    assert len(told.words) == 3
    assert GUARD.of_trait(PLAIN, [*hints, PLAIN, PLAIN]) is None  # fewer than two thirds
    assert GUARD.of_trait(PLAIN, hints[:1] * 3) is None  # one sign, three times


def test_topics_that_are_not_guarded_pass() -> None:
    for row in (row for row in rows("dev") if row["topic"] is not None):
        assert found(row["text"], guard(())) is None
        assert found(row["text"], guard([row["topic"]])) in {None, row["topic"]}
        others = guard([topic for topic in SENSITIVE_TOPICS if topic != row["topic"]])
        assert found(row["text"], others) != row["topic"]


WORDS = (
    "i have",
    "depression",
    "的",
    "我",
    "确诊",
    "抑郁",
    "data set",
    ". ",
    "。",
    "debt",
    "\u200b",
    "İ",
    "\ud800",
    "ﷺ",
)


@given(st.lists(st.one_of(st.sampled_from(WORDS), st.text(max_size=20)), max_size=30).map(" ".join))
def test_no_text_is_too_odd(text: str) -> None:
    finding = GUARD.topic(text)
    assert finding == GUARD.topic(text)
    if finding is not None:
        assert finding.topic in SENSITIVE_TOPICS
        assert all(finding.words)


@given(st.text(max_size=100), st.text(max_size=100))
def test_a_sentence_of_its_own_is_found_between_any_others(before: str, after: str) -> None:
    assert GUARD.topic(f"{before}\n{SICK}\n{after}") is not None


@given(st.text(max_size=40), st.text(max_size=60))
@settings(max_examples=50)
def test_what_is_forbidden_is_found_and_what_is_allowed_is_gone(phrase: str, text: str) -> None:
    by = guard((), also=[phrase])
    finding = by.topic(f"{text} {phrase} {text}")
    if any(map(str.isalnum, phrase)) and finding is None:
        pytest.fail(f"{phrase!r} is not found")
    assert guard(allow=[phrase]).topic(phrase) is None


HOSTILE = ("i have a severe chronic ", "被", "$1", "喝一")


@pytest.mark.slow
@pytest.mark.parametrize("piece", HOSTILE)
def test_time_goes_with_the_length_as_far_as_it_is_read(piece: str) -> None:
    assert_cut_off(GUARD.topic, repeated(piece), MAX_SCANNED)
