"""What the rules see in a memory: its behaviours and telling words, when it shows, which way it points, what bars it."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Final

from phronesis.core.traits.seen import SeenMemory
from phronesis.derive.extracting.script import simplified
from phronesis.derive.reflecting.by_rules.tables import Code, Tables, the_tables
from phronesis.derive.reflecting.by_rules.terms import Word, plain, words_of

USERS_NAMES: Final = frozenset({"user", "the user", "用户", "我", "i", "me", "self", "myself"})
"""How a memory's subject names the user. Somebody else's name is somebody else, until the caller says otherwise."""

BEHAVIOUR_KINDS: Final = frozenset({"fact", "episodic", "preference", "event", "procedure", "profile"})
"""Kinds that may show a behaviour; a task, a plan and a decision are none yet."""

STATED: Final = frozenset({"fact", "preference", "profile"})
"""Kinds of what is so rather than of what happened."""

PERSONAL_KEYS: Final = frozenset({"hobby", "diet", "skill"})
"""Keys of a profile that tell of what somebody does."""

PROTAGONIST_SHARE: Final = 0.3
"""Share of the memories that begin with one name for it to be the user's: "Priya rang ...", "User baked ..."."""

_HAN: Final = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_HAN_RUN: Final = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]+")
_FUNCTION: Final = frozenset("的了是在我你您他她它们这那和与也都就还很吗呢吧啊呀么着把被之而且但及或给跟同到去来又再才从对向为以上下里外中前后个只条本台次遍回些点得地过会能要想说看做有没不一二三四五六七八九十两几半大小多少好")
"""Characters that tie others together: a pair that holds one says little by itself."""
_NAME: Final = re.compile(r"\s*([A-Z][a-z]+)\b")
_INSIDE: Final = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+\b")
_DAYS: Final = frozenset({"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday", "January",
                          "February", "March", "April", "May", "June", "July", "August", "September", "October",
                          "November", "December", "English", "Christmas", "Easter", "Sundays", "Saturdays"})  # fmt: skip
_I_DO: Final = re.compile(r"(?:[,;:] |\b(?:and|but|so|while|when|because|that) )(?:then )?I(?:'\w+)? \w")
_WE_DO: Final = re.compile(r"(?:[，,。；]\S{0,8}?|说|夸|笑)我(?!爸|妈|们|家|的|哥|姐|弟|妹|老)")
"""Where the user does something in a sentence that begins with somebody else."""
_CHINESE_NAMED: Final = re.compile(
    "(?:室友|舍友|同事|同学|邻居|朋友|领导|老板|闺蜜|发小|表[哥姐弟妹]|堂[哥姐弟妹]|哥哥|姐姐|弟弟|妹妹) ?"
    "([A-Z][a-z]+|[小老阿大][\u4e00-\u9fff])"
)
_TOLD: Final = re.compile(
    r"(?:the )?(?:users?|i) (?:also )?(?:says?|said|mentions?|mentioned|notes?|noted|told|reports?|reported|describes?|described|"
    r"complains?|complained|talked about|adds?|added)(?: that| about| how)? "
)
_DETERMINERS: Final = frozenset({"the", "a", "an", "his", "her", "their", "my", "our", "one", "some", "new", "old"})
_PLURAL: Final = frozenset({"friends", "kids", "children", "parents", "guests", "neighbours", "neighbors", "colleagues"})
"""Who is there with the user, where nothing says whose they are: "friends over for dinner"."""
_INTRODUCED: Final = re.compile(r"\b([A-Z][a-z]+), (?:my|his|her|their|the user's)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A memory as the rules read it. ``barred``: it cannot show a behaviour of the user's, and why."""

    id: str
    at: datetime
    place: str
    text: str
    code: Code
    behaviours: frozenset[str]
    surely: Mapping[str, float]
    stems: frozenset[str]
    situations: frozenset[str]
    barred: str | None
    kind: str
    ended: bool
    negated: bool
    habit: bool


@dataclass(frozen=True, slots=True)
class Voice:
    """Who a user's memories speak of: the names of the user, of people they know, and all that is written as a name."""

    names: frozenset[str] = frozenset()
    others: frozenset[str] = frozenset()
    proper: frozenset[str] = frozenset()


def code_of(text: str) -> Code:
    """Give the language of a text: Chinese where a quarter of its letters are Han, and more of them say more."""
    letters = sum(map(str.isalpha, text))
    return "zh" if letters and len(_HAN.findall(text)) * 4 >= letters else "en"


def voice_of(memories: Iterable[SeenMemory]) -> Voice:
    """Find out whom the memories call by name: whom most begin with is the user."""
    texts = [one.content for one in memories]
    leads = Counter(match[1] for text in texts if (match := _NAME.match(text)) is not None)
    users = {name for name, count in leads.items() if count > PROTAGONIST_SHARE * len(texts) and count > 1}
    relations = the_tables().others
    others = {match[1] for text in texts for match in _INTRODUCED.finditer(text)}
    for text in texts:
        for first, second in pairwise(re.findall(r"\w+", text)):
            if first.lower() in relations and second[:1].isupper() and second.isalpha() and second.isascii():
                others.add(second)
    others |= {name for text in texts for name in _CHINESE_NAMED.findall(text)}
    users |= {"User"}
    proper = {name for text in texts for name in _INSIDE.findall(text)}
    return Voice(frozenset(users), frozenset(others - users - {"I"}), frozenset(proper - users - _DAYS))


def read(memory: SeenMemory, voice: Voice) -> Reading:
    """Read a memory."""
    tables = the_tables()
    text = plain(simplified(memory.content))
    code = code_of(memory.content)
    words = words_of(text, tables.irregular)
    found = tables.terms.found(text, words)
    marks = tables.marks[code]
    return Reading(
        id=memory.id, at=memory.at, place=_place(memory), text=memory.content, code=code, kind=memory.kind,
        behaviours=frozenset(found.names), surely=found.names,
        stems=_stems(text, words, found.words, found.characters, voice=voice, tables=tables),
        situations=frozenset(
            name for name, one in tables.situations.items()
            if one.pattern["en"].search(text) or (code == "zh" and one.pattern["zh"].search(text))
        ),
        barred=_bar(memory, text, code, voice) or _unshown(memory, found.names, marks["habit"], text),
        ended=any(_marked(tables, "ended", text)), negated=any(_marked(tables, "negated", text)),
        habit=marks["habit"].search(text) is not None,
    )  # fmt: skip


def _marked(tables: Tables, mark: str, text: str) -> Iterable[bool]:
    yield tables.marks["en"][mark].search(text) is not None
    if not text.isascii():
        yield tables.marks["zh"][mark].search(text) is not None


def _place(memory: SeenMemory) -> str:
    """Give what counts as a session of its own: that in which it was said, else its day."""
    return f"s:{memory.session_id}" if memory.session_id is not None else f"d:{memory.at.date().isoformat()}"


def _stems(
    text: str, words: Sequence[Word], covered: frozenset[int], characters: frozenset[int], *, voice: Voice,
    tables: Tables,
) -> frozenset[str]:  # fmt: skip
    """Give the telling words that no term covers: stems, and pairs of Han characters."""
    names = {name.lower() for name in voice.names}
    out = {
        word.stem for n, word in enumerate(words)
        if n not in covered and word.stem not in tables.generic["en"] and word.written not in names
        and len(word.stem) > 1 and not word.stem.isdigit()
    }  # fmt: skip
    if not text.isascii():
        for run in _HAN_RUN.finditer(text):
            for n in range(run.start(), run.end() - 1):
                pair = text[n : n + 2]
                held = n in characters or n + 1 in characters
                if not held and pair not in tables.generic["zh"] and not set(pair) & _FUNCTION:
                    out.add(pair)
    return frozenset(out)


def _bar(memory: SeenMemory, text: str, code: Code, voice: Voice) -> str | None:
    marks: Mapping[str, re.Pattern[str]] = the_tables().marks[code]
    if memory.kind not in BEHAVIOUR_KINDS or (memory.kind == "profile" and memory.key not in PERSONAL_KEYS):
        return "kind"
    if memory.subject is not None and memory.subject.strip().casefold() not in USERS_NAMES | _lower(voice.names):
        return "other"
    for mark in ("supposed", "stance", "joke", "quoted", "static"):
        if any(_marked(the_tables(), mark, text)):
            return mark
    if marks["once"].search(text) and not marks["habit"].search(text):
        return "once"
    return "other" if of_somebody_else(memory.content, text, voice) else None


def _unshown(memory: SeenMemory, names: Mapping[str, float], habit: re.Pattern[str], text: str) -> str | None:
    """Say that a fact or a preference shows no behaviour: it names none that is known, and does not say that it recurs."""
    if memory.kind not in STATED or max(names.values(), default=0.0) >= 1.0 or habit.search(text) is not None:
        return None
    return "unshown"


def _lower(names: frozenset[str]) -> frozenset[str]:
    return frozenset(name.casefold() for name in names)


def of_somebody_else(content: str, text: str, voice: Voice) -> bool:
    """Tell whether a text is about somebody else: it begins with them, and the user does nothing in it."""
    tables = the_tables()
    found = tables.marks["zh"]["other"].match(text)
    if found is not None or any(text.startswith(name) for name in voice.others if not name.isascii()):
        rest = text[found.end() :] if found is not None else ""
        return not rest.startswith("我") and _WE_DO.search(text) is None
    told = _TOLD.match(text)
    if told is not None:
        content, text = content[told.end() :], text[told.end() :]
        if re.match(r"(?:i|he|she|they) ", text):
            return False
    if text.startswith("the user"):
        content, text = content[8:], text[8:]
        whose = text.startswith("'s ")
        rest = text[3:] if whose else ""
    else:
        lead = _NAME.match(content)
        if lead is not None and lead[1] in voice.names:
            rest = text[lead.end() :]
            whose = rest.startswith("'s ")
            rest = rest[3:] if whose else ""
        elif lead is not None and lead[1] in voice.others:
            return _I_DO.search(content) is None
        else:
            whose = text.startswith(("my ", "our "))
            rest = text[3:] if whose else ""
            if lead is not None and not whose and f"{lead[1].lower()}'s" == text[lead.start() : lead.end() + 2].strip():
                return lead[1].lower() in tables.given_names and _I_DO.search(content) is None
            if lead is not None and not whose and _named(lead[1], text[lead.end() :], voice):
                return _I_DO.search(content) is None
    words = re.findall(r"[a-z0-9'-]+", rest or text)[:5]
    if not rest and words:
        bare = words[0].removesuffix("'s")
        does = words[0].endswith("'s") or tables.marks["en"]["verb"].fullmatch(" ".join(words[1:2])) is not None
        whose = words[0] in _DETERMINERS or (bare in tables.others - _PLURAL and does)
        words = words[1:] if words[0] in _DETERMINERS else words
    if not whose or not words:
        return text.startswith(("he ", "she ", "they ")) and len(voice.names) > 1
    if words[0].removesuffix("'s") not in tables.others and (len(words) == 1 or words[1] not in tables.others):
        return False
    return "and" not in words[1:2] and _I_DO.search(content) is None


def _named(lead: str, rest: str, voice: Voice) -> bool:
    """Tell whether a text begins with somebody's name and what they do: "Tom runs", where Tom is named elsewhere too."""
    words = re.findall(r"[a-z0-9'-]+", rest)[:1]
    known = lead in voice.proper or lead.lower() in the_tables().given_names
    return known and bool(words) and the_tables().marks["en"]["verb"].fullmatch(words[0]) is not None
