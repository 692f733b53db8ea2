"""What somebody does or what befalls them: whose it is by the words it is told with, and what its time makes of it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from phronesis.derive.extracting.cast import PEOPLE, Cast, Spoken
from phronesis.derive.extracting.clauses import Clause
from phronesis.derive.extracting.memory_types import MemoryType, MemoryTypes
from phronesis.derive.extracting.phrasing import ahead, coarse, limited, long_ago
from phronesis.derive.extracting.tables import Language, Matched

_HAPPENS: Final = frozenset({"appointment", "event", "plan", "task", "life_event"})
"""Keys of what somebody does, whose value may begin with who."""

_OF_PEOPLE: Final = PEOPLE | {"task", "reminder", "plan", "goal", "appointment"}
"""Keys that are of no thing."""


@dataclass(frozen=True, slots=True)
class Happening:
    """What happens to whom: a key, a subject and values."""

    row: MemoryType
    subject: str
    values: list[str]


def happening(
    told: Happening, clause: Clause, spoken: Spoken, *, at: datetime, cast: Cast, types: MemoryTypes, language: Language
) -> Happening | None:
    """Give what happens by the words it is told with; None where it is nothing to keep of anybody."""
    row, subject, values = told.row, told.subject, told.values
    if subject == cast.thing and row.key in _OF_PEOPLE:
        told = Happening(row, cast.speaker, values)  # 护照下个月到期，需要去换: no passport does that
        subject = cast.speaker
    if row.key not in _HAPPENS:
        return told
    if (said := language.text["who_does"].match(values[0])) is not None:
        if row.kind == "task":
            return None  # 小胡要回老家: no task of the speaker's
        subject, values = cast.aliases.get(said["name"], said["name"]), [values[0][said.end() :]]
    elif row.key == "appointment" and (said := language.text["whose"].match(values[0])) is not None:
        subject, values = cast.aliases.get(said["name"], said["name"]), [values[0][said.end() :]]
    elif spoken.elided and language.text["with_them"].search(values[0]) is not None:
        subject = cast.speaker  # 豆豆咳得凶，前天带他去了医院: who took him there is no other than the speaker
    if row.key == "appointment":
        if language.text["recurs"].search(clause.raw) is not None:
            return None  # 周二周五送货: no day of its own
        row = _by_time(row, clause, values[0], at=at, types=types, language=language)
    if row.key == "event" and long_ago(clause, at):
        row = types.find("experience") or row  # in 2008 I saw Federer play
    return Happening(row, subject, values)


def _by_time(
    row: MemoryType, clause: Clause, value: str, *, at: datetime, types: MemoryTypes, language: Language
) -> MemoryType:
    """Give the key of what lies ahead: without a day it is planned, by a limit a task, and over it is an event."""
    doing = language.text["doing"].match(value.lower()) is not None
    feast = language.text["feast"].search(clause.raw) is not None and language.text["outward"].match(value) is not None
    if doing and (feast or coarse(clause, at)):  # 国庆去黄山: a feast is no day
        return types.find("plan") or row
    if doing and limited(clause, at, language):
        return types.find("task") or row
    if language.text["over"].search(clause.plain) is not None and ahead(clause, at, -1):
        return types.find("event") or row
    return row


def tells_a_parent(spoken: Spoken, matched: Matched, language: Language) -> bool:
    """Tell whether a name is said for whose parent the speaker is, who goes on about themselves: 我是豆豆他妈."""
    end = max(end for _, _, end in matched.slots.values())
    return language.text["parent_of"].match(spoken.text, end) is not None


def is_no_attribute(spoken: Spoken, matched: Matched, language: Language) -> bool:
    """Tell whether what should be an attribute's name holds a verb, or begins within a word: Kafk|a."""
    if "word" not in matched.slots:
        return False
    word, at, _ = matched.slots["word"]
    text = spoken.text
    inside = at > 0 and text[at - 1 : at + 1].isascii() and text[at - 1].isalpha() and text[at : at + 1].isalpha()
    return inside or language.never["word"].search(word) is not None
