"""What tools answer: a calendar's appointments, by their fields, and the short records of somebody or something.

A tool reads what anybody wrote. What it tells to do is never taken, nor what it says in the first person, nor what
stands in a text: a record is a sentence or two.
"""

import json
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

CONFIDENCE: Final = 0.9
"""Of what a tool states in plain words or fields: at the gate's threshold for tools."""

MAX_EVENTS: Final = 20
MAX_RECORD: Final = 200
"""Characters of a record; what is longer is a text that a tool found."""

_RECORDED: Final = frozenset({"profile", "attribute.*", "located_in"})
"""Kinds and keys that a record may state; tastes, plans and doings are for people to tell."""


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
    content = the_layouts().content.format(subject=one.subject, field=one.field, value=value)
    reading.proposals.append(
        Proposal(
            n=reading.n, quote=reading.text[one.start : one.end], start=one.start, end=one.end, kind=row.kind,
            subject=_subject(one.subject), key=row.key_of(one.field), content=content,
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
        said = {key: value for key, value in small.items() if isinstance(value, str)}
        title = next((said[key] for key in the_layouts().titles if said.get(key, "").strip()), None)
        start = next((said[key] for key in the_layouts().starts if key in said), None)
        if title is not None and start is not None:
            yield title, start
            return
        for value in answer.values():
            if isinstance(value, list):
                yield from _events(value)
