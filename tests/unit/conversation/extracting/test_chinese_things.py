"""Chinese messages about things: what is so of them, where they are, what they use, and what tools answer of them."""

from datetime import UTC, datetime

import pytest

from phronesis.conversation.extracting.rules import Rules

AT = datetime(2026, 11, 24, 9, tzinfo=UTC)
RULES = Rules()


def said(text: str, role: str = "user") -> list[tuple[str, str, str | None]]:
    found, _ = RULES.read(0, {"role": role, "name": "cmdb" if role == "tool" else None}, text, AT)
    return [(one.subject, one.key, one.value) for one in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("OPS-77：负责人 梁潇，截止日期 2026-12-05。",
         [("OPS-77", "attribute.负责人", "梁潇"), ("OPS-77", "attribute.截止日期", "2026-12-05")]),
        ("联系人：周立新，电话：13912340000。", [("周立新", "phone", "13912340000")]),
        ("姓名：何雨，职位：测试工程师", [("何雨", "job", "测试工程师")]),
        ("会员查询结果：王莉，生日 5月6日。", [("王莉", "birthday", "5月6日")]),
        ("设备 C-03 额定功率：7.5kW；供应商：沪江机电",
         [("C-03", "attribute.额定功率", "7.5kW"), ("C-03", "attribute.供应商", "沪江机电")]),
        ("user-center：语言=Java，端口=8088",
         [("user-center", "attribute.语言", "Java"), ("user-center", "attribute.端口", "8088")]),
        ("迭代7负责人由 苏棠 变更为 罗峻。", [("迭代7", "attribute.负责人", "罗峻")]),
        ("工单 4412 处理人已由 张扬 改为 李牧", [("4412", "attribute.处理人", "李牧")]),
        ("日程提醒：12月3日 10:00 季度预算评审", [("user", "appointment", "季度预算评审")]),
        ("会议邀请：12月4日14:30 渠道周会（302会议室）", [("user", "appointment", "渠道周会")]),
        ("订单 88231：状态 已发货，快递 顺丰", []),
        ("广州：多云，气温 18度，湿度 70%", []),
        ("部署完成：prod 环境，版本 3.2.0，用时 2分钟", []),
        ("正在播放：夜曲，歌手：周杰伦", []),
        ("已发送：收件人 王涛，主题 周报", []),
    ],
)  # fmt: skip
def test_fields_of_a_tools_record(text: str, expected: list[tuple[str, str, str]]) -> None:
    assert said(text, "tool") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("冷却塔的进水温度是32度。", ("冷却塔", "attribute.进水温度", "32度")),
        ("结账接口的重试次数是3次", ("结账接口", "attribute.重试次数", "3次")),
        ("订单表的主键是order_id", ("订单表", "attribute.主键", "order_id")),
        ("论文的通讯作者是何老师", ("论文", "attribute.通讯作者", "何老师")),
        ("幼儿园的接送时间是四点半", ("幼儿园", "attribute.接送时间", "四点半")),
        ("Kafka的分区数从12扩到24了", ("Kafka", "attribute.分区数", "24")),
        ("春游的地点改成植物园了", ("春游", "attribute.地点", "植物园")),
        ("项目的验收日期推到12月8号了", ("项目", "attribute.验收日期", "12月8号")),
        ("离心机搬到四楼A407了", ("离心机", "located_in", "四楼A407")),
        ("锅炉水温设六十二度", ("锅炉", "attribute.水温", "六十二度")),
        ("新库房月租九千六", ("新库房", "attribute.月租", "九千六")),
        ("5月9日是灯塔项目的截止日期", ("灯塔项目", "attribute.截止日期", "5月9日")),
        ("报表功能每次最多导出五千行", ("报表功能", "fact", "每次最多导出五千行")),
        ("我们公司的总部在珠海", ("公司", "located_in", "珠海")),
        ("备用钥匙放在物业前台", ("备用钥匙", "located_in", "物业前台")),
        ("日志服务器托管在廊坊", ("日志服务器", "located_in", "廊坊")),
        ("财务部搬去12楼了", ("财务部", "located_in", "12楼")),
        ("客服系统底层是Elasticsearch", ("客服系统", "uses", "Elasticsearch")),
        ("移动端是Flutter写的", ("移动端", "uses", "Flutter")),
        ("财务系统每月28号锁账", ("财务系统", "fact", "每月28号锁账")),
        ("我电脑的系统是Win11", ("电脑", "attribute.系统", "Win11")),
        ("新生产线建在南通", ("新生产线", "located_in", "南通")),
        ("结算模块是Java写的", ("结算模块", "uses", "Java")),
        ("我们仓库南通，离港口近", ("仓库", "located_in", "南通")),
        ("样机服务器珠海放着", ("样机服务器", "located_in", "珠海")),
        ("结算接口金额单位是厘", ("结算接口", "fact", "金额单位是厘")),
        ("超声仪预约找孙老师", ("超声仪", "attribute.负责人", "孙老师")),
        ("我爸一直吃华法林", ("爸爸", "uses", "华法林")),
    ],
)
def test_what_is_told_of_a_thing(text: str, expected: tuple[str, str, str]) -> None:
    assert said(text) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "项目的问题是人太少", "今天的气温是12度", "水的沸点是100度", "这本书的优点是好读", "你的温度是多少度",
        "我现在的心率是120", "隔壁老王的工资是3万", "比赛的比分是3比1", "把标题的字号改成18", "把背景颜色换成蓝色",
        "发票扔在桌上", "猫在沙发上", "老张在三楼开会", "手机在充电", "班主任换成了齐老师", "服务器放在上海还是北京",
        "手机在维修", "这水温太高了", "她老家在办酒席",
    ],
)  # fmt: skip
def test_opinions_passing_states_and_orders_are_no_facts(text: str) -> None:
    assert said(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "设想一下，我们公司搬到海南，谁会跟着去", "如果明年涨薪，我就买房", "万一面试没过，我打算再考一年",
        "若是当初学了医，现在我就是医生了", "早知道住一楼，就不用爬楼梯了", "我就买房，如果明年涨薪的话",
        "可不是嘛，我最爱周末被叫去加班了", "我决定辞职去当宇航员，骗你们的", "我的爱好是摆烂，特长是拖延",
        "我的目标是一觉睡到退休，哈哈", "咱们来演一段，我是茶馆老板，住在长安", "我们玩个游戏，我当法官，你当律师",
        "剧情是这样的：我是一名侦探，住在贝克街", "他原话是：我在腾讯上班，年薪百万", "弹幕飘过：我是四川人，我爱吃辣",
    ],
)  # fmt: skip
def test_what_is_supposed_joked_played_or_quoted_is_not_held(text: str) -> None:
    assert said(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("我住在杭州，要是能转远程，我就回老家种地", [("user", "home_city", "杭州")]),
        ("我住在昆明，如果以后涨工资我就换个大点的房子", [("user", "home_city", "昆明")]),
        ("哈哈逗你的，不过说真的，我打算六月去考驾照", [("user", "plan", "去考驾照")]),
    ],
)
def test_what_stands_beside_a_supposition_or_a_joke_is_stated(text: str, expected: list[tuple[str, str, str]]) -> None:
    assert said(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("上周三我的自行车让人给顺走了", [("event", "自行车让人给顺走")]),
        ("昨晚我家被楼上泡了", [("event", "被楼上泡")]),
        ("我上周把简历投给了五家公司", [("event", "把简历投给了五家公司")]),
        ("上周我主持了一场读书会", [("event", "主持了一场读书会")]),
        ("我在东莞的厂里干过三年", [("experience", "在东莞的厂里干过三年")]),
        ("我曾经一个人从拉萨骑到阿里", [("experience", "从拉萨骑到阿里")]),
        ("我六月硕士毕业了", [("life_event", "硕士毕业")]),
        ("我去年离了婚", [("life_event", "离了婚")]),
        ("下周一我开始休产假", [("appointment", "休产假")]),
        ("周三下午我给高二五班上公开课", [("appointment", "给高二五班上公开课")]),
        ("去云南的计划泡汤了", [("plan", "去云南")]),
        ("下周的体检我推了", [("appointment", "体检")]),
        ("体检报告已经上传了", [("task", "体检报告")]),
        ("SDK的说明我翻译完了", [("task", "SDK的说明")]),
        ("下班前得把日报发了", [("task", "把日报发")]),
        ("考虑再三，我还是决定留在成都", [("decision", "留在成都")]),
        ("会上拍板了，下个版本砍掉会员功能", [("decision", "下个版本砍掉会员功能")]),
        ("我想清楚了，决定不读博，直接找工作", [("decision", "直接找工作")]),
        ("我们决定不用Slack了，全公司换回邮件", [("decision", "邮件")]),
        ("退休以后我们老两口准备搬到威海住", [("plan", "搬到威海住")]),
        ("我给自己定了个目标，每天跑五公里", [("goal", "跑五公里")]),
        ("我想在四十岁前把房贷还清", [("goal", "把房贷还清")]),
        # without the verb that would be said, or the clause that says what kind of thing it is comes after
        ("平时Joplin记读书笔记", [("uses", "Joplin")]),
        ("Trello我早扔了", [("uses", "Trello")]),
        ("周四布展，别给我排别的", [("appointment", "布展")]),
        ("年度外审定在下周五", [("appointment", "年度外审")]),
        ("洗车，周六前", [("task", "洗车")]),
        ("写结题报告还没动笔呢", [("task", "写结题报告")]),
        ("收衣服提醒下", [("reminder", "收衣服")]),
        ("改走水路，公司批了", [("decision", "改走水路")]),
        ("最爱的城市大理，没别的", [("favorite.城市", "大理")]),
        ("刚退休，天天在家", [("life_event", "退休")]),
        ("代表过学校打辩论", [("experience", "代表过学校打辩论")]),
        ("表格用三线表，以后都这样", [("reply_style", "表格用三线表")]),
        ("阿竹，大家都这么叫", [("address_as", "阿竹")]),
    ],
)
def test_events_and_intentions(text: str, expected: list[tuple[str, str]]) -> None:
    assert [(key, value) for _, key, value in said(text)] == expected


@pytest.mark.parametrize(
    "text",
    [
        "这部电影被骂得很惨", "昨天让我等了半天", "昨晚做了个噩梦", "今天刷了一天手机", "这个功能我试过两次都不行",
        "我曾经以为自己很厉害", "把门关上了吗", "我得参加", "决定权在你", "我决定不了", "想通了，其实没什么大不了",
        "说好了，你别反悔", "下周有台风", "下周给你看看", "公司的计划取消了", "怀孕的人不能喝酒",
        "上周群里炸了", "考虑了很久，谢谢大家的建议", "昨天的外卖取消了",
        "Vue打包太慢了", "今天谁值班啊", "能用别的就用别的", "取消订单要什么手续", "这样就好，以后再说",
        "买药要医保卡吗", "好奇问一下",
    ],
)  # fmt: skip
def test_what_happens_every_day_is_no_event_and_no_task(text: str) -> None:
    assert said(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("我们的网关用Kong，日志保留三十天", [("网关", "uses", "Kong"), ("网关", "fact", "保留三十天")]),
        ("我们的后端用Go，前端用React", [("后端", "uses", "Go"), ("前端", "uses", "React")]),
        ("这台冰箱的型号是BX-300，说明书里有尺寸", [("冰箱", "attribute.型号", "BX-300")]),
        ("五月九号是这个活动的截止日期", [("活动", "attribute.截止日期", "五月九号")]),
        ("马拉松的距离是42.195公里", []),
    ],
)
def test_whose_the_parts_of_a_thing_are(text: str, expected: list[tuple[str, str, str]]) -> None:
    assert said(text) == expected
