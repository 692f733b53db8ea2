"""SQL expressions that give equal results in SQLite and PostgreSQL.

The databases differ otherwise: SQLite's LIKE ignores case and its ``lower`` knows ASCII only; PostgreSQL fails where a
metadata value has another type than the value it is compared with; and each converts types in its own way.
"""

from typing import Any, Final, Literal

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

JsonKind = Literal["text", "number", "boolean"]

LOWER: Final = "phronesis_lower"
"""SQLite function registered on each connection: ``str.lower``."""

_SQLITE_TYPES: Final[dict[JsonKind, str]] = {
    "text": "('text')",
    "number": "('integer', 'real')",
    "boolean": "('true', 'false')",
}
_POSTGRES_TYPES: Final[dict[JsonKind, str]] = {"text": "string", "number": "number", "boolean": "boolean"}

_DIGITS: Final = 300
"""Number of characters from which a number may exceed the range of a double."""


class contains(FunctionElement[bool]):  # noqa: N801 - reads as the SQL function that it is
    """``contains(text, part)``: case- and accent-sensitive, without wildcards."""

    type = sa.Boolean()
    inherit_cache = True


class lowered(FunctionElement[str]):  # noqa: N801
    """``lowered(text)``: lower case of every script."""

    type = sa.Text()
    inherit_cache = True


class member_text(FunctionElement[str]):  # noqa: N801
    """``member_text(json, key)``: the member if it is a string, else NULL."""

    type = sa.Text()
    inherit_cache = True
    kind: JsonKind = "text"


class member_number(FunctionElement[float]):  # noqa: N801
    """``member_number(json, key)``: the member if it is a number, else NULL."""

    type = sa.Double()
    inherit_cache = True
    kind: JsonKind = "number"


class member_boolean(FunctionElement[bool]):  # noqa: N801
    """``member_boolean(json, key)``: the member if it is true or false, else NULL."""

    type = sa.Boolean()
    inherit_cache = True
    kind: JsonKind = "boolean"


class has_member(FunctionElement[bool]):  # noqa: N801
    """``has_member(json, key)``: whether a member exists and is not null."""

    type = sa.Boolean()
    inherit_cache = True


class _Key(sa.types.TypeDecorator[str]):
    """The name of a member, rendered for the dialect."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: sa.Dialect) -> str | None:
        if value is None or dialect.name != "sqlite":
            return value
        return f'$."{value}"'


def key(name: str) -> sa.BindParameter[str]:
    """Return a member name to bind; it may hold no quotation marks, backslashes or control characters."""
    return sa.literal(name, _Key())


def bound_key(bound: str) -> sa.BindParameter[str]:
    """Return a bind parameter for a member name, for a statement that is built once."""
    return sa.bindparam(bound, type_=_Key())


class parsed(FunctionElement[Any]):  # noqa: N801
    """``parsed(text)``: JSON text as JSON; NULL where PostgreSQL might reject an escape in it."""

    type = sa.Text()
    inherit_cache = True


def _arguments(element: FunctionElement[Any], compiler: Any, **kw: Any) -> list[str]:
    return [compiler.process(clause, **kw) for clause in element.clauses]


@compiles(contains)
def _contains(element: contains, compiler: Any, **kw: Any) -> str:
    text, part = _arguments(element, compiler, **kw)
    name = "strpos" if compiler.dialect.name == "postgresql" else "instr"
    return f"({name}({text}, {part}) > 0)"


@compiles(lowered)
def _compile_lowered(element: lowered, compiler: Any, **kw: Any) -> str:
    (text,) = _arguments(element, compiler, **kw)
    # Under the columns' own collation, "C", PostgreSQL too would know ASCII only.
    return f'lower({text} COLLATE "default")' if compiler.dialect.name == "postgresql" else f"{LOWER}({text})"


@compiles(parsed)
def _compile_parsed(element: parsed, compiler: Any, **kw: Any) -> str:
    (text,) = _arguments(element, compiler, **kw)
    if compiler.dialect.name == "postgresql":
        return f"(CASE WHEN strpos({text}, '\\u') = 0 THEN ({text})::json END)"
    return text


@compiles(member_text)
@compiles(member_number)
@compiles(member_boolean)
def _member(element: Any, compiler: Any, **kw: Any) -> str:
    json, name = _arguments(element, compiler, **kw)
    if compiler.dialect.name == "postgresql":
        value = f"({json} ->> {name})"
        number = f"CASE WHEN length({value}) < {_DIGITS} THEN {value}::float8 END"  # of more it says: out of range
        cast = {"text": f'{value} COLLATE "C"', "number": number, "boolean": f"{value}::boolean"}
        wanted = _POSTGRES_TYPES[element.kind]
        return f"(CASE json_typeof({json} -> {name}) WHEN '{wanted}' THEN {cast[element.kind]} END)"
    value = f"json_extract({json}, {name})"
    value = f"CAST({value} AS REAL)" if element.kind == "number" else value
    return f"(CASE WHEN json_type({json}, {name}) IN {_SQLITE_TYPES[element.kind]} THEN {value} END)"


@compiles(has_member)
def _has_member(element: has_member, compiler: Any, **kw: Any) -> str:
    json, name = _arguments(element, compiler, **kw)
    if compiler.dialect.name == "postgresql":
        return f"(({json} ->> {name}) IS NOT NULL)"
    return f"(json_extract({json}, {name}) IS NOT NULL)"
