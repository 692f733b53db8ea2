"""Some forty sentences a language that show the kinds: what is stated, changed or over, and what is none of it."""

from datetime import UTC, datetime

import pytest

from phronesis.conversation.extracting.gate import REASONS
from phronesis.conversation.extracting.rules import Rules
from phronesis.conversation.extracting.tagging.opinion import second_opinion
from phronesis.core.proposals import Proposal, Refusal

AT = datetime(2026, 3, 10, 9, tzinfo=UTC)
RULES = Rules()

STATED = {
    "en": {
        "My sister Anna lives in Oslo and she's allergic to nuts.": [
            ("Anna", "home_city", "Oslo"),
            ("user", "sibling", "Anna"),
            ("Anna", "allergy", "nuts"),
        ],
        "I have two cats, Luna and Milo.": [("user", "pet", "Luna"), ("user", "pet", "Milo")],
        "staging is in Mumbai": [("staging", "located_in", "Mumbai")],
        "On Friday we visited Bruges": [("user", "event", "visited Bruges")],
        "I live in Lyon, can you recommend a restaurant?": [("user", "home_city", "Lyon")],
    },
    "zh": {
        "我同事小李住在苏州，他对花生过敏。": [
            ("小李", "home_city", "苏州"),
            ("user", "colleague", "小李"),
            ("小李", "allergy", "花生"),
        ],
        "我女兒叫語彤，住喺沙田": [("user", "child", "語彤"), ("語彤", "home_city", "沙田")],
        "冷却塔的进水温度是32度。": [("冷却塔", "attribute.进水温度", "32度")],
        "我上周去了京都": [("user", "event", "去了京都")],
        "我住在杭州，要是能转远程，我就回老家种地": [("user", "home_city", "杭州")],
    },
}

CHANGED = {
    "en": {
        "I moved from Lyon to Porto.": ("home_city", "Porto", "Lyon"),
        "I'm actually 35, not 34.": ("age", "35", "34"),
    },
    "zh": {
        "我们决定不用MySQL，改用PostgreSQL。": ("decision", "PostgreSQL", "MySQL"),
        "记笔记我现在用Obsidian了，Notion早不用了": ("uses", "Obsidian", "Notion"),
    },
}

OVER = {
    "en": {"I don't live in Lyon any more.": ("home_city", "Lyon"), "I've sold my Volvo.": ("possession", "Volvo")},
    "zh": {"我不住在成都了。": ("home_city", "成都"), "Notion我也不用了": ("uses", "Notion")},
}

REFUSED = {
    "negation": ("chit_chat", ["I'm not married.", "我今天不跑步了，下雨"]),
    "question": ("question", ["Do I live in Lyon?", "糖尿病能吃西瓜吗"]),
    "quotation": (
        "quotation",
        [
            'He said "I love Berlin" and left.',
            "From: bob@acme.example\nSubject: Hello\nI live in Dallas.",
            "他原话是：我在腾讯上班，年薪百万",
        ],
    ),
    "hypothetical": ("hypothesis", ["If I lived in Rome, I'd work at Fiat.", "如果明年涨薪，我就买房"]),
    "fiction": ("fiction", ["In my novel I live in Venice.", "角色设定：沈念，28岁，法医，住在临江市，对花粉过敏"]),
    "joke": ("joke", ["I'm married to Bob, just kidding", "可不是嘛，我最爱周末被叫去加班了"]),
    "other person": ("third_party_unknown", ["He lives in Berlin.", "那个博主住在大理，喜欢拍照"]),
    "no statement": ("chit_chat", ["Thanks!", "the midwife lives in Hull", "翻译成英语：我住在上海。我对花生过敏。"]),
    "code": ("code", ["```\nI live in Paris\n```", "- name: zhangsan\n  city: beijing"]),
}


def read(text: str) -> tuple[list[Proposal], list[Refusal]]:
    return RULES.read(0, {"role": "user"}, text, AT)


@pytest.mark.parametrize("language", STATED)
def test_what_is_stated_is_found_and_the_second_opinion_leaves_it(language: str) -> None:
    read_so = {text: [(one.subject, one.key, one.value) for one in read(text)[0]] for text in STATED[language]}
    assert read_so == STATED[language]
    assert [text for text in read_so if second_opinion()(read(text)[0], text).unlikely] == []


@pytest.mark.parametrize("language", CHANGED)
def test_what_is_changed_names_what_it_replaces(language: str) -> None:
    for text, expected in CHANGED[language].items():
        assert [(one.key, one.value, one.replaces, one.act) for one in read(text)[0]] == [(*expected, "assert")]


@pytest.mark.parametrize("language", OVER)
def test_what_is_over_is_taken_back(language: str) -> None:
    for text, expected in OVER[language].items():
        assert [(one.key, one.value, one.act) for one in read(text)[0]] == [(*expected, "retract")]


@pytest.mark.parametrize("text", ["passport renewed!", "护照已经续好了"])
def test_what_is_done_is_a_task_that_is_done(text: str) -> None:
    [one] = read(text)[0]
    assert (one.key, one.done) == ("task", True)


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_not_stated_is_refused_and_why(kind: str) -> None:
    rule, texts = REFUSED[kind]
    for text in texts:
        found, [refused] = read(text)
        assert (found, refused.rule, refused.reason) == ([], rule, REASONS[rule]), text


def test_what_stands_beside_somebody_elses_is_the_speakers() -> None:
    found, _ = read("隔壁老太太有糖尿病，我有高血压")
    assert [(one.subject, one.key, one.value) for one in found] == [("user", "health", "高血压")]
    found, _ = read("Petra Vogel works at Brandt Logistik. Her email is p.vogel@brandt.example.")
    assert {(one.subject, one.key) for one in found} == {("Petra Vogel", "employer"), ("Petra Vogel", "email")}
