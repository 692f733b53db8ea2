"""What tools answer: a calendar's appointments, by their fields, and the short records of somebody or something.

A tool reads what anybody wrote. What it tells to do is never taken, nor what it says in the first person, nor what
stands in a text: a record is a sentence or two.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from phronesis.core.calendar import find_times
from phronesis.core.proposals import USER, Proposal
from phronesis.derive.extracting.clauses import MAX_READ, has_han, is_chinese
from phronesis.derive.extracting.memory_types import MemoryTypes
from phronesis.derive.extracting.reading import Reading
from phronesis.derive.extracting.records import Entry, entries, the_layouts
from phronesis.derive.extracting.slots import values_of
from phronesis.derive.extracting.tables import Language

TITLES: Final = (
    "title", "summary", "event", "appointment", "meeting", "flight", "name", "subject",
    "事项", "标题", "名称", "日程", "活动",
)  # fmt: skip
STARTS: Final = (
    "start", "starts_at", "start_time", "starts", "date", "when", "time", "datetime", "departure", "at",
    "时间", "开始时间", "开始", "日期",
)  # fmt: skip
"""Fields of a calendar's answer: what it is, and when."""

CONFIDENCE: Final = 0.9
"""Of what a tool states in plain words or fields: at the gate's threshold for tools."""

MAX_EVENTS: Final = 20
MAX_RECORD: Final = 200
"""Characters of a record; what is longer is a text that a tool found."""

_RECORDED: Final = frozenset({"profile", "attribute.*", "located_in"})
"""Kinds and keys that a record may state; tastes, plans and doings are for people to tell."""

_ENTRY: Final = re.compile(
    r"^(?:(?:created|new|added|scheduled|upcoming|next|booked)\s+)?(?:appointment|event|meeting|calendar|booking|预约|日程|会议|预订)\s*[:：]\s*"
    r"(?P<title>[^\n]{2,80}?)[\s,，]*(?:\b(?:on|at|from)\b|[-–—])?\s*$",
    re.IGNORECASE,
)
"""A calendar's line before its date."""

_LABEL: Final = re.compile(
    r"^(?:即将(?:到来|开始)|接下来|下一[项个]|(?:已(?:经)?)?(?:成功)?(?:为您?)?(?:添加|创建|新建|新增|安排|预约|预订|更新|设置)?(?:新的?)?(?:日程|会议|预约|预订|挂号|日历事件|日历|事件|行程|安排)(?:已?(?:添加|创建|提醒|邀请|通知|确认|更新|同步|发布))?(?:成功)?)"
    r"\s*[:：]\s*$"
)
"""What a calendar says before a date that its title follows: 已添加日程：11月9日 19:00 会员体测."""

_TITLE: Final = re.compile(
    r"[\s,，]*(?:(?:早上|上午|中午|下午|傍晚|晚上)?\s?(?:\d{1,2}[:：]\d\d|[\d一二三四五六七八九十两]{1,3}点半?)(?:\s?[-–~至]\s?\d{1,2}[:：]\d\d)?)?[\s,，]*"
    r"(?P<title>[^\s\d,，。.（(][^\n,，。（(]{1,59}?)(?:[（(][^（()）]{1,20}[)）])?(?:[，,][^\n]{1,60})?[\s。.]*$"
)

_THE_USER: Final = frozenset({"user", "the user", "用户", "you", "您"})


def read_answer(reading: Reading, types: MemoryTypes, languages: Mapping[str, Language]) -> None:
    """Add to ``reading``, which is of a tool's message, what may be taken of it, or the rule that refuses it."""
    text = reading.text[:MAX_READ]
    language = languages["zh" if is_chinese(text) else "en"]
    if language.gates["instruction"].search(text.lower()):
        reading.rule = "instruction"
    elif text.lstrip().startswith(("{", "[")):
        try:
            events = list(_events(json.loads(reading.text)))
        except (ValueError, RecursionError):
            reading.rule = "code"
            return
        for title, start in events[:MAX_EVENTS]:
            _appointment(reading, types, title, start)
        reading.rule = "chit_chat"
    elif text.lstrip().startswith(("$", "#", "<")):
        reading.rule = "code"
    elif len(text) <= MAX_RECORD:
        _record(reading, types, language)
    else:
        reading.rule = "chit_chat"


def _record(reading: Reading, types: MemoryTypes, language: Language) -> None:
    times = find_times(reading.text, reading.at)
    entry = _ENTRY.match(reading.text[: times[0].start]) if times else None
    if entry is not None:
        _appointment(reading, types, entry["title"], reading.text[times[0].start :].strip(" .。"))
        return
    if (
        times
        and _LABEL.match(reading.text[: times[0].start])
        and (title := _TITLE.match(reading.text[times[-1].end :]))
    ):
        _appointment(reading, types, title["title"], reading.text[times[0].start : times[-1].end])
        return
    if has_han(reading.text) and (found := entries(reading.text)):
        for one in found:
            _field(reading, types, one, language)
        reading.rule = "chit_chat"
        return
    reading.read()
    stated = [one for one in reading.proposals if _states_a_record(one, reading.cast.speaker)]
    reading.proposals[:] = [
        replace(one, basis="tool", confidence=CONFIDENCE, subject=_subject(one.subject)) for one in stated
    ]


def _states_a_record(one: Proposal, speaker: str) -> bool:
    known = one.kind in _RECORDED or one.key in _RECORDED or one.key.startswith("attribute.")
    known |= (one.kind, one.key) == ("fact", "uses")  # what a thing uses; what a person uses is a taste
    return known and one.subject != speaker and one.act == "assert" and one.key != "alias"


def _subject(subject: str) -> str:
    return USER if subject.casefold() in _THE_USER else subject


def _appointment(reading: Reading, types: MemoryTypes, title: str, start: str) -> None:
    row, place, times = types.find("appointment"), reading.text.find(title), find_times(start, reading.at)
    if row is None or place < 0 or not times:
        return
    reading.proposals.append(
        Proposal(
            n=reading.n, quote=title, start=place, end=place + len(title), kind=row.kind, subject=USER, key=row.key,
            content=f"{title} ({start})", value=title, cardinality=row.cardinality, basis="tool",
            confidence=CONFIDENCE, importance=row.importance,
            occurred_at=f"{times[0].first.isoformat()}T00:00:00Z",
        )
    )  # fmt: skip


def _field(reading: Reading, types: MemoryTypes, one: Entry, language: Language) -> None:
    """Add what a field of a record states of what the record is of."""
    key = the_layouts().profile.get(one.field) if one.person else None
    row = types.find(key) if key is not None else types.find("attribute.*", "fact")
    values = values_of(row, one.value, language, small=False, free=True) if row is not None and key is not None else []
    value = values[0] if values else one.value
    if row is None or (key is not None and not values):
        return
    reading.proposals.append(
        Proposal(
            n=reading.n, quote=reading.text[one.start : one.end], start=one.start, end=one.end, kind=row.kind,
            subject=_subject(one.subject), key=row.key_of(one.field), content=f"{one.subject}的{one.field}是{value}",
            value=value, cardinality=row.cardinality, replaces=one.old, basis="tool", confidence=CONFIDENCE,
            importance=row.importance,
        )
    )  # fmt: skip


def _events(answer: Any) -> Iterator[tuple[str, str]]:
    """Give titles and starts of what a calendar answered: an object, a list of them, or one field that holds a list."""
    if isinstance(answer, list):
        for one in answer[:MAX_EVENTS]:
            yield from _events(one)
    elif isinstance(answer, dict):
        small = {str(key).lower(): value for key, value in answer.items()}
        title = next((small[key] for key in TITLES if isinstance(small.get(key), str) and small[key].strip()), None)
        start = next((small[key] for key in STARTS if isinstance(small.get(key), str)), None)
        if title is not None and start is not None:
            yield title, start
            return
        for value in answer.values():
            if isinstance(value, list):
                yield from _events(value)
