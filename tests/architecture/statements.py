"""What a statement says to a database that distributes tables by tenant (Citus), read off its text.

It records what reaches the driver, whatever way it went, and judges each text alone. Not a parser of SQL: it knows
the shapes that this package writes, and `test_distribution.py` proves that it finds each fault.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import psycopg
import sqlalchemy as sa

from phronesis.store.schema import metadata

TABLES: Final = frozenset(metadata.tables)

_NAME: Final = r'(?:phronesis(?:_resources)?\.)?"?(\w+)"?'
_FROM: Final = re.compile(rf"\b(?:FROM|JOIN|USING)\s+{_NAME}(?:\s+AS\s+(\w+))?((?:\s*,\s*\"?\w+\"?(?:\s+AS\s+\w+)?)*)")
_CHANGED: Final = re.compile(rf"^\s*UPDATE\s+{_NAME}")
_INSERTED: Final = re.compile(rf"^\s*INSERT\s+(?:OR\s+\w+\s+)?INTO\s+{_NAME}\s*\(([^)]*)\)")
_MORE: Final = re.compile(r'"?(\w+)"?(?:\s+AS\s+(\w+))?')
_BOUND: Final = r"(?:%\((?P<name>\w+)\)s(?:::\w+)?|'(?P<literal>[^']*)')"
_TENANT: Final = re.compile(rf'"?(\w+)"?\.tenant_id(?:\s*=\s*|, \w+\.\w+\) IN \(SELECT ){_BOUND}')
_MOVED: Final = re.compile(r'\bSET\b(?:(?!\bWHERE\b).)*(?<!\.)\btenant_id"?\s*=', re.DOTALL)
_CONFLICT: Final = re.compile(r"\bON CONFLICT\b.*", re.DOTALL)
_VOLATILE: Final = re.compile(
    r"\b(now|clock_timestamp|current_timestamp|random|gen_random_uuid|SELECT)\b", re.IGNORECASE
)


def faults(statement: str, bound: Mapping[str, Any], tenant: str) -> list[str]:
    """Name what a statement does that tables spread by tenant refuse; nothing for one that touches no table of ours."""
    if not touches_tables(statement):
        return []
    inserted = _INSERTED.match(statement)
    references = _references(statement)
    found: list[str] = []
    if inserted and inserted[1] in TABLES and "tenant_id" not in re.split(r'[\s,"]+', inserted[2]):
        found.append(f"{inserted[1]} is inserted into without a tenant")
    said: Counter[str] = Counter()
    for match in _TENANT.finditer(statement):
        if (match["literal"] if match["name"] is None else bound.get(match["name"])) == tenant:
            said[match[1]] += 1
    found += [f"{name} is read without a tenant" for name, count in references.items() if said[name] < count]
    if _MOVED.search(statement):
        found.append("tenant_id is updated")
    conflict = _CONFLICT.search(statement)
    if conflict and _VOLATILE.search(conflict[0]):
        found.append("ON CONFLICT with a function or a sub-query")
    return found


def _references(statement: str) -> Counter[str]:
    """Count the names under which tables of ours are read or changed."""
    out: Counter[str] = Counter()
    changed = _CHANGED.match(statement)
    if changed and changed[1] in TABLES:
        out[changed[1]] += 1
    for match in _FROM.finditer(statement):
        if match[1] in TABLES:
            out[match[2] or match[1]] += 1
        for name, alias in _MORE.findall(match[3]):
            if name in TABLES:
                out[alias or name] += 1
    return out


def touches_tables(statement: str) -> bool:
    """Tell whether a statement reads or changes a table of ours."""
    inserted = _INSERTED.match(statement)
    return bool(_references(statement)) or bool(inserted and inserted[1] in TABLES)


Recorded = list[tuple[str, Mapping[str, Any]]]


@contextmanager
def recorded(engine: sa.Engine) -> Iterator[Recorded]:
    """Collect each statement that reaches the driver, with its values, on connections made from now on."""
    seen: Recorded = []

    class Recording(psycopg.Cursor[Any]):
        def execute(self, query: Any, params: Any = None, **options: Any) -> Any:
            seen.append((str(query), params or {}))
            return super().execute(query, params, **options)

        def executemany(self, query: Any, params_seq: Any, **options: Any) -> None:
            rows = list(params_seq)
            seen.extend((str(query), row) for row in rows)
            super().executemany(query, rows, **options)

    def watch(connection: Any, _record: Any) -> None:
        if engine.dialect.name == "postgresql":
            connection.cursor_factory = Recording
        else:  # SQLite tells the text with the values in it
            connection.set_trace_callback(lambda text: seen.append((text, {})))

    engine.dispose()
    sa.event.listen(engine, "connect", watch)
    try:
        yield seen
    finally:
        sa.event.remove(engine, "connect", watch)
