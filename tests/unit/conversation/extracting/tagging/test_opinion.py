"""The second opinion beside the rules."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np
import pytest

from phronesis.conversation.extracting.memory_types import load_memory_types
from phronesis.conversation.extracting.rules import Rules
from phronesis.conversation.extracting.tagging.network import (
    EncodedText,
    Network,
    TagProbabilities,
    Vocabulary,
    token_spans,
    word_of,
)
from phronesis.conversation.extracting.tagging.opinion import TaggerReranker, second_opinion
from phronesis.core.proposals import Proposal, Refusal

AT = datetime(2026, 6, 10, 9, tzinfo=UTC)
TAGS = (
    "O",
    "B-profile/home_city",
    "I-profile/home_city",
    "B-intention/plan",
    "I-intention/plan",
    "B-#S",
    "I-#S",
    "B-preference/uses",
    "I-preference/uses",
    "B-task/task",
    "I-task/task",
)
TYPES = load_memory_types()


@dataclass(frozen=True, slots=True)
class Told(Network):
    """A network that says what it is told of a text."""

    text: str = ""
    marks: Mapping[str, tuple[str, float]] = field(default_factory=dict)

    def chances(self, seen: EncodedText) -> TagProbabilities:
        scores = np.full((len(seen), len(TAGS)), -9.0, np.float32)
        scores[:, 0] = 0
        for words, (name, chance) in self.marks.items():
            place = self.text.index(words)
            for n in seen.span(place, place + len(words)):
                column = TAGS.index(f"{'B' if seen.starts[n] == place else 'I'}-{name}")
                scores[n, [0, column]] = np.log([1 - chance, chance])
        return TagProbabilities(scores, np.zeros((len(seen), 3), np.float32))


def read(text: str, marks: Mapping[str, tuple[str, float]]) -> tuple[list[Proposal], list[Refusal]]:
    words = {word_of(text[start:end]): 2 for start, end in token_spans(text)}
    network = Told(Vocabulary(words, {}, 1), TAGS, {}, text, marks)
    second = TaggerReranker(lambda _: network, unlikely={"en": 0.1, "zh": 0.1})
    return Rules(TYPES, second=second).read(0, {"role": "user"}, text, AT)


def test_what_the_rules_propose_and_the_network_finds_unlikely_is_refused() -> None:
    [kept], refused = read("我住在杭州", {"杭州": ("profile/home_city", 0.2)})
    assert (kept.key, kept.value, refused) == ("home_city", "杭州", [])
    kept_none, [refusal] = read("我住在杭州", {"杭州": ("profile/home_city", 0.05)})
    assert kept_none == []
    assert (refusal.rule, refusal.text) == ("unlikely", "我住在杭州")


@pytest.mark.slow
def test_nothing_is_added_of_what_is_denied_past_passing_or_no_statement() -> None:
    cases: list[str] = [
        "我没有糖尿病，也没有高血压。",
        "我以前住在北京。",
        "我的订单号是13812345678。",
        "My doctor asked whether I have diabetes.",
    ]
    for text in cases:
        found, _ = Rules(TYPES, second=second_opinion()).read(0, {"role": "user"}, text, AT)
        assert [(one.key, one.value) for one in found if one.kind == "profile" and one.act == "assert"] == []
