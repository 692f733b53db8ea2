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
        "ok so basically i live in boston with my two kids and im allergic to latex": [
            ("user", "home_city", "boston"),
            ("user", "allergy", "latex"),
        ],
        "I work at Bosch, process engineer": [("user", "employer", "Bosch"), ("user", "job", "process engineer")],
        "I have two cats, Luna and Milo.": [("user", "pet", "Luna"), ("user", "pet", "Milo")],
        "Robert also goes by Bob. Bob is a plumber.": [("Robert", "alias", "Bob"), ("Robert", "job", "plumber")],
        "For Project Heron: the owner is Samira": [("Project Heron", "attribute.owner", "Samira")],
        "staging is in Mumbai": [("staging", "located_in", "Mumbai")],
        "I want to lose eight kilos": [("user", "goal", "lose eight kilos")],
        "On Friday we visited Bruges": [("user", "event", "visited Bruges")],
        "Remind me on Friday to call Ana.": [("user", "reminder", "call Ana")],
        "For all future summaries, please use bullet points.": [("user", "reply_style", "bullet points")],
        "I live in Lyon, can you recommend a restaurant?": [("user", "home_city", "Lyon")],
    },
    "zh": {
        "我同事小李住在苏州，他对花生过敏。": [
            ("小李", "home_city", "苏州"),
            ("user", "colleague", "小李"),
            ("小李", "allergy", "花生"),
        ],
        "在中建八局做预算员": [("user", "employer", "中建八局"), ("user", "job", "预算员")],
        "两个娃，大的叫西西小的叫北北": [("user", "child", "西西"), ("user", "child", "北北")],
        "我女兒叫語彤，住喺沙田": [("user", "child", "語彤"), ("語彤", "home_city", "沙田")],
        "我不爱喝咖啡，更受不了酒味": [("user", "dislikes", "喝咖啡"), ("user", "dislikes", "酒味")],
        "以后跟我讲中文": [("user", "reply_language", "中文")],
        "冷却塔的进水温度是32度。": [("冷却塔", "attribute.进水温度", "32度")],
        "我们的后端用Go，前端用React": [("后端", "uses", "Go"), ("前端", "uses", "React")],
        "我上周去了京都": [("user", "event", "去了京都")],
        "周五提醒我给小芳打电话。": [("user", "reminder", "给小芳打电话")],
        "我会说法语，适合找什么工作？": [("user", "language", "法语")],
        "我住在杭州，要是能转远程，我就回老家种地": [("user", "home_city", "杭州")],
    },
}

CHANGED = {
    "en": {
        "I moved from Lyon to Porto.": ("home_city", "Porto", "Lyon"),
        "We decided to use Postgres instead of MySQL.": ("decision", "Postgres", "MySQL"),
        "I left Siemens and I now work at Bosch": ("employer", "Bosch", "Siemens"),
        "I'm actually 35, not 34.": ("age", "35", "34"),
    },
    "zh": {
        "我们决定不用MySQL，改用PostgreSQL。": ("decision", "PostgreSQL", "MySQL"),
        "记笔记我现在用Obsidian了，Notion早不用了": ("uses", "Obsidian", "Notion"),
    },
}

OVER = {
    "en": {
        "I don't live in Lyon any more.": ("home_city", "Lyon"),
        "I no longer like jazz": ("likes", "jazz"),
        "I've sold my Volvo.": ("possession", "Volvo"),
    },
    "zh": {
        "我不住在成都了。": ("home_city", "成都"),
        "我不再喜欢爵士乐了": ("likes", "爵士乐"),
        "Notion我也不用了": ("uses", "Notion"),
    },
}

REFUSED = {
    "negation": (
        "chit_chat",
        [
            "I'm not married.",
            "I can't speak Japanese.",
            "no more questions",
            "医生说我没有高血压",
            "痛风没有",
            "我今天不跑步了，下雨",
        ],
    ),
    "question": (
        "question",
        [
            "Do I live in Lyon?",
            "I live in Lyon, right?",
            "whos the owner of zephyr-api",
            "can I use Notion for tasks",
            "我住在北京吗",
            "服务器放在上海还是北京",
            "糖尿病能吃西瓜吗",
        ],
    ),
    "quotation": (
        "quotation",
        [
            'He said "I love Berlin" and left.',
            "My doctor says I'm allergic to nuts.",
            "Shorten: I work as a welder in Graz",
            "From: bob@acme.example\nSubject: Hello\nI live in Dallas.",
            "同学发的朋友圈：我在深圳买房了",
            "算命的说我以后住海边",
            "他原话是：我在腾讯上班，年薪百万",
        ],
    ),
    "hypothetical": (
        "hypothesis",
        [
            "If I lived in Rome, I'd work at Fiat.",
            "say the budget is 40k, what's the tax",
            "说不定我会搬到大理",
            "如果明年涨薪，我就买房",
        ],
    ),
    "fiction": (
        "fiction",
        [
            "In my novel I live in Venice.",
            "picture this, you're a pirate, you live in Genoa and work in a bank",
            "我小说里的主角住在威尼斯。",
            "角色设定：沈念，28岁，法医，住在临江市，对花粉过敏",
        ],
    ),
    "joke": (
        "joke",
        [
            "I'm married to Bob, just kidding",
            "I'm allergic to nuts lol",
            "I love Mondays, said every boss ever",
            "我决定辞职去当宇航员，骗你们的",
            "可不是嘛，我最爱周末被叫去加班了",
        ],
    ),
    "other person": (
        "third_party_unknown",
        [
            "He lives in Berlin.",
            "The guy next door has a van, loves jazz",
            "她对猫过敏。",
            "隔壁床的老太太糖尿病，住在郊区，青霉素过敏",
            "那个博主住在大理，喜欢拍照",
        ],
    ),
    "no statement": (
        "chit_chat",
        [
            "Thanks!",
            "I'm now at peace",
            "I'm 800 years old",
            "the midwife lives in Hull",
            "谢谢！",
            "邻居家的狗叫旺财",
            "翻译成英语：我住在上海。我对花生过敏。",
        ],
    ),
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
