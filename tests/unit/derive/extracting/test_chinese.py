"""Chinese messages: whose a clause is that names nobody, and what of a message is not its writer's."""

import time
from datetime import UTC, datetime

import pytest

from phronesis.core.proposals import Proposal
from phronesis.derive.extracting.objection import objection
from phronesis.derive.extracting.rules import Rules, known_languages

AT = datetime(2026, 3, 10, 9, tzinfo=UTC)
RULES = Rules()


def read(text: str) -> tuple[list[Proposal], list[str]]:
    found, refused = RULES.read(0, {"role": "user"}, text, AT)
    return found, [one.rule for one in refused]


def said(text: str) -> list[tuple[str, str, str | None]]:
    return [(one.subject, one.key, one.value) for one in read(text)[0]]


@pytest.mark.parametrize(
    "text",
    [
        "隔壁床的老太太糖尿病，住在郊区，青霉素过敏",
        "我们班新来的转学生会弹钢琴，喜欢打篮球",
        "带我的师父快退休了，有高血压，住在顺义",
        "我妈的同事在平安上班，最近查出糖尿病",
        "昨天接诊一个患者，45岁，对头孢过敏，住朝阳区",
        "婆婆在老家，有高血压，不吃辣",
        "楼下那家的老板娘离婚了，娃儿判给男方",
        "客服小哥说自己干了五年了，还去过西藏",
        "现在你是我的客户，叫小雪，住在东京",
    ],
)
def test_what_follows_a_stranger_without_a_subject_is_nobodys(text: str) -> None:
    assert said(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("我弟弟在北京上班，花生过敏", [("弟弟", "allergy", "花生")]),
        ("小李昨天来了，在成都买了房", [("小李", "home_city", "成都")]),
        ("隔壁老太太有糖尿病，我有高血压", [("user", "health", "高血压")]),
        ("大学生一枚，在武汉学法律，住在武昌", [("user", "home_city", "武昌")]),
        ("朋友们都叫我老张，我住在苏州", [("user", "address_as", "老张"), ("user", "home_city", "苏州")]),
        ("王总电话换了，13829971145", [("王总", "phone", "13829971145")]),
        ("我邮箱换了，li@abc.example", [("user", "email", "li@abc.example")]),
    ],
)
def test_a_clause_without_a_subject_is_of_whom_the_one_before_spoke(
    text: str, expected: list[tuple[str, str, str]]
) -> None:
    assert set(expected) <= set(said(text))
    assert {one[0] for one in said(text)} == {one[0] for one in expected}


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("翻译成英语：我住在上海。我对花生过敏。", "quotation"),
        ("烦请将下述通知润色：各位同事，我公司自九月起实行弹性工作制", "quotation"),
        ("给这段文字加标点：我叫小明今年八岁我喜欢踢足球", "quotation"),
        ("检查语法：I live in Paris and I love dogs.", "quotation"),
        ("Translate to French: I live in Oslo. I am allergic to nuts.", "quotation"),
        ("同学发的朋友圈：我在深圳买房了", "quotation"),
        ("以下是读者来信：我今年28岁，在上海做护士", "quotation"),
        ("角色设定：沈念，28岁，法医，住在临江市，对花粉过敏", "fiction"),
        ("NPC人设：阿绿，25岁，喜欢弹竖琴", "fiction"),
        ("本店位于解放碑负一楼，先到先得", "quotation"),
        ("我曾经跨过山和大海 单曲循环中", "quotation"),
        ("广东人真的很喜欢喝汤", "third_party_unknown"),
        ("做护士都这样啦", "third_party_unknown"),
        ("我可真是时间管理大师", "joke"),
        ("我就是行走的ATM", "joke"),
        ("user:\n  name: zhangsan\n  city: beijing", "code"),
        ("- name: zhangsan\n  city: beijing", "code"),
    ],
)
def test_what_is_not_the_writers_is_refused(text: str, rule: str) -> None:
    found, rules = read(text)
    assert found == []
    assert rules[0] in {rule, "chit_chat"}


def test_what_stands_before_a_text_that_is_handed_over_is_its_writers() -> None:
    text = "我对花生过敏。帮我润色一下：我住在上海，我喜欢猫"
    assert said(text) == [("user", "allergy", "花生")]
    place = text.index("我喜欢猫")
    assert objection(text, place, place + 4, known_languages()) == "quotation"
    assert objection(text, 0, 6, known_languages()) is None
    assert said("我的情况如下：我住在上海") == [("user", "home_city", "上海")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("我们组已经不用Jira了，现在都换成飞书项目了", ("组", "飞书项目", "Jira")),
        ("记笔记我现在用Obsidian了，Notion早不用了", ("user", "Obsidian", "Notion")),
        ("我们后端用的go，缓存用redis", ("缓存", "redis", None)),
    ],
)
def test_what_is_used_in_place_of_what_and_by_whom(text: str, expected: tuple[str, str, str | None]) -> None:
    last = read(text)[0][-1]
    assert (last.subject, last.value, last.replaces, last.act) == (*expected, "assert")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("吉他我会弹", [("skill", "吉他")]),
        ("辣的我吃不了", [("diet", "辣的")]),
        ("甜的一概不吃", [("diet", "甜的")]),
        ("我没有别的爱好，就是打打太极拳", [("hobby", "太极拳")]),
        ("我这颈椎病是老毛病了", [("health", "颈椎病")]),
        ("我姑娘叫思琪", [("child", "思琪")]),
        ("手套箱在B203", [("located_in", "B203")]),
        ("护士证延续注册还没办", [("task", "护士证延续注册")]),
        ("饭还没做", []),
        ("王总电话换了", []),
        ("我们去年十月六号办的婚礼", [("life_event", "办的婚礼")]),
        ("周末聚餐定我这边都行", []),
        ("这几天都得加班", []),
        ("年终总结交了，可以消掉了", [("task", "年终总结")]),
    ],
)
def test_frames_of_chinese(text: str, expected: list[tuple[str, str]]) -> None:
    assert [(key, value) for _, key, value in said(text)] == expected


@pytest.mark.parametrize(
    "text",
    ["a:\n" + " b:" * 3000, "a:\n" + " b:\n" * 2000, "- a:\n" * 2000, "把这" * 3000, "我们" * 3000 + "的",
     "老师说" * 2000, "翻译" * 3000, "人都" * 3000, "本店" * 3000],
)  # fmt: skip
def test_hostile_texts_take_no_longer_than_others(text: str) -> None:
    begun = time.process_time()
    assert isinstance(read(text)[0], list)
    assert time.process_time() - begun < 10  # what grows with the square of the length takes minutes
