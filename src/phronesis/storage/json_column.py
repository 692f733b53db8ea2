"""A column of JSON, kept as the text it was written as."""

import json
from typing import Any

import sqlalchemy as sa
from pydantic_core import from_json
from sqlalchemy.ext.compiler import compiles


def loads(text: str | bytes) -> Any:
    """Read what ``core.canonical.dumps`` wrote: just what ``json.loads`` gives.

    The parser that pydantic brings takes half the time: it knows the names of members, of which thousands of rows have
    the same. What it refuses and JSON's grammar allows (half of a surrogate pair, 200 levels) ``json`` reads.
    """
    try:
        return from_json(text, cache_strings="keys")
    except (ValueError, TypeError):  # a text that is no UTF-8 is none to it
        return json.loads(text)


class Json(sa.JSON):
    """JSON: ``json`` under PostgreSQL, ``TEXT`` under SQLite.

    Not ``jsonb``, which turns 1e16 into an integer, and not SQLite's ``JSON``, a column of numeric affinity that turns
    0.0 into 0: a replay in SQLite would then differ from the live lane.
    """

    cache_ok = True

    def __init__(self) -> None:
        super().__init__(none_as_null=True)


@compiles(Json, "sqlite")
def _text(_kind: Json, _compiler: Any, **_options: Any) -> str:
    return "TEXT"
