"""Names of languages and attribute keys, kinship synonyms, and the normalised form of values.

Language names are in English, Chinese and the language itself, with BCP 47 codes.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Final, TypeVar

from phronesis.core.calendar import TimeSpan, find_times
from phronesis.core.calendar_spans import CHINESE_DIGITS, parse_number

# Keys, key families and kinds by the names that a policy uses.

_LABELS: Final = """
name, Name, 名字; alias, Also called, 别名; age, Age, 年龄; birthday, Birthday, 生日; gender, Gender, 性别;
nationality, Nationality, 国籍; home_city, Home city, 居住地; hometown, Hometown, 家乡; address, Address, 地址;
timezone, Time zone, 时区; email, Email, 邮箱; phone, Phone, 电话; employer, Employer, 工作单位; job, Job, 职业;
school, School, 学校; field_of_study, Field of study, 专业; language, Language, 语言; skill, Skill, 技能;
hobby, Hobby, 爱好; relationship_status, Relationship status, 婚恋状况; partner, Partner, 伴侣; child, Child, 孩子;
parent, Parent, 父母; sibling, Sibling, 兄弟姐妹; relative, Relative, 亲戚; friend, Friend, 朋友;
colleague, Colleague, 同事;
pet, Pet, 宠物; allergy, Allergy, 过敏; diet, Diet, 饮食; health, Health, 健康; medication, Medication, 用药;
possession, Has, 拥有; habit; role, Role, 角色; availability; contact.*, {}, {}; likes, Likes, 喜欢;
dislikes, Dislikes, 不喜欢; prefers; favorite.*, Favorite {}, 最喜欢的{}; uses, Uses, 使用;
reply_language, Reply language, 回答语言; convention; reply_style; address_as, Wants to be called, 称呼; task;
reminder; plan; goal; decision; event; appointment; life_event; experience; attribute.*, {}, {};
located_in, Located in, 位于; measurement.*, {}, {}; not.*; fact
"""


def _read_labels(table: str) -> dict[str, tuple[str, str] | None]:
    labels: dict[str, tuple[str, str] | None] = {}
    for row in table.split(";"):
        key, *words = (word.strip() for word in row.split(","))
        labels[key] = (words[0], words[1]) if words else None
    return labels


LABELS: Final[Mapping[str, tuple[str, str] | None]] = _read_labels(_LABELS)
"""The keys of docs/memory-types.md, in its order, with what a value under each is called in English and Chinese; ``{}``
stands for the word of a family. None: the value alone does not say what the memory says ("flight", of an appointment).
"""
KEYS: Final = tuple(LABELS)
"""The keys of docs/memory-types.md, in its order; what ends in ``.*`` is a family."""
FAMILY: Final = ".*"
"""The suffix of a family's name."""
Rule = TypeVar("Rule")


def names_of(key: str, kind: str) -> tuple[str, ...]:
    """Return the names that a policy may use for a key, most specific first: key, family, kind."""
    family, dot, _ = key.partition(".")
    return (key, f"{family}{FAMILY}", kind) if dot else (key, kind)


def rule_for(rules: Mapping[str, Rule], key: str, kind: str) -> Rule | None:
    """Return the rule of the most specific name that has one, else None."""
    return next((rules[name] for name in names_of(key, kind) if name in rules), None)


def is_known(name: str, kinds: Iterable[str]) -> bool:
    """Return whether a name is a key, one of a family (``favorite.color``), or one of ``kinds``."""
    family, dot, word = name.partition(".")
    return name in KEYS or name in kinds or (bool(dot and word) and f"{family}{FAMILY}" in KEYS)


def label_of(key: str, *, chinese: bool) -> str | None:
    """Return the label of a key; None where there is none."""
    family, dot, word = key.partition(".")
    labels = LABELS.get(f"{family}{FAMILY}" if dot else key)
    if labels is None or (dot and not word):
        return None
    return labels[chinese].format(word.replace("_", " "))


# Names of languages.

_NAMES: Final = """
af afrikaans 南非语 | sq albanian 阿尔巴尼亚语 | am amharic 阿姆哈拉语 | ar arabic 阿拉伯语 阿拉伯文 العربية
hy armenian 亚美尼亚语 | az azerbaijani 阿塞拜疆语 | eu basque 巴斯克语 | be belarusian 白俄罗斯语
bn bengali bangla 孟加拉语 | bs bosnian 波斯尼亚语 | bg bulgarian 保加利亚语 | my burmese 缅甸语
ca catalan català 加泰罗尼亚语 | zh chinese 中文 汉语 漢語 华语 中国话 | cmn mandarin 普通话 国语 國語 官话
yue cantonese 粤语 粵語 广东话 白话 | hsn 湖南话 湘语 | wuu shanghainese 上海话 吴语
nan hokkien taiwanese 闽南语 闽南话 台语 | hak hakka 客家话 | hr croatian 克罗地亚语 | cs czech 捷克语 čeština
da danish 丹麦语 dansk | nl dutch 荷兰语 nederlands flemish | en english 英语 英文 英語 | eo esperanto 世界语
et estonian 爱沙尼亚语 | fi finnish 芬兰语 suomi | fr french 法语 法文 法語 français | gl galician 加利西亚语
ka georgian 格鲁吉亚语 | de german 德语 德文 德語 deutsch | el greek 希腊语 | gu gujarati 古吉拉特语
ha hausa 豪萨语 | he hebrew 希伯来语 | hi hindi 印地语 | hu hungarian 匈牙利语 magyar | is icelandic 冰岛语
ig igbo 伊博语 | id indonesian 印尼语 印度尼西亚语 | ga gaelic 爱尔兰语 | it italian 意大利语 意大利文 italiano
ja japanese 日语 日文 日語 日本語 日本话 | kn kannada 卡纳达语 | kk kazakh 哈萨克语 | km khmer 高棉语
ko korean 韩语 韩文 韓語 朝鲜语 한국어 | ku kurdish 库尔德语 | lo lao 老挝语 | la latin 拉丁语
lv latvian 拉脱维亚语 | lt lithuanian 立陶宛语 | lb luxembourgish 卢森堡语 | mk macedonian 马其顿语
ms malay 马来语 | ml malayalam 马拉雅拉姆语 | mt maltese 马耳他语 | mr marathi 马拉地语
mn mongolian 蒙古语 蒙语 | ne nepali 尼泊尔语 | no norwegian 挪威语 norsk | ps pashto 普什图语
fa persian farsi 波斯语 | pl polish 波兰语 polski | pt portuguese 葡萄牙语 葡语 葡文 português
pa punjabi 旁遮普语 | ro romanian 罗马尼亚语 | ru russian 俄语 俄文 俄語 русский | gd 盖尔语
sr serbian 塞尔维亚语 | si sinhala 僧伽罗语 | sk slovak 斯洛伐克语 | sl slovenian slovene 斯洛文尼亚语
so somali 索马里语 | es spanish castilian 西班牙语 西语 西班牙文 español | sw swahili kiswahili 斯瓦希里语
sv swedish 瑞典语 svenska | tl tagalog filipino 他加禄语 菲律宾语 | ta tamil 泰米尔语 | te telugu 泰卢固语
th thai 泰语 泰文 | bo tibetan 藏语 | tr turkish 土耳其语 türkçe | uk ukrainian 乌克兰语 | ur urdu 乌尔都语
ug uyghur 维吾尔语 维语 | uz uzbek 乌兹别克语 | vi vietnamese 越南语 越南文 越语 | cy welsh 威尔士语
xh xhosa 科萨语 | yi yiddish 意第绪语 | yo yoruba 约鲁巴语 | zu zulu 祖鲁语 | sgn 手语 bsl asl auslan lsf
ak twi akan | ti tigrinya | se sami sámi | om oromo | wo wolof | ln lingala | rw kinyarwanda | sn shona | st sesotho
tn setswana tswana | lg luganda | ki kikuyu | ff fulani fula | kri krio | ceb cebuano bisaya | ilo ilocano
or odia oriya | as assamese | sd sindhi | kok konkani | bho bhojpuri | ht creole | jam patois | pcm pidgin
mi maori māori | sm samoan | haw hawaiian | hmn hmong | prs dari | tg tajik | tk turkmen | ky kyrgyz | tt tatar
rom romani | qu quechua | gn guarani | br breton | fy frisian | fo faroese | ga irish
lad ladino | rue rusyn | hsb sorbian | sc sardinian | scn sicilian | co corsican | oc occitan | fur friulian
rm romansh | gv manx | kw cornish | ast asturian | nap neapolitan | vec venetian | ber tamazight berber | arc aramaic
ku kurmanji sorani | bal balochi | kab kabyle | ee ewe | bm bambara | chr cherokee | nv navajo | iu inuktitut
ay aymara
"""

_LONG_NAMES: Final = """
sgn sign language | ga irish gaelic | zh-Hans simplified chinese, 简体中文, 简体, 简体字
zh-Hant traditional chinese, 繁体中文, 繁體中文, 繁体, 繁体字, 繁體, 繁體字 | pt-BR brazilian portuguese
en-GB british english, uk english | en-US american english, us english | gsw swiss german
id bahasa, bahasa indonesia | ms bahasa melayu | pcm nigerian pidgin
"""


def _read_codes(table: str, apart: str | None) -> dict[str, str]:
    """Read rows of a code and its names; ``apart`` separates the names, None: any space."""
    codes: dict[str, str] = {}
    for row in table.strip().replace("\n", "|").split("|"):
        code, names = row.strip().split(" ", 1)
        codes |= dict.fromkeys(names.split(apart), code)
    return codes


LANGUAGES: Final[Mapping[str, str]] = _read_codes(_NAMES, None) | _read_codes(_LONG_NAMES, ", ")
"""From a name in small letters to its code."""
_CODES: Final = frozenset(LANGUAGES.values())


def language_code(name: str) -> str | None:
    """Return the code of a language by its name or code, in any case; None for an unknown language."""
    word = name.strip().casefold()
    return LANGUAGES.get(word) or next((code for code in _CODES if code.casefold() == word), None)


# Kinship synonyms: 我妈 and 我妈妈, "hubby" and "husband" are the same person.

_PLAIN: Final = dict(
    pair.split()
    for pair in """
    bf boyfriend, gf girlfriend, hubby husband, hubs husband, wifey wife, missus wife, bro brother, sis sister,
    fiancé fiance, fiancée fiancee, lad son, kids children, sis-in-law sister-in-law, bro-in-law brother-in-law,
    mum-in-law mother-in-law, mom-in-law mother-in-law, dad-in-law father-in-law, 爸 爸爸, 爹 爸爸,
    妈 妈妈, 哥 哥哥, 弟 弟弟, 姐 姐姐, 妹 妹妹,
    闺女 女儿, 奶 奶奶, 爷 爷爷, 姥 姥姥, 舅 舅舅, 姑 姑姑, 叔 叔叔, 嫂 嫂子
    """.split(",")
)


def canonical_relative(word: str) -> str:
    """Return the canonical word for a relative; any other word unchanged."""
    known = _PLAIN.get(word)
    if known is None and word.lower().endswith((" in law", "-in-law")):
        known = _PLAIN.get(word.lower().replace(" ", "-"), word.replace(" ", "-"))
    return known or word


# Normalised values (docs/memory-types.md): equal values get equal forms.

MAX_VALUE: Final = 512
"""Characters of a value that are compared: NFKC makes eighteen of some single ones."""
_ENDS: Final = " \t\n.,;:!?。，、；：！？…~～\"'“”‘’「」『』《》()（）[]【】*_`"
_ARTICLE: Final = re.compile(
    r"(?:an?|the)\s+(?=\S)|[一这那這][个個位名只隻条條辆輛台部本杯家间間所份款种種张張把棵](?=\w)"
)
_PARTICLE: Final = re.compile(r"(?<=\w)(?:[了啦呢啊呀哦吧嘛哈]|的)$")
_CITY: Final = re.compile(r"(?<=\w\w)市$|(?<!\s)\s+city$")
_NUMBER: Final = re.compile(
    rf"(?<![\d,])-?(?:[\d,]++(?<=\d)(?:\.\d++)?|[\d,]*+\.\d++)\s?[万萬亿億k]?|[{CHINESE_DIGITS}]+|[a-z]+(?:[ -][a-z]+)?"
)
_AGE: Final = re.compile(r"(?<!\s)\s*+(?:years?(?:\s++old)?|yrs?|岁|歲|周岁|個|个)\s*$")
_DATE: Final = re.compile(r"-?-?\d{2}-\d{2}|\d{4}(?:-\d{2}(?:-\d{2})?)?")
_ANCHORS: Final = (datetime(2000, 7, 1, tzinfo=UTC), datetime(2040, 9, 15, tzinfo=UTC))
"""Two days without a common field: a date that resolves equally against both, except for the year, recurs every year.
"""


def normal_value(form: str, value: str, *, at: datetime | None = None) -> str:
    """Return a value in a form of memory-types.md. KeyError: there is no such form.

    ``at`` is when it was said: a date such as "next Friday" is read against it, and stays a text without.
    """
    if form == "date":
        return _date(value, at)
    return NORMALISERS[form](value)


def _fold_value(value: str) -> str:
    """Return a value normalised in width, case, spaces and surrounding punctuation."""
    wide = unicodedata.normalize("NFKC", value[:MAX_VALUE])
    text = unicodedata.normalize("NFKC", wide.casefold())
    return " ".join(text.split())[:MAX_VALUE].strip(_ENDS)


def _repeat_until_stable(value: str, step: Callable[[str], str]) -> str:
    """Repeat a shortening step until the text no longer changes."""
    while (shorter := step(value)) != value:
        value = shorter
    return value


def normal_text(value: str) -> str:
    """Return a text without its case, width, end punctuation, leading article and closing particle."""

    def step(text: str) -> str:
        text = _fold_value(text)
        text = _ARTICLE.sub("", text, count=1) if _ARTICLE.match(text) else text
        return _fold_value(_PARTICLE.sub("", text))

    return _repeat_until_stable(value, step)


def _name(value: str) -> str:
    return _repeat_until_stable(value, _fold_value)


def _place(value: str) -> str:
    def step(text: str) -> str:
        text = _fold_value(text)
        return _CITY.sub("", text.removeprefix("the ").removeprefix("city of "))

    return _repeat_until_stable(value, step)


def _number(value: str) -> str:
    text = _AGE.sub("", _fold_value(value))
    if _NUMBER.fullmatch(text) is None:
        return normal_text(value)
    number = parse_number(text.removesuffix("k").strip())
    if number is None:
        return normal_text(value)
    number *= 1000 if text.endswith("k") else 1
    return str(int(number)) if number == int(number) else str(number)


def _language(value: str) -> str:
    text = normal_text(value)
    return language_code(text) or text


def _email(value: str) -> str:
    return _name(value).removeprefix("mailto:").strip(_ENDS)


def _phone(value: str) -> str:
    """Keep the digits, and the plus of an international number; 00 before it is a plus."""
    text = _fold_value(value)
    digits = "".join(char for char in text if char.isdecimal())
    if not digits:
        return normal_text(value)
    plain = "".join(str(int(char)) for char in digits)
    return f"+{plain.removeprefix('00')}" if text.startswith(("+", "00")) and plain.strip("0") else plain


def _url(value: str) -> str:
    text = unicodedata.normalize("NFKC", value[:MAX_VALUE]).strip(_ENDS + "<>").rstrip("/")
    scheme, _, rest = text.partition("://")
    if not rest:
        return _repeat_until_stable(value, lambda one: _fold_value(one).rstrip("/"))
    host, slash, path = rest.partition("/")
    return f"{scheme.casefold()}://{host.casefold()}{slash}{path}"


def _date(value: str, at: datetime | None) -> str:
    """Return 2023-05-04, 2023-05, 2023, or --05-04 for a day of every year; a text where there is no date."""
    text = _fold_value(value)
    if _DATE.fullmatch(text):
        return text
    one, other = (find_times(text, anchor) for anchor in _ANCHORS)
    if len(one) != 1 or len(other) != 1:
        return normal_text(value)
    if not one[0].relative:
        return _format_date(one[0])
    day = one[0].first.isoformat()[5:]
    if one[0].precision == "day" and day == other[0].first.isoformat()[5:]:
        return f"--{day}"
    return normal_text(value) if at is None else _format_date(find_times(text, at)[0])


def _format_date(time: TimeSpan) -> str:
    return time.first.isoformat()[: {"year": 4, "month": 7}.get(time.precision, 10)]


NORMALISERS: Final[Mapping[str, Callable[[str], str]]] = {
    "text": normal_text,
    "name": _name,
    "place": _place,
    "date": lambda value: _date(value, None),
    "number": _number,
    "language": _language,
    "email": _email,
    "phone": _phone,
    "url": _url,
}
"""By the form's name in memory-types.md, column value."""
