"""A column of JSON, kept as the text it was written as."""

from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles


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
