"""What a message is after and whether it needs a document, in English and Chinese."""

from datetime import UTC, datetime

import pytest

from phronesis.recall.planning.intent import MAX_READ, decide, excerpt, language_of, read_message
from phronesis.recall.planning.time_range import window_of

NOW = datetime(2025, 11, 20, 15, tzinfo=UTC)
"""A Thursday."""

# Message, intent, whether a document is needed, the window.
MESSAGES: dict[str, list[tuple[str, str, bool, str]]] = {
    "en": [
        ("How many vacation days does the works agreement grant?", "lookup", True, ""),
        ("How can I get the coffee machine to descale itself?", "how_to", True, ""),
        ("npm ERR! code ERESOLVE while installing react-scripts", "how_to", True, ""),
        ("Refactor the login handler so that it uses the new session store", "act", True, ""),
        ("Which linter would you recommend for a large TypeScript monorepo?", "advise", True, ""),
        ("tl;dr of https://example.org/post", "lookup", True, ""),
        ("What's different in the second edition of the safety rules?", "change", True, ""),
        ("What did the auditors' report of last month conclude?", "lookup", True, "2025-10-01 2025-11-01"),
        ("Did I take my pills yesterday?", "recall", False, "2025-11-19 2025-11-20"),
        ("What's my sister's favourite colour?", "recall", False, ""),
        ("Am I free on Saturday next week?", "recall", False, "2025-11-29 2025-11-30"),
        ("Which films did we watch between August and October?", "recall", False, "2025-08-01 2025-11-01"),
        ("What are we doing this weekend?", "recall", False, "2025-11-22 2025-11-24"),
        ("What should I get my dad for his retirement?", "advise", False, ""),
        ("Put milk on the shopping list", "act", False, ""),
        ("Please forget what I said about Tom", "act", False, ""),
        ("I finally finished the report yesterday, what a relief!", "chat", False, ""),
        ("lol ok", "chat", False, ""),
        ("Where did I leave the manual for the drill?", "recall", False, ""),
        ("What was my old phone number?", "change", False, ""),
        ("Proofread this: Our contract are valid until the end of the year.", "act", False, ""),
        ("What did Priya and I agree on two weeks ago?", "recall", False, "2025-11-03 2025-11-10"),
        ("How many races have I run since January?", "recall", False, "2025-01-01 2025-11-21"),
        ("You said the fee is 2%. Is that what the contract says?", "lookup", True, ""),
        ("which countries did I visit last year", "recall", False, "2024-01-01 2025-01-01"),
        ("what did I dress up as for Halloween", "recall", False, "2025-10-31 2025-11-01"),
        ("Whom did I call on Friday?", "recall", False, "2025-11-14 2025-11-15"),
        ("Am I meeting anyone on Friday?", "recall", False, "2025-11-21 2025-11-22"),
        ("what did we plan in early November", "recall", False, "2025-11-01 2025-11-11"),
        ("What do I usually do on Sundays?", "recall", False, ""),
        ("what does the 2024 annual report say about revenue", "lookup", True, ""),
        ("Which invoices in october.xlsx were sent in October?", "lookup", True, "2025-10-01 2025-11-01"),
        ("```python\nprint(1)\n```", "chat", False, ""),
        ("I started last Monday. How do I file travel expenses?", "how_to", True, ""),
        ("", "chat", False, ""),
    ],
    "zh": [
        ("论文第三章用的是哪种催化剂？", "lookup", True, ""),
        ("pip install 一直超时怎么办", "how_to", True, ""),
        ("做微服务网关选 Kong 还是 APISIX 好？", "advise", True, ""),
        ("给 utils.py 里的每个函数补上注释", "act", True, ""),
        ("上个月的运维日志里有几次宕机？", "lookup", True, "2025-10-01 2025-11-01"),
        ("v3 的接口相比 v2 去掉了哪些字段？", "change", True, ""),
        ("昨天我去了哪几个地方？", "recall", False, "2025-11-19 2025-11-20"),
        ("我女儿在哪个学校上学？", "recall", False, ""),
        ("这周六我有空吗？", "recall", False, "2025-11-22 2025-11-23"),
        ("下周我有哪些会？", "recall", False, "2025-11-24 2025-12-01"),
        ("今年秋天我打算去哪儿？", "recall", False, "2025-09-01 2025-12-01"),
        ("明天下午三点提醒我开会", "act", False, ""),
        ("帮我把这句话翻译成英文：合同已经寄出。", "act", False, ""),
        ("以后都用中文回答我", "act", False, ""),
        ("今天好累啊", "chat", False, ""),
        ("我昨天把说明书弄丢了", "chat", False, ""),
        ("我把说明书放在哪里了？", "recall", False, ""),
        ("我以前住在哪里？", "change", False, ""),
        ("妈妈生日送什么好？", "advise", False, ""),
        ("五月以来我换过几次工作？", "change", False, "2025-05-01 2025-11-21"),
        ("三月份我说过要学什么？", "recall", False, "2025-03-01 2025-04-01"),
        ("10月1号到7号我在哪儿？", "recall", False, "2025-10-01 2025-10-08"),
        ("最近三个月我体重变了多少？", "change", False, "2025-08-01 2025-11-21"),
        ("你之前说免费额度是一万次，官网上写的是多少？", "lookup", True, ""),
        ("第三季度我定的目标是什么？", "recall", False, "2025-07-01 2025-10-01"),
        ("从周日到今天我喝了几杯咖啡？", "recall", False, "2025-11-16 2025-11-21"),
        ("去年国庆我们去了哪里？", "recall", False, "2024-10-01 2024-10-02"),
        ("十二天前我说了什么？", "recall", False, "2025-11-08 2025-11-09"),
        ("上半年我换了几次手机？", "change", False, "2025-01-01 2025-07-01"),
        ("周一我答应了谁什么事？", "recall", False, "2025-11-17 2025-11-18"),
        ("我平时几点起床？", "recall", False, ""),
        ("上周我刚入职，年假规定有几天？", "lookup", True, ""),
    ],
}


@pytest.mark.parametrize("language", MESSAGES)
def test_a_message_is_judged(language: str) -> None:
    for text, intent, needs, window in MESSAGES[language]:
        found = decide(read_message(text))
        asked = window_of(found, NOW)
        days = "" if asked is None else f"{asked.since:%Y-%m-%d} {asked.until:%Y-%m-%d}"
        assert (found.intent, found.needs, days) == (intent, needs, window), text
        assert found.reasons


def test_its_language_is_that_of_most_of_it() -> None:
    cases: list[tuple[str, str]] = [
        ("which port?", "en"),
        ("哪个端口？", "zh"),
        ("帮我看看 RetrievalPlan.from_dict 的文档", "zh"),
        ("12:30?", "und"),
        ("", "und"),
    ]
    for text, language in cases:
        assert language_of(text) == language


def test_of_a_long_message_the_beginning_and_the_end_are_read() -> None:
    text = "Hello there.\n" + "lorem ipsum dolor\n" * 2_000 + "What does the manual say about port 443?"
    assert decide(read_message(text)).needs
    assert len(excerpt(text)) == MAX_READ + 1
    assert len(read_message("a. " * 5_000).sentences) <= 40
