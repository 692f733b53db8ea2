"""What a slot of a pattern holds, brought to the value that is meant: trimmed, and refused where it cannot be one."""

import re
from typing import Final

from phronesis.conversation.extracting.cast import SubjectReference
from phronesis.conversation.extracting.clauses import Clause, with_names, with_times
from phronesis.conversation.extracting.lexicon import Expression
from phronesis.conversation.extracting.memory_types import MemoryType, MemoryTypes
from phronesis.conversation.extracting.tables import TIMES, Language, PatternMatch
from phronesis.core.calendar import names_time
from phronesis.core.calendar_spans import parse_number
from phronesis.core.values import language_code, normal_value

MAX_AGE: Final = 125
"""Years: nobody is known to have lived longer (Jeanne Calment, 122); a greater age is a joke."""

MAX_WORDS: Final = 16
"""Words of a value: more are a story, not a value."""

SEVERAL: Final = frozenset(
    [
        "likes",
        "dislikes",
        "language",
        "skill",
        "allergy",
        "hobby",
        "diet",
        "uses",
        "pet",
        "possession",
        "health",
        "friend",
        "child",
        "sibling",
        "colleague",
        "parent",
        "nationality",
        "prefers",
        "task",
    ]
)
"""Keys whose value may be a list: "tea and coffee" are two."""

UNDATED: Final = frozenset({"birthday", "attribute.*", "favorite.*", "age", "timezone", "reply_style", "fact"})
"""Keys that hold a date themselves, or none."""

TIMED: Final = UNDATED | {"life_event"}
"""Keys whose value keeps the words of a time: 老伴前年走."""

_FREE: Final = frozenset({"employer", "school", "address_as"})
"""Keys of names that may look like anything: "The Railways", 陈老师."""

_SAID: Final = frozenset({"reply_style", "decision", "fact", "relationship_status"})
"""Keys whose value is a predicate, and may begin with "not" or 不."""

_TO_SOMEBODY: Final = _SAID | {"reminder"}
"""Keys whose value may end in a pronoun: 语音的东西别发给我."""

_CHOSEN: Final = frozenset({"prefers", "favorite.*"})
"""Keys whose value may be "the train": it is one of several, not something that was just spoken of."""

_DOINGS: Final = frozenset({"task", "intention", "decision", "episodic"})
"""Kinds whose value is what is done, and may end in how long: "lived there for two years"."""

_UPPER: Final = "A-ZÀ-ÖØ-ÞĀĂĄĆĈĊČĎĐĒĔĖĘĚĜĞĠĢĤĦĨĪĬĮİĴĶĹĻĽŁŃŅŇŌŎŐŒŔŖŘŚŜŞŠŢŤŨŪŬŮŰŲŴŶŸŹŻŽȘȚ"
"""Capitals of names and places, those of Central Europe among them."""

_CAPITAL: Final = re.compile(
    rf"[\"“《]?(?:[{_UPPER}0-9][\w'’.&+-]*|[一-鿿]{{1,12}})"
    rf"(?:[ ](?:(?:of|de|van|von|der|da|di|la|le|du|the|and|&)[ ])?[{_UPPER}0-9][\w'’.&+-]*){{0,5}}"
)
_HAN_NAME: Final = re.compile(r"[《“]?[一-鿿·A-Za-z0-9.&+ -]{1,30}")
_FIGURES: Final = re.compile(r"(?:0?[1-9]|[12]\d|3[01])[/.](?:0?[1-9]|[12]\d|3[01])(?:[/.](?:\d\d|\d{4}))?")
"""A day in figures, as on forms."""

_OF_YEAR: Final = re.compile(r",(?= (?:19|20)\d\d\b)")
"""The comma within a day: "June 19, 1957"."""

_EDGES: Final = " \t,，。.!！?？;；:：~-–—\"“”'‘’「」『』()（）😅😂🤣😊🙂😀🎉❤️"
_ADDRESS: Final = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+", re.ASCII)


def values_of(row: MemoryType, surface: str, language: Language, *, small: bool, free: bool = False) -> list[str]:
    """Return the values that a slot of a key holds: none where they cannot be such values.

    ``free``: the frame alone says what they are, so that none of the key's known words is asked of them.

    ``small``: the message has no capitals, so that none can be asked of names and places.
    """
    if row.form in {"email", "phone"}:
        found = _ADDRESS.search(surface) if row.form == "email" else language.text["phone"].search(surface)
        return [found[0]] if found else []
    if row.kind == "preference" and row.key not in _CHOSEN and language.never["surface"].match(surface.lower()):
        return []
    if row.form == "name" and row.key not in _FREE and language.text["no_name"].match(surface):
        return []  # "my husband is a driver" names nobody
    text = trim_value(surface, row, language)
    if row.key in SEVERAL and (parts := _several(text, row, language)):
        values = [value for part in parts if (value := _one(row, part, language, small=small, free=free))]
        return values[:6]
    value = _one(row, text, language, small=small, free=free)
    return [value] if value else []


def capital_part(name: str) -> str:
    """Return a name up to where its words begin to be small."""
    found = _CAPITAL.match(name)
    return name if found is None else found[0]


def trim_value(surface: str, row: MemoryType, language: Language) -> str:
    """Return a slot's words without what is said beside them: a reason, a time, a filler."""
    stop = language.text["stop_task"] if row.kind in _DOINGS or row.key == "appointment" else language.text["stop"]
    if row.kind != "fact" and row.key not in {"reply_style", "attribute.*"}:
        within = surface.replace(",", " ") if row.key == "address" else surface
        found = stop.search(_OF_YEAR.sub(" ", within) if row.key == "birthday" else within)
        surface = surface[: found.start()] if found else surface
    text = re.sub(
        rf"(?:{language.text['before_time'].pattern})?[{TIMES}]{language.text['after_time'].pattern}", " ", surface
    )
    text = language.text["tail"].sub("", text.strip(_EDGES))
    if row.form != "date" and row.key not in {"employer", "fact"}:
        text = language.text["head"].sub("", text.strip(_EDGES))
    text = re.sub(r"(?<=[一-鿿]) (?=[一-鿿])", "", text)
    return " ".join(text.split()).strip(_EDGES)


def _several(text: str, row: MemoryType, language: Language) -> list[str]:
    if row.kind == "task" or language.text["one_of_two"].search(text) is not None:
        return []
    between = language.text["between_avoided" if row.key in {"diet", "allergy", "dislikes"} else "between_values"]
    parts = [part for part in between.split(text) if part.strip()]
    most = 4
    return parts if len(parts) > 1 and all(len(part.split()) <= most and len(part) <= 40 for part in parts) else []  # noqa: PLR2004


def _one(row: MemoryType, text: str, language: Language, *, small: bool, free: bool) -> str | None:
    text = text.strip(_EDGES)
    if language.grammar.spaces:
        text = language.text["head"].sub("", text) if row.key in SEVERAL else text
    low = text.lower()
    key = row.key.removesuffix(".*")
    if not text or not any(char.isalnum() for char in text) or len(text.split()) > MAX_WORDS:
        return None
    if not free and (only := language.only.get(key)) is not None and only.search(low) is None:
        return None
    known = row.key in _FREE or (free and row.key in {"located_in", "alias"})  # 三楼 is no home, 面姐 a nickname
    form = None if known else language.never.get(f"form_{row.form}")
    edges = _edges(row, language)
    for never in (language.never.get(key), form, None if row.key in _SAID else language.never["any"], *edges):
        if never is not None and never.search(low):
            return None
    if free and row.key == "alias":
        return text  # a handle has the letters that it has
    return _in_form(row, text, language, small=small, free=free)


def _edges(row: MemoryType, language: Language) -> tuple[Expression | None, Expression | None]:
    """Return what a value of a key cannot begin with, and what it cannot end with: either way it is cut from more."""
    if row.key == "fact":
        return None, None
    return language.never.get("first"), None if row.key in _TO_SOMEBODY else language.never.get("last")


def _name(row: MemoryType, text: str, language: Language, *, small: bool, free: bool) -> str | None:
    if not language.grammar.capitals:
        found = _HAN_NAME.match(text)
        whole = found is not None and found.end() == len(text)
        return text.strip("《》 ") if whole and len(text) <= (20 if row.form == "place" else 24) else None
    if row.key in {"employer", "school"}:
        return text if len(text.split()) <= 6 else None  # noqa: PLR2004 - words of a firm's name
    if free and row.key == "located_in":
        return text  # "under the left tread" is where a thing is
    found = _CAPITAL.match(text)
    if found is not None:
        return found[0].strip('"“”《》.')
    return text if small and len(text.split()) <= 2 else None  # noqa: PLR2004 - a name of two words


def _in_form(row: MemoryType, text: str, language: Language, *, small: bool, free: bool) -> str | None:
    match row.form:
        case "name" | "place":
            return _name(row, text, language, small=small, free=free)
        case "number":
            number = parse_number(language.text["unit_of_age"].sub("", text))
            return text if number is not None and not (row.key == "age" and number > MAX_AGE) else None
        case "date":
            birthday = row.key == "birthday"
            if birthday and _FIGURES.fullmatch(text) is not None:
                return text  # 3/14 may be of two months: kept as it was said
            no_day = birthday and language.text["day_of_birth"].match(normal_value("date", text)) is None
            return text if names_time(text) and not no_day else None
        case "language":
            word = language.text["how_well"].sub("", text)
            return word if language_code(word) is not None or language.text["dialect"].match(word) else None
        case _:
            return text[1:-1] if text[0] + text[-1] == "《》" else text


# What the slots of a matched pattern hold, each with the row of memory types that it is a value of.

_NO_VALUES: Final = frozenset({"subject", "word"})
_DIGITS: Final = "0123456789"

_SMALL: Final = frozenset({"job", "field_of_study", "skill", "age"})
"""Keys whose values begin with no capital, whatever the pattern asks of the rest."""

_FIRMS: Final = frozenset({"employer", "school"})
"""Keys of names that end where the words begin to be small."""

Filled = tuple[str, MemoryType, list[str]]
"""The key of a slot, its row, and the values that it holds."""


def fill_slots(
    clause: Clause,
    spoken: SubjectReference,
    *,
    matched: PatternMatch,
    language: Language,
    types: MemoryTypes,
    thing: str | None,
    small: bool,
) -> list[Filled]:
    """Return what the slots of a match hold; nothing unless every one of them holds what it should.

    ``thing`` is what was spoken of last, ``small`` tells that the message is written without capitals.
    """
    found: list[Filled] = []
    for slot, (_, start, end) in matched.slots.items():
        key = slot.rstrip(_DIGITS)
        known = slot not in _NO_VALUES and not slot.startswith("old_")
        row = types.find(key, matched.pattern.kind) if known else None
        if row is None:
            continue
        if spoken.elided and spoken.subject == thing:
            row = types.find(row.key, "fact") or row  # a thing uses, it does not prefer
        surface = spoken.text[start:end]
        if spoken.topic and language.text["bare_verb"].match(surface):
            surface += spoken.topic  # 黄山我不打算去了: where to stands before
        surface = with_names(surface, clause.times, language)
        surface = with_times(surface, clause) if row.key in TIMED or row.kind == "decision" else surface
        values = values_of(row, surface, language, small=small, free=matched.pattern.free)
        proper = matched.pattern.proper and row.key not in _SMALL
        if not values or (proper and not values[0][:1].isupper()):
            return []
        if proper and row.key in _FIRMS and not small:
            values = [capital_part(one) for one in values]  # "Kestrel Logistics three days a week"
        found.append((key, row, values))
    return found
