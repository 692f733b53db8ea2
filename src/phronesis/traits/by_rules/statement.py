"""One memory's words as a general sentence: without who, when and the details of the once, in the third person."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from phronesis.traits.by_rules.reading import MemoryFeatures
from phronesis.traits.by_rules.tables import Code, the_tables
from phronesis.traits.by_rules.terms import base_of
from phronesis.traits.laws.records import GENERAL

MAX_WORDS: Final = 14
MAX_CHARACTERS: Final = 30
"""How long a sentence about a trait is at most."""

_SUBJECT: Final = re.compile(r"^(?:(?:the )?users?|i|he|she|they)\b(?:'(?:ve|d|m|s))?\s+", re.IGNORECASE)
_OFTEN: Final = re.compile(
    r"\b(?:always|usually|often|again|still|just|also|really|even|has|have|had)\s+", re.IGNORECASE
)
_WHEN: Final = re.compile(
    r"(?<!\s)\s*+\b(?:(?:on|at|in|since|until|by|for|from) )?(?:(?:this|last|next|every|each|that) )?"
    r"(?:today|tonight|yesterday|tomorrow|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|january|february|march|april|may"
    r"|june|july|august|september|october|november|december|again|once more|\d{4}-\d\d-\d\d|\d{1,2}[:.]\d\d)\b"
    r"|(?<!\s)\s*+\b(?:this|last|next|every|each|that|in the|at|all)"
    r" (?:week|month|year|morning|afternoon|evening|night)\b",
    re.IGNORECASE,
)
_CLAUSE: Final = re.compile(
    r"[,;:.!?–—()]\s|\s(?:because|since|so that|even though|although|when|while|before|after|and|but|then)\s"
)
_CHINESE_CLAUSE: Final = re.compile("[，。；：！？、,;!?]")
_CHINESE_SUBJECT: Final = re.compile("^(?:用户|我|他|她)(?:们)?(?:说|表示|提到)?(?:自己)?")
_CHINESE_WHEN: Final = re.compile(
    "(?:今天|昨天|昨晚|今晚|前天|明天|上周|这周|本周|下周|上个月|这个月|今年|去年|周[一二三四五六日天末]|星期[一二三四五六日天]"
    "|早上|上午|中午|下午|晚上|傍晚|又|再次|照例|总是|经常|还是|[0-9一二三四五六七八九十]{1,3}[月日号点](?:半|钟)?)"
)
_CHINESE_DONE: Final = re.compile("了(?![解得不])")


def clause_of(text: str, code: Code, *, often: bool = False, names: frozenset[str] = frozenset()) -> str:
    """Return the first telling clause of a memory as a sentence; ``often`` says that it recurs."""
    if code == "zh":
        return _chinese(text, often=often)
    return _english(text, often=often, names=names)


def _chinese(text: str, *, often: bool) -> str:
    clauses = [_CHINESE_SUBJECT.sub("", part.strip()) for part in _CHINESE_CLAUSE.split(text)]
    bare = [_CHINESE_DONE.sub("", _CHINESE_WHEN.sub("", part)).strip() for part in clauses]
    best = next((part for part in bare if len(part) >= 4), max([*bare, ""], key=len))  # noqa: PLR2004 - a verb and an object
    best = best[:MAX_CHARACTERS] or text.strip()[:MAX_CHARACTERS]
    return f"经常{best}" if often else best


def _english(text: str, *, often: bool, names: frozenset[str]) -> str:
    bare = " ".join(text.split())
    for name in sorted(names):
        bare = bare.removeprefix(f"{name} ")
    bare = _SUBJECT.sub("", bare)
    clause = next((part for part in _CLAUSE.split(bare) if len(part.split()) > 1), bare)
    clause = " ".join(_WHEN.sub("", _OFTEN.sub("", clause)).split()[:MAX_WORDS]).strip(" ,.;:")
    clause = clause or bare[:80].strip()
    first, _, rest = clause.partition(" ")
    verb = third_person(first)
    if verb is None:
        return f"Often: {clause[:1].lower()}{clause[1:]}" if often else f"{clause[:1].upper()}{clause[1:]}"
    sentence = f"{verb} {rest}".strip()
    return f"Often {sentence}" if often else f"{sentence[:1].upper()}{sentence[1:]}"


def third_person(word: str) -> str | None:
    """Return a past tense in the third person of the present: "baked" is "bakes", "went" is "goes"; None: no verb."""
    low = word.lower()
    base = the_tables().irregular.get(low)
    if base in {"be", "not", "will", "cannot"} or not low.isascii() or not low.isalpha():
        return None
    if base is None:
        base = base_of(low)
        if base == low or not low.endswith("ed"):
            return None
    if base == "have":
        return "has"
    if base.endswith(("s", "sh", "ch", "x", "z", "o")):
        return f"{base}es"
    if base.endswith("y") and base[-2:-1] not in "aeiou":
        return f"{base[:-1]}ies"
    return f"{base}s"


def soften(content: str, code: Code) -> str | None:
    """Return a trait in a lower degree ("Sometimes goes running"); None where it is in one already."""
    if code == "zh":
        bare = re.sub("^(?:现在)?(?:经常|总是|常常|一向|每天)", "", content)
        return None if content.startswith("有时") else f"有时{bare}"
    if content.startswith("Sometimes"):
        return None
    bare = re.sub(r"^(?:now )?(?:often|always|usually|regularly)[: ]\s*", "", content, flags=re.IGNORECASE)
    return f"Sometimes {bare[:1].lower()}{bare[1:]}"


# How a trait is put: one general sentence about the user, in the language of what shows it.

SHARED: Final = 0.5
"""Share of the members that must hold what a sentence says of them all."""

SITUATED: Final = 0.6
"""Share of the members that must show a situation for the sentence to name it."""

_SAID: Final = (
    "before_work",
    "bedtime",
    "night",
    "morning",
    "evening",
    "weekend",
    "commute",
    "stress",
    "alone",
    "friends",
    "family",
)
"""Situations that a sentence names, the most telling first."""

_NO_OFTEN: Final = re.compile("^(?:容易|喜欢|习惯|爱|很|是|不)")
_NOW: Final = {"en": "Often", "zh": "经常"}


def language_of(members: Sequence[MemoryFeatures]) -> Code:
    """Return the language that most members are in; Chinese where they are as many."""
    return "zh" if 2 * sum(one.code == "zh" for one in members) >= len(members) else "en"


def behaviours_of(members: Sequence[MemoryFeatures]) -> list[str]:
    """Return the behaviours that at least half of the members show, the commonest first."""
    counts = Counter(name for one in members for name in one.behaviours)
    return sorted(
        (name for name, count in counts.items() if count >= SHARED * len(members) and count > 1),
        key=lambda name: (-counts[name], name),
    )


def situation_of(members: Sequence[MemoryFeatures]) -> str | None:
    """Return the most telling situation that most members name."""
    counts = Counter(name for one in members for name in one.situations)
    return next((name for name in _SAID if counts[name] > 1 and counts[name] >= SITUATED * len(members)), None)


def context_of(members: Sequence[MemoryFeatures]) -> str:
    """Return where something shows: what its behaviours and its words say most often.

    General where they do not agree.
    """
    tables = the_tables()
    votes: Counter[str] = Counter()
    for one in members:
        votes.update({tables.situations[name].context for name in one.situations} - {GENERAL})
    for name in behaviours_of(members)[:1]:
        votes[tables.domains[tables.behaviours[name].domain].context] += len(members)
    ranked = sorted(votes.items(), key=lambda pair: (-pair[1], pair[0]))
    if not ranked or ranked[0][1] * 2 < len(members):
        return GENERAL
    return ranked[0][0]


def statement_of(members: Sequence[MemoryFeatures]) -> str:
    """Return the sentence: by the behaviour that they share, else the shortest clear one without its details."""
    code = language_of(members)
    tables = the_tables()
    situation = situation_of(members)
    for name in behaviours_of(members)[:1]:
        return trait_sentence(tables.behaviours[name].say[code], situation, code)
    counts = Counter(stem for one in members for stem in one.stems)
    clear = [one for one in members if one.code == code]
    best = min(clear, key=lambda one: (-sum(counts[stem] > 1 for stem in one.stems), len(one.text), one.at, one.id))
    return clause_of(best.text, code, often=True)


def trait_sentence(say: str, situation: str | None, code: Code) -> str:
    """Return a behaviour as a sentence, with when it shows."""
    when = "" if situation is None else the_tables().situations[situation].say[code]
    if code == "en":
        return f"Often {say}" + (f" {when}" if when and not repeats(say, when) else "")
    if when and not repeats(say, when):
        return f"经常{when}{say}"
    return say if _NO_OFTEN.match(say) else f"经常{say}"


def repeats(say: str, when: str) -> bool:
    """Return whether a sentence would name one time twice: "stays up late late at night"."""
    telling = set(re.findall(r"[a-z]{4,}|[\u4e00-\u9fff]", when)) - {
        "with",
        "when",
        "的",
        "时",
        "在",
        "上",
        "前",
        "and",
    }
    clocks = ("morning", "evening", "night", "early", "late", "bed", "break", "weekend", "after hours")
    timed = any(word in say for word in clocks) and any(word in when for word in ("morning", "evening", "night", "bed"))
    return timed or any(word in say for word in telling)
