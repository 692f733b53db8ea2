"""What a question is after: a time, the user's words or the assistant's."""

import pytest

from phronesis.recall.scoring.signals import asks_when, voice_of


@pytest.mark.parametrize(
    "text",
    ["When did Ana move?", "What day is the test?", "Which year was that?", "How long ago did it break?",
     "手术安排在哪天？", "你什么时候搬家？", "比赛是几号？", "戒烟多久了？"],
)  # fmt: skip
def test_a_time_is_asked_for(text: str) -> None:
    assert asks_when(text)


@pytest.mark.parametrize("text", ["What did Ana buy?", "Whenever", "她买了什么？", "x" * 3_000 + " when"])
def test_no_time_is_asked_for(text: str) -> None:
    assert not asks_when(text)


@pytest.mark.parametrize(
    "text",
    ["Which index did you recommend?", "What was your advice?", "How should I store the keys?", "How can we stop it?",
     "What did the assistant say about tea?", "你建议我吃什么？", "疼的时候你让我做什么？", "我该怎么办？",
     "助手推荐了哪本书？"],
)  # fmt: skip
def test_the_assistant_is_asked_for(text: str) -> None:
    assert voice_of(text) == "assistant"


@pytest.mark.parametrize(
    "text",
    ["What did I tell you about my knee?", "Which faults did I report to you?", "Where do I live?",
     "What is my cat called?", "我女儿几岁了？", "我跟你说过的餐馆叫什么？", "咱家的地址是什么？"],
)  # fmt: skip
def test_the_user_is_asked_for(text: str) -> None:
    assert voice_of(text) == "user"


@pytest.mark.parametrize("text", ["Who broke the build?", "李娜为什么搬家？", "x" * 3_000 + " my"])
def test_nobody_is_asked_for(text: str) -> None:
    assert voice_of(text) is None
