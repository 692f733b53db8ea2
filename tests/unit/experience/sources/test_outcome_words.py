"""Words say plainly that something worked or failed, or they do not."""

from hypothesis import given
from hypothesis import strategies as st

from phronesis.experience.laws.event_draft import LABELS
from phronesis.experience.sources.outcome_words import said_outcome


def test_what_says_that_it_worked() -> None:
    cases: list[str] = [
        "that worked",
        "Thanks, that fixed it!",
        "The build is green: everything passes.",
        "no errors so far",
        "the warning is gone",
        "Solved.",
        "解决了",
        "这次成功了",
        "一开始失败，后来好使，现在好了",
        "问题已解决",
    ]
    for text in cases:
        assert said_outcome(text).label == "success", text


def test_what_says_that_it_failed() -> None:
    cases: list[str] = [
        "still fails",
        "It doesn’t help",
        "now I get another error: no space",
        "never worked",
        "made it worse",
        "Nope.",
        "还是报错",
        "没有解决",
        "没能成功",
        "试了，没有效果",
    ]
    for text in cases:
        assert said_outcome(text).label == "failure", text


def test_what_says_neither() -> None:
    cases: list[str] = [
        "Does it work?",
        "Let me know if it works.",
        "No problem!",
        "The failing tests are in ci.yml",
        "how it works",
        "works on Linux but fails on Windows",
        "应该可以了",
        "希望能解决",
        "不知道有没有用",
    ]
    for text in cases:
        assert said_outcome(text).label == "unknown", text


@given(st.text())
def test_any_words_give_a_label(text: str) -> None:
    found = said_outcome(text)
    assert found.label in LABELS
    assert found.label == "unknown" or found.signals
