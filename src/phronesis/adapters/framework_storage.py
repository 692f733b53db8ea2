"""What frameworks store: items under names of their own, and the messages of a session in a form of their own.

A file by its path, or a document by its namespace and key, is one item of a lane; its name is its ``external_id`` and
in ``metadata``. Changing its text is an edit with a history that can be rolled back; removing it archives it.

A session is kept in the log as turns, and returned exactly: each entry is a message of a turn, so facts are extracted
from it and it is found by search; the framework's form is in the message's metadata. Removing entries is recorded as a
tool call of the session, and archives their items. ``Memory.erase(session_id=…)`` removes the text permanently.
"""

import asyncio
import hashlib
import json
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar, cast

from phronesis.core.ids import make_scope
from phronesis.core.items import Item
from phronesis.core.text import MAX_ID_LENGTH, check_id
from phronesis.core.timestamps import to_micros
from phronesis.errors import Conflict, InputError
from phronesis.memory import Memory
from phronesis.recall.as_of import NamedItems
from phronesis.store.named_items import EVERY, NamedRow, RowPage

KIND: Final = "fact"
_PAGE: Final = 1_000
"""Items per page of a listing."""

_UNNAMED: Final[Mapping[str, Any]] = {"external_id": None}


@dataclass(frozen=True, slots=True)
class ItemNaming:
    """How an adapter names its items: ``prefix`` of each ``external_id``; ``member``, the metadata key of the name."""

    subject: str
    prefix: str
    member: str

    def external_id(self, name: str) -> str:
        """Return the external id of a name: the name itself, or its hash if it is too long or not a valid id."""
        named = f"{self.prefix}:{name}"
        try:
            return check_id(named, field="name") if len(named) <= MAX_ID_LENGTH else self._hash_name(name)
        except InputError:
            return self._hash_name(name)

    @property
    def hashes(self) -> tuple[str, str]:
        """The range of hashed ids: "$" is the character after "#"."""
        return f"{self.prefix}#", f"{self.prefix}$"

    def _hash_name(self, name: str) -> str:
        return f"{self.prefix}#{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()}"


class KeyedItems:
    """The items about one ``subject`` in one lane: a user's, else a shared namespace. Thread-safe.

    Items of earlier versions have no external id: they are found by their metadata, if the lane has any when the first
    item is looked up.
    """

    def __init__(self, memory: Memory, naming: ItemNaming, *, user_id: str | None, namespace: str) -> None:
        self.memory = memory
        self.naming = naming
        self.lock = threading.RLock()
        self._user_id = user_id
        self._namespace = namespace
        lane = make_scope(user_id=user_id, namespace=namespace).write_lane
        self._named = NamedItems(memory.admin.components.database, memory.admin.tenant, lane)
        self._has_unnamed: bool | None = None

    @property
    def scope(self) -> dict[str, Any]:
        """Arguments for a search or listing of this lane; with a user's lane it includes the shared namespace."""
        return {"user_id": self._user_id, "namespace": self._namespace, "kinds": [KIND]}

    def find(self, name: str) -> Item | None:
        """Return the item of a name, or None."""
        return self._named.find(self.naming.external_id(name)) or max(self._find_unnamed(name), key=_age, default=None)

    def row(self, name: str) -> NamedRow | None:
        """Return the row of the item of a name, or None."""
        row = self._named.row(self.naming.external_id(name))
        unnamed = None if row is not None else max(self._find_unnamed(name), key=_age, default=None)
        return row if unnamed is None else _row(unnamed)

    def matching(self, filters: Mapping[str, Any] | None = None) -> list[Item]:
        """Return all items that match ``filters``, one for each name, most recently changed first."""
        found: dict[str, Item] = {}
        for item in sorted(self._list_items(filters), key=_age, reverse=True):
            found.setdefault(item.metadata[self.naming.member], item)
        return list(found.values())

    def between(self, low: str, high: str, asked: RowPage = EVERY) -> list[NamedRow]:
        """Return the items whose names are in [``low``, ``high``), most recently changed first."""
        span = self._span(low, high)
        odd = self.odd(low, high)
        if not odd:
            return self._named.rows(*span, asked)
        found = {self._name(row): row for row in (*odd, *self._named.rows(*span))}
        rows = [row for row in found.values() if asked.meets is None or asked.meets(row)]
        rows.sort(key=lambda row: (row.updated_at, row.id), reverse=True)
        return rows[asked.offset :][: asked.limit]

    def heads(self, low: str, high: str, *, until: str) -> set[str]:
        """Return the parts before the first ``until`` of the names in [``low``, ``high``)."""
        found = self._named.heads(*self._span(low, high), until=until)
        heads = {one.removeprefix(f"{self.naming.prefix}:") for one in found}
        return heads | {self._name(row).partition(until)[0] for row in self.odd(low, high)}

    def odd(self, low: str, high: str) -> list[NamedRow]:
        """Return the items of these names that a range query misses: with hashed names, and without an external id."""
        rows = self._named.rows(*self.naming.hashes)
        rows += [_row(one) for one in self.matching(_UNNAMED)] if self._looks_for_unnamed() else []
        return [row for row in rows if low <= self._name(row) and (not high or self._name(row) < high)]

    def _span(self, low: str, high: str) -> tuple[str, str]:
        return f"{self.naming.prefix}:{low}", f"{self.naming.prefix}:{high}" if high else f"{self.naming.prefix};"

    def _name(self, row: NamedRow) -> str:
        return str(row.metadata[self.naming.member])

    def put(self, name: str, content: str, metadata: Mapping[str, Any]) -> None:
        """Store a text under a name: a new version of its item, or a new item.

        ``metadata`` are merged into the item's; None removes a key.
        """
        with self.lock:
            item = self.find(name)
            if item is None:
                try:
                    self._add(name, content, metadata)
                except Conflict:  # another process was first
                    item = self.find(name)
                    if item is None:
                        raise
                else:
                    return
            self.edit(item, name, content, metadata)

    def edit(self, item: Item, name: str, content: str, metadata: Mapping[str, Any]) -> None:
        """Change an item's name, text and metadata, keeping its history."""
        external_id = self.naming.external_id(name)
        self.memory.update(
            item.id,
            content=content,
            metadata={**metadata, self.naming.member: name},
            external_id=None if item.external_id == external_id else external_id,
        )

    def remove(self, name: str) -> bool:
        """Archive the item of a name; return whether there was one."""
        with self.lock:
            named = self._named.find(self.naming.external_id(name))
            items = [*self._find_unnamed(name), *([] if named is None else [named])]
            for item in items:
                self.memory.delete(item.id)
            return bool(items)

    def _add(self, name: str, content: str, metadata: Mapping[str, Any]) -> None:
        given = {field: value for field, value in metadata.items() if value is not None}
        self.memory.add(
            content,
            kind=KIND,
            subject=self.naming.subject,
            metadata={**given, self.naming.member: name},
            external_id=self.naming.external_id(name),
            user_id=self._user_id,
            namespace=self._namespace,
        )

    def _find_unnamed(self, name: str) -> list[Item]:
        if not self._looks_for_unnamed():
            return []
        return list(self._list_items({**_UNNAMED, f"metadata.{self.naming.member}": name}))

    def _looks_for_unnamed(self) -> bool:
        if self._has_unnamed is None:
            self._has_unnamed = any(True for _ in self._list_items(_UNNAMED))
        return self._has_unnamed

    def _list_items(self, filters: Mapping[str, Any] | None) -> Iterator[Item]:
        asked: Sequence[Mapping[str, Any]] = [{"subject": self.naming.subject}, filters or {}]
        cursor = None
        while True:
            page = self.memory.get_all(**self.scope, filters={"AND": asked}, limit=_PAGE, cursor=cursor)
            yield from (item for item in page if item.user_id == self._user_id)
            cursor = page.next_cursor
            if cursor is None:
                return


def _row(item: Item) -> NamedRow:
    times = to_micros(item.recorded_at), to_micros(item.updated_at)
    return NamedRow(item.id, item.external_id, item.metadata, *times, size=len(item.content.encode()))


def _age(item: Item) -> tuple[Any, str]:
    return item.updated_at, item.id


REMOVED: Final = "session.remove"
"""The tool call that records which messages were removed from the conversation."""

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Line:
    """One entry: its role, its text, and its own form, which must be JSON data."""

    role: str
    words: str
    form: Any
    name: str | None = None


class Transcript:
    """The entries of one session written by one framework, identified by ``form``. Thread-safe."""

    def __init__(
        self,
        memory: Memory,
        session_id: str,
        *,
        form: str,
        user_id: str | None,
        agent_id: str | None,
        namespace: str | None,
    ) -> None:
        self.memory = memory
        self.session_id = session_id
        self._form = form
        self._lane: dict[str, Any] = {"user_id": user_id, "namespace": namespace}
        self._writing = {**self._lane, "agent_id": agent_id}
        self._lock = threading.Lock()

    def read(self) -> list[Any]:
        """Return the forms of all entries, oldest first."""
        return list(self._entries().values())

    def append(self, lines: Sequence[Line]) -> None:
        """Add entries, all or none."""
        if lines:
            turn = {"messages": [self._message(line) for line in lines]}
            self.memory.commit_turn(self.session_id, turn, **self._writing)

    def pop(self) -> Any:
        """Remove the last entry and return its form; None if there is none."""
        with self._lock:
            entries = self._entries()
            if not entries:
                return None
            last = next(reversed(entries))
            self._remove([last])
            return entries[last]

    def clear(self) -> None:
        """Remove all entries."""
        with self._lock:
            entries = list(self._entries())
            if entries:
                self._remove(entries)

    def _message(self, line: Line) -> dict[str, Any]:
        try:
            form = json.dumps(line.form, ensure_ascii=False)
        except (TypeError, ValueError) as error:
            raise InputError(f"an entry of a session must be JSON data: {error}", field="items") from error
        words = line.words
        if not words.strip() and line.role not in ("assistant", "tool"):
            words = form  # such a message needs some text
        message = {"id": uuid.uuid4().hex, "role": line.role, "content": words, "metadata": {self._form: form}}
        return message if line.name is None else {**message, "name": line.name}

    def _entries(self) -> dict[str, Any]:
        """Return forms by message id, without erased messages and those of other writers."""
        entries: dict[str, Any] = {}
        for turn in self.memory.sessions.turns(self.session_id, **self._lane):
            for message in turn.messages:
                form = (message.get("metadata") or {}).get(self._form)
                if form is not None:
                    entries[message["id"]] = json.loads(form)
            for call in turn.tool_calls:
                for gone in call.get("args", {}).get("message_ids", ()) if call.get("name") == REMOVED else ():
                    entries.pop(gone, None)
        return entries

    def _remove(self, message_ids: Sequence[str]) -> None:
        for item in list(self._items(message_ids)):
            self.memory.delete(item.id, reason="taken out of its session")
        # Recorded last: after an interruption the entries are still listed, and the next call removes them again.
        call = {"name": REMOVED, "args": {"message_ids": list(message_ids)}, "status": "ok"}
        self.memory.commit_turn(self.session_id, {"tool_calls": [call]}, **self._writing)

    def _items(self, message_ids: Sequence[str]) -> Iterator[Item]:
        for start in range(0, len(message_ids), _PAGE):
            said = {"message_id": {"in": list(message_ids[start : start + _PAGE])}}
            yield from self.memory.get_all(
                **self._lane, session_id=self.session_id, kinds=["message"], filters=said, limit=_PAGE
            )
        # No other listing includes quarantined items.
        held = self.memory.quarantine.list(**self._lane, session_id=self.session_id, limit=_PAGE)
        gone = frozenset(message_ids)
        yield from (item for item in held if item.message_id in gone and item.status == "active")


async def run_whole(call: Callable[..., _Result], *given: Any) -> _Result:
    """Run a call on a thread. If it is cancelled before it begins, it never does; else it ends before the cancellation.

    So whoever cancels a write finds all of it in the log, or nothing, and none comes later.
    """
    turn = threading.Lock()  # held by the side that was first: the call, or its cancellation

    def run() -> _Result | None:
        return call(*given) if turn.acquire(blocking=False) else None

    running = asyncio.ensure_future(asyncio.to_thread(run))
    try:
        return cast("_Result", await asyncio.shield(running))
    except asyncio.CancelledError:
        if not turn.acquire(blocking=False):
            await asyncio.wait([running])
            _ = running.exception()  # the cancellation is raised in its stead
        raise


def words_of(content: Any) -> str:
    """Return the text of a message's content: a string, or a list of parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, Sequence) else []
    texts = [part if isinstance(part, str) else part.get("text") for part in parts if isinstance(part, str | Mapping)]
    return "\n".join(text for text in texts if isinstance(text, str))
