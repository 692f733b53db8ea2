"""Records that tools answer in Chinese: what is asked about, and its fields with their values.

Fields stand in many layouts, and none is a sentence: ``PROJ-1：负责人 高洁，截止日期 7月20日``,
``联系人：吴建国，电话：137...``, ``迭代42负责人由 万里 变更为 施然``. A field whose value is of the moment (the
weather, what is left, how long it took) is none.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

from phronesis.core.loading import once
from phronesis.core.pattern_tables import Pieces, parse_folded

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


@once
def the_layouts() -> Layouts:
    """Give the table that is installed with the package; PhronesisError says which pattern is wrong."""
    given = parse_folded("records.toml", (files("phronesis.derive.extracting") / "records.toml").read_text("utf-8"))
    pieces = Pieces.of("records.toml", given["pieces"])
    patterns = {name: pieces.compiled(name, text) for name, text in given["patterns"].items()}
    calendar, subject = given["calendar"], given["subject"]
    return Layouts(
        profile={field: key for key, fields in given["profile"].items() for field in fields.split()},
        patterns=patterns, titles=calendar["titles"].split(), starts=calendar["starts"].split(),
        user={word.replace("_", " ") for word in subject["user"].split()}, content=subject["content"],
    )  # fmt: skip


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
    """Give the fields of a record; none where a text is none."""
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
    """Give a field, its value, and both as they are said."""
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
    yield Entry(subject, person=False, field=found["field"], value=found["value"], old=found["old"], start=place,
                end=place + len(part.strip()))  # fmt: skip


def _lasts(field: str, value: str) -> bool:
    return _at("of_the_moment").fullmatch(field) is None and len(value) <= MAX_VALUE and any(map(str.isalnum, value))


def _at(name: str) -> re.Pattern[str]:
    return the_layouts().patterns[name]
