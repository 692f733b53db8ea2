"""SQL conditions for filters in mem0's syntax.

``{"kind": "fact"}``, ``{"importance": {"gte": 7}}``, ``{"metadata.topic": {"in": ["a", "b"]}}``, and ``AND``, ``OR``,
``NOT`` over lists of them. A name that is no column of items is looked up in ``metadata``. An empty ``AND`` matches
everything, an empty ``OR`` nothing; ``NOT`` matches what none of its members matches, so an empty one matches
everything. ``user_id`` and ``namespace`` belong to the scope: a filter may repeat them (`scoped_filters`) but not
change them.

Values are compared with values of their own type: ``5`` is not ``"5"`` and not ``true``. ``ne`` and ``nin`` match an
item without such a value. Text is ordered by code points. Both databases return the same items.
"""

import math
from collections.abc import Mapping, Sequence
from operator import ge, gt, le, lt
from typing import Any, Final

import sqlalchemy as sa

from phronesis.core.items import TIME_FIELDS, Trust
from phronesis.core.text import replace_unstorable
from phronesis.core.timestamps import parse_moment, to_micros
from phronesis.errors import InputError
from phronesis.store.dialects import contains, has_member, json_key, lowered, member_boolean, member_number, member_text
from phronesis.store.schema import items

FILTERABLE: Final = frozenset(
    """
    id kind content subject key importance status ended confidence trust quarantine pinned stage label source_type
    source_ref external_id agent_id session_id run_id message_id role name entry_id version recorded_at updated_at
    occurred_at valid_from valid_to
    """.split()
)
SCOPED: Final = ("user_id", "namespace")
OPERATORS: Final = ("eq", "ne", "in", "nin", "gt", "gte", "lt", "lte", "contains", "icontains")
_ENDING: Final = frozenset({"status", "ended"})
_ORDERS: Final = {"gt": gt, "gte": ge, "lt": lt, "lte": le}
MAX_DEPTH: Final = 16
MAX_MEMBERS: Final = 10_000
"""Values of one ``in`` list: with a few such lists a statement stays below SQLite's 32,766 variables."""

MAX_CONDITIONS: Final = 500
"""Maximum number of names in all mappings of a filter: SQLite's parser takes some thousand terms."""

_UNNAMEABLE: Final = frozenset('"\\')
"""Characters that the name of a metadata key in a filter may not hold, since SQLite's paths cannot express them."""


def scoped_filters(filters: Any, scope: Mapping[str, str | None], *, _depth: int = 0) -> Any:
    """Return filters without conditions that repeat the scope's ``user_id`` or ``namespace``.

    InputError for another value: the scope is an argument of the call. Anything malformed is left to
    `compile_filters`.
    """
    if _depth > MAX_DEPTH:
        return filters
    if isinstance(filters, list | tuple):
        return [scoped_filters(member, scope, _depth=_depth) for member in filters]
    if not isinstance(filters, Mapping):
        return filters
    out: dict[Any, Any] = {}
    for name, wanted in filters.items():
        if name not in SCOPED:
            inner = name in ("AND", "OR", "NOT")
            out[name] = scoped_filters(wanted, scope, _depth=_depth + 1) if inner else wanted
        elif scope.get(name) is None or wanted not in (scope[name], {"eq": scope[name]}, {"in": [scope[name]]}):
            raise _scope_name_error(name, f"filters.{name}")
    return out


def _scope_name_error(name: str, field: str) -> InputError:
    return InputError(
        f"{field}: {name} is part of the scope; give it as an argument, as in search(…, {name}=…), or use"
        f" metadata.{name} for metadata of that name",
        field=field,
    )


def compile_filters(filters: Mapping[str, Any] | None, *, field: str = "filters", _depth: int = 0) -> Any:
    """Return one SQL condition, or None for no filters. InputError names what is invalid."""
    if filters is None and _depth == 0:
        return None
    if not isinstance(filters, Mapping):
        raise InputError(f"{field} must be a mapping, not {type(filters).__name__}", field=field)
    if _depth == 0 and _conditions(filters) > MAX_CONDITIONS:
        raise InputError(
            f"{field} has more than {MAX_CONDITIONS} conditions; an in list compares with up to {MAX_MEMBERS:,} values",
            field=field,
        )
    if _depth > MAX_DEPTH:
        raise InputError(f"{field} is nested more than {MAX_DEPTH} levels deep", field=field)
    parts: list[Any] = []
    for name, wanted in filters.items():
        if not isinstance(name, str):
            raise InputError(f"{field} has a name that is not a string: {name!r:.40}", field=field)
        where = f"{field}.{name}"
        if name in ("AND", "OR", "NOT"):
            members = wanted if isinstance(wanted, list | tuple) else [wanted]
            inner = [compile_filters(member, field=where, _depth=_depth + 1) for member in members]
            conditions = [sa.true() if condition is None else condition for condition in inner]
            if name == "NOT":
                parts += [sa.not_(sa.func.coalesce(condition, sa.false())) for condition in conditions]
            elif name == "AND":
                parts += conditions
            else:
                parts.append(sa.or_(sa.false(), *conditions))
        else:
            parts.append(_condition(name, wanted, field=where))
    return sa.and_(*parts) if parts else None


def _conditions(filters: Any) -> int:
    """Count the names in a filter's mappings, stopping above the limit."""
    count, waiting = 0, [filters]
    while waiting and count <= MAX_CONDITIONS:
        one = waiting.pop()
        if isinstance(one, Mapping):
            count += len(one)
            waiting += one.values()
        elif isinstance(one, list | tuple):
            waiting += [member for member in one if isinstance(member, Mapping)]
    return count


def mentions_ended(filters: Any) -> bool:
    """Return whether filters select archived or ended items, which ordinary reads leave out.

    No filter selects quarantined items.
    """
    if isinstance(filters, Mapping):
        return any(name in _ENDING or mentions_ended(inner) for name, inner in filters.items())
    return isinstance(filters, list | tuple) and any(mentions_ended(member) for member in filters)


def _condition(name: str, wanted: Any, *, field: str) -> Any:
    if name in SCOPED:
        raise _scope_name_error(name, field)
    operations = wanted if isinstance(wanted, Mapping) else {"eq": wanted}
    unknown = set(operations) - set(OPERATORS)
    if unknown:
        raise InputError(
            f"{field} has unknown operators: {', '.join(sorted(map(str, unknown)))}; there are {', '.join(OPERATORS)}",
            field=field,
        )
    return sa.and_(sa.true(), *(_compare(name, operator, value, field=field) for operator, value in operations.items()))


def _compare(name: str, operator: str, value: Any, *, field: str) -> Any:
    if operator in ("in", "nin"):
        found = _match_any(name, value, field=field)
        return found if operator == "in" else sa.not_(sa.func.coalesce(found, sa.false()))
    if value is None:
        if operator not in ("eq", "ne"):
            raise InputError(f"{field}: null can be compared with eq and ne only", field=field)
        return _match_missing(name, field=field) if operator == "eq" else sa.not_(_match_missing(name, field=field))
    column, value = _typed_pair(name, value, field=field)
    if operator in ("eq", "ne"):
        # A member of another type is NULL here, and differs as a missing one does.
        return column == value if operator == "eq" else sa.or_(column != value, column.is_(None))
    if operator in ("contains", "icontains"):
        if not isinstance(value, str):
            raise InputError(f"{field}: '{operator}' takes a string", field=field)
        folded = operator == "icontains"
        return contains(lowered(column), lowered(sa.literal(value))) if folded else contains(column, sa.literal(value))
    if isinstance(value, bool):
        raise InputError(f"{field}: a truth value has no order; use eq, ne, in or nin", field=field)
    return _ORDERS[operator](column, value)


def _match_any(name: str, values: Any, *, field: str) -> Any:
    """Return one condition for each type among the values."""
    if not isinstance(values, Sequence) or isinstance(values, str | bytes):
        raise InputError(f"{field}: 'in' and 'nin' take a list", field=field)
    if len(values) > MAX_MEMBERS:
        raise InputError(f"{field} lists {len(values):,} values; at most {MAX_MEMBERS:,} are compared", field=field)
    by_column: dict[str, tuple[Any, list[Any]]] = {}
    found: list[Any] = [sa.false()]
    for value in values:
        if value is None:
            found.append(_match_missing(name, field=field))
        else:
            column, typed = _typed_pair(name, value, field=field)
            by_column.setdefault(type(typed).__name__, (column, []))[1].append(typed)
    found += [column.in_(typed) for column, typed in by_column.values()]
    return sa.or_(*found)


def _match_missing(name: str, *, field: str) -> Any:
    if name in FILTERABLE:
        return items.c[name].is_(None)
    # Most items have no metadata, and there NULL is asked for its members.
    return sa.not_(sa.func.coalesce(has_member(items.c.metadata, _key(name, field=field)), sa.false()))


def _typed_pair(name: str, value: Any, *, field: str) -> tuple[Any, Any]:
    """Return the column or member, and the value, converted to one type for comparison."""
    if name in FILTERABLE:
        return _column(name, value, field=field)
    member = _key(name, field=field)
    if isinstance(value, bool):
        return member_boolean(items.c.metadata, member), value
    if isinstance(value, int | float):
        return member_number(items.c.metadata, member), _number(value, field=field)
    return member_text(items.c.metadata, member), _text(value, field=field)


def _column(name: str, value: Any, *, field: str) -> tuple[Any, Any]:
    column = items.c[name]
    if name in TIME_FIELDS:
        return column, to_micros(parse_moment(value, field=field))
    if name == "trust" and isinstance(value, str):
        value = _trust(value, field=field)
    if isinstance(column.type, sa.Boolean):
        if not isinstance(value, bool):
            raise InputError(f"{field} is compared with true or false, not {value!r:.40}", field=field)
        return column, value
    if isinstance(column.type, sa.Text):
        return column, _text(value, field=field)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{field} is compared with a number, not {value!r:.40}", field=field)
    # As floats: PostgreSQL would round 7.5 to the column's type before it compares.
    return sa.cast(column, sa.Double), _number(value, field=field)


def is_key(name: object) -> bool:
    """Return whether a JSON member can be queried by a name."""
    named = isinstance(name, str) and name != "" and not _UNNAMEABLE.intersection(name)
    return named and min(str(name)) >= " " and replace_unstorable(str(name)) == name


def _key(name: str, *, field: str) -> Any:
    path = name.removeprefix("metadata.")
    if not is_key(path):
        raise InputError(
            f"{field} must name a metadata key, without quotation marks, backslashes or control characters", field=field
        )
    return json_key(path)


def _text(value: Any, *, field: str) -> str:
    if not isinstance(value, str):
        raise InputError(
            f"{field} must be compared with a string, a number or a truth value of its own type, not {value!r:.40}",
            field=field,
        )
    return replace_unstorable(value)  # as the items' texts are


def _number(value: float, *, field: str) -> float:
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InputError(f"{field} must be compared with a finite number", field=field)
    return number


def _trust(value: str, *, field: str) -> int:
    if value.upper() not in Trust.__members__:
        known = ", ".join(trust.name.lower() for trust in Trust)
        raise InputError(f"{field} must be one of {known}", field=field)
    return int(Trust[value.upper()])
