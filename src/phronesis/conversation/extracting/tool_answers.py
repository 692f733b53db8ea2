"""What tools answer: a calendar's appointments, by their fields, and the short records of somebody or something.

A tool reads what anybody wrote. What it tells to do is never taken, nor what it says in the first person, nor what
stands in a text: a record is a sentence or two.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any, Final

from phronesis.conversation.extracting.clauses import MAX_READ, has_han, is_chinese
from phronesis.conversation.extracting.memory_types import MemoryTypes
from phronesis.conversation.extracting.reading import MessageReader
from phronesis.conversation.extracting.slots import values_of
from phronesis.conversation.extracting.tables import Language
from phronesis.core.calendar import find_times
from phronesis.core.lazy_loading import load_once
from phronesis.core.pattern_tables import Pieces, parse_folded
from phronesis.core.proposals import USER, Proposal

# Records that tools answer in Chinese: what is asked about, and its fields with their values.

MAX_VALUE: Final = 40
"""Characters of a field's value; what is longer is a text."""

_OF_SOMEBODY: Final = frozenset({"phone", "email", "birthday", "job", "age", "gender"})
"""Keys by which what looks like a name is one of somebody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layouts:
    """How records are laid out, from ``records.toml``: patterns by name, and the keys that fields of somebody state.

    ``titles`` and ``starts`` are fields of a calendar's answer, ``user`` what a record calls whom the memory is about,
    ``content`` the sentence that a field is put into.
    """

    profile: Mapping[str, str]
    patterns: Mapping[str, re.Pattern[str]]
    titles: Sequence[str]
    starts: Sequence[str]
    user: AbstractSet[str]
    content: str


@load_once
def the_layouts() -> Layouts:
    """Return the table that is installed with the package; PhronesisError says which pattern is wrong."""
    given = parse_folded(
        "records.toml", (files("phronesis.conversation.extracting") / "records.toml").read_text("utf-8")
    )
    pieces = Pieces.of("records.toml", given["pieces"])
    patterns = {name: pieces.compiled(name, text) for name, text in given["patterns"].items()}
    calendar, subject = given["calendar"], given["subject"]
    return Layouts(
        profile={field: key for key, fields in given["profile"].items() for field in fields.split()},
        patterns=patterns,
        titles=calendar["titles"].split(),
        starts=calendar["starts"].split(),
        user={word.replace("_", " ") for word in subject["user"].split()},
        content=subject["content"],
    )


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
    """Return the fields of a record; none where a text is none."""
    changed = [one for start, part in _parts(text) for one in _changed(part, start)]
    if changed:
        return changed
    parts = list(_parts(text))
    head = _at("head").fullmatch(parts[0][1]) if parts else None
    if head is None:
        return []
    left, rest, at = head["subject"].strip(), head["rest"].strip(), parts[0][0] + head.start("rest")
    naming = _at("naming").fullmatch(left)
    pairs = [(pair, start) for start, part in parts[1:] if (pair := _pair(part, spaced=True)) is not None]
    person = naming is not None and naming["person"] is not None
    if naming is not None and _pair(rest, spaced=True) is None:
        subject = rest
    elif (first := _pair(rest, spaced=True)) is not None and _at("heading").match(left) is None:
        subject = left
        pairs.insert(0, (first, at))
    elif (both := _at("thing_and_field").fullmatch(left)) is not None and _at("heading").match(left) is None:
        subject = both["subject"]
        pairs.insert(0, ((both["field"], rest, parts[0][1].strip()), parts[0][0]))
    else:
        return []
    named = next((value for (field, value, _), _ in pairs if field in {"姓名", "名称"}), None)
    subject = named or _at("kind").sub("", subject)
    keys = {the_layouts().profile.get(field) for (field, _, _), _ in pairs}
    person = person or (_at("name").fullmatch(subject) is not None and not _OF_SOMEBODY.isdisjoint(keys))
    if _at("subject").fullmatch(subject) is None or _at("heading").match(subject) is not None:
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
    for mark in _at("parts").finditer(text):
        if text[start : mark.start()].strip():
            yield start, text[start : mark.start()]
        start = mark.end()
    if text[start:].strip():
        yield start, text[start:]


def _pair(part: str, *, spaced: bool) -> tuple[str, str, str] | None:
    """Return a field, its value, and both as they are said."""
    found = _at("pair").fullmatch(part)
    if found is not None:
        return found["field"] or found["field_b"], found["value"] or found["value_b"], part.strip()
    found = _at("spaced").fullmatch(part) if spaced else None
    return None if found is None else (found["field"], found["value"], part.strip())


def _changed(part: str, start: int) -> Iterator[Entry]:
    found = _at("changed").fullmatch(part)
    if found is None or not _lasts(found["field"], found["value"]):
        return
    subject = _at("kind").sub("", found["subject"].strip())
    if _at("subject").fullmatch(subject) is None or _at("nobody").search(subject) is not None:
        return
    left = len(part) - len(part.lstrip())
    place = start + left
    yield Entry(
        subject,
        person=False,
        field=found["field"],
        value=found["value"],
        old=found["old"],
        start=place,
        end=place + len(part.strip()),
    )


def _lasts(field: str, value: str) -> bool:
    return _at("of_the_moment").fullmatch(field) is None and len(value) <= MAX_VALUE and any(map(str.isalnum, value))


def _at(name: str) -> re.Pattern[str]:
    return the_layouts().patterns[name]


CONFIDENCE: Final = 0.9
"""Of what a tool states in plain words or fields: at the gate's threshold for tools."""

MAX_EVENTS: Final = 20
MAX_RECORD: Final = 200
"""Characters of a record; what is longer is a text that a tool found."""

_RECORDED: Final = frozenset({"profile", "attribute.*", "located_in"})
"""Kinds and keys that a record may state; tastes, plans and doings are for people to tell."""


def read_answer(reading: MessageReader, types: MemoryTypes, languages: Mapping[str, Language]) -> None:
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


def _record(reading: MessageReader, types: MemoryTypes, language: Language) -> None:
    times = find_times(reading.text, reading.at)
    entry = the_layouts().patterns["calendar_entry"].match(reading.text[: times[0].start]) if times else None
    if entry is not None:
        _appointment(reading, types, entry["title"], reading.text[times[0].start :].strip(" .。"))
        return
    if (
        times
        and the_layouts().patterns["calendar_says"].match(reading.text[: times[0].start])
        and (title := the_layouts().patterns["calendar_title"].match(reading.text[times[-1].end :]))
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
    return USER if subject.casefold() in the_layouts().user else subject


def _appointment(reading: MessageReader, types: MemoryTypes, title: str, start: str) -> None:
    row, place, times = types.find("appointment"), reading.text.find(title), find_times(start, reading.at)
    if row is None or place < 0 or not times:
        return
    reading.proposals.append(
        Proposal(
            n=reading.n,
            quote=title,
            start=place,
            end=place + len(title),
            kind=row.kind,
            subject=USER,
            key=row.key,
            content=f"{title} ({start})",
            value=title,
            cardinality=row.cardinality,
            basis="tool",
            confidence=CONFIDENCE,
            importance=row.importance,
            occurred_at=f"{times[0].first.isoformat()}T00:00:00Z",
        )
    )


def _field(reading: MessageReader, types: MemoryTypes, one: Entry, language: Language) -> None:
    """Add what a field of a record states of what the record is of."""
    key = the_layouts().profile.get(one.field) if one.person else None
    row = types.find(key) if key is not None else types.find("attribute.*", "fact")
    values = values_of(row, one.value, language, small=False, free=True) if row is not None and key is not None else []
    value = values[0] if values else one.value
    if row is None or (key is not None and not values):
        return
    content = the_layouts().content.format(subject=one.subject, field=one.field, value=value)
    reading.proposals.append(
        Proposal(
            n=reading.n,
            quote=reading.text[one.start : one.end],
            start=one.start,
            end=one.end,
            kind=row.kind,
            subject=_subject(one.subject),
            key=row.key_of(one.field),
            content=content,
            value=value,
            cardinality=row.cardinality,
            replaces=one.old,
            basis="tool",
            confidence=CONFIDENCE,
            importance=row.importance,
        )
    )


def _events(answer: Any) -> Iterator[tuple[str, str]]:
    """Return titles and starts of what a calendar answered.

    An object, a list of them, or one field that holds a list.
    """
    if isinstance(answer, list):
        for one in answer[:MAX_EVENTS]:
            yield from _events(one)
    elif isinstance(answer, dict):
        small = {str(key).lower(): value for key, value in answer.items()}
        said = {key: value for key, value in small.items() if isinstance(value, str)}
        title = next((said[key] for key in the_layouts().titles if said.get(key, "").strip()), None)
        start = next((said[key] for key in the_layouts().starts if key in said), None)
        if title is not None and start is not None:
            yield title, start
            return
        for value in answer.values():
            if isinstance(value, list):
                yield from _events(value)
