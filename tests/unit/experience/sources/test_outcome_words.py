"""Words say plainly that something worked or failed, or they do not."""

from hypothesis import given
from hypothesis import strategies as st

from phronesis.experience.laws.event_draft import LABELS
from phronesis.experience.sources.outcome_words import reasons, said_outcome

WORKED: list[str] = [
    "that worked",
    "It works now.",
    "Thanks, that fixed it!",
    "works like a charm",
    "all tests pass",
    "The build is green: everything passes.",
    "It didn't fail this time",
    "no errors so far",
    "it no longer crashes",
    "has not failed since",
    "the warning is gone",
    "It failed at first, but now it works.",
    "Solved.",
    "Pinning it did the trick",
    "the upload went through without errors",
    "解决了",
    "可以了，谢谢",
    "这次成功了",
    "没有再报错",
    "终于跑通了",
    "一开始失败，后来好使，现在好了",
    "不再超时",
    "问题已解决",
]


def test_what_says_that_it_worked() -> None:
    for text in WORKED:
        assert said_outcome(text).label == "success", text


FAILED: list[str] = [
    "still fails",
    "That didn't work.",
    "It doesn’t help",
    "same error",
    "no luck",
    "now I get another error: no space",
    "it crashed again",
    "never worked",
    "It didn't fix the error",
    "the server timed out",
    "made it worse",
    "nothing changed",
    "Nope.",
    "It worked yesterday. Still broken today.",
    "failed with a broken pipe",
    "还是报错",
    "不行",
    "没有解决",
    "又崩溃了",
    "没用，还是一样",
    "没能成功",
    "仍然失败",
    "试了，没有效果",
]


def test_what_says_that_it_failed() -> None:
    for text in FAILED:
        assert said_outcome(text).label == "failure", text


NEITHER: list[str] = [
    "Does it work?",
    "it should work",
    "Let me know if it works.",
    "I hope that fixed it",
    "not sure whether it works",
    "No problem!",
    "thanks",
    "The failing tests are in ci.yml",
    "She works at the harbour",
    "Set a fixed size",
    "how it works",
    "I will try it when it fails again",
    "works on Linux but fails on Windows",
    "",
    "应该可以了",
    "成功了吗？",
    "如果失败就告诉我",
    "希望能解决",
    "用户的有用户名",
    "不知道有没有用",
]


def test_what_says_neither() -> None:
    for text in NEITHER:
        assert said_outcome(text).label == "unknown", text


def test_what_says_both_names_both() -> None:
    assert said_outcome("works on Linux but fails on Windows").signals == ("says “works”", "says “fails”")


SENTENCE_SAYS_WHY: list[tuple[str, str]] = [
    ("It works. The problem was the port. Bye.", "The problem was the port."),
    ("It turned out app.py was stale", "It turned out app.py was stale"),
    ("原因是缓存没有清。谢谢", "原因是缓存没有清。"),
    ("Was it because of the port?", ""),
    ("nothing here", ""),
]


def test_a_sentence_that_says_why_is_found() -> None:
    for text, why in SENTENCE_SAYS_WHY:
        assert reasons(text) == why, text


@given(st.text())
def test_any_words_give_a_label(text: str) -> None:
    found = said_outcome(text)
    assert found.label in LABELS
    assert found.label == "unknown" or found.signals
