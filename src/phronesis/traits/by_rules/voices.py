"""Whom the memories of a user speak of: the user, by whatever name, or somebody else."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from phronesis.traits.by_rules.tables import the_tables
from phronesis.traits.laws.records import MemoryInput

PROTAGONIST_SHARE: Final = 0.3
"""Share of the memories that begin with one name for it to be the user's: "Priya rang ...", "User baked ..."."""

FIRST_SHARE: Final = 0.5
"""Share of the memories in which the user says I, me or my, from which on they are the user's own words."""

TOLD_SHARE: Final = 0.6
"""Share from which on nearly all memories tell of the user by name."""

_NAME: Final = re.compile(r"(?<!\s)\s*+([A-Z][a-z]+)\b")
_LEAD_IN: Final = re.compile(
    r"(?:once again|again|yesterday|today|tonight|last night|this morning|apparently|turns out|as usual)(?:,? )(?=\w)"
)
_LATIN_LEAD: Final = re.compile("([A-Z][a-z]+) ?(又|总是|老是|今天又|昨天又|昨晚又|每次|照例|说)?(?=[\u4e00-\u9fff])")
"""A name in Latin letters that a Chinese sentence begins with, and what people rather than things do."""
_NICKNAME: Final = re.compile("(?<!\\s)\\s*+([小老阿](?:[\u4e00-\u9fff]|[A-Z][a-z]+))")
_DOING: Final = re.compile(
    r"[A-Z][a-z]+ (?:(?!is\b|was\b|this\b|as\b)[a-z]{2,}s|came|got|put|took|made|kept|bought|ate|drank|went|told"
    r"|paid|lost|found|had|did|said|left|rang|can|never|always|still)\b"
)
"""What somebody does, rather than what a thing is or how an order begins."""
_INSIDE: Final = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+\b")
_DAYS: Final = frozenset(
    {
        "Monday",
        "Tuesday",
        "Wednesday",
        "Thursday",
        "Friday",
        "Saturday",
        "Sunday",
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
        "English",
        "Christmas",
        "Easter",
    }
)
_I_DO: Final = re.compile(
    r"(?:[,;:] |\b(?:and|but|so|while|when|because|that) )(?:then )?(?:I(?:'\w+)?|[Tt]he user|User) "
    r"(?!had to|could(?:n't| not)|tripped|got stuck)\w"
)
_MINE: Final = re.compile(r"\b(?:I|[Mm]e|[Mm]y|[Mm]yself)\b")
_THERE: Final = re.compile(r"there(?:'s|'re| is| are| was| were| used to be| will be)\b(?! me\b)", re.IGNORECASE)
"""What is somewhere, whatever the user does."""
_WE_DO: Final = re.compile(
    r"(?:[，,。；]\S{0,8}?|说|夸|笑)(?:我|用户)(?!爸|妈|们|家|的|哥|姐|弟|妹|老|只[好能得]|不得不|被|又被|没法)"
)
"""Where the user does something in a sentence that begins with somebody else."""
_CHINESE_NAMED: Final = re.compile(
    "(?:室友|舍友|同事|同学|邻居|朋友|搭档|合伙人|徒弟|学生|领导|老板|闺蜜|发小"
    "|表[哥姐弟妹]|堂[哥姐弟妹]|哥哥|姐姐|弟弟|妹妹) ?"
    "([A-Z][a-z]+|[小老阿大][\u4e00-\u9fff])"
)
_CHINESE_TOLD: Final = re.compile(r"(?:我|用户)?(?:说|提到|讲|聊到|聊起|提起|吐槽|抱怨|表示)")
_TOLD: Final = re.compile(
    r"(?:the )?(?:users?|i) (?:also )?(?:says?|said|mentions?|mentioned|notes?|noted|told(?= (?:that|about|how) )"
    r"|reports?|reported|describes?|described|complains?|complained|talked about|adds?|added)(?: that| about| how)? "
)
_TITLED: Final = re.compile("[\u4e00-\u9fff](?:老师|师傅|阿姨|教授|医生|律师|经理|主任|姐|哥|叔|嫂)(?=[\u4e00-\u9fff])")
"""A family name and what somebody is."""
_DETERMINERS: Final = frozenset({"the", "a", "an", "his", "her", "their", "my", "our", "one", "some", "new", "old"})
_ARTICLES: Final = frozenset({"The", "A", "An"})
_PLURAL: Final = frozenset(
    {"friends", "kids", "children", "parents", "guests", "neighbours", "neighbors", "colleagues"}
)
"""Who is there with the user, where nothing says whose they are: "friends over for dinner"."""
_INTRODUCED: Final = re.compile(r"\b([A-Z][a-z]+), (?:my|his|her|their|the user's)\b")


@dataclass(frozen=True, slots=True)
class SubjectNames:
    """Who a user's memories speak of: the names of the user, of people they know, and all that is written as a name.

    ``told``: most memories begin with the user's name or with a small letter, so that one which begins with another
    name is about somebody else.
    """

    names: frozenset[str] = frozenset()
    others: frozenset[str] = frozenset()
    proper: frozenset[str] = frozenset()
    told: bool = False
    first: bool = False
    """Most memories speak in the first person: "he", "she" and "they" are somebody else."""


def voice_of(memories: Iterable[MemoryInput]) -> SubjectNames:
    """Find out whom the memories call by name: whom most begin with is the user."""
    texts = [one.content for one in memories]
    leads = Counter(match[1] for text in texts if (match := _NAME.match(text) or _NICKNAME.match(text)) is not None)
    first, count = min(leads.items(), key=lambda pair: (-pair[1], pair[0]), default=("", 0))
    users = {first} if count > max(1.0, PROTAGONIST_SHARE * len(texts)) else set()
    nicknamed = Counter(
        match[1] for text in texts if (match := _NICKNAME.match(_CHINESE_TOLD.sub("", text, count=1))) is not None
    )
    relations = the_tables().others
    others = {match[1] for text in texts for match in _INTRODUCED.finditer(text)}
    for text in texts:
        for first, second in pairwise(re.findall(r"\w+", text)):
            if first.lower() in relations and second[:1].isupper() and second.isalpha() and second.isascii():
                others.update({second} - _ARTICLES)
    others |= {name for text in texts for name in _CHINESE_NAMED.findall(text)} | _recurring(texts, leads)
    others |= {name for name, often in nicknamed.items() if often > 1}
    told = max(count, sum(text.startswith(("User", "The user")) for text in texts)) > TOLD_SHARE * len(texts)
    users |= {"User"}
    told = told or sum(text[:1].islower() for text in texts) > TOLD_SHARE * len(texts)
    proper = {name for text in texts for name in _INSIDE.findall(text)}
    known = frozenset(others - users - {"I"}), frozenset(proper - users - _DAYS)
    mine = sum(_MINE.search(text) is not None for text in texts) > FIRST_SHARE * len(texts)
    return SubjectNames(frozenset(users), *known, told, mine)


def _recurring(texts: Sequence[str], leads: Mapping[str, int]) -> set[str]:
    """Return the names that several memories begin with, each of whom does something in most of them.

    "Gareth buys a pasty", "Gareth came back with chips": no table has to know that this is a name. A word that is also
    written small is none.
    """
    several = {name for name, often in leads.items() if often > 1}
    doing = Counter(match[0].split()[0] for text in texts if (match := _DOING.match(text.lstrip())) is not None)
    small = {word for text in texts for word in re.findall(r"\b[a-z]+\b", text)} if several else set()
    return {name for name in several if name.lower() not in small and 2 * doing[name] > leads[name]}


def of_somebody_else(content: str, text: str, voice: SubjectNames) -> bool:
    """Return whether a text is about somebody else: it begins with them, and the user does nothing in it."""
    tables = the_tables()
    mine = next((name for name in voice.names if not name.isascii() and text.startswith(name)), None)
    text = f"我{text[len(mine) :]}" if mine is not None else text
    other = _chinese_other(text, voice)
    if other is not None:
        return other
    if (lead_in := _LEAD_IN.match(text)) is not None:
        content, text = content[lead_in.end() :], text[lead_in.end() :]
    if _latin_other(content, voice) and _WE_DO.search(text) is None:
        return True
    told = _TOLD.match(text)
    if told is not None:
        content, text = content[told.end() :], text[told.end() :]
        if re.match(r"(?:i|he|she|they) ", text):
            return False
    if _THERE.match(text) is not None:
        return _I_DO.search(content) is None
    lead = _NAME.match(content)
    if text.startswith("the user"):
        content, text = content[8:], text[8:]
        whose = text.startswith("'s ")
        rest = text[3:] if whose else ""
    elif lead is not None and lead[1] in voice.names:
        rest = text[lead.end() :]
        whose = rest.startswith("'s ")
        rest = rest[3:] if whose else ""
    else:
        whose = text.startswith(("my ", "our "))
        rest = text[3:] if whose else ""
        if lead is not None and lead[1] in voice.others:
            return _I_DO.search(content) is None
        if lead is not None and not whose:
            possessor = f"{lead[1].lower()}'s" == text[lead.start() : lead.end() + 2].strip()
            if possessor or _named(lead[1], content[lead.end() :], voice):
                known = not possessor or lead[1].lower() in tables.given_names
                return known and _I_DO.search(content) is None
    return _is_other(content, text, rest, voice, whose=whose)


def _chinese_other(text: str, voice: SubjectNames) -> bool | None:
    """Return whether a text that names somebody else first in Chinese is about them; None if it names nobody."""
    found = the_tables().marks["zh"]["other"].match(text)
    heard = _CHINESE_TOLD.match(text)
    bare = text[heard.end() :] if heard is not None else text
    titled = found is None and _TITLED.match(bare) is not None
    named = any(bare.startswith(name.lower()) for name in voice.others if not name.isascii())
    if found is None and not titled and not named:
        return None
    rest = text[found.end() :] if found is not None else ""
    return not rest.startswith("我") and _WE_DO.search(text) is None


def _latin_other(content: str, voice: SubjectNames) -> bool:
    """Return whether a Chinese text begins with somebody else's name in Latin letters."""
    lead = _LATIN_LEAD.match(content)
    if lead is None or lead[1] in voice.names:
        return False
    return lead[1] in voice.others or lead[1].lower() in the_tables().given_names or lead[2] is not None


def _is_other(content: str, text: str, rest: str, voice: SubjectNames, *, whose: bool) -> bool:
    """Return whether a text says something of a relative or of "she"; ``rest`` is what follows a possessor."""
    tables = the_tables()
    words = re.findall(r"[a-z0-9'-]+", rest or text)[:5]
    if not rest and words:
        bare = words[0].removesuffix("'s")
        does = words[0].endswith("'s") or any(map(_does, words[1:2]))
        whose = words[0] in _DETERMINERS or (bare in tables.others - _PLURAL and does)
        words = words[1:] if words[0] in _DETERMINERS else words
    if not whose or not words:
        if text.startswith(("he ", "she ", "they ", "they're ", "he's ", "she's ")):
            return len(voice.names) > 1 or (voice.first and _I_DO.search(content) is None)
        return False
    if words[0].removesuffix("'s") not in tables.others and (len(words) == 1 or words[1] not in tables.others):
        return False
    return "and" not in words[1:2] and _I_DO.search(content) is None


def _named(lead: str, rest: str, voice: SubjectNames) -> bool:
    """Return whether a text begins with somebody's name and what they do: "Tom runs", where Tom is a name."""
    words = re.findall(r"[A-Za-z0-9'-]+", rest)[:1]
    known = voice.told or lead in voice.proper or lead.lower() in the_tables().given_names
    return known and bool(words) and words[0].islower() and _does(words[0])


def _does(word: str) -> bool:
    """Return whether a word that follows who somebody is may say what they do."""
    return word.endswith("s") or the_tables().marks["en"]["verb"].fullmatch(word) is not None
