"""Chinese messages: whose something is, where a value ends, and what stands before the verb it belongs to."""

from datetime import UTC, datetime

import pytest

from phronesis.conversation.extracting.rules import Rules
from phronesis.core.proposals import Proposal

AT = datetime(2026, 3, 10, 9, tzinfo=UTC)
RULES = Rules()


def read(text: str, role: str = "user") -> list[Proposal]:
    return RULES.read(0, {"role": role}, text, AT)[0]


def said(text: str, role: str = "user") -> set[tuple[str, str, str | None]]:
    return {(one.subject, one.key, one.value) for one in read(text, role)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("我妹上个月结婚了，全家都去了", {("妹妹", "life_event", "结婚")}),
        ("外公前年走了", {("外公", "life_event", "走")}),
        ("老周换号了，新手机是13712345678", {("老周", "phone", "13712345678")}),
        ("我家猫叫布丁，两岁了", {("user", "pet", "布丁"), ("布丁", "age", "两")}),
        ("我家乐乐是只柴犬，三岁了", {("user", "pet", "乐乐"), ("乐乐", "age", "三")}),

        ("小芳周五做手术", {("小芳", "appointment", "做手术")}),
        ("我手下两个徒弟，一个叫张磊，一个叫李娜", {("user", "colleague", "张磊"), ("user", "colleague", "李娜")}),
        ("可乐（我家金毛）昨天做了绝育", {("user", "pet", "可乐"), ("可乐", "event", "绝育")}),


        ("我家收养了一条叫豆包的狗，它有关节炎", {("user", "pet", "豆包"), ("豆包", "health", "关节炎")}),
        ("支付系统的负责人是何静，邮箱是hejing@a.example",
         {("支付系统", "attribute.负责人", "何静"), ("何静", "email", "hejing@a.example")}),
        ("我的主管换成了陶颖，英文名是Tina", {("user", "colleague", "陶颖"), ("陶颖", "alias", "Tina")}),
        ("我妻子周琳的手机号是13912345678", {("周琳", "phone", "13912345678"), ("user", "partner", "周琳")}),

        ("我的经理是李国庆，出差要找他签字", {("user", "colleague", "李国庆")}),
        ("我的发小阿凯，大名是许凯文", {("user", "friend", "阿凯"), ("阿凯", "alias", "许凯文")}),
        ("我的博士导师陈教授定居在波士顿", {("user", "colleague", "陈教授"), ("陈教授", "home_city", "波士顿")}),



        ("周三下午两点，我要去车管所办年审", {("user", "appointment", "去车管所办年审")}),

        ("我大学读的是中山大学，专业是药学", {("user", "school", "中山大学"), ("user", "field_of_study", "药学")}),
        ("我不能喝冰的，肠胃受不了", {("user", "diet", "冰的")}),
        ("请根据这份简历写一封求职信：王某，三十岁，毕业于同济大学", set()),
        ("外婆今年八十岁，她有白内障", {("外婆", "age", "八十"), ("外婆", "health", "白内障")}),
        ("我父亲去年查出了糖尿病", {("父亲", "health", "糖尿病")}),
        ("我没有孩子，只有一只叫年糕的猫", {("user", "pet", "年糕")}),
        ("我在新东方当数学老师", {("user", "employer", "新东方"), ("user", "job", "数学老师")}),
        ("明天上午九点我有一场面试", {("user", "appointment", "一场面试")}),

        ("今后还是用中文回答我吧", {("user", "reply_language", "中文")}),
        ("旧邮箱old@a.example已经停用了", {("user", "email", "old@a.example")}),
        ("我们几个同学决定坐火车去成都", {("user", "decision", "坐火车去成都")}),
    ],
)  # fmt: skip
def test_something_is_of_whom_the_clause_speaks(text: str, expected: set[tuple[str, str, str]]) -> None:
    assert said(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "车上碰见一个大姐，女儿在北京上大学",
        "小胡过完年要回老家",
        "周二周五送货",
        "你再催一次我就当场出家",
        "这个月再加班我就直接去当和尚",
        "我笔下的男二是个医生，对花生过敏",
        "痛风是一种慢性病",
        "攒够一百万是很多人的梦想",
        "上一句请用英语再说一遍",
    ],
)
def test_what_is_of_somebody_unknown_or_not_meant_is_nobodys(text: str) -> None:
    assert said(text) == set()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("泰山我不打算去了", ("plan", "去泰山", "retract")),
        ("奶茶现在不爱喝了", ("likes", "奶茶", "retract")),
        ("头孢我过敏", ("allergy", "头孢", "assert")),
    ],
)
def test_an_object_may_stand_first(text: str, expected: tuple[str, str, str]) -> None:
    assert [(one.key, one.value, one.act) for one in read(text)] == [expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("我下周三要去广州出差", {("user", "appointment", "去广州出差")}),
        ("新项目的代号是海燕", {("新项目", "attribute.代号", "海燕")}),
        ("我妈生日是5月3号不是3月5号", {("妈妈", "birthday", "5月3号")}),
        ("闻着就想吐", set()),
        ("会开了半小时就散了", set()),
        ("时间固定，不容易忘", set()),
    ],
)
def test_a_value_is_whole_or_none(text: str, expected: set[tuple[str, str, str]]) -> None:
    assert said(text) == expected


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("周五之前要去派出所补办身份证", "task", "去派出所补办身份证"),
        ("今天去协和复查了", "event", "去协和复查"),
    ],
)
def test_its_time_says_what_it_is(text: str, key: str, value: str) -> None:
    assert [(one.key, one.value) for one in read(text)] == [(key, value)]


@pytest.mark.parametrize(
    ("text", "value", "old"),
    [
        ("说好了，年会不唱歌，改成抽奖", "抽奖", "唱歌"),
    ],
)
def test_what_is_decided_stands_after_what_is_not(text: str, value: str, old: str) -> None:
    assert [(one.key, one.value, one.replaces) for one in read(text)] == [("decision", value, old)]


def test_spaces_beside_latin_letters_part_nothing_and_are_put_back() -> None:
    [one] = read("新工位在 N4 三楼，挺亮堂")
    assert (one.subject, one.key, one.value, one.quote) == ("新工位", "located_in", "N4 三楼", "新工位在 N4 三楼")
    assert one.content == "新工位在 N4 三楼"
    assert said("4 月 12 号我去体检") == {("user", "appointment", "去体检")}


def test_a_calendar_may_say_where_and_when() -> None:
    assert said("即将到来：2026-03-12 09:00 牙科复诊，口腔医院三楼", role="tool") == {
        ("user", "appointment", "牙科复诊")
    }


def test_a_laugh_is_about_the_clause_before_it() -> None:
    assert said("上周末带孩子去了动物园，排队排到腿都软了哈哈哈") == {("user", "event", "带孩子去了动物园")}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("我妹上周搬到苏州了", {("妹妹", "home_city", "苏州")}),
        (
            "我妈赵秀梅，六十四，糖尿病",
            {("user", "parent", "赵秀梅"), ("赵秀梅", "age", "六十四"), ("赵秀梅", "health", "糖尿病")},
        ),
        ("弟弟俊杰在沈阳当厨师", {("user", "sibling", "俊杰"), ("俊杰", "home_city", "沈阳"), ("俊杰", "job", "厨师")}),
        ("老婆阿珍对花粉过敏", {("user", "partner", "阿珍"), ("阿珍", "allergy", "花粉")}),
        ("同事阿Ben，马来西亚人", {("user", "colleague", "阿Ben"), ("阿Ben", "nationality", "马来西亚")}),
        ("组里小唐会法语", {("user", "colleague", "小唐"), ("小唐", "language", "法语")}),
        ("带我的师姐何敏是英语老师", {("user", "colleague", "何敏"), ("何敏", "job", "英语老师")}),
        ("我跟老宋搭夜班", {("user", "colleague", "老宋")}),
        (
            "大伟，我发小，在兰州当律师",
            {("user", "friend", "大伟"), ("大伟", "home_city", "兰州"), ("大伟", "job", "律师")},
        ),
        ("合租的阿敏下个月走", {("user", "friend", "阿敏")}),
        ("外婆今年八十八，有哮喘", {("外婆", "age", "八十八"), ("外婆", "health", "哮喘")}),
        ("婆婆叫孙桂英，七十一", {("婆婆", "name", "孙桂英"), ("孙桂英", "age", "七十一")}),
        ("我们家煤球八岁了", {("user", "pet", "煤球"), ("煤球", "age", "八岁")}),
        ("狗子汤圆寄养在朋友家", {("user", "pet", "汤圆")}),
        (
            "女，三十六，已婚",
            {("user", "gender", "女"), ("user", "age", "三十六"), ("user", "relationship_status", "已婚")},
        ),
        ("同学们背地里管我叫小钢炮", {("user", "alias", "小钢炮")}),
        ("真名佟立群，外号铁算盘", {("user", "name", "佟立群"), ("user", "alias", "铁算盘")}),
        ("去年终于拿到律师执业证书", {("user", "life_event", "拿到律师执业证书")}),
    ],
)
def test_people_are_known_by_where_they_stand(text: str, expected: set[tuple[str, str, str]]) -> None:
    assert said(text) == expected


@pytest.mark.parametrize(
    "text",
    ["我爸平安到家", "我老公高兴坏了", "公司小程序要重构", "跟公司掰了", "女生宿舍在哪", "猫叫了一晚上",
     "征婚启事帮我改改：女，29，杭州", "领导都喊我回去", "二胎出生率下降", "单身公寓太贵", "师父说得对"],
)  # fmt: skip
def test_what_looks_like_a_name_is_none(text: str) -> None:
    assert said(text) == set()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "我闺蜜佳佳在苏州当护士",
            {("佳佳", "home_city", "苏州"), ("佳佳", "job", "护士"), ("user", "friend", "佳佳")},
        ),
        ("徒弟阿明，22", {("user", "colleague", "阿明"), ("阿明", "age", "22")}),
        ("死党陶陶从小对芒果过敏", {("陶陶", "allergy", "芒果"), ("user", "friend", "陶陶")}),
        ("养了只英短，起名叫年糕", {("user", "pet", "年糕")}),
        ("瓦匠一个", {("user", "job", "瓦匠")}),
        ("面包师干到第六年", {("user", "job", "面包师")}),
        ("我卖茶叶的", {("user", "job", "卖茶叶")}),
        ("换东家了，京东方", {("user", "employer", "京东方")}),
        ("女儿宁波上班", {("女儿", "home_city", "宁波")}),
        ("晕车老毛病了", {("user", "health", "晕车")}),
        ("胃溃疡早好了", {("user", "health", "胃溃疡")}),
        ("13812345678是我手机", {("user", "phone", "13812345678")}),
        ("店长，以后就这么叫我", {("user", "address_as", "店长")}),
        ("粤语我听得懂讲不利索", {("user", "language", "粤语")}),
        ("修自行车我在行", {("user", "skill", "修自行车")}),
        ("嫂子头孢过敏", {("嫂子", "allergy", "头孢")}),
    ],
)
def test_what_is_told_in_passing_of_oneself_and_ones_people(text: str, expected: set[tuple[str, str, str]]) -> None:
    assert said(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "闺蜜老是迟到",
        "同事小声说话",
        "大学同学常常聚",
        "家里有可乐",
        "布偶，六岁",
        "戒指还在抽屉里",
        "六十岁之前骑完川藏线",
        "小红书文案，写得俏皮点",
        "儿子总给我买花",
        "不喝奶茶会死星人",
        "学生日记：我爸爸有高血压，我天天提醒他",
        "学校统一安排的",
    ],
)
def test_what_looks_like_a_person_or_a_trait_is_none(text: str) -> None:
    assert not {key for _, key, _ in said(text)} & {
        "friend", "colleague", "child", "pet", "age", "diet", "employer", "job", "health", "field_of_study", "parent",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("女婿周凯，消防员", {("女婿", "name", "周凯"), ("周凯", "job", "消防员")}),
        ("我姑父脂肪肝好些年", {("姑父", "health", "脂肪肝")}),
        ("我媳妇李敏是儿科大夫", {("user", "partner", "李敏"), ("李敏", "job", "儿科大夫")}),
        ("大勇在昆明开出租", {("大勇", "home_city", "昆明"), ("大勇", "job", "开出租")}),
        ("我妈八十一了腿脚还行", {("妈妈", "age", "八十一")}),
        ("厨师，夜班，没空", {("user", "job", "厨师")}),
        ("我弟妹不吃香菜", {("弟妹", "diet", "香菜")}),
        ("豆沙，是只柯基", {("user", "pet", "豆沙")}),
        ("美团离职三个月了", {("user", "employer", "美团")}),
        ("小舅子交警，天天在路口", {("小舅子", "job", "交警")}),
        ("学生都叫我秦哥", {("user", "alias", "秦哥")}),
        ("我跟小孟搭班三年了", {("user", "colleague", "小孟")}),
        ("孙女芒果过敏", {("孙女", "allergy", "芒果")}),
    ],
)
def test_relatives_and_friends_are_told_of_by_the_word_and_the_name_behind_it(
    text: str, expected: set[tuple[str, str, str]]
) -> None:
    assert said(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "老公小心眼",
        "女儿小升初",
        "老婆大半夜不睡",
        "我妈老喊我回家",
        "销售说客户都喜欢红色",
        "小说里老秦是码头调度",
        "儿子七中午回来",
        "我姐夫单位分房",
        "早上好，我老婆说要下雨",
    ],
)
def test_what_stands_behind_a_relative_is_no_name_and_no_trait(text: str) -> None:
    assert said(text) == set()


@pytest.mark.parametrize(
    "text",
    [
        "电梯里那大姐好像是做微商的，家在顺义",
        "刚网约车师傅聊了一路，老家信阳，养了两条狗",
        "健身房那个教练，退役举重运动员，不吃碳水",
        "桌游里我演一个矮人铁匠，最恨精灵",
        "我捏了个半精灵，职业吟游诗人，住深水城",
        "我上辈子肯定是只猫，爱晒太阳",
        "我有个朋友，三十了，就爱打游戏",
        "梅西爱喝马黛茶，讨厌下雨",
        "老师给个开头：我想当一名消防员",
        "痛风没有",
        "我们这代人怕结婚，爱养猫",
    ],
)
def test_strangers_games_and_what_is_handed_over_tell_nothing_of_the_speaker(text: str) -> None:
    assert said(text) == set()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("身高一米七八站最后一排", {("user", "attribute.身高", "一米七八")}),
        ("血型AB型献血站缺", {("user", "attribute.血型", "AB型")}),
        ("青霉素不能打", {("user", "allergy", "青霉素")}),
        ("孟晴呢，喜欢爬山", {("孟晴", "likes", "爬山")}),
        ("晓雯跟我坐对桌", {("user", "colleague", "晓雯")}),
    ],
)
def test_who_is_told_of_and_where_a_value_ends(text: str, expected: set[tuple[str, str, str]]) -> None:
    assert said(text) == expected
