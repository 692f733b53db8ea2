"""The names under which a policy speaks of what conversations state: keys, families of keys, and kinds."""

from collections.abc import Iterable, Mapping
from typing import Final, TypeVar

LABELS: Final[Mapping[str, tuple[str, str] | None]] = {
    "name": ("Name", "名字"),
    "alias": ("Also called", "别名"),
    "age": ("Age", "年龄"),
    "birthday": ("Birthday", "生日"),
    "gender": ("Gender", "性别"),
    "nationality": ("Nationality", "国籍"),
    "home_city": ("Home city", "居住地"),
    "hometown": ("Hometown", "家乡"),
    "address": ("Address", "地址"),
    "timezone": ("Time zone", "时区"),
    "email": ("Email", "邮箱"),
    "phone": ("Phone", "电话"),
    "employer": ("Employer", "工作单位"),
    "job": ("Job", "职业"),
    "school": ("School", "学校"),
    "field_of_study": ("Field of study", "专业"),
    "language": ("Language", "语言"),
    "skill": ("Skill", "技能"),
    "hobby": ("Hobby", "爱好"),
    "relationship_status": ("Relationship status", "婚恋状况"),
    "partner": ("Partner", "伴侣"),
    "child": ("Child", "孩子"),
    "parent": ("Parent", "父母"),
    "sibling": ("Sibling", "兄弟姐妹"),
    "friend": ("Friend", "朋友"),
    "colleague": ("Colleague", "同事"),
    "pet": ("Pet", "宠物"),
    "allergy": ("Allergy", "过敏"),
    "diet": ("Diet", "饮食"),
    "health": ("Health", "健康"),
    "possession": ("Has", "拥有"),
    "likes": ("Likes", "喜欢"),
    "dislikes": ("Dislikes", "不喜欢"),
    "prefers": None,
    "favorite.*": ("Favorite {}", "最喜欢的{}"),
    "uses": ("Uses", "使用"),
    "reply_language": ("Reply language", "回答语言"),
    "reply_style": None,
    "address_as": ("Wants to be called", "称呼"),
    "task": None,
    "reminder": None,
    "plan": None,
    "goal": None,
    "decision": None,
    "event": None,
    "appointment": None,
    "life_event": None,
    "experience": None,
    "attribute.*": ("{}", "{}"),
    "located_in": ("Located in", "位于"),
    "fact": None,
}
"""The keys of docs/memory-types.md, in its order, with what a value under each is called in English and Chinese; ``{}``
stands for the word of a family. None: the value alone does not say what the memory says ("flight", of an appointment).
"""

KEYS: Final = tuple(LABELS)
"""The keys of docs/memory-types.md, in its order; what ends in ``.*`` is a family."""

FAMILY: Final = ".*"
"""How the name of a family ends."""

Rule = TypeVar("Rule")


def names_of(key: str, kind: str) -> tuple[str, ...]:
    """Give the names that a policy may use for what stands under a key, the nearest first: key, family, kind."""
    family, dot, _ = key.partition(".")
    return (key, f"{family}{FAMILY}", kind) if dot else (key, kind)


def rule_for(rules: Mapping[str, Rule], key: str, kind: str) -> Rule | None:
    """Give the rule of the nearest name that has one, else None."""
    return next((rules[name] for name in names_of(key, kind) if name in rules), None)


def is_known(name: str, kinds: Iterable[str]) -> bool:
    """Tell whether a name is a key, one of a family (``favorite.color``), or one of ``kinds``."""
    family, dot, word = name.partition(".")
    return name in KEYS or name in kinds or (bool(dot and word) and f"{family}{FAMILY}" in KEYS)


def label_of(key: str, *, chinese: bool) -> str | None:
    """Give what a value under a key is called; None where there is no word for it."""
    family, dot, word = key.partition(".")
    labels = LABELS.get(f"{family}{FAMILY}" if dot else key)
    if labels is None or (dot and not word):
        return None
    return labels[chinese].format(word.replace("_", " "))
