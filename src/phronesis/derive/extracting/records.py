"""Records that tools answer in Chinese: what is asked about, and its fields with their values.

Fields stand in many layouts, and none is a sentence: ``PROJ-1：负责人 高洁，截止日期 7月20日``,
``联系人：吴建国，电话：137...``, ``迭代42负责人由 万里 变更为 施然``. A field whose value is of the moment (the
weather, what is left, how long it took) is none.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

MAX_VALUE: Final = 40
"""Characters of a field's value; what is longer is a text."""

PROFILE: Final = {
    "电话": "phone", "手机": "phone", "手机号": "phone", "手机号码": "phone", "联系电话": "phone", "联系方式": "phone",
    "邮箱": "email", "电子邮箱": "email", "生日": "birthday", "出生日期": "birthday", "职位": "job", "职务": "job",
    "岗位": "job", "职业": "job", "公司": "employer", "单位": "employer", "工作单位": "employer", "学校": "school",
    "地址": "address", "住址": "address", "家庭住址": "address", "所在城市": "home_city", "城市": "home_city",
    "籍贯": "hometown", "年龄": "age", "性别": "gender", "过敏史": "allergy", "过敏源": "allergy", "过敏": "allergy",
}  # fmt: skip
"""Fields of somebody, and the keys that they state."""

_OF_SOMEBODY: Final = frozenset({"phone", "email", "birthday", "job", "age", "gender"})

_PEOPLE: Final = "联系人|姓名|员工|客户姓名|客户|会员|患者|病人|学生|学员|同事|老师|教师|住户|业主|应聘者|候选人"
_KINDS: Final = (
    "资产|服务器|服务|主机|设备|工单|任务单|任务|项目|合同|订单|应用|接口|实例|数据库|数据表|仓库|机器|节点|集群|物料|产品|商品|"
    "课程|班级|会议室|房间|车辆|样品|仪器|需求|缺陷|迭代|版本库|仓位|模块|组件|环境|域名|证书|门店|车间|产线|科室|实验"
)
_NAMING: Final = re.compile(
    rf"(?P<person>{_PEOPLE})|(?:{_KINDS})?(?:名称|名|编号|代号|号|id)|{_KINDS}"
    r"|[^\s：:]{0,8}(?:查询结果|查询|信息|详情|资料|档案|检索结果)",
    re.IGNORECASE,
)
"""Fields, or headings, after which stands what the others are of."""

_HEADING: Final = re.compile(
    r"(?:已|正在|成功|失败|完成|错误|警告|提示|通知|注意|报警|告警|系统|搜索|翻译|结果|查询|备注|说明|文件|附件|标题|下载|上传)"
    r"|.*(?:完成|成功|失败|结束|结果|查询|如下|通知|提醒|输出|内容|摘要|要求|链接|地址)$"
)
"""What stands before a colon and is no thing."""

_OF_THE_MOMENT: Final = re.compile(
    r"(?:天气|气温|温度|湿度|体感.*|风.*|.*风|空气.*|降水.*|能见度|日出|日落|紫外线|涨.*|跌.*|收盘.*|开盘.*|.*股价|汇率|票价|.*余票|"
    r".*座|耗时|用时|时长|.*进度|.*状态|流量|.*余额|.*大小|歌手|专辑|歌曲|快递.*|物流.*|运单.*|主题|收件人|发件人|抄送|正文|标题|内容|摘要|"
    r".*错误|.*警告|总数|共计?|条数|.*使用率|.*占用.*|负载|已用.*|剩余.*|.*剩余|当前.*|实时.*|今日.*|昨日.*|本[周月日].*|比分|得分|排名|"
    r"结果|来源|链接|网址|备注|说明|提示|回复|评论|点赞|播放.*|下载.*|预计.*|路况|距离|.*请.*|.*你.*|.*您.*|.*我.*|.*用户.*)"
)
"""Fields whose values are soon others, or are no value of anything."""

_FIELD: Final = (
    r"(?:[一-鿿]{0,6}(?:时间|日期|期限?|周期|日|人|员|师|号码?|编号|地址|位置|地点|机房|系统|版本|端口|域名|协议|框架|语言|数据库|"
    r"负责人|经理|老师|主管|组长|部门|科室|教室|房间|楼层|容量|功率|压力|电压|电流|转速|频率|浓度|流速|尺寸|重量|型号|规格|品牌|供应商|厂家|"
    r"产地|材质|颜色|单价|价格?|金额|费用?|预算|额度|上限|下限|阈值|比例|等级|级别|优先级|类型|分支|数量|人数|甲方|乙方|格式|编码|时区|"
    r"间隔|超时|限流|密码|电话|手机号?|邮箱|生日|职位|职务|岗位|姓名|名称|班级|学院|专业|公司|单位|住址|年龄|性别|籍贯|过敏[史源]))"
)
_ANY_FIELD: Final = r"[一-鿿A-Za-z]{2,10}"
_PARTS: Final = re.compile(r"[，；;|｜。\n]|,(?!\d{3}(?!\d))")
_HEAD: Final = re.compile(r"\s*(?P<subject>[^：:=]{2,24}?)\s*(?:[：:]|=)\s*(?P<rest>\S.*)")
_PAIR: Final = re.compile(
    rf"\s*(?P<field>{_ANY_FIELD})\s*[：:=]\s*(?P<value>\S.*?)\s*|\s*(?P<field_b>{_FIELD})(?:\s+|[是为]\s*)(?P<value_b>\S.*?)\s*"
)
_SPACED: Final = re.compile(r"\s*(?P<field>[一-鿿]{2,6})\s+(?P<value>\S.*?)\s*")
_THING_AND_FIELD: Final = re.compile(rf"(?P<subject>\S.*?)(?:\s+的?\s*|的)(?P<field>[一-鿿]{{2,8}}|{_FIELD})")
_KIND: Final = re.compile(rf"(?:{_KINDS})\s+(?=\S)")
_CHANGED: Final = re.compile(
    rf"\s*(?:[将把]\s*)?(?P<subject>\S.{{0,30}}?)(?:\s*的\s*|\s+)?(?P<field>{_FIELD})\s*(?:现|已经|已|被|正式)*\s*"
    r"(?:(?:由|从)\s*(?P<old>\S.{0,30}?)\s*)?(?:变更|调整|修改|更新|更改|更换|替换|改|变|换|调|移交|转交|延期|推迟|提前)(?:为|成|到|至|给)\s*"
    r"(?P<value>\S.*?)\s*"
)
_SUBJECT: Final = re.compile(r"[\w一-鿿][\w一-鿿 .·/#+-]{0,23}")
_NAME: Final = re.compile(r"[一-鿿·]{2,4}")


@dataclass(frozen=True, slots=True)
class Entry:
    """A field of a record: what it is of, its name and value, the value before, and where it stands."""

    subject: str
    person: bool
    field: str
    value: str
    old: str | None
    start: int
    end: int


def entries(text: str) -> list[Entry]:
    """Give the fields of a record; none where a text is none."""
    changed = [one for start, part in _parts(text) for one in _changed(part, start)]
    if changed:
        return changed
    parts = list(_parts(text))
    head = _HEAD.fullmatch(parts[0][1]) if parts else None
    if head is None:
        return []
    left, rest, at = head["subject"].strip(), head["rest"].strip(), parts[0][0] + head.start("rest")
    naming = _NAMING.fullmatch(left)
    pairs = [(pair, start) for start, part in parts[1:] if (pair := _pair(part, spaced=True)) is not None]
    person = naming is not None and naming["person"] is not None
    if naming is not None and _pair(rest, spaced=True) is None:
        subject = rest
    elif (first := _pair(rest, spaced=True)) is not None and _HEADING.match(left) is None:
        subject = left
        pairs.insert(0, (first, at))
    elif (both := _THING_AND_FIELD.fullmatch(left)) is not None and _HEADING.match(left) is None:
        subject = both["subject"]
        pairs.insert(0, ((both["field"], rest, parts[0][1].strip()), parts[0][0]))
    else:
        return []
    named = next((value for (field, value, _), _ in pairs if field in {"姓名", "名称"}), None)
    subject = named or _KIND.sub("", subject)
    keys = {PROFILE.get(field) for (field, _, _), _ in pairs}
    person = person or (_NAME.fullmatch(subject) is not None and not _OF_SOMEBODY.isdisjoint(keys))
    if _SUBJECT.fullmatch(subject) is None or _HEADING.match(subject) is not None:
        return []
    return [
        Entry(subject, person, field, value, None, *_span(text, said, start))
        for (field, value, said), start in pairs
        if _lasts(field, value) and value != named
    ]


def _span(text: str, said: str, start: int) -> tuple[int, int]:
    place = text.index(said, start)
    return place, place + len(said)


def _parts(text: str) -> Iterator[tuple[int, str]]:
    start = 0
    for mark in _PARTS.finditer(text):
        if text[start : mark.start()].strip():
            yield start, text[start : mark.start()]
        start = mark.end()
    if text[start:].strip():
        yield start, text[start:]


def _pair(part: str, *, spaced: bool) -> tuple[str, str, str] | None:
    """Give a field, its value, and both as they are said."""
    found = _PAIR.fullmatch(part)
    if found is not None:
        return found["field"] or found["field_b"], found["value"] or found["value_b"], part.strip()
    found = _SPACED.fullmatch(part) if spaced else None
    return None if found is None else (found["field"], found["value"], part.strip())


def _changed(part: str, start: int) -> Iterator[Entry]:
    found = _CHANGED.fullmatch(part)
    if found is None or not _lasts(found["field"], found["value"]):
        return
    subject = _KIND.sub("", found["subject"].strip())
    if _SUBJECT.fullmatch(subject) is None or re.search("[我你您他她用户]{1,2}", subject) is not None:
        return
    left = len(part) - len(part.lstrip())
    place = start + left
    yield Entry(subject, person=False, field=found["field"], value=found["value"], old=found["old"], start=place,
                end=place + len(part.strip()))  # fmt: skip


def _lasts(field: str, value: str) -> bool:
    return _OF_THE_MOMENT.fullmatch(field) is None and len(value) <= MAX_VALUE and any(map(str.isalnum, value))
