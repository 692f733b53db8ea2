"""Chinese messages: whose a clause is that names nobody, and what of a message is not its writer's."""

from datetime import UTC, datetime

import pytest

from growth import assert_cut_off, repeated
from phronesis.conversation.extracting.clauses import MAX_READ
from phronesis.conversation.extracting.postprocess import objection
from phronesis.conversation.extracting.rules import Rules, known_languages
from phronesis.core.proposals import Proposal

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
        "咱们来场文字冒险，我是个骑士，住在北境",
        "造几个测试用户，都住深圳，喜欢爬山",
        "把这些评价归个类：太慢、我讨厌这个弹窗",
        "花艺师，南通，下回布置场地还找他",
        "我小时候看过一部老电影，结局忘了",
        "不要用表格，这份是要打印出来贴墙上的",
        "我们班新来的转学生会弹钢琴，喜欢打篮球",
        "带我的师父快退休了，有高血压，住在顺义",
        "我妈的同事在平安上班，最近查出糖尿病",
        "昨天接诊一个患者，45岁，对头孢过敏，住朝阳区",
        "大姑子在老家，有高血压，不吃辣",
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
        ("隔壁老太太有糖尿病，我有高血压", [("user", "health", "高血压")]),
        ("大学生一枚，在武汉学法律，住在武昌", [("user", "home_city", "武昌")]),
        ("朋友们都叫我老张，我住在苏州", [("user", "alias", "老张"), ("user", "home_city", "苏州")]),
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
        ("征友帖：男，31，坐标宁波，喜欢钓鱼", "quotation"),
        ("室友：我要去考公了", "quotation"),
        ("算命的说我以后住海边", "quotation"),
        ("虚构一个用户档案：姓名随意，38岁，住昆明", "fiction"),
        ("我喜欢下雨天，用韩语怎么说", "chit_chat"),
        ("今天开了七个会，嗓子都哑了", "chit_chat"),
        ("我在哪个部门上班你猜", "hypothesis"),
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
        ("我这颈椎病是老毛病了", [("health", "颈椎病")]),
        ("我姑娘叫思琪", [("child", "思琪")]),
        ("手套箱在B203", [("located_in", "B203")]),
        ("帮我记一下：我对腰果过敏", [("allergy", "腰果")]),
        ("我女儿六岁，能喝咖啡吗", [("age", "六")]),
        ("账务服务走的是RocketMQ", [("uses", "RocketMQ")]),
        ("退款接口归老吕管", [("attribute.负责人", "老吕")]),
        ("备用投影仪搁传达室了", [("located_in", "传达室")]),
        ("库房在无锡，押金三千", [("located_in", "无锡"), ("attribute.押金", "三千")]),
        ("停车场闸机只认车牌", [("fact", "只认车牌")]),
        ("网关升到2.8了", [("attribute.版本", "2.8")]),
        ("车停楼下了", []),
        ("前端React报错", []),
        ("实验室换了新门禁", []),
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
    ("text", "expected"),
    [
        # somebody's name beside what they are to the speaker, and then what holds of them
        ("我女儿果果昨天满五岁了", [("user", "child", "果果"), ("果果", "age", "五")]),
        ("我闺蜜小鱼怀孕了", [("user", "friend", "小鱼"), ("小鱼", "life_event", "怀孕")]),
        (
            "我妹妹琳琳在墨尔本大学读会计",
            [("user", "sibling", "琳琳"), ("琳琳", "school", "墨尔本大学"), ("琳琳", "field_of_study", "会计")],
        ),
        ("我儿子浩宇花生过敏", [("user", "child", "浩宇"), ("浩宇", "allergy", "花生")]),
        ("我男朋友是个飞行员，叫周野", [("周野", "job", "飞行员"), ("user", "partner", "周野")]),
        ("Kevin是我们组的测试", [("user", "colleague", "Kevin"), ("Kevin", "job", "测试")]),
        ("我球友老马会修车", [("user", "friend", "老马"), ("老马", "skill", "修车")]),
        ("爸爸有高血压", [("爸爸", "health", "高血压")]),
        ("我堂哥李明在平安保险做精算", [("李明", "employer", "平安保险"), ("李明", "job", "精算")]),
        ("我二姨在加州住了三十年", [("二姨", "home_city", "加州")]),
        ("我和我女朋友小雯住在杭州", [("user", "partner", "小雯"), ("user", "home_city", "杭州")]),
        ("我爸这人就爱钓鱼", [("爸爸", "likes", "钓鱼")]),
        # names that come later
        ("俺家小子叫铁蛋今年上高一", [("user", "child", "铁蛋")]),
        ("我女儿小名叫豆芽，大名林知夏", [("user", "child", "豆芽")]),
        ("家里养了只狸花猫，儿子给它取名叫芝麻", [("user", "pet", "芝麻")]),
        ("孩子的名字是他奶奶取的，叫陈知行", [("user", "child", "陈知行")]),
        ("我们家那只布偶叫雪球", [("user", "pet", "雪球")]),
        ("我们组新来的组长叫叶青", [("user", "colleague", "叶青")]),
        ("车间里的人都叫我老顾", [("user", "alias", "老顾")]),
        ("同事都喊我老顾，你也叫我老顾吧", [("user", "address_as", "老顾")]),
        # what is spoken of stands first, what holds of it after a comma
        ("写方案我都是用Typora写的", [("user", "uses", "Typora")]),
        ("电脑是前年买的，一台联想", [("user", "possession", "联想")]),
        # where one lives
        ("我住在花园小区3栋2单元501", [("user", "address", "花园小区3栋2单元501")]),
        ("快递寄到人民路56号就行", [("user", "address", "人民路56号")]),
        ("有事发我邮箱吧，li.na@example.org", [("user", "email", "li.na@example.org")]),
        ("我早就不打羽毛球了", [("user", "hobby", "打羽毛球")]),
        ("我特别烦开长会", [("user", "dislikes", "开长会")]),
        ("我右耳听不见", [("user", "health", "右耳听不见")]),
        ("普通话和四川话我都会讲", [("user", "language", "普通话"), ("user", "language", "四川话")]),
        ("我媳妇小芳在苏州，老加班", [("小芳", "home_city", "苏州"), ("user", "partner", "小芳")]),
        ("表叔在首尔开餐馆", [("表叔", "home_city", "首尔"), ("表叔", "job", "开餐馆")]),
        ("客户Anna走PST，开会往后排", [("Anna", "timezone", "PST")]),
        ("我堂哥是飞行员", [("堂哥", "job", "飞行员")]),
        ("快递寄锦绣花园6号楼1203就行", [("user", "address", "锦绣花园6号楼1203")]),
        # sentences of two or three clauses: whose the next one is, and where a value ends
        ("前天晚上八点多，我去老码头看了灯会，人多得走不动", [("user", "event", "去老码头看了灯会")]),
        ("下周四上午九点半，我要去税务局办注销", [("user", "appointment", "去税务局办注销")]),
        ("我们的备份都存放在三号服务器上", [("备份", "located_in", "三号服务器")]),
        ("我妈叫李梅，退休之后的爱好是跳广场舞", [("user", "parent", "李梅"), ("李梅", "hobby", "跳广场舞")]),
        (
            "我和女友去年五月订婚了，她叫苏晴，是药剂师",
            [("user", "life_event", "订婚"), ("user", "partner", "苏晴"), ("苏晴", "job", "药剂师")],
        ),
        ("我不爱喝咖啡，更受不了酒味", [("user", "dislikes", "喝咖啡"), ("user", "dislikes", "酒味")]),
        (
            "我们的演示环境用的是Podman，端口是9000",
            [("演示环境", "uses", "Podman"), ("演示环境", "attribute.端口", "9000")],
        ),
        ("我不当老师了，目前的工作是导游", [("user", "job", "导游")]),
        ("学校在梅县，平时喜欢爬山", [("学校", "located_in", "梅县"), ("user", "likes", "爬山")]),
        ("我这头走UTC+3，别约太早", [("user", "timezone", "UTC+3")]),
        ("护照是韩国的，人在烟台", [("user", "nationality", "韩国"), ("user", "home_city", "烟台")]),
        ("粤语也溜，普通话不用说", [("user", "language", "粤语")]),
        ("在中建八局做预算员", [("user", "employer", "中建八局"), ("user", "job", "预算员")]),
        ("车是比亚迪海豚，上月刚提", [("user", "possession", "比亚迪海豚")]),
        ("表弟会韩语", [("表弟", "language", "韩语")]),
        ("闺蜜小雨做蛋糕一绝", [("小雨", "skill", "做蛋糕"), ("user", "friend", "小雨")]),
        ("我住在扬州，过节带点啥", [("user", "home_city", "扬州")]),
        ("我在烟台，这边下雪堵车不", [("user", "home_city", "烟台")]),
    ],
)
def test_people_and_what_holds_of_them(text: str, expected: list[tuple[str, str, str]]) -> None:
    found = said(text)
    assert {(who, key) for who, key, _ in found} == {(who, key) for who, key, _ in expected}
    assert all(any(one[:2] == other[:2] and one[2] in (other[2] or "") for other in found) for one in expected)


@pytest.mark.parametrize(
    "text",
    [
        # what stands beside a relation is a name only where it looks like one
        "我儿子作业还没写完",
        "我女儿书包坏了",
        "我女儿老师说她上课走神",
        "我室友电脑被偷了",
        "我弟弟女朋友是四川人",
        "我女儿同学对花生过敏",
        "我女儿英文不好",
        "女儿念念不忘那个玩具",
        "我家狗叫个不停",
        "爸爸去哪儿挺好看的",
        "同事都叫我别去",
        "他们都叫我滚",
        "邻居家的狗叫旺财",
        "我今天不跑步了，下雨",
        "今天特别烦",
        "衣服我嫌大，退了",
        "我英语六级没过",
        "我想养只猫叫年糕",
        "我儿子的老师叫王芳",
        "换工作了，去了趟西藏",
        "别人都受不了他",
        "我是湖南卫视的观众",
        "糖尿病人能吃西瓜吗",
        "孩子过敏，该吃什么药",
        "寄到人民路56号的那个包裹丢了",
        "客服电话打这个，4008001234",
        "加入了购物车，现在做活动",
        "我最喜欢的就是你",
        "隔壁老王在苏州上班",
        "会计，这个发票怎么开",
        "我在北京南站等车",
        "在成都玩了三天",
        "谁家五菱宏光挡路了",
        "他在北京出差呢",
        "听前头一个老太太讲，儿子在美国",
        "昨天试驾了理想L6",
    ],
)
def test_what_only_looks_like_somebody_is_nobody(text: str) -> None:
    assert said(text) == []


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [("我的胃病已经好了", "health", "胃病"), ("我早就不钓鱼了", "hobby", "钓鱼"),
      ],
)  # fmt: skip
def test_what_holds_no_more(text: str, key: str, value: str) -> None:
    assert [(one.key, one.value, one.act) for one in read(text)[0]] == [(key, value, "retract")]


@pytest.mark.parametrize(
    ("begin", "piece"),
    [("a:\n", " b:"), ("a:\n", " b:\n"), ("", "- a:\n"), ("", "把这"), ("", "我们"), ("", "老师说"), ("", "翻译"),
     ("", "人都"), ("", "本店")],
)  # fmt: skip
def test_no_text_takes_long(begin: str, piece: str) -> None:
    assert_cut_off(lambda text: read(begin + text), repeated(piece), MAX_READ)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # what one uses, likes and keeps to, told without the plain verbs
        ("笔记全丢给Obsidian", [("uses", "Obsidian")]),
        ("天天靠冰美式续命", [("likes", "冰美式")]),
        ("水果里头最爱山竹", [("favorite.水果", "山竹")]),
        ("腰椎间盘突出又犯了", [("health", "腰椎间盘突出")]),
        ("海鲜一概不沾", [("diet", "海鲜")]),
        ("往后跟我讲中文", [("reply_language", "中文")]),
        ("以后喊我老徐就成", [("address_as", "老徐")]),
        # what was settled, is owed, lies ahead or is over
        ("商量完了，厨房改成开放式", [("decision", "厨房改成开放式")]),
        ("首页改版先不做，产品会上定的", [("decision", "首页改版先不做")]),
        ("提前一天提醒我给绿植换盆", [("reminder", "给绿植换盆")]),
        ("季度总结还没交，月底前得交", [("task", "季度总结")]),
        ("年后打算搬去珠海", [("plan", "搬去珠海")]),
        ("周五下午三点要陪我妈复查", [("appointment", "陪我妈复查")]),
        ("前年去过一趟敦煌", [("experience", "去过一趟敦煌")]),
        ("上周末服务器宕机了", [("event", "服务器宕机")]),
        # what one has, takes, and does again and again
        ("我家那台缝纫机比我岁数还大", [("possession", "缝纫机")]),
        ("屋后种了三棵枇杷，今年结得多", [("possession", "三棵枇杷")]),
        ("高血压，缬沙坦每天一片", [("health", "高血压"), ("uses", "缬沙坦")]),
        ("刻橡皮章上瘾，手都磨破了", [("hobby", "刻橡皮章")]),
        ("比起地铁我还是骑车", [("prefers", "骑车")]),
        # what is to be done, reached, or was done
        ("给花浇水，到时候叫我一声", [("reminder", "给花浇水")]),
        ("天黑喊我收衣服", [("reminder", "收衣服")]),
        ("从今往后只准拿日语回我", [("reply_language", "日语")]),
        ("今年目标很朴素，把驾照拿下", [("goal", "把驾照拿下")]),
        ("攒够十万开个书店，慢慢来", [("goal", "攒够十万开个书店")]),
        ("国庆去黄河边走走", [("plan", "去黄河边走走")]),
        ("昨儿骑车摔了一跤", [("event", "骑车摔了一跤")]),
        ("早几年给剧组拉过道具", [("experience", "给剧组拉过道具")]),
        ("外公走了，上周的事", [("life_event", "外公走")]),
        ("去年底评上一级教师", [("life_event", "评上一级教师")]),
        # and what only looks like it
        ("听得我都想哭了", []),
        ("我妈走了以后家里冷清", []),
        ("别指望我写文档", []),
        ("店里空调太冷", []),
        ("我喜欢喝豆汁，这是测试句子", []),
        ("给客人回：亲，我们仓库在佛山", []),
        ("医生说每天一片就行", []),
        ("抖音卸了会怎么样", []),
        ("要是戒了咖啡会不会头疼", []),
        ("帮我写一句：海鲜一概不沾", []),
        ("谁提前一天提醒你的？", []),
        ("网友说商量完了就定这个方案", []),
        ("今天咖啡就不喝了，太晚了", []),
    ],
)
def test_forms_that_several_speakers_use(text: str, expected: list[tuple[str, str]]) -> None:
    assert [(key, value) for _, key, value in said(text)] == expected


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [("抖音早卸了", "uses", "抖音"), ("那个健身会员退订了", "uses", "健身会员"), ("钓鱼早就不玩了", "hobby", "钓鱼"),
     ("搬去珠海的计划黄了", "plan", "搬去珠海")],
)  # fmt: skip
def test_what_holds_no_more_is_taken_back(text: str, key: str, value: str) -> None:
    assert [(one.key, one.value, one.act) for one in read(text)[0]] == [(key, value, "retract")]
