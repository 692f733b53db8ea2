"""What a clause goes on with from those before it: the thing of "its licence", the "need to" of "and to call"."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from phronesis.conversation.extracting.cast import PEOPLE, DiscourseState, SubjectReference
from phronesis.conversation.extracting.clauses import MASK, Clause, Sentence
from phronesis.conversation.extracting.memory_types import MemoryType, MemoryTypes
from phronesis.conversation.extracting.phrasing import ahead, coarse, is_deadline, long_ago
from phronesis.conversation.extracting.tables import Language, PatternMatch
from phronesis.core.proposals import Proposal

_NEVER: Final = -1000
_BESIDE: Final = 12
"""Characters between clauses of which the second goes on with the first: ", and also "."""


@dataclass(slots=True)
class EllipsisState:
    """What was spoken of last.

    ``thing`` is what "its" is of, ``end`` where the last clause ended that spoke of it, ``told`` whether that clause
    begins with it ("the redesign is"), and ``named`` whether it gives no more than its names; ``lead`` how what is to
    be done was begun ("I need"), ``led`` where that clause ended.
    """

    thing: str | None = None
    end: int = 0
    told: bool = False
    named: bool = False
    lead: str = ""
    led: int = 0

    def wholes(self, clause: Clause, text: str, language: Language) -> Iterator[Clause]:
        """Return a clause of a text with what it leaves out: "its budget is ten" as "the redesign's budget is ten"."""
        says, frames = language.text, language.frames
        beside = 0 <= clause.start - self.led <= _BESIDE
        if self.lead and beside and (found := says["goes_on_to"].match(clause.plain)):
            frame = "must" if found["to"] else "must_to"
            yield _with(frames[frame].format(self.lead), clause, 0, language)
        if self.thing is None or (found := says["goes_on"].match(clause.plain)) is None:
            return
        thing = self.thing if self.thing[:1].isupper() and not self.told else frames["thing"].format(self.thing)
        beside = 0 <= clause.start - self.end <= _BESIDE
        if found["its"]:
            yield _with(frames["its"].format(thing), clause, found.end("its"), language)
        elif found["it"]:
            if self.told:
                yield _with(frames["does"].format(thing), clause, found.end("it"), language)
        elif found["at"] is not None:
            if self.told and beside:
                yield _with(frames["is"].format(thing), clause, 0, language)
        elif found["of"] is not None:
            if beside:
                yield _with(frames["has"].format(thing), clause, found.end("with"), language)
        elif beside and (
            self.named
            or says["and"].search(text[self.end : clause.start + 4])
            or says["and"].search(text[clause.end : clause.end + 6])
        ):
            yield _with(frames["does"].format(thing), clause, found.end("drop"), language)

    def note(self, clause: Clause, thing: str | None, language: Language) -> None:
        """Note what a clause speaks of, for those that come after it; ``thing`` is whose attribute it gave."""
        says = language.text
        if (lead := says["goes_on_from"].match(clause.plain)) is not None:
            self.lead, self.led = lead["lead"], clause.end
        elif self.lead and clause.start - self.led <= _BESIDE and says["goes_on_to"].match(clause.plain):
            self.led = clause.end
        if (found := says["thing_told"].match(clause.plain)) is not None:
            does = found["of_it"] is None and found["part"] is None
            self.thing, self.told, self.named = found["thing"], True, found["alias"] is not None
            self.end = clause.end if does else _NEVER
        elif (found := says["thing_made"].search(clause.plain)) is not None:
            self.thing, self.told, self.named, self.end = found["thing"], True, False, _NEVER
        elif thing is not None and (at := clause.plain.lower().find(thing.lower())) >= 0:
            self.told, self.named = thing == self.thing and self.told, False
            self.thing, self.end = thing, clause.end if at == 0 else _NEVER
        elif self.thing and 0 <= clause.start - self.end <= _BESIDE and says["goes_on"].match(clause.plain):
            self.end = clause.end


def _with(lead: str, clause: Clause, cut: int, language: Language) -> Clause:
    """Return a clause with other words for its first ones, which stand alike in ``plain``, ``bare`` and ``raw``."""
    dropped = clause.plain[:cut].lower()
    parts = []
    for text in (language.text["links"].sub("", clause.raw), clause.plain, clause.bare):
        rest = text[cut:] if text.lower().startswith(dropped) else text
        parts.append(f"{lead}{re.sub('^ +', '', rest)}")
    return replace(clause, raw=parts[0], plain=parts[1], bare=parts[2])


# Clauses that are read together, and whom the next ones are about: what one clause says of those beside it.

MAX_TOGETHER: Final = 160
"""Characters of clauses that are read together."""

_NAMES_SOMEBODY: Final = (PEOPLE - {"pet"}) | {"name"}


def together(sentence: Sentence, found: Sequence[Clause]) -> Iterator[tuple[int, Sequence[Clause], Clause]]:
    """Return two or three clauses of a sentence as one: the place of the first among them, the parts and the whole."""
    for first in range(len(found) - 1):
        for count in (2, 3):
            parts = found[first : first + count]
            bare = ", ".join(one.bare for one in parts)
            if len(parts) < count or len(bare) > MAX_TOGETHER or len(bare.lower()) != len(bare):
                continue
            start, end = parts[0].start, parts[-1].end
            raw = sentence.raw[start - sentence.start : end - sentence.start]
            if MASK not in raw:
                yield first, parts, Clause(start, end, raw, bare, bare, ())


def turn(
    cast: DiscourseState, spoken: SubjectReference, matched: PatternMatch, *, subject: str, act: str, language: Language
) -> None:
    """Note whom and what the next words are about, behind something said of a subject."""
    people = not PEOPLE.isdisjoint(matched.slots)
    of_person = (
        spoken.names or not _NAMES_SOMEBODY.isdisjoint(matched.slots)
        if language.grammar.drops_subjects
        else people and matched.begins == 0  # "Bernadette is my twin, lives out in Perth"
    )
    cast.subject = cast.person if of_person and cast.person else subject
    of_thing = spoken.thing or (matched.pattern.kind == "fact" and "subject" in matched.slots)
    cast.thing = subject if of_thing else cast.thing
    if "attribute" not in matched.slots:
        return
    who, start, end = matched.slots["attribute"]
    if spoken.thing and matched.pattern.proper and matched.begins == start == 0:
        cast.subject = cast.person = spoken.text[:end]  # "Lena maintains the billing service and lives in Graz"
    if act == "assert" and language.gates["in_charge"].match(matched.slots.get("word", ("",))[0]):
        cast.subject = cast.person = who  # 负责人是赵敏，邮箱是zhao@a.example


def is_partner(subject: str, cast: DiscourseState, told: Sequence[Proposal], language: Language) -> bool:
    """Return whether somebody is the speaker's partner, by a relation's word or by what was just proposed."""
    said = any((one.subject, one.key, one.value) == (cast.speaker, "partner", subject) for one in told)
    return language.grammar.drops_subjects and (said or language.relations.get(subject) == "partner")


def whole_of(
    subject: str, spoken: SubjectReference, told: Sequence[Proposal], *, begun: int, language: Language
) -> str:
    """Return the thing of ours that was spoken of just before, where a subject is but a part of it.

    我们的后端用Go，日志保留九十天: what is kept are the back end's. ``begun`` is where the sentence did.
    """
    own = language.text["own"]
    last = told[-1] if told and spoken.thing and language.text["part_of_it"].match(subject) else None
    if last is None or own.search(spoken.text) or own.search(last.quote) is None:
        return subject
    return last.subject if last.start >= begun and last.kind == "fact" else subject


# What somebody does or what befalls them: whose it is by the words it is told with, and what its time makes of it.

_HAPPENS: Final = frozenset({"appointment", "event", "plan", "task", "life_event"})
"""Keys of what somebody does, whose value may begin with who."""

_OF_PEOPLE: Final = PEOPLE | {"task", "reminder", "plan", "goal", "appointment"}
"""Keys that are of no thing."""


@dataclass(frozen=True, slots=True)
class EventFrame:
    """What happens to whom: a key, a subject and values."""

    row: MemoryType
    subject: str
    values: list[str]


def resolve_event(
    told: EventFrame,
    clause: Clause,
    spoken: SubjectReference,
    *,
    at: datetime,
    cast: DiscourseState,
    types: MemoryTypes,
    language: Language,
) -> EventFrame | None:
    """Return what happens by the words it is told with; None where it is nothing to keep of anybody."""
    row, subject, values = told.row, told.subject, told.values
    if subject == cast.thing and row.key in _OF_PEOPLE:
        told = EventFrame(row, cast.speaker, values)  # 护照下个月到期，需要去换: no passport does that
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
    return EventFrame(row, subject, values)


def _by_time(
    row: MemoryType, clause: Clause, value: str, *, at: datetime, types: MemoryTypes, language: Language
) -> MemoryType:
    """Return the key of what lies ahead: without a day it is planned, by a limit a task, and over it is an event."""
    doing = language.text["doing"].match(value.lower()) is not None
    feast = language.text["feast"].search(clause.raw) is not None and language.text["outward"].match(value) is not None
    if doing and (feast or coarse(clause, at)):  # 国庆去黄山: a feast is no day
        return types.find("plan") or row
    if doing and is_deadline(clause, at, language):
        return types.find("task") or row
    if language.text["over"].search(clause.plain) is not None and ahead(clause, at, -1):
        return types.find("event") or row
    return row


def tells_a_parent(spoken: SubjectReference, matched: PatternMatch, language: Language) -> bool:
    """Return whether a name is said for whose parent the speaker is, who goes on about themselves: 我是豆豆他妈."""
    end = max(end for _, _, end in matched.slots.values())
    return language.text["parent_of"].match(spoken.text, end) is not None


def is_no_attribute(spoken: SubjectReference, matched: PatternMatch, language: Language) -> bool:
    """Return whether what should be an attribute's name holds a verb, or begins within a word: Kafk|a."""
    if "word" not in matched.slots:
        return False
    word, at, _ = matched.slots["word"]
    text = spoken.text
    inside = at > 0 and text[at - 1 : at + 1].isascii() and text[at - 1].isalpha() and text[at : at + 1].isalpha()
    return inside or language.never["word"].search(word) is not None


def note_value(
    cast: DiscourseState,
    spoken: SubjectReference,
    matched: PatternMatch,
    row: MemoryType,
    value: str,
    *,
    subject: str,
    act: str | None,
    language: Language,
) -> None:
    """Note of whom the next words may speak once a value is proposed."""
    if row.key in PEOPLE and act == matched.pattern.act == "assert" and not tells_a_parent(spoken, matched, language):
        cast.person, cast.pending = value, None
        cast.people.append(value)
        cast.pet = value if row.key == "pet" else cast.pet
    elif row.key == "alias":
        cast.aliases[value] = subject
    elif row.kind == "profile" and cast.pending is None:
        named = language.grammar.capitals and "subject" in matched.slots and not spoken.thing
        if spoken.named or named:
            cast.person = subject  # "Anna lives in Oslo. She is a nurse"
