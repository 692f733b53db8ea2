"""What the policy says of what messages state: refused, withheld, or let through with its rules."""

from typing import Any

from phronesis.conversation.extraction.gate import WITHHELD, terms_of, withheld_in
from phronesis.conversation.policy_section import ConversationPolicy
from phronesis.core.entries import Outcome
from phronesis.core.proposals import Proposal


def proposal(text: str, quote: str, key: str = "likes", kind: str = "preference") -> Proposal:
    start = text.index(quote)
    return Proposal(
        n=0, quote=quote, start=start, end=start + len(quote), kind=kind, subject="user", key=key, content=quote
    )


def terms(**policy: Any) -> Any:
    return terms_of(ConversationPolicy.model_validate(policy))


def test_what_is_never_taken_up() -> None:
    cases: list[tuple[list[str], str, str, bool]] = [
        (["phone"], "phone", "profile", True),
        (["favorite.*"], "favorite.color", "preference", True),
        (["event"], "appointment", "event", True),
        (["phone"], "email", "profile", False),
    ]
    for never, key, kind, refused in cases:
        text = "It is so and so."
        kept, told = terms(gates={"never": never}).apply_retention(
            [proposal(text, "so and so", key, kind)], [], {0: text}
        )
        assert bool(kept) is not refused
        assert [one.rule for one in told] == ["never"] * refused
        assert all(never[0] in one.reason for one in told)


def test_a_sensitive_sentence_makes_no_memory() -> None:
    cases: list[tuple[str, str, str, str | None]] = [
        ("I moved. I have asthma! I like tea.", "I have asthma", "health", "physical_health"),
        ("我搬家了。我有抑郁症！我喜欢茶。", "我有抑郁症", "health", "mental_health"),
        ("I moved. I have asthma! I like tea.", "I like tea", "likes", None),
        ("我搬家了。我有抑郁症！我喜欢茶。", "我喜欢茶", "likes", None),
        ("I am allergic to lupin.", "I am allergic to lupin", "allergy", "physical_health"),
        ("The merger is in May.", "in May", "fact", "team"),
        ("I earn 3.5 million a year, my salary is fine", "salary is fine", "fact", "finances"),
    ]
    for text, quote, key, topic in cases:
        rules = terms(sensitive={"store": "messages_only", "also": ["the merger"]})
        kept, told = rules.apply_retention([proposal(text, quote, key)], [], {0: text})
        assert bool(kept) is (topic is None)
        assert [one.rule for one in told] == ["sensitive"] * (topic is not None)
        assert all(topic is not None and topic in one.reason and one.text == quote for one in told)
        assert rules.split_readable({0: text}) == ({0: text}, [], [])


def test_a_key_that_means_a_matter_is_one_without_its_words() -> None:
    text = "I have the Whatsit syndrome."
    one = proposal(text, "I have the Whatsit syndrome", "health")
    for topics, kept in ((["mental_health"], []), (["politics"], [one])):
        rules = terms(sensitive={"store": "messages_only", "topics": topics})
        assert rules.apply_retention([one], [], {0: text})[0] == kept


def test_a_sensitive_message_is_withheld_whole() -> None:
    rules = terms(sensitive={"store": "nothing_derived", "topics": ["physical_health"]})
    texts = {0: "I have asthma. I like tea.", 1: "我有糖尿病。", 2: "I like tea."}
    kept, outcomes, refused = rules.split_readable(texts)
    assert kept == {2: "I like tea."}
    (outcome,) = outcomes
    assert outcome.body["withheld"] == [{"n": 0, "topic": "physical_health"}, {"n": 1, "topic": "physical_health"}]
    assert [(one.n, one.rule) for one in refused] == [(0, "sensitive"), (1, "sensitive")]
    assert withheld_in({WITHHELD: [outcome]}) == {0, 1}
    assert withheld_in({"other": [Outcome(role="other", made_by="x", body={})]}) == frozenset()
    assert rules.hides("I have asthma.")
    assert rules.split_readable({2: "I like tea."}) == ({2: "I like tea."}, [], [])
