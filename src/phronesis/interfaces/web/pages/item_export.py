"""Export of a list: what its filter finds, or what was chosen, as JSON Lines or for a spreadsheet."""

import csv
import io
import json
from collections.abc import Iterable, Iterator
from typing import Annotated, Final

from fastapi import Form, Response
from fastapi.responses import StreamingResponse

from phronesis.core.api_keys import Role
from phronesis.core.items import Item
from phronesis.core.serialization import as_json
from phronesis.errors import InputError, NotFound
from phronesis.interfaces.web.pages.item_edits import Ids
from phronesis.interfaces.web.pages.memories import Listed
from phronesis.interfaces.web.routing import make_router
from phronesis.interfaces.web.session import Visiting, Visitor

PAGE: Final = 500
"""Items that are read at a time."""

MAX_FOUND: Final = 1_000
"""Maximum results of a search in a file."""

FORMATS: Final = {"jsonl": "application/x-ndjson", "csv": "text/csv"}

COLUMNS: Final = (
    *("id", "kind", "content", "subject", "key", "value", "user_id", "namespace", "occurred_at", "recorded_at"),
    *("valid_from", "valid_to", "status", "ended", "pinned", "importance", "confidence", "trust", "source_type"),
    *("source_ref", "session_id", "agent_id", "run_id", "external_id", "metadata"),
)

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
"""Beginnings of a cell that a spreadsheet would calculate."""

router = make_router()


@router.get("/memories/export")
def export(visitor: Visiting, asked: Listed, format: str = "jsonl") -> Response:  # noqa: A002 - the query's name
    """Return all items of a list, or the results of a search, as a file."""
    wanted = {**asked.arguments, **visitor.looking.scope}
    if asked.q:
        found = visitor.memory.search(asked.q, limit=MAX_FOUND, **wanted)
        return _file(format, (one.item for one in found))
    first = visitor.memory.get_all(limit=PAGE, **wanted)  # before the response begins, so that errors are pages

    def items() -> Iterator[Item]:
        listed = first
        yield from listed
        while listed.next_cursor is not None:
            listed = visitor.memory.get_all(limit=PAGE, cursor=listed.next_cursor, **wanted)
            yield from listed

    return _file(format, items())


@router.post("/memories/export")
def export_chosen(
    visitor: Visiting,
    token: Annotated[str, Form()],
    id: Ids,  # noqa: A002 - the verb's name
    format: Annotated[str, Form()] = "jsonl",  # noqa: A002 - the form's name
) -> Response:
    """Return the items that were chosen as a file."""
    visitor.check(token, Role.READ)
    return _file(format, _chosen(visitor, id))


def _chosen(visitor: Visitor, ids: list[str]) -> list[Item]:
    found = []
    for one in dict.fromkeys(ids):
        try:
            found.append(visitor.memory.get(one))
        except NotFound:  # erased meanwhile
            continue
    return found


def _file(form: str, items: Iterable[Item]) -> Response:
    if form not in FORMATS:
        raise InputError(f"format must be one of {', '.join(FORMATS)}", field="format")
    lines = _csv_lines(items) if form == "csv" else (f"{_json(item.to_dict())}\n" for item in items)
    head = {"Content-Disposition": f'attachment; filename="memories.{form}"'}
    return StreamingResponse(
        (line.encode("utf-8", "replace") for line in lines), media_type=f"{FORMATS[form]}; charset=utf-8", headers=head
    )


def _csv_lines(items: Iterable[Item]) -> Iterator[str]:
    """Yield the lines of a table, after a byte order mark by which spreadsheets know that it is UTF-8."""
    yield "\ufeff" + _row(COLUMNS)
    for item in items:
        fields = item.to_dict()
        yield _row(_cell(fields.get(name)) for name in COLUMNS)


def _row(cells: Iterable[str]) -> str:
    line = io.StringIO()
    csv.writer(line).writerow(cells)
    return line.getvalue()


def _cell(value: object) -> str:
    """Return a value as a cell; one that looks like a formula begins with an apostrophe."""
    text = "" if value is None else value if isinstance(value, str) else _json(value)
    return f"'{text}" if text.startswith(_FORMULA) else text


def _json(value: object) -> str:
    return json.dumps(as_json(value), ensure_ascii=False)
