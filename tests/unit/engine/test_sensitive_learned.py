"""What is told of sensitive matters without their words is known by a model that learned from labelled texts."""

import json
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelled_texts import LABELLED_TEXTS
from phronesis.config import SENSITIVE_TOPICS, SensitiveRules
from phronesis.engine.sensitive_topics import Guard
from phronesis.engine.sensitive_topics.guard import MAX_WORDS
from phronesis.engine.sensitive_topics.tables import NONE, Model, load_model
from phronesis.models.text_features import BUCKETS, bucket, language_of

LABELLED = LABELLED_TEXTS / "sensitive"
WORDS_ALONE = Guard(SensitiveRules(), models={})
BOTH = Guard(SensitiveRules())
HARMLESS = [
    "Ran along the river before work.",
    "Baked two loaves and gave one away.",
    "周六又去爬山了",
    "晚饭后拼了一会儿积木",
]


def small(topic_of: dict[str, str], unit: float = 0.1) -> Model:
    """Make a model that knows single words: each speaks for its topic and against none."""
    classes = (NONE, *sorted(set(topic_of.values())))
    weights = np.zeros((BUCKETS, len(classes)), dtype=np.int8)
    for word, topic in topic_of.items():
        weights[bucket(word), classes.index(topic)] = 100
        weights[bucket(word), 0] = -100
    return Model(classes, weights, unit, np.array([1.5] + [0.0] * (len(classes) - 1)))


def guard(model: Model, topics: Sequence[str] = SENSITIVE_TOPICS, allow: Sequence[str] = ()) -> Guard:
    return Guard(
        SensitiveRules.model_validate({"topics": tuple(topics), "allow": tuple(allow)}),
        models={"en": model, "zh": model},
    )


@pytest.mark.parametrize("language", ["en", "zh"])
def test_paraphrases_that_nobody_looked_at_are_known_more_often(language: str) -> None:
    # Of the test half, which no weights and no tables were fitted on, nobody looked at the mistakes.
    rows = [json.loads(line) for line in (LABELLED / "test.jsonl").read_text("utf-8").splitlines()]
    told = [row["text"] for row in rows if row["language"] == language and row["why"] == "paraphrase"]
    harmless = [row["text"] for row in rows if row["language"] == language and row["topic"] is None]
    assert known(told, BOTH) >= known(told, WORDS_ALONE)
    assert known(told, BOTH) >= 0.8 * len(told)
    assert known(harmless, BOTH) <= 0.06 * len(harmless)


def known(texts: Sequence[str], by: Guard) -> int:
    return sum(by.of_trait(text, ()) is not None for text in texts)


def test_what_each_hints_at_all_say_together() -> None:
    by = guard(small({"kettle": "physical_health", "beads": "religion"}, unit=0.06))
    hints = [
        "Watched the kettle again today with my mother.",
        "The same chair, the same kettle, a new nurse on the early round.",
    ]
    assert [by.of_trait(hint, ()) for hint in hints] == [None, None]
    told = by.of_trait("Sits by the window.", hints)
    assert told is not None
    assert told.topic == "physical_health"
    assert "kettle" in told.words
    assert by.of_trait("Sits by the window.", hints[:1]) is None  # one text alone says too little


def test_what_conversations_keep_goes_by_words_alone() -> None:
    assert guard(small({"kettle": "physical_health"})).topic("The kettle ran all night.") is None


def test_harmless_memories_pass_alone_and_together() -> None:
    assert [one for one in HARMLESS if BOTH.of_trait(one, ()) is not None] == []
    assert BOTH.of_trait("", HARMLESS[:2]) is None
    assert BOTH.of_trait("", HARMLESS[2:]) is None


@given(st.text(max_size=80))
def test_no_text_is_too_odd_and_the_order_of_topics_does_not_matter(text: str) -> None:
    model = load_model(language_of(text))
    odds = model.odds(text, SENSITIVE_TOPICS)
    assert odds == model.odds(text, SENSITIVE_TOPICS[::-1])
    if odds is not None:
        assert odds.topic in SENSITIVE_TOPICS
        assert np.isfinite(odds.log)
        assert len(odds.words) <= MAX_WORDS
