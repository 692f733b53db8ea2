"""The second opinion beside the rules."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np
import pytest

from phronesis.conversation.extracting.memory_types import load_memory_types
from phronesis.conversation.extracting.rules import Rules
from phronesis.conversation.extracting.tagging.network import (
    MAX_READ,
    Chances,
    Encoded,
    Network,
    Vocabulary,
    token_spans,
    word_of,
)
from phronesis.conversation.extracting.tagging.opinion import SecondOpinion, second_opinion
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

    def chances(self, seen: Encoded) -> Chances:
        scores = np.full((len(seen), len(TAGS)), -9.0, np.float32)
        scores[:, 0] = 0
        for words, (name, chance) in self.marks.items():
            place = self.text.index(words)
            for n in seen.span(place, place + len(words)):
                column = TAGS.index(f"{'B' if seen.starts[n] == place else 'I'}-{name}")
                scores[n, [0, column]] = np.log([1 - chance, chance])
        return Chances(scores, np.zeros((len(seen), 3), np.float32))


def read(text: str, marks: Mapping[str, tuple[str, float]]) -> tuple[list[Proposal], list[Refusal]]:
    words = {word_of(text[start:end]): 2 for start, end in token_spans(text)}
    network = Told(Vocabulary(words, {}, 1), TAGS, {}, text, marks)
    second = SecondOpinion(lambda _: network, unlikely={"en": 0.1, "zh": 0.1})
    return Rules(TYPES, second=second).read(0, {"role": "user"}, text, AT)


@pytest.mark.slow
def test_a_short_whole_sentence_is_the_rules_alone() -> None:
    for text in ("I live in Graz.", "Hello! I live in Graz", "I live in Graz\nsee you"):
        [kept], refused = read(text, {"Graz": ("profile/home_city", 0.05)})
        assert (kept.value, refused) == ("Graz", [])
    for text in ("I live in Graz, they say about me.", "These days I live in Graz, near the old town."):
        found, refused = read(text, {"Graz": ("profile/home_city", 0.05)})
        assert found == []
        assert "unlikely" in {one.rule for one in refused}


def test_what_the_rules_propose_and_the_network_finds_unlikely_is_refused() -> None:
    [kept], refused = read("我住在杭州", {"杭州": ("profile/home_city", 0.2)})
    assert (kept.key, kept.value, refused) == ("home_city", "杭州", [])
    kept_none, [refusal] = read("我住在杭州", {"杭州": ("profile/home_city", 0.05)})
    assert kept_none == []
    assert (refusal.rule, refusal.text) == ("unlikely", "我住在杭州")


def test_what_the_network_was_never_shown_is_the_rules_to_say() -> None:
    kept, _ = read("我叫李雷，住在杭州", {"杭州": ("profile/home_city", 0.9)})
    assert [one.key for one in kept] == ["name", "home_city"]


def test_the_network_of_a_language_is_read_when_a_message_in_it_comes() -> None:
    asked: list[str] = []

    def load(language: str) -> Network:
        asked.append(language)
        return Told(Vocabulary({}, {}, 1), TAGS, {})

    rules = Rules(TYPES, second=SecondOpinion(load))
    for text in ("?!", "My name is Ann", "I live in Leeds", "我住在杭州", "I" * (MAX_READ["en"] + 1)):
        rules.read(0, {"role": "user"}, text, AT)
    assert asked == ["en", "zh"]


def test_long_messages_and_tools_are_the_rules_alone() -> None:
    second = second_opinion()
    assert second.reads("我住在杭州")
    assert second.reads("I live in Leeds")
    assert not second.reads("我" * (MAX_READ["zh"] + 1))
    assert not second.reads("so " * MAX_READ["en"])
    assert not second.reads("...")
    text = "I live in Leeds. " * 30
    assert Rules(TYPES, second=second).read(0, {"role": "user"}, text, AT) == Rules(TYPES).read(
        0, {"role": "user"}, text, AT
    )


def test_a_language_that_no_network_learned_is_the_rules_alone() -> None:
    text = "Ich wohne in Leeds und mag Tee"
    assert Rules(TYPES, second=second_opinion()).read(0, {"role": "user"}, text, AT) == Rules(TYPES).read(
        0, {"role": "user"}, text, AT
    )


@pytest.mark.slow
def test_the_installed_networks_know_what_is_plain() -> None:
    rules = Rules(TYPES, second=second_opinion())
    [lives], _ = rules.read(0, {"role": "user"}, "I live in Leeds.", AT)
    assert (lives.key, lives.value) == ("home_city", "Leeds")
    assert rules.read(0, {"role": "user"}, "Do you live in Leeds?", AT)[0] == []
    [found], _ = rules.read(0, {"role": "user"}, "我住在杭州", AT)
    assert (found.key, found.value) == ("home_city", "杭州")
    assert rules.read(0, {"role": "user"}, "你住在杭州吗？", AT)[0] == []


@pytest.mark.slow
def test_nothing_is_added_of_what_is_denied_past_passing_or_no_statement() -> None:
    cases: list[str] = [
        "我没有糖尿病，也没有高血压。",
        "I'm neither vegetarian nor vegan.",
        "我以前住在北京。",
        "Berlin.",
        "I'm in Lisbon this week for a conference.",
        "我的订单号是13812345678。",
        "My brother isn't a nurse.",
        "My doctor asked whether I have diabetes.",
    ]
    for text in cases:
        found, _ = Rules(TYPES, second=second_opinion()).read(0, {"role": "user"}, text, AT)
        assert [(one.key, one.value) for one in found if one.kind == "profile" and one.act == "assert"] == []


def test_names_are_never_unlikely() -> None:
    cases: list[tuple[str, str]] = [
        ("My name is Chen Yulan, and my son is Chen Bowen.", "Chen Bowen"),
        ("My name is Anna Smith, and my son is Ben Smith.", "Ben Smith"),
        ("我叫林晓梅，我儿子叫林子轩。", "林子轩"),
    ]
    for text, child in cases:
        found, refused = Rules(TYPES, second=second_opinion()).read(0, {"role": "user"}, text, AT)
        assert child in {one.value for one in found if one.key == "child"}
        assert refused == []
