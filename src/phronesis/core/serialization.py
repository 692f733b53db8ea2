"""Canonical JSON, equal on every machine so that hashes can be compared; records as JSON, a line or HTML; TOML, YAML.

TOML cannot break a literal string, so a line that begins with a space continues the previous one: the line break and
the spaces after it are removed from every string. A word list starts its lines at the margin and is unchanged.
"""

import hashlib
import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from enum import Enum
from functools import cache
from operator import attrgetter
from typing import Any, Final, TypeVar, overload

from phronesis.core.timestamps import isoformat
from phronesis.errors import InputError, PhronesisError, TooLarge

T = TypeVar("T")

# Records on one line, and as HTML for notebooks.
LINE: Final = 120
"""Maximum characters of a record's line."""
MAX_ROWS: Final = 100
MAX_COLUMNS: Final = 8
"""Maximum rows and columns of a table."""
_WORDS: Final = ("user_message", "content", "text", "snippet", "quote", "attempt", "message", "detail", "title", "name")
"""Fields with the words of a record; the first that says something leads its line."""
_LEADING: Final = tuple("decision score kind id status state verb event rule key value user_id".split())
_TRAILING: Final = ("entry_id", "recorded_at", "updated_at", "version", "data", "metadata", "why", "explain")
"""Fields shown before the others, and after them."""
_UUID: Final = 36
_SHORT: Final = 8
"""Characters of a UUID, and how many of them a line shows: as many as citations on the pages."""


def record_line(record: Any) -> str:
    """Return a record on one line: class, words, score, kind and id first; empty and default fields are left out."""
    line = f"{type(record).__name__}("
    for part in _line_parts(record):
        apart = "" if line.endswith("(") else ", "
        if len(line) + len(apart) + len(part) > LINE - len(", …)"):
            return f"{line}{apart}…)"
        line += apart + part
    return f"{line})"


def record_html(record: Any) -> str:
    """Return a record for a notebook: its rendered text, the table of its rows, or that of its fields. Escaped."""
    from html import escape  # noqa: PLC0415 - for notebooks alone

    if hasattr(record, "render"):
        return f"<pre>{escape(record.text)}</pre>"
    rows = _rows_of(record)
    if rows or isinstance(record, Sequence):
        return f"<p>{escape(record_line(record))}</p>{rows_html(rows)}"
    cells = "".join(f"<tr><th>{name}</th><td>{escape(_text(one))}</td></tr>" for name, one in _shown(record).items())
    return f"<table><caption>{type(record).__name__}</caption>{cells}</table>"


class Records(list[T]):
    """A list of records that is a table in a notebook."""

    def _repr_html_(self) -> str:
        """Return HTML for a notebook."""
        return rows_html(self)


def rows_html(rows: Sequence[Any]) -> str:
    """Return a table with a row for each record, and a column for each of the fields that say most. Escaped."""
    from html import escape  # noqa: PLC0415 - for notebooks alone

    members = [_shown(row) for row in rows[:MAX_ROWS]]
    columns = sorted({name: None for row in members for name in row}, key=_rank)[:MAX_COLUMNS]
    head = "".join(f"<th>{name}</th>" for name in columns)
    lines = ("".join(f"<td>{escape(_text(row.get(name, '')))}</td>" for name in columns) for row in members)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    more = f"<p>{len(rows) - MAX_ROWS:,} more</p>" if len(rows) > MAX_ROWS else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _line_parts(record: Any) -> Iterator[str]:
    """Return the parts of a record's line, those that say most first."""
    members, rows = _shown(record), _rows_of(record)
    words = _words_name(members)
    if words is not None:
        yield _quote(members.pop(words), LINE // 2)
    elif rows or isinstance(record, Sequence):
        members = {name: value for name, value in members.items() if value is not rows}
        first = [_quote(one[name], LINE // 4) for one in map(_shown, rows[:2]) if (name := _words_name(one))]
        yield ": ".join([str(len(record if isinstance(record, Sequence) else rows)), *filter(None, [", ".join(first)])])
    for name in sorted(members, key=_rank):
        value = members[name]
        text = _text(value)
        if isinstance(value, str):
            uuid = len(value) == _UUID and value.count("-") == 4  # noqa: PLR2004 - of a UUID
            text = text[:_SHORT] if uuid else _quote(text, LINE // 4) if " " in text else text
        yield f"{name}={text}"


def _rows_of(record: Any) -> Sequence[Any]:
    """Return the first field of a record that is a list of records; empty where there is none."""
    values: Iterable[Any] = (getattr(record, field.name) for field in fields(record))
    return next((one for one in values if isinstance(one, list | tuple) and one and is_dataclass(one[0])), ())


def _shown(record: Any) -> dict[str, Any]:
    """Return the fields of a record that are neither empty nor at their default."""
    out: dict[str, Any] = {}
    for field in fields(record) if is_dataclass(record) else ():
        value = getattr(record, field.name)
        if field.name == "item" and is_dataclass(value):  # lends its words, kind and id to the record that holds it
            lent = _shown(value)
            out = {name: lent[name] for name in (*_WORDS, "kind", "id") if name in lent} | out
            continue
        empty = value is None or (isinstance(value, Collection) and not value)
        if not empty and (field.default is MISSING or value != field.default):
            out[field.name] = value
    return out


def _words_name(members: dict[str, Any]) -> str | None:
    return next((name for name in _WORDS if isinstance(members.get(name), str)), None)


def _rank(name: str) -> tuple[int, int]:
    for n, group in ((0, _WORDS), (1, _LEADING), (3, _TRAILING)):
        if name in group:
            return n, group.index(name)
    return 2, 0


def _text(value: Any) -> str:
    """Return a value as short text; of a list or a mapping, how much it holds."""
    if isinstance(value, float):
        return f"{value:.2f}"
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M")
    if isinstance(value, Enum):
        return value.name.lower()
    if isinstance(value, Collection) and not isinstance(value, str):
        return str(len(value))
    return _cut(value.__class__.__name__ if is_dataclass(value) else str(value), 2 * LINE)


def _quote(text: str, most: int) -> str:
    return f'"{_cut(text, most)}"'


def _cut(text: str, most: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


# Records as plain JSON values.

_PLAIN_TYPES: Final = frozenset({str, int, float, bool, type(None)})
"""Types that are JSON values already, which are checked first."""


def as_json(value: Any) -> Any:
    """Return plain JSON values of a record: ``to_dict`` where there is one, times as ISO 8601."""
    kind: type = type(value)
    if kind in _PLAIN_TYPES:
        return value
    if kind is tuple or kind is list:
        return [inner if type(inner) in _PLAIN_TYPES else as_json(inner) for inner in value]
    if hasattr(kind, "to_dict"):
        return value.to_dict()
    if isinstance(value, datetime):
        return isoformat(value)
    if isinstance(value, Enum):
        return value.name.lower()
    if is_dataclass(kind):
        return _members(value)
    if isinstance(value, Mapping):
        return {str(key): as_json(inner) for key, inner in value.items()}
    return [as_json(inner) for inner in value] if isinstance(value, list | tuple | set | frozenset) else value


class Record:
    """A result: a frozen dataclass that can be shown as JSON, on one line, or as a table in a notebook."""

    __slots__ = ()

    def __init_subclass__(cls, **given: Any) -> None:
        """Keep the inherited ``__repr__``, in place of which a dataclass would get one of all fields."""
        super().__init_subclass__(**given)
        if "__repr__" not in vars(cls):
            cls.__repr__ = cls.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        return record_line(self)

    def _repr_html_(self) -> str:
        """Return HTML for a notebook."""
        return record_html(self)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return _members(self)


class RecordSequence(Sequence[T], Record):
    """A record that is the sequence of the members of its first field, a tuple."""

    __slots__ = ()

    @property
    def _rows(self) -> tuple[T, ...]:
        rows: tuple[T, ...] = getattr(self, _fields(type(self))[0][0])
        return rows

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        return self._rows[index]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[T]:
        return iter(self._rows)


class EntryResult(Record):
    """A result of a write, with the id of its entry; ``""`` while the write waits in a client's outbox."""

    __slots__ = ()
    entry_id: str
    pending: bool

    @property
    def queued(self) -> bool:
        """Whether the write waits in the outbox of a client."""
        return not self.entry_id


def _members(record: Any) -> dict[str, Any]:
    kind: type = type(record)
    names, values = _fields(kind)
    return {
        name: value if type(value) in _PLAIN_TYPES else as_json(value)
        for name, value in zip(names, values(record), strict=True)
    }


@cache
def _fields(kind: type) -> tuple[tuple[str, ...], Callable[[Any], Iterable[Any]]]:
    """Return the names of a record's fields, and a getter of their values."""
    names = tuple(field.name for field in fields(kind))
    if len(names) > 1:
        return names, attrgetter(*names)
    return names, lambda record: [getattr(record, name) for name in names]


# Canonical JSON.
FLOAT_DIGITS: Final = 9
"""Decimal places kept of a float that is stored: well above what any law distinguishes, well below where two
machines' libm differ (the last units of a double's 15–17 digits)."""
MAX_DEPTH: Final = 64
"""Nesting that a payload may have; Python's own JSON encoder recurses."""
MAX_KEYS: Final = 10_000
"""Maximum number of members of one object; a larger one is a table and belongs in a file."""


# Made once: ``json.dumps`` with any option makes an encoder at every call. Plain data holds no circle to look for.
_PLAIN, _ESCAPED = (
    json.JSONEncoder(ensure_ascii=escaped, sort_keys=True, separators=(",", ":"), allow_nan=False, check_circular=False)
    for escaped in (False, True)
)


def round_stored(value: float) -> float:
    """Return ``value`` as it is stored and hashed; minus zero becomes zero."""
    return round(value, FLOAT_DIGITS) + 0.0


def dumps(value: Any) -> str:
    """Return the canonical text: keys sorted, no spaces, floats rounded. The value must be plain JSON already."""
    return _PLAIN.encode(value)


def encode(value: Any) -> bytes:
    """Return the canonical text as UTF-8. Text with lone surrogates is escaped, so that no input is lost."""
    text = dumps(value)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _ESCAPED.encode(value).encode()


def decode(body: bytes) -> Any:
    """Read what ``encode`` wrote."""
    return json.loads(body.decode())  # text: of bytes, ``loads`` would have to find out the encoding


def digest(value: Any) -> str:
    """Return the SHA-256 of the canonical text, in hexadecimal."""
    return hashlib.sha256(encode(value)).hexdigest()


def plain(value: Any, *, field: str, _depth: int = 0) -> Any:
    """Return ``value`` as plain JSON data, or raise InputError naming the place: ``metadata.tags[2]``.

    Mappings become dicts with string keys, tuples become lists, floats are rounded. NaN and infinities, bytes,
    sets and other objects are refused: they would not come back as they went in. TooLarge for an object with too many
    members, before any of them is looked at.
    """
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, int):
        if abs(value) >= 1 << 63:
            raise InputError(f"{field} is an integer of more than 64 bits; give it as a string", field=field)
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InputError(f"{field} must be a finite number, not {value}", field=field)
        return round_stored(float(value))
    if _depth >= MAX_DEPTH:
        raise InputError(f"{field} is nested more than {MAX_DEPTH} levels deep; flatten it", field=field)
    if isinstance(value, (dict, Mapping)):  # a check against the abstract class alone costs ten times as much
        if len(value) > MAX_KEYS:
            raise TooLarge(
                f"{field} has {len(value):,} members; an object may have {MAX_KEYS:,}: keep the data in a file and"
                " refer to it",
                field=field,
            )
        out: dict[str, Any] = {}
        for key, inner in value.items():
            if not isinstance(key, str):
                raise InputError(f"{field} has a key that is not a string: {key!r:.60}", field=field)
            # Most members are text: for them no path is put together.
            out[key] = inner if type(inner) is str else plain(inner, field=f"{field}.{key}", _depth=_depth + 1)
        return out
    if isinstance(value, (list, Sequence)) and not isinstance(value, (bytes, bytearray, memoryview)):
        return [plain(inner, field=f"{field}[{n}]", _depth=_depth + 1) for n, inner in enumerate(value)]
    raise InputError(f"{field} must be JSON data, not {type(value).__name__}; convert it first", field=field)


# TOML whose strings are folded.
_FOLD: Final = re.compile(r"\n +")


def parse_folded(file: str, source: str) -> dict[str, Any]:
    """Return the tables of a TOML text, with strings unfolded. PhronesisError names an invalid file."""
    import tomllib  # noqa: PLC0415 - canonical JSON is needed at every start, tables are not

    try:
        return dict(_unfold_lines(tomllib.loads(source)))
    except tomllib.TOMLDecodeError as error:
        raise PhronesisError(f"{file} is no TOML: {error}") from error


def split_words(given: str) -> list[str]:
    """Return the words of a table's entry, which commas separate; any spaces within a word become one."""
    return [word for part in given.split(",") if (word := " ".join(part.split()))]


def _unfold_lines(value: Any) -> Any:
    if isinstance(value, str):
        return _FOLD.sub("", value)
    if isinstance(value, list):
        return [_unfold_lines(one) for one in value]
    if isinstance(value, dict):
        return {name: _unfold_lines(one) for name, one in value.items()}
    return value


# Front matter: the YAML mapping at the start of a Markdown file.
_BEGIN: Final = re.compile(r"\ufeff?---[ \t]*\r?\n")
_END: Final = re.compile(r"^---[ \t]*(?:\r?\n|\Z)", re.MULTILINE)


def split_front_matter(text: str) -> tuple[str | None, str]:
    """Return the front matter, between two lines of ``---`` at the start, and the text after it; None without any."""
    begin = _BEGIN.match(text)
    end = _END.search(text, begin.end()) if begin else None
    return (None, text) if begin is None or end is None else (text[begin.end() : end.start()], text[end.end() :])


def parse_front_matter(text: str) -> dict[str, Any]:
    """Return the mapping that front matter holds. ValueError: it is no YAML, or no mapping."""
    import yaml  # noqa: PLC0415 - canonical JSON is needed at every start, YAML is not

    try:
        # With aliases a few lines stand for a value of any size.
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=yaml.SafeLoader)):
            raise ValueError("aliases (*) are not read; write the value where it is meant")
        found = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as error:  # a date that does not exist is a ValueError
        raise ValueError(" ".join(str(error).split())) from error
    if not isinstance(found, dict):
        raise ValueError("it is no mapping")  # noqa: TRY004 - of a text, not of a type
    return found
