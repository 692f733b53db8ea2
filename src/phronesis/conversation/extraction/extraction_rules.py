"""Extraction by rules: plain sentences (``starter.toml``), requests to forget, relations to the user.

A request to forget deletes nothing by itself. It becomes a task of the user under ``FORGET_KEY``, due at once, so that
contexts show it and ``due`` lists it, and ``gated`` says which verb to call. It ends when something that it names is
deleted or retracted, or when the request itself is deleted.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from importlib.resources import files
from typing import Any, Final

from phronesis.conversation.extraction.gate import refusal
from phronesis.core.changes import Changes, Patch
from phronesis.core.entries import Entry, is_erased
from phronesis.core.items import Item
from phronesis.core.lazy_loading import load_once
from phronesis.core.proposals import USER, Proposal, Refusal
from phronesis.core.timestamps import isoformat, parse_local
from phronesis.core.values import canonical_relative
from phronesis.index.tokens import tokenize
from phronesis.models.reader.network import FoundValue
from phronesis.models.text_features import blank_code, has_han, sentences
from phronesis.recall.word_lists import Relatives, UnitText, is_chinese, load_relatives
from phronesis.store.lane_view import LaneView

# Plain sentences: values without an encoder.

STARTER_VERSION: Final = "starter/1"

STARTER_CONFIDENCE: Final = 0.9
MAX_VALUE: Final = 60
"""Characters of a value."""

FORGET: Final = "forget"

_CLAUSE: Final = re.compile("[,，] *")
_MARKS: Final = " .!。！，,~～"
_APOSTROPHES: Final = str.maketrans("’‘", "''")


@dataclass(frozen=True, slots=True)
class _Language:
    lines: Sequence[tuple[str, str]]
    forget: Sequence[str]
    excluded: re.Pattern[str]


@load_once
def _load_language(code: str) -> _Language:
    table = tomllib.loads((files("phronesis.conversation.extraction") / "starter.toml").read_text("utf-8"))
    words = "|".join(map(re.escape, table["not"][code]))
    return _Language(
        [(name, one) for name, lines in table[code].items() if name != FORGET for one in lines],
        table[code][FORGET],
        re.compile(words if code == "zh" else rf"(?<!\w)(?:{words})(?!\w)|n't\b"),
    )


def _match(line: str, text: str, start: int = 0) -> re.Match[str] | None:
    """Return how a text is a sentence of the table, from ``start``. Few begin as it does: only those are compiled."""
    return _compile_line(line).fullmatch(text, start) if text.startswith(line.partition("{")[0], start) else None


@load_once
def _compile_line(line: str) -> re.Pattern[str]:
    escaped = re.escape(line).replace(r"\{word\}", r"(?P<word>[^\W\d_]{1,20})")
    return re.compile(escaped.replace(r"\{\}", r"(?P<value>\S(?:.*\S)?)"))


def starter_values(text: str) -> list[FoundValue]:
    """Return the values of the sentences that the table knows."""
    found: list[FoundValue] = []
    for start, low, language in _split_sentences(text):
        matches = ((name, match) for name, line in language.lines if (match := _match(line, low)) is not None)
        name, match = next(matches, ("", None))
        if match is None or len(match["value"]) > MAX_VALUE or language.excluded.search(match["value"]) is not None:
            continue
        kind, _, key = name.partition("/")
        word = match.groupdict().get("word")
        first, last = match.span("value")
        found.append(
            FoundValue(
                kind=kind,
                key=key if word is None else f"{key}.{word}",
                subject=None,
                start=start + first,
                end=start + last,
                retracted=False,
                done=False,
                replaces=None,
                confidence=STARTER_CONFIDENCE,
            )
        )
    return found


def forget_targets(text: str) -> list[tuple[int, int, str]]:
    """Return the requests to forget in a text: where each stands, and what it asks to forget."""
    found = []
    for start, low, language in _split_sentences(text):
        for at in (0, *(mark.end() for mark in _CLAUSE.finditer(low))):
            match = next((one for line in language.forget if (one := _match(line, low, at)) is not None), None)
            if match is not None and language.excluded.fullmatch(match["value"]) is None:
                first, last = match.span("value")
                found.append((start + at, start + len(low), text[start + first : start + last]))
                break
    return found


def _split_sentences(text: str) -> Iterator[tuple[int, str, _Language]]:
    """Yield the sentences that state something: their start, their words in small letters, their language."""
    shown = blank_code(text)
    for start, end in sentences(shown):
        sentence = shown[start:end].rstrip(_MARKS)
        low = sentence.lower().translate(_APOSTROPHES)
        if len(low) == len(sentence) and sentence and not sentence.endswith(("?", "？")):
            yield start, low, _load_language("zh" if has_han(sentence) else "en")


# Requests to forget: open tasks until somebody carries them out.

FORGET_KEY: Final = "forget_request"
FORGET_KIND: Final = "task"

FORGET_IMPORTANCE: Final = 8
"""Importance of a request, above that of a user's task: it is addressed to the memory itself."""

CLOSING_VERBS: Final = frozenset({"archive", "archive_all", "retract"})
"""Verbs by which somebody removes an item from what is held."""

_ENGLISH, _CHINESE = "asked to forget: {}", "要求忘记：{}"
"""The content of a request."""


def requests_in(entry: Entry, texts: Mapping[int, str]) -> tuple[list[Proposal], list[Refusal]]:
    """Return the requests to forget in the user's messages, and for each the refusal that names the verb to call."""
    proposals: list[Proposal] = []
    for n, text in texts.items():
        message = entry.payload["messages"][n]
        if is_erased(message) or message["role"] != "user":
            continue
        proposals += [
            Proposal(
                n=n,
                quote=text[start:end],
                start=start,
                end=end,
                kind=FORGET_KIND,
                subject=message.get("name") or USER,
                key=FORGET_KEY,
                value=target,
                content=(_CHINESE if has_han(target) else _ENGLISH).format(target),
                importance=FORGET_IMPORTANCE,
                due=isoformat(said_at(entry, message)),
            )
            for start, end, target in forget_targets(text)
        ]
    return proposals, [refusal(one.n, one.quote, FORGET_KEY) for one in proposals]


def said_at(entry: Entry, message: Mapping[str, Any]) -> datetime:
    """Return when a message of an entry was said, in its own time zone."""
    given = message.get("created_at") or entry.payload.get("occurred_at")
    return entry.recorded_at if given is None else parse_local(given, field="created_at")


def end_fulfilled_requests(view: LaneView, entry: Entry, changes: Changes, held: Mapping[str, Item]) -> Changes:
    """Return changes that also end the requests which they fulfil (``handler.Consequence``)."""
    if entry.verb not in CLOSING_VERBS:
        return changes
    gone = [
        held[patch.item_id]
        for patch in changes.patches
        if patch.item_id in held
        and held[patch.item_id].key != FORGET_KEY
        and (patch.fields.get("status") == "archived" or patch.fields.get("ended") == "retracted")
    ]
    if not gone:
        return changes
    words = {word for item in gone for word in tokenize(f"{item.content} {item.value or ''}")}
    fields = {"ended": "retired", "ended_by": entry.id, "valid_to": entry.recorded_at}
    met = [
        Patch(one.id, fields, "carried out")
        for one in view.find(kinds=[FORGET_KIND], key=FORGET_KEY)
        if not words.isdisjoint(tokenize(str(one.value))) and all(patch.item_id != one.id for patch in changes.patches)
    ]
    return replace(changes, patches=[*changes.patches, *met]) if met else changes


# What somebody is to the user, where it stands with the name: "my sister Anna", "Anna, my sister,", 我妹妹小芳.

_SYNONYMS: Final = {
    "grandma": "grandmother",
    "grandpa": "grandfather",
    "neighbor": "neighbour",
    "姥姥": "外婆",
    "姥爷": "外公",
    "丈母娘": "岳母",
    "老丈人": "岳父",
    "姨": "姨妈",
}
"""Words for one relation, of those that have no key of their own; `canonical_relative` knows the others."""

MAX_BEFORE: Final = 40
"""Characters before a name of an earlier sentence in which a relation is looked for."""

_OPEN, _CLOSED, _COMMAS = "(（", ")）", ",，"


def add_relation(one: Proposal, sentence: str, before: str = "") -> Proposal:
    """Return a proposal with the word for what its subject is to the user, if its sentence holds one.

    Where the sentence does not name the subject ("she"), it was named last in the text ``before``. The subject is the
    bare name then, also where it was given as "Anna (sister)" or "sister Anna".
    """
    if one.subject == USER:
        return one
    relatives = load_relatives()
    subject = UnitText(one.subject)
    relations = subject.places(relatives.words)
    for start, end in relations:
        if start and one.subject[subject.spans[start - 1][1] : subject.spans[start][0]].strip()[:1] in [*_OPEN]:
            return _tie(one, one.subject[: subject.spans[start - 1][1]], subject, (start, end), relatives)
    place = sentence.find(one.subject)
    if place < 0:
        named = before.rfind(one.subject)
        sentence = before[max(0, named - MAX_BEFORE) :]
        place = min(named, MAX_BEFORE)
    if place < 0:
        return one
    ahead = UnitText(sentence[:place])
    own = {end for _, end in ahead.places(relatives.own)}
    for end in sorted((end for start, end in relations if start == 0 and end < len(subject.units)), reverse=True):
        if len(ahead.units) in own:
            return _tie(one, one.subject[subject.spans[end][0] :], subject, (0, end), relatives)
    found = _find_last_relation(ahead, own, relatives)
    if found is not None and not sentence[ahead.spans[-1][1] : place].strip(" ,，、"):
        return _tie(one, one.subject, ahead, found, relatives)
    after = UnitText(sentence[place + len(one.subject) :])
    found = _find_between_commas(after, sentence[place + len(one.subject) :], relatives)
    return one if found is None else _tie(one, one.subject, after, found, relatives)


def _tie(one: Proposal, name: str, text: UnitText, place: tuple[int, int], relatives: Relatives) -> Proposal:
    start, end = place
    key = relatives.keys[" ".join(text.units[start:end])]
    word = text.text[text.spans[start][0] : text.spans[end - 1][1]].casefold()
    tie_key = _SYNONYMS.get(word, canonical_relative(word)) if key == "other" else key
    return replace(one, subject=name, tie=word, tie_key=tie_key)


def _find_last_relation(read: UnitText, own: set[int], relatives: Relatives) -> tuple[int, int] | None:
    """Return the words for a relation of the user at the end of a text; one word may stand after "my"."""
    for start, end in read.places(relatives.words):  # the longest first
        between = read.units[start - 1] if start else ""
        owned = start in own or (start - 1 in own and between not in relatives.words)
        if end == len(read.units) and (owned or (start == 0 and is_chinese(read.text))):
            return start, end
    return None


def _find_between_commas(read: UnitText, text: str, relatives: Relatives) -> tuple[int, int] | None:
    """Return the words for a relation of the user between commas at the beginning of a text."""
    own = {end for start, end in read.places(relatives.own) if start == 0}
    if text.lstrip()[:1] not in [*_COMMAS, *_OPEN]:
        return None
    for start, end in reversed(read.places(relatives.words)):
        if start in own and text[read.spans[end - 1][1] :].lstrip()[:1] in ["", *_COMMAS, *_CLOSED]:
            return start, end
    return None
