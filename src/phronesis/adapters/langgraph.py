"""A LangGraph store over a Memory: documents under a namespace and a key, with vector search and full history.

``graph.compile(store=PhronesisStore(memory))`` replaces ``InMemoryStore`` or ``PostgresStore``.
"""

import asyncio
import json
import operator
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from itertools import groupby, islice, takewhile
from typing import Any, Final

from phronesis.adapters.framework_storage import ItemNaming, KeyedItems
from phronesis.core.results import HistoryEvent
from phronesis.core.text import is_storable, replace_unstorable
from phronesis.core.timestamps import from_micros, to_micros
from phronesis.errors import Closed, InputError, MissingExtra
from phronesis.memory import Memory
from phronesis.store.named_items import NamedRow, RowPage

try:
    from langgraph.store import base
except ImportError as missing:
    raise MissingExtra("phronesis.adapters.langgraph needs LangGraph: pip install langgraph") from missing

_NAMING: Final = ItemNaming(subject="LangGraph store", prefix="langgraph", member="name")
_MOST: Final = 10_000
"""Maximum results of one search of a Memory."""

_TTL: Final = "ttl"
"""The metadata key of a document's time to live, in minutes."""

_EXPIRES: Final = "expires_at"
"""The metadata key of the time from which on a document is not returned, in microseconds."""

_MINUTE: Final = 60_000_000
"""Microseconds of a minute."""


class PhronesisStore(base.BaseStore):
    """A ``BaseStore``: each document is an item, each put an entry, and deleting archives.

    A search with a query ranks as Memory does, by words and, if the store has an encoder, by similarity; documents that
    do not match follow with a score of 0, so that ``limit`` is filled as by LangGraph's own stores. Without a query,
    documents are sorted by last change. Values are JSON; those of ``index=False`` are never ranked and have no score.
    A filter names a member, or a nested one by its path: ``{"user.city": "上海"}``.

    A document whose time to live has passed is not returned, and ``sweep_ttl`` archives it. A read that refreshes is an
    entry, thus a change, and made once half of the time has passed.

    Of the framework's own tests, those that ask for the cosine of a given embedding, for SQL or for errors of SQLite do
    not pass (docs/decisions/23).
    """

    supports_ttl = True

    def __init__(
        self,
        memory: Memory,
        *,
        user_id: str | None = None,
        namespace: str = "langgraph",
        index: Mapping[str, Any] | None = None,
        ttl: Mapping[str, Any] | None = None,
    ) -> None:
        """Create a store in the lane of ``user_id``, else in the shared ``namespace`` of Phronesis.

        ``index={"fields": ["text", "notes[*].title"]}`` names the searched parts of a value, by default all of it; its
        ``embed`` and ``dims`` are ignored, since the encoder is the Memory's. ``ttl`` is the framework's ``TTLConfig``,
        of which ``omit_expired`` is always true.
        """
        self.index_config = None if index is None else dict(index)
        self.ttl_config = None if ttl is None else base.TTLConfig(**ttl)
        self._items = KeyedItems(memory, _NAMING, user_id=user_id, namespace=namespace)
        self._fields: Sequence[str] = (index or {}).get("fields") or ["$"]
        self._stopped = threading.Event()
        self._sweeper: Future[None] | None = None

    @classmethod
    @contextmanager
    def from_conn_string(cls, conn_string: str, **options: Any) -> Iterator["PhronesisStore"]:
        """Open a Memory by its URL for the duration of the block; ``options`` are those of the store."""
        with Memory.open(conn_string) as memory:
            yield cls(memory, **options)

    @property
    def memory(self) -> Memory:
        """The Memory that holds the documents."""
        return self._items.memory

    def batch(self, ops: Iterable[Any]) -> list[Any]:
        """Execute operations: reads see the state before them, and of several puts under one key the last wins."""
        asked = list(ops)
        for op in asked:
            base.validate_op_namespace(op)
        puts = {(tuple(op.namespace), op.key): op for op in asked if isinstance(op, base.PutOp)}
        documents = {place: self._document(op) for place, op in puts.items()}
        results = [self._read(op) for op in asked]
        for (namespace, key), document in documents.items():
            if document is None:
                self._items.remove(_name(namespace, key))
            else:
                self._items.put(_name(namespace, key), *document)
        return results

    async def abatch(self, ops: Iterable[Any]) -> list[Any]:
        """Execute operations on a thread."""
        return await asyncio.to_thread(self.batch, list(ops))

    def history(self, namespace: tuple[str, ...], key: str) -> list[HistoryEvent]:
        """Return the changes of an existing document, oldest first; ``Memory.rollback`` takes a ``delta_id``."""
        item = self._items.find(_name(namespace, key))
        return [] if item is None else self.memory.history(item.id)

    def sweep_ttl(self) -> int:
        """Archive the documents whose time to live has passed; return how many."""
        now = self._now()
        rows = self._items.between(*_span(()), RowPage(meets=lambda row: not _lives(row, now)))
        return sum(self._items.remove(row.metadata["name"]) for row in rows)

    def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> "Future[None]":
        """Sweep on a thread until ``stop_ttl_sweeper``: at the interval given, the configuration's, or 5 minutes."""
        if self._sweeper is None or self._sweeper.done():
            seconds = 60 * (sweep_interval_minutes or (self.ttl_config or {}).get("sweep_interval_minutes") or 5)
            self._stopped, self._sweeper = threading.Event(), Future()
            given = (seconds, self._stopped, self._sweeper)
            threading.Thread(target=self._sweep_often, args=given, name="langgraph-ttl", daemon=True).start()
        return self._sweeper

    def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:
        """Stop the sweeper; return whether it has ended in time."""
        self._stopped.set()
        return self._sweeper is None or not wait([self._sweeper], timeout).not_done

    def _sweep_often(self, seconds: float, stopped: threading.Event, done: "Future[None]") -> None:
        try:
            with suppress(Closed):
                while not stopped.wait(seconds):
                    self.sweep_ttl()
            done.set_result(None)
        except Exception as error:  # noqa: BLE001 - the future has it
            done.set_exception(error)

    def _document(self, op: Any) -> tuple[str, dict[str, Any]] | None:
        """Return the text and metadata of a put, None for a deletion; a wrong value raises before any write."""
        if op.value is None:
            return None
        try:
            value = json.dumps(op.value, ensure_ascii=False, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise InputError(f"the value of {op.key!r:.60} must be JSON data: {error}", field="value") from error
        if not is_storable(value):
            value = json.dumps(op.value)
        fields = self._fields if op.index in (None, False) else op.index
        words = "\n".join(text for field in fields for text in base.get_text_at_path(op.value, field))
        kept = {"namespace": ".".join(op.namespace), "key": op.key, "value": value, "ranked": op.index is not False}
        expires = None if op.ttl is None else self._now() + round(op.ttl * _MINUTE)
        return replace_unstorable(words) if words.strip() else value, {**kept, _TTL: op.ttl, _EXPIRES: expires}

    def _read(self, op: Any) -> Any:
        if isinstance(op, base.GetOp):
            row = self._items.row(_name(op.namespace, op.key))
            if row is None or not _lives(row, self._now()):
                return None
            self._refresh([row] if op.refresh_ttl else [])
            return base.Item(**_fields_of(row))
        if isinstance(op, base.SearchOp):
            found = self._search(op)
            self._refresh([row for row, _ in found] if op.refresh_ttl else [])
            return [base.SearchItem(**_fields_of(row), score=score) for row, score in found]
        if isinstance(op, base.ListNamespacesOp):
            return self._namespaces(op)
        if isinstance(op, base.PutOp):
            return None
        raise InputError(f"unknown operation {type(op).__name__}", field="ops")

    def _search(self, op: Any) -> list[tuple[NamedRow, float | None]]:
        first, limit, span = max(op.offset, 0), max(op.limit, 0), _span(op.namespace_prefix)
        wanted, now = op.filter or {}, self._now()

        def meets(row: NamedRow) -> bool:
            return _lives(row, now) and _meets(row, wanted)

        if not (op.query and op.query.strip()):
            if not wanted:  # no row is looked at behind the page, unless one on the way to it has expired
                shown = self._items.between(*span, RowPage(first + limit))
                if all(_lives(row, now) for row in shown):
                    return [(row, None) for row in shown[first:]]
            return [(row, None) for row in self._items.between(*span, RowPage(limit, first, meets))]
        rows = {row.id: row for row in self._items.between(*span, RowPage(meets=meets))}
        scores: dict[str, float | None] = {}
        if rows:
            scores |= self._scores(op.query, op.namespace_prefix, rows)
            scores |= {one: 0.0 for one, row in rows.items() if row.metadata["ranked"] and one not in scores}
        order = [*scores, *(item_id for item_id in rows if item_id not in scores)]
        return [(rows[one], scores.get(one)) for one in order[first : first + limit]]

    def _refresh(self, rows: Sequence[NamedRow]) -> None:
        """Let documents live anew, once half of their time has passed."""
        now = self._now()
        for row in rows:
            minutes = row.metadata.get(_TTL)
            if minutes is not None and row.metadata[_EXPIRES] - now < minutes * _MINUTE / 2:
                self.memory.update(row.id, metadata={_EXPIRES: now + round(minutes * _MINUTE)})

    def _now(self) -> int:
        return to_micros(self.memory.admin.components.clock())

    def _scores(self, query: str, prefix: Sequence[str], rows: Mapping[str, NamedRow]) -> dict[str, float]:
        path = ".".join(prefix)
        below = {"gte": f"{path}.", "lt": f"{path}/"}  # "/" is the character after "."
        inside = {"OR": [{"metadata.namespace": path}, {"metadata.namespace": below}]} if path else {}
        ranked = {"AND": [inside, {"metadata.ranked": True}]}
        found = self.memory.search(query, **self._items.scope, filters=ranked, limit=_MOST)
        return {one.item.id: one.score for one in found if one.item.id in rows}

    def _namespaces(self, op: Any) -> list[tuple[str, ...]]:
        conditions = op.match_conditions or ()
        heads = [takewhile("*".__ne__, one.path) for one in conditions if one.match_type == "prefix"]
        span = _span(max(map(tuple, heads), key=len, default=()))  # labels with which each that meets them begins
        there = sorted(tuple(path.split(".")) for path in self._items.heads(*span, until=".."))
        asked = (one for one in there if all(_lies(one, condition) for condition in conditions))
        living = (one[: op.max_depth] for one in asked if self._holds_living(one))
        first = max(op.offset, 0)
        return list(islice((one for one, _ in groupby(living)), first, first + max(op.limit, 0)))

    def _holds_living(self, namespace: Sequence[str]) -> bool:
        """Return whether the time to live of some document of a namespace has not passed."""
        path, now = ".".join(namespace), self._now()
        span = f"{path}..", f"{path}./"
        newest = self._items.between(*span, RowPage(limit=1))
        return any(_lives(row, now) for row in newest) or bool(
            self._items.between(*span, RowPage(limit=1, meets=lambda row: _lives(row, now)))
        )


def _name(namespace: Sequence[str], key: str) -> str:
    """Join namespace and key: no label is empty or holds a period, so the first two in a row end the namespace."""
    return f"{'.'.join(namespace)}..{key}"


def _span(prefix: Sequence[str]) -> tuple[str, str]:
    """Return the range of names of a namespace and all below it: "/" is the character after "."."""
    path = ".".join(prefix)
    return (f"{path}.", f"{path}/") if path else ("", "")


def _lives(row: NamedRow, now: int) -> bool:
    expires = row.metadata.get(_EXPIRES)
    return expires is None or bool(expires > now)


def _fields_of(row: NamedRow) -> dict[str, Any]:
    return {
        "namespace": tuple(row.metadata["namespace"].split(".")),
        "key": row.metadata["key"],
        "value": json.loads(row.metadata["value"]),
        "created_at": from_micros(row.recorded_at),
        "updated_at": from_micros(row.updated_at),
    }


def _lies(namespace: tuple[str, ...], condition: Any) -> bool:
    path = tuple(condition.path)
    if len(path) > len(namespace):
        return False
    if condition.match_type not in ("prefix", "suffix"):
        raise InputError(f"match_type must be prefix or suffix, not {condition.match_type!r:.40}", field="match_type")
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", label) for wanted, label in zip(path, part, strict=True))


def _meets(row: NamedRow, wanted: Mapping[str, Any]) -> bool:
    value = json.loads(row.metadata["value"]) if wanted else {}
    return all(_fits(_member(value, name), one) for name, one in wanted.items())


def _member(value: Mapping[str, Any], name: str) -> Any:
    """Return the member of a name, or else at the path that a name with periods is; None if there is none."""
    found: Any = value
    for part in [name] if name in value else name.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def _fits(value: Any, wanted: Any) -> bool:
    """Return whether a value matches a filter: equality, nested objects, or LangGraph's operators."""
    if isinstance(wanted, Mapping):
        if any(name.startswith("$") for name in wanted):
            return all(_holds(name, value, operand) for name, operand in wanted.items())
        return isinstance(value, Mapping) and all(_fits(value.get(name), one) for name, one in wanted.items())
    if isinstance(wanted, list | tuple):
        same = isinstance(value, list) and len(value) == len(wanted)
        return same and all(_fits(one, other) for one, other in zip(value, wanted, strict=True))
    return bool(value == wanted)


def _holds(name: str, value: Any, operand: Any) -> bool:
    if name in ("$eq", "$ne"):
        return bool(value == operand) is (name == "$eq")
    if name not in _ORDERS:
        raise InputError(f"unknown operator {name!r:.40}; there are $eq, $ne, $gt, $gte, $lt, $lte", field="filter")
    try:
        return bool(_ORDERS[name](float(value), float(operand)))
    except (TypeError, ValueError, OverflowError):  # a non-number has no order
        return False


_ORDERS: Final = {"$gt": operator.gt, "$gte": operator.ge, "$lt": operator.lt, "$lte": operator.le}
