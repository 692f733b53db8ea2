"""What a question is after: a time, the user's words or the assistant's."""

from phronesis.recall.scoring.signals import asks_when, voice_of

ASKING_WHEN: list[str] = [
    "When did Ana move?",
    "What day is the test?",
    "Which year was that?",
    "How long ago did it break?",
    "手术安排在哪天？",
    "你什么时候搬家？",
    "比赛是几号？",
    "戒烟多久了？",
]


def test_a_time_is_asked_for() -> None:
    for text in ASKING_WHEN:
        assert asks_when(text), text


NOT_WHEN: list[str] = ["What did Ana buy?", "Whenever", "她买了什么？", "x" * 3_000 + " when"]


def test_no_time_is_asked_for() -> None:
    for text in NOT_WHEN:
        assert not asks_when(text), text


ASSISTANT: list[str] = [
    "Which index did you recommend?",
    "What was your advice?",
    "How should I store the keys?",
    "How can we stop it?",
    "What did the assistant say about tea?",
    "你建议我吃什么？",
    "疼的时候你让我做什么？",
    "我该怎么办？",
    "助手推荐了哪本书？",
]


def test_the_assistant_is_asked_for() -> None:
    for text in ASSISTANT:
        assert voice_of(text) == "assistant", text


USER: list[str] = [
    "What did I tell you about my knee?",
    "Which faults did I report to you?",
    "Where do I live?",
    "What is my cat called?",
    "我女儿几岁了？",
    "我跟你说过的餐馆叫什么？",
    "咱家的地址是什么？",
]


def test_the_user_is_asked_for() -> None:
    for text in USER:
        assert voice_of(text) == "user", text


NOBODY: list[str] = ["Who broke the build?", "李娜为什么搬家？", "x" * 3_000 + " my"]


def test_nobody_is_asked_for() -> None:
    for text in NOBODY:
        assert voice_of(text) is None, text
