"""Which items composed contexts have shown to each session (law 7): ids, never text.

A row identifies its session by hashes of the lane's and the session's name.
"""

import threading
from collections import Counter, deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

import sqlalchemy as sa

from phronesis.core.documents import SECTION
from phronesis.core.ids import derived_id
from phronesis.core.scope import LaneName
from phronesis.errors import StorageBusy, StorageError
from phronesis.store.database import Database, Unit
from phronesis.store.lanes import find_lane
from phronesis.store.schema import items
from phronesis.store.side_tables import shown_contexts
from phronesis.store.statements import batches, fetch, insert_ignore, run_one
from phronesis.uuid7 import new_id

# Records of reads, written in the background: they neither delay a read nor make it fail.

MAX_WAITING: Final = 256
"""Notes that wait in this process to be written; the oldest give way."""

_Note = TypeVar("_Note")


@dataclass(slots=True)
class Aside(Generic[_Note]):
    """Writes notes with ``store``, each once, those that wait together. Thread-safe."""

    database: Database
    store: Callable[[Unit, Sequence[_Note]], None]
    _waiting: deque[tuple[str, _Note]] = field(default_factory=lambda: deque(maxlen=MAX_WAITING))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, tenant: str, note: _Note) -> None:
        """Keep a note until it is settled. Never fails and never waits."""
        with self._lock:
            self._waiting.append((tenant, note))

    def settle(self, tenant: str, *, patient: bool = True) -> None:
        """Write what waits, before a write that it may matter to; waits as that write would, if ``patient``."""
        if self._waiting:
            self._write(tenant, patient=patient)

    def close(self) -> None:
        """Write what waits of all tenants, unless somebody else is writing."""
        with self._lock:
            tenants = list(dict.fromkeys(tenant for tenant, _ in self._waiting))
        for tenant in tenants:
            self._write(tenant, patient=False)

    def _write(self, tenant: str, *, patient: bool) -> None:
        with self._lock:
            mine = [waiting for waiting in self._waiting if waiting[0] == tenant]
        if not mine:
            return
        try:
            with self.database.transaction(tenant, "derive", patient=patient) as unit:
                self.store(unit, [note for _, note in mine])
        except StorageBusy:
            return  # they wait
        except StorageError:
            pass  # a store that cannot be written learns nothing either
        with self._lock:
            for waiting in mine:
                if waiting in self._waiting:
                    self._waiting.remove(waiting)


KEPT: Final = 64
"""Contexts kept of a session, the newest. A session that goes on for longer forgets what its first ones showed."""

COMPARED: Final = 8
"""Contexts before an entry that it is compared with: what an agent still has before its eyes."""

SEARCHES: Final = "\0searches"
"""Stands for the session of what was shown outside of any; no session can be called so."""

_ROWS: Final = (
    sa.select(shown_contexts.c.context_id, shown_contexts.c.item_ids)
    .where(
        shown_contexts.c.tenant_id == sa.bindparam("t"),
        shown_contexts.c.session == sa.bindparam("s"),
        shown_contexts.c.seq < sa.bindparam("seq"),
    )
    .order_by(shown_contexts.c.context_id.desc())
    .limit(COMPARED)
)

_OF_SESSION: Final = (
    shown_contexts.c.tenant_id == sa.bindparam("t"),
    shown_contexts.c.session == sa.bindparam("s"),
)
_OLDEST_KEPT: Final = (
    sa.select(shown_contexts.c.context_id)
    .where(*_OF_SESSION)
    .order_by(shown_contexts.c.context_id.desc())
    .offset(sa.literal_column(str(KEPT - 1)))
    .limit(sa.literal_column("1"))
)
_OLDER: Final = sa.delete(shown_contexts).where(*_OF_SESSION, shown_contexts.c.context_id < sa.bindparam("c"))


def owner_of(lane: LaneName) -> str:
    """Return the number of whoever a lane is of."""
    return derived_id("shown", lane.kind, lane.name)


def session_of(lane: LaneName, session_id: str) -> str:
    """Return the number of a session of a lane."""
    return derived_id("shown", owner_of(lane), session_id)


@dataclass(frozen=True, slots=True)
class _Context:
    lane: LaneName
    session_id: str
    context_id: str
    item_ids: Sequence[str]
    seq: int | None


@dataclass(frozen=True, slots=True)
class ShownContexts:
    """Writes down what was shown. Thread-safe."""

    aside: Aside[_Context]

    @classmethod
    def over(cls, database: Database) -> "ShownContexts":
        """Return one that writes to a database."""
        return cls(Aside(database, _store))

    def note(
        self, tenant: str, lane: LaneName, *, session_id: str, context_id: str, item_ids: Sequence[str],
        seq: int | None = None,
    ) -> None:  # fmt: skip
        """Keep what a context showed until it is settled. Never fails and never waits.

        ``seq`` is where the lane stood when the context was composed; None: where it stands when this is written.
        """
        if item_ids:
            self.aside.note(tenant, _Context(lane, session_id, context_id, item_ids, seq))

    def note_search(self, tenant: str, lane: LaneName, *, item_ids: Sequence[str]) -> None:
        """Keep what a search showed to whoever a lane is of, in no session of theirs."""
        self.note(tenant, lane, session_id=SEARCHES, context_id=new_id(), item_ids=item_ids)

    def settle(self, tenant: str, *, patient: bool = True) -> None:
        """Write what waits, before a write that it may matter to; waits as that write would, if ``patient``."""
        self.aside.settle(tenant, patient=patient)

    def close(self) -> None:
        """Write what waits of all tenants, unless somebody else is writing."""
        self.aside.close()


def _store(unit: Unit, contexts: Sequence[_Context]) -> None:
    sessions = [session_of(one.lane, one.session_id) for one in contexts]
    rows = [
        {
            "tenant_id": unit.tenant, "session": session, "context_id": one.context_id, "owner": owner_of(one.lane),
            "seq": _stands_at(unit, one.lane) if one.seq is None else one.seq, "item_ids": list(one.item_ids),
        }
        for session, one in zip(sessions, contexts, strict=True)
    ]  # fmt: skip
    insert_ignore(unit, shown_contexts, rows)
    for session in dict.fromkeys(sessions):
        found = fetch(unit, _OLDEST_KEPT, {"t": unit.tenant, "s": session})
        if found:
            run_one(unit, _OLDER, {"t": unit.tenant, "s": session, "c": found[0][0]})


def _stands_at(unit: Unit, name: LaneName) -> int:
    lane = find_lane(unit, name)
    return lane.head_seq if lane is not None else 0


def shown_before(unit: Unit, lane: LaneName, session_id: str, *, seq: int, context_id: str | None = None) -> list[str]:
    """Return the ids of the items that a session was shown before its lane's entry ``seq``, newest context first.

    Those of its last contexts, and of ``context_id``: the one that the entry answers.
    """
    session = session_of(lane, session_id)
    rows = unit.run(_ROWS, {"t": unit.tenant, "s": session, "seq": seq}).all()
    found = [item for row in rows for item in row.item_ids]
    if context_id is not None and rows and all(row.context_id != context_id for row in rows):
        query = sa.select(shown_contexts.c.item_ids).where(
            shown_contexts.c.tenant_id == unit.tenant, shown_contexts.c.session == session,
            shown_contexts.c.context_id == context_id,
        )  # fmt: skip
        found += [item for item_ids in unit.run(query).scalars() for item in item_ids]
    return list(dict.fromkeys(found))


def shown_since(unit: Unit, lane: LaneName, *, seq: int) -> Counter[str]:
    """Return how often each item was shown to whoever a lane is of, since the lane's entry ``seq``: one a context."""
    query = sa.select(shown_contexts.c.item_ids).where(
        shown_contexts.c.tenant_id == unit.tenant, shown_contexts.c.owner == owner_of(lane), shown_contexts.c.seq >= seq
    )
    return Counter(item for item_ids in unit.run(query).scalars() for item in set(item_ids))


def texts_of_items(unit: Unit, item_ids: Collection[str]) -> dict[str, str]:
    """Return the words of items by id, whatever lane of the tenant they are in; of a section with its headings."""
    out: dict[str, str] = {}
    for batch in batches(item_ids):
        query = sa.select(items.c.id, items.c.content, items.c.kind, items.c.data).where(
            items.c.tenant_id == unit.tenant, items.c.id.in_(batch)
        )
        out.update((row.id, _words(row)) for row in unit.run(query))
    return out


def _words(row: Any) -> str:
    """Return the words of an item as a context shows them: those of a section stand under its headings."""
    if row.kind != SECTION:
        return str(row.content)
    return "\n".join([row.data["title"], *row.data["path"], row.content])


def forget_shown(unit: Unit, lane: LaneName, session_id: str | None = None) -> None:
    """Delete what was shown to a session, or to every session of a lane."""
    columns = shown_contexts.c
    whose = columns.owner == owner_of(lane) if session_id is None else columns.session == session_of(lane, session_id)
    unit.run(sa.delete(shown_contexts).where(columns.tenant_id == unit.tenant, whose))
