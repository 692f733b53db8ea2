"""What a question is after: a time, the user's words or the assistant's."""

from phronesis.recall.scoring.signals import asks_when, voice_of


def test_a_time_is_asked_for() -> None:
    cases: list[str] = ["When did Ana move?", "Which year was that?", "你什么时候搬家？", "戒烟多久了？"]
    for text in cases:
        assert asks_when(text), text


def test_the_assistant_is_asked_for() -> None:
    cases: list[str] = [
        "Which index did you recommend?",
        "How should I store the keys?",
        "What did the assistant say about tea?",
        "疼的时候你让我做什么？",
        "助手推荐了哪本书？",
    ]
    for text in cases:
        assert voice_of(text) == "assistant", text


def test_the_user_is_asked_for() -> None:
    cases: list[str] = [
        "What did I tell you about my knee?",
        "Where do I live?",
        "我女儿几岁了？",
        "咱家的地址是什么？",
    ]
    for text in cases:
        assert voice_of(text) == "user", text
