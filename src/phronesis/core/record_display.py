"""How records look to a person: on one line, or as an HTML table in a notebook. ``to_dict`` gives all of a record."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from enum import Enum
from typing import Any, Final, TypeVar

T = TypeVar("T")

LINE: Final = 120
"""Maximum characters of a record's line."""

MAX_ROWS: Final = 100
MAX_COLUMNS: Final = 8
"""Maximum rows and columns of a table."""

_WORDS: Final = ("user_message", "content", "text", "snippet", "quote", "attempt", "message", "detail", "title", "name")
"""Fields with the words of a record; the first that says something leads its line."""

_LEADING: Final = (
    "decision",
    "score",
    "kind",
    "id",
    "status",
    "state",
    "verb",
    "event",
    "rule",
    "key",
    "value",
    "user_id",
)
_TRAILING: Final = ("entry_id", "recorded_at", "updated_at", "version", "data", "metadata", "why", "explain")
"""Fields shown before the others, and after them."""

_UUID: Final = 36
_SHORT: Final = 8
"""Characters of a UUID, and how many of them a line shows: as many as citations on the pages."""

_PART: Final = "item"
"""The field whose record lends its words, kind and id to the record that holds it."""


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
    cells = "".join(f"<tr><th>{name}</th><td>{escape(_text(one))}</td></tr>" for name, one in _members(record).items())
    return f"<table><caption>{type(record).__name__}</caption>{cells}</table>"


class Records(list[T]):
    """A list of records that is a table in a notebook."""

    def _repr_html_(self) -> str:
        """Return HTML for a notebook."""
        return rows_html(self)


def rows_html(rows: Sequence[Any]) -> str:
    """Return a table with a row for each record, and a column for each of the fields that say most. Escaped."""
    from html import escape  # noqa: PLC0415 - for notebooks alone

    members = [_members(row) for row in rows[:MAX_ROWS]]
    columns = sorted({name: None for row in members for name in row}, key=_rank)[:MAX_COLUMNS]
    head = "".join(f"<th>{name}</th>" for name in columns)
    lines = ("".join(f"<td>{escape(_text(row.get(name, '')))}</td>" for name in columns) for row in members)
    more = f"<p>{len(rows) - MAX_ROWS:,} more</p>" if len(rows) > MAX_ROWS else ""
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _line_parts(record: Any) -> Iterator[str]:
    """Return the parts of a record's line, those that say most first."""
    members, rows = _members(record), _rows_of(record)
    words = _words_name(members)
    if words is not None:
        yield _quote(members.pop(words), LINE // 2)
    elif rows or isinstance(record, Sequence):
        members = {name: value for name, value in members.items() if value is not rows}
        first = [_quote(one[name], LINE // 4) for one in map(_members, rows[:2]) if (name := _words_name(one))]
        yield ": ".join([str(len(record if isinstance(record, Sequence) else rows)), *filter(None, [", ".join(first)])])
    for name in sorted(members, key=_rank):
        value = members[name]
        text = _text(value)
        if isinstance(value, str):
            text = text[:_SHORT] if _is_uuid(value) else _quote(text, LINE // 4) if " " in text else text
        yield f"{name}={text}"


def _rows_of(record: Any) -> Sequence[Any]:
    """Return the first field of a record that is a list of records; empty where there is none."""
    values: Iterable[Any] = (getattr(record, field.name) for field in fields(record))
    return next((one for one in values if isinstance(one, list | tuple) and one and is_dataclass(one[0])), ())


def _members(record: Any) -> dict[str, Any]:
    """Return the fields of a record that are neither empty nor at their default, with those that a part lends it."""
    out: dict[str, Any] = {}
    for field in fields(record) if is_dataclass(record) else ():
        value = getattr(record, field.name)
        if field.name == _PART and is_dataclass(value):
            lent = _members(value)
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


def _is_uuid(text: str) -> bool:
    return len(text) == _UUID and text.count("-") == 4  # noqa: PLR2004 - of a UUID


def _quote(text: str, most: int) -> str:
    return f'"{_cut(text, most)}"'


def _cut(text: str, most: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
