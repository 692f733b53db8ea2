"""The port of source adapters; JSON values with their spans and as text; line numbers and times of a text."""

import json
import re
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from importlib.metadata import EntryPoint
from itertools import islice
from typing import Any, ClassVar, Final

from phronesis.config.plugins import SOURCES as GROUP
from phronesis.config.plugins import broken, find_plugins, load_plugin
from phronesis.core.lazy_loading import load_once
from phronesis.core.text import replace_unstorable
from phronesis.core.timestamps import FUTURE_TOLERANCE, parse_moment
from phronesis.errors import InputError
from phronesis.experience.laws.event_draft import Draft

_DECODER: Final = json.JSONDecoder()
_SPACE: Final = " \t\r\n"


def placed_lines(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the start, the end and the content of each line, separated by line feeds only."""
    start = 0
    for line in text.split("\n"):
        yield start, start + len(line), line
        start += len(line) + 1


class LineIndex:
    """Maps character offsets to line numbers, from 1."""

    def __init__(self, text: str) -> None:
        self._starts = [start for start, _, _ in placed_lines(text)]

    def lines(self, start: int, end: int) -> tuple[int, int]:
        """Return the first and the last line of the characters [start, end)."""
        return bisect_right(self._starts, start), bisect_right(self._starts, max(start, end))

    def place(self, start: int, end: int) -> dict[str, Any]:
        """Return the fields of a draft that say where the characters [start, end) are."""
        return {"lines": self.lines(start, end), "span": (start, end)}


@dataclass(frozen=True, slots=True)
class JsonSpan:
    """A JSON value and the span of its source, [start, end).

    ``parts``: the elements of a list that is written as one element per line.
    """

    value: Any
    start: int
    end: int
    parts: tuple["JsonSpan", ...] = ()


def documents(text: str) -> list[JsonSpan]:
    """Return the JSON value of a text, else one for each line that is one; nothing for other texts."""
    start = _skip(text, 1 if text.startswith("\ufeff") else 0)
    whole = _decode(text, start) if text[start : start + 1] in {"{", "["} else None
    if whole is not None and _skip(text, whole.end) == len(text):
        return [whole]
    out: list[JsonSpan] = []
    for start, _, line in placed_lines(text):
        words = line.strip()
        one = _decode(words, 0) if words[:1] in {"{", "["} else None
        if one is not None and one.end == len(words):
            begin = start + line.index(words[0])
            out.append(JsonSpan(one.value, begin, begin + one.end))
    return out


def elements(text: str, placed: JsonSpan) -> Iterator[JsonSpan]:
    """Return the elements of a list with their places."""
    yield from placed.parts
    if placed.parts:
        return
    n = _skip(text, placed.start + 1)
    for _ in placed.value:
        if (one := _decode(text, n)) is None:
            return
        yield one
        n = _skip(text, _skip(text, one.end) + 1)


def member(text: str, placed: JsonSpan, name: str) -> JsonSpan | None:
    """Return the member of an object with its place; of duplicates the last."""
    found: JsonSpan | None = None
    n = _skip(text, placed.start + 1)
    while n < placed.end and text[n] == '"':
        key = _decode(text, n)
        value = _decode(text, _skip(text, _skip(text, key.end) + 1)) if key is not None else None
        if key is None or value is None:
            return None
        if key.value == name:
            found = value
        n = _skip(text, _skip(text, value.end) + 1)
    return found


def _decode(text: str, start: int) -> JsonSpan | None:
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):  # no JSON, a number of thousands of digits, nesting without end
        return None
    return JsonSpan(value, start, end)


def _skip(text: str, n: int) -> int:
    while n < len(text) and text[n] in _SPACE:
        n += 1
    return n


def is_json(text: str) -> bool:
    """Return whether a text is a value of JSON, or has one on its first line."""
    words = text.lstrip("\ufeff \t\r\n")
    return words[:1] in {"{", "["} and (load_json(words) is not None or load_json(words.partition("\n")[0]) is not None)


def load_json(text: str) -> Any:
    """Return the value of a text that is one JSON object or array, else None."""
    words = text.lstrip("\ufeff \t\r\n")
    if words[:1] not in {"{", "["}:
        return None
    try:
        return json.loads(words)
    except (ValueError, RecursionError):
        return None


# The port of a source adapter: raw text in, drafts of events out.


@dataclass(frozen=True, slots=True, kw_only=True)
class RawText:
    """A raw text: its content, its name, and when it was recorded.

    ``name`` is the file name or the caller's name (``build.log``, ``Main.lean``): an adapter may use its extension,
    never the file system. ``recorded_at`` completes times without a day or year.
    """

    text: str
    name: str = ""
    recorded_at: datetime

    def past(self, moment: datetime | None) -> datetime | None:
        """Return a time unless it is after the text was recorded."""
        return moment if moment is not None and moment - self.recorded_at <= FUTURE_TOLERANCE else None


class Source(ABC):
    """An adapter for one type of source. Pure: the same text gives the same drafts.

    It never raises for invalid input: what it cannot parse gives no draft. Time must be linear in the text's length,
    whatever its content.
    """

    source_type: ClassVar[str]
    """The name under which callers select it: ``lean``, ``log`` …"""

    version: ClassVar[str]
    """The version in outcomes, such as ``lean/1``; changes when the same text would give other drafts."""

    @abstractmethod
    def read(self, raw: RawText) -> Sequence[Draft]:
        """Return the attempts in a text, in text order."""

    def refusal(self, raw: RawText) -> str:  # noqa: ARG002 - the port's
        """Return why a text cannot be read: its format and the remedy, to follow "this is"; empty if it can.

        A text without attempts is read, since a log may contain none.
        """
        return ""


Sources = Mapping[str, Source]
"""The adapters by type."""


class SourceRegistry(Mapping[str, Source]):
    """The adapters by type, imported on first use: their grammars take a fifth of a second."""

    def __getitem__(self, source_type: str) -> Source:
        return _load_source(find_plugins(GROUP)[source_type])

    def __contains__(self, source_type: object) -> bool:
        return source_type in find_plugins(GROUP)

    def __iter__(self) -> Iterator[str]:
        return iter(find_plugins(GROUP))

    def __len__(self) -> int:
        return len(find_plugins(GROUP))


@load_once
def _load_source(point: EntryPoint) -> Source:
    source: Source = load_plugin(point)()
    if source.source_type != point.name:
        raise broken(point, f"has the source_type '{source.source_type}', which must be its name")
    return source


SOURCES: Final[Sources] = SourceRegistry()
"""The adapters that distributions register as entry points of ``phronesis.sources``."""


def refuse_unsupported(source: Source, raw: RawText) -> None:
    """Raise InputError for a text in a format that the source does not read, before anything is recorded."""
    if found := source.refusal(raw):
        raise InputError(f"text: this is {found}", field="text")


# Final clean-up of drafts: remove characters that a database cannot store, and limit their number.

MAX_DRAFTS: Final = 2_000
"""Drafts of one text at most (but of Lean). If more were found, the last one's observations have ``left_out``: True."""

MAX_TEXT: Final = 4_000
"""Characters of a draft's text: longer ones are cut; the source itself is stored."""


def storable_drafts(drafts: Iterable[Draft], *, most: int | None = MAX_DRAFTS) -> list[Draft]:
    """Return the drafts in storable form, ``most`` of them or all."""
    every = iter(drafts)
    out = [Draft.from_body(_clean(draft.to_body())) for draft in islice(every, most)]
    if next(every, None) is not None:
        body = out[-1].to_body()
        out[-1] = Draft.from_body({**body, "observations": {**body.get("observations", {}), "left_out": True}})
    return out


def number_episodes(drafts: Iterable[Draft]) -> list[Draft]:
    """Return drafts with their places in their episodes, from 1."""
    counted, out = Counter[str](), []
    for draft in drafts:
        if draft.episode_id is None:
            out.append(draft)
        else:
            counted[draft.episode_id] += 1
            out.append(replace(draft, seq=counted[draft.episode_id]))
    return out


def _clean(value: Any) -> Any:
    """Return a value without characters that a database cannot store, long texts cut, and without non-JSON numbers."""
    if isinstance(value, str):
        return replace_unstorable(value[:MAX_TEXT])
    if isinstance(value, Mapping):
        return {_clean(str(key)): _clean(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(one) for one in value]
    if isinstance(value, float) and not abs(value) < float("inf"):
        return str(value)
    return value


STAMP: Final = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:\.\d{1,6})?(?:Z|[+-]\d\d:\d\d)?")


def moment_of(raw: RawText, said: object) -> datetime | None:
    """Return a complete time that is not after the text was recorded; else None."""
    if not isinstance(said, str) or not STAMP.match(said.strip()):
        return None
    try:
        return raw.past(parse_moment(said, field="at"))
    except InputError:
        return None


def text_of(content: object) -> str:
    """Return the text of a message's content: a string, or a list of parts of which some are texts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else [content]
    said = [part if isinstance(part, str) else part.get("text") for part in parts if isinstance(part, str | Mapping)]
    return "\n".join(one for one in said if isinstance(one, str))


def describe_arguments(given: object) -> str:
    """Return arguments in short: a single one unchanged, several as JSON."""
    if isinstance(given, str):
        found = documents(given) if given.lstrip()[:1] == "{" else []
        if len(found) != 1:
            return given.strip()
        given = found[0].value
    if isinstance(given, Mapping) and len(given) == 1:
        (only,) = given.values()
        if isinstance(only, str):
            return only.strip()
    return "" if given in (None, {}, []) else json.dumps(given, ensure_ascii=False)


def words_in(said: object) -> str:
    """Return a value of a record as text: its text members, else its JSON, shortened."""
    if isinstance(said, str):
        return said.strip()
    if isinstance(said, int) and not isinstance(said, bool) and abs(said) < 10**18:
        return str(said)
    return text_of(said) or compact_json(said)[:500] if isinstance(said, dict | list) and said else ""


def compact_json(value: object) -> str:
    """Return a value as JSON without spaces, its keys sorted."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def texts_in(said: object) -> list[str]:
    """Return the texts of a value: itself, or the members of a list that are texts."""
    if isinstance(said, str):
        return [said] if said.strip() else []
    return [one for one in said if isinstance(one, str) and one.strip()] if isinstance(said, list) else []
