"""What a message is after and whether it needs a document, in English and Chinese."""

from datetime import UTC, datetime

import pytest

from phronesis.recall.intent import decide, read_message
from phronesis.recall.plan_queries import window_of

NOW = datetime(2025, 11, 20, 15, tzinfo=UTC)
"""A Thursday."""

# Message, intent, whether a document is needed, the window.
MESSAGES: dict[str, list[tuple[str, str, bool, str]]] = {
    "en": [
        ("How many vacation days does the works agreement grant?", "lookup", True, ""),
        ("Refactor the login handler so that it uses the new session store", "act", True, ""),
        ("What's different in the second edition of the safety rules?", "change", True, ""),
        ("What's my sister's favourite colour?", "recall", False, ""),
        ("What are we doing this weekend?", "recall", False, "2025-11-22 2025-11-24"),
        ("Please forget what I said about Tom", "act", False, ""),
        ("What was my old phone number?", "change", False, ""),
        ("How many races have I run since January?", "recall", False, "2025-01-01 2025-11-21"),
        ("what did I dress up as for Halloween", "recall", False, "2025-10-31 2025-11-01"),
        ("what did we plan in early November", "recall", False, "2025-11-01 2025-11-11"),
        ("Which invoices in october.xlsx were sent in October?", "lookup", True, "2025-10-01 2025-11-01"),
        ("", "chat", False, ""),
    ],
    "zh": [
        ("论文第三章用的是哪种催化剂？", "lookup", True, ""),
        ("给 utils.py 里的每个函数补上注释", "act", True, ""),
        ("我女儿在哪个学校上学？", "recall", False, ""),
        ("今年秋天我打算去哪儿？", "recall", False, "2025-09-01 2025-12-01"),
        ("今天好累啊", "chat", False, ""),
        ("我以前住在哪里？", "change", False, ""),
        ("10月1号到7号我在哪儿？", "recall", False, "2025-10-01 2025-10-08"),
        ("第三季度我定的目标是什么？", "recall", False, "2025-07-01 2025-10-01"),
        ("上半年我换了几次手机？", "change", False, "2025-01-01 2025-07-01"),
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
