"""The second opinion beside the rules."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np

from phronesis.core.proposals import Proposal, Refusal
from phronesis.derive.extracting.gate import Gate
from phronesis.derive.extracting.memory_types import load_memory_types
from phronesis.derive.extracting.rules import Rules
from phronesis.derive.extracting.tagging.network import Chances, Network
from phronesis.derive.extracting.tagging.opinion import TAGGED, SecondOpinion, second_opinion
from phronesis.derive.extracting.tagging.tokens import MAX_READ, Encoded, Vocabulary, token_spans, word_of

AT = datetime(2026, 6, 10, 9, tzinfo=UTC)
TAGS = ("O", "B-profile/home_city", "I-profile/home_city", "B-intention/plan", "I-intention/plan", "B-#S", "I-#S",
        "B-preference/uses", "I-preference/uses", "B-task/task", "I-task/task")  # fmt: skip
TYPES = load_memory_types()


@dataclass(frozen=True, slots=True)
class Told(Network):
    """A network that says what it is told of a text."""

    text: str = ""
    marks: Mapping[str, tuple[str, float]] = field(default_factory=dict)
    anothers: bool = False

    def chances(self, seen: Encoded) -> Chances:
        scores = np.full((len(seen), len(TAGS)), -9.0, np.float32)
        scores[:, 0] = 0
        for words, (name, chance) in self.marks.items():
            place = self.text.index(words)
            for n in seen.span(place, place + len(words)):
                column = TAGS.index(f"{'B' if seen.starts[n] == place else 'I'}-{name}")
                scores[n, [0, column]] = np.log([1 - chance, chance])
        signs = np.zeros((len(seen), 3), np.float32)
        signs[:, 2] = self.anothers
        return Chances(scores, signs)


def read(
    text: str,
    marks: Mapping[str, tuple[str, float]],
    *,
    anothers: bool = False,
    gate: Gate = Gate(),  # noqa: B008 - it never changes
) -> tuple[list[Proposal], list[Refusal]]:
    words = {word_of(text[start:end]): 2 for start, end in token_spans(text)}
    network = Told(Vocabulary(words, {}, 1), TAGS, {}, text, marks, anothers)
    second = SecondOpinion(lambda _: network, TYPES, unlikely={"en": 0.1, "zh": 0.1}, sure={"en": 0.6, "zh": 0.6})
    return Rules(TYPES, gate, second).read(0, {"role": "user"}, text, AT)


def test_no_time_is_used_and_what_is_asked_of_somebody_is_no_task_of_the_speakers() -> None:
    for text, words, name in (
        ("We ship it all on Fridays, as ever", "Fridays", "preference/uses"),
        ("For that please take the old kiln", "old kiln", "preference/uses"),
        ("Kindly water the ferns on the sill", "water the ferns", "task/task"),
        ("擦电极请一律拿乙醇", "乙醇", "preference/uses"),
    ):
        assert read(text, {words: (name, 0.99)})[0] == []
    [kept], _ = read("For that we take the old kiln", {"old kiln": ("preference/uses", 0.99)})
    assert (kept.key, kept.value) == ("uses", "old kiln")


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


def test_what_the_rules_pass_over_is_proposed_where_it_is_likely() -> None:
    text = "魔都漂了十年啦，哪家生煎好吃"
    assert read(text, {"魔都": ("profile/home_city", 0.55)})[0] == []
    [found], _ = read(text, {"魔都": ("profile/home_city", 0.8)})
    assert (found.kind, found.key, found.value, found.subject) == ("profile", "home_city", "魔都", "user")
    assert (found.quote, found.content, found.confidence) == ("魔都漂了十年啦", "魔都漂了十年啦", TAGGED)
    assert text[found.start : found.end] == found.quote
    assert found.cardinality == "one"


def test_a_gate_above_its_confidence_lets_nothing_of_its_own_through() -> None:
    text = "魔都漂了十年啦，哪家生煎好吃"
    marks = {"魔都": ("profile/home_city", 0.8)}
    assert read(text, marks, gate=Gate(user=TAGGED))[0] != []
    assert read(text, marks, gate=Gate(user=0.9))[0] == []


def test_the_network_of_a_language_is_read_when_a_message_in_it_comes() -> None:
    asked: list[str] = []

    def load(language: str) -> Network:
        asked.append(language)
        return Told(Vocabulary({}, {}, 1), TAGS, {})

    rules = Rules(TYPES, second=SecondOpinion(load, TYPES))
    for text in ("?!", "I live in Leeds", "我住在杭州", "I" * (MAX_READ["en"] + 1)):
        rules.read(0, {"role": "user"}, text, AT)
    assert asked == ["en", "zh"]


def test_english_is_read_by_its_own_network() -> None:
    text = "Mum, Leeds through and through, bless her"
    marks = {"Mum": ("#S", 0.9), "Leeds": ("profile/home_city", 0.8)}
    found = [one for one in read(text, marks, anothers=True)[0] if one.key == "home_city"]
    assert [(one.subject, one.value, one.quote) for one in found] == [("mum", "Leeds", "Leeds through and through")]
    assert read("Is it Leeds through and through?", {"Leeds": ("profile/home_city", 0.8)})[0] == []


def test_a_question_or_a_quotation_is_not_taken_however_likely() -> None:
    assert read("魔都漂了十年是什么感觉？", {"魔都": ("profile/home_city", 0.9)})[0] == []
    assert read("他说：“魔都漂了十年啦”", {"魔都": ("profile/home_city", 0.9)})[0] == []


def test_what_is_of_another_names_them() -> None:
    text = "老郭魔都漂着呢"
    [found], _ = read(text, {"老郭": ("#S", 0.9), "魔都": ("profile/home_city", 0.8)}, anothers=True)
    assert (found.subject, found.content) == ("老郭", text)


def test_a_plan_is_due_on_the_day_that_is_said() -> None:
    [found], _ = read("6月20日敦煌走起", {"敦煌": ("intention/plan", 0.9)})
    assert (found.key, found.value, (found.due or "")[:10]) == ("plan", "敦煌", "2026-06-20")


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


def test_the_installed_networks_know_what_is_plain() -> None:
    rules = Rules(TYPES, second=second_opinion())
    [lives], _ = rules.read(0, {"role": "user"}, "I live in Leeds.", AT)
    assert (lives.key, lives.value) == ("home_city", "Leeds")
    assert rules.read(0, {"role": "user"}, "Do you live in Leeds?", AT)[0] == []
    [found], _ = rules.read(0, {"role": "user"}, "我住在杭州", AT)
    assert (found.key, found.value) == ("home_city", "杭州")
    assert rules.read(0, {"role": "user"}, "你住在杭州吗？", AT)[0] == []
