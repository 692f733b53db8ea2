"""What reads showed: the items of composed contexts by session (law 7), and of searches by run (RB-11). No text.

A row names its session or run by hashes of the lane's name and its own.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

import sqlalchemy as sa

from phronesis.core.entries import SECTION
from phronesis.core.ids import CITATION_PREFIX, LaneName, derived_id
from phronesis.store.compiled_statements import batches, each_in, insert_ignore, own_rows, upsert
from phronesis.store.database import Database, Unit
from phronesis.store.lanes import find_lane
from phronesis.store.schema import items, shown_contexts, used_memories
from phronesis.store.write_behind import WriteBehind
from phronesis.uuid7 import new_id

MAX_WAITING: Final = 256
"""Maximum number of notes waiting in this process."""

# Items that composed contexts showed to a session.

KEPT: Final = 64
"""Number of contexts kept for each session, the newest."""

COMPARED: Final = 8
"""Number of contexts before an entry with which it is compared: those that an agent can still see."""

SEARCHES: Final = "\0searches"
"""The session of what was shown outside of any session; no session can have this name."""


def owner_of(lane: LaneName) -> str:
    """Return the number that stands for a lane's owner."""
    return derived_id("shown", lane.kind, lane.name)


def session_of(lane: LaneName, session_id: str) -> str:
    """Return the number that stands for a session of a lane."""
    return derived_id("shown", owner_of(lane), session_id)


@dataclass(frozen=True, slots=True)
class _Context:
    lane: LaneName
    session_id: str
    context_id: str
    item_ids: Sequence[str]
    seq: int | None
    aliases: Mapping[str, Mapping[str, str]]


class ShownContexts(WriteBehind[_Context]):
    """Records which items contexts showed."""

    def __init__(self, database: Database) -> None:
        super().__init__(database, most=MAX_WAITING)

    def note(
        self,
        tenant: str,
        lane: LaneName,
        *,
        session_id: str,
        context_id: str,
        item_ids: Sequence[str],
        seq: int | None = None,
        aliases: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        """Queue what a context showed. Never fails and never blocks.

        ``seq`` is the lane's position when the context was composed; None: its position at the time of writing.
        ``aliases`` are those of `ContextPackage.aliases_by_section`.
        """
        if item_ids:
            self.queue(tenant, _Context(lane, session_id, context_id, item_ids, seq, aliases or {}))

    def note_search(self, tenant: str, lane: LaneName, *, item_ids: Sequence[str]) -> None:
        """Queue what a search showed to a lane's owner, outside of any session."""
        self.note(tenant, lane, session_id=SEARCHES, context_id=new_id(), item_ids=item_ids)

    def store(self, unit: Unit, notes: Sequence[_Context]) -> None:
        """Write what contexts showed, and delete what is over the limit of their sessions."""

        def head_seq(name: LaneName) -> int:
            lane = find_lane(unit, name)
            return 0 if lane is None else lane.head_seq

        sessions = [session_of(one.lane, one.session_id) for one in notes]
        rows = [
            {
                "tenant_id": unit.tenant,
                "session": session,
                "context_id": one.context_id,
                "owner": owner_of(one.lane),
                "seq": head_seq(one.lane) if one.seq is None else one.seq,
                "item_ids": list(one.item_ids),
                "aliases": dict(one.aliases) or None,
            }
            for session, one in zip(sessions, notes, strict=True)
        ]
        insert_ignore(unit, shown_contexts, rows)
        for session in dict.fromkeys(sessions):
            own = own_rows(unit, shown_contexts, session=session)
            newest = sa.select(shown_contexts.c.context_id).where(*own).order_by(shown_contexts.c.context_id.desc())
            oldest = unit.run(newest.offset(KEPT - 1).limit(1)).scalar_one_or_none()
            if oldest is not None:
                unit.run(sa.delete(shown_contexts).where(*own, shown_contexts.c.context_id < oldest))


def shown_before(unit: Unit, lane: LaneName, session_id: str, *, seq: int, context_id: str | None = None) -> list[str]:
    """Return the ids of the items shown to a session before its lane's entry ``seq``, newest context first.

    Covers its last contexts, and ``context_id``, the one that the entry answers.
    """
    columns = shown_contexts.c
    own = own_rows(unit, shown_contexts, session=session_of(lane, session_id))
    query = sa.select(columns.context_id, columns.item_ids).where(*own)
    rows = unit.run(query.where(columns.seq < seq).order_by(columns.context_id.desc()).limit(COMPARED)).all()
    found = [item for row in rows for item in row.item_ids]
    if context_id is not None and rows and all(row.context_id != context_id for row in rows):
        found += [item for row in unit.run(query.where(columns.context_id == context_id)) for item in row.item_ids]
    return list(dict.fromkeys(found))


@dataclass(frozen=True, slots=True)
class ShownContext:
    """What a context showed: the ids of its items, and by section which item each alias means."""

    item_ids: Sequence[str]
    aliases: Mapping[str, Mapping[str, str]]

    def resolve_reference(self, citation: str) -> str | None:
        """Return the id of the item that an alias, an id or ``mem:<id>`` means; None if it showed no such item."""
        item_id = citation.removeprefix(CITATION_PREFIX)
        if item_id in self.item_ids:
            return item_id
        return next((held[citation] for held in self.aliases.values() if citation in held), None)


def find_shown(unit: Unit, lane: LaneName, session_id: str, context_id: str) -> ShownContext | None:
    """Return what a context showed to a session, or None."""
    query = sa.select(shown_contexts.c.item_ids, shown_contexts.c.aliases).where(
        *own_rows(unit, shown_contexts, session=session_of(lane, session_id), context_id=context_id)
    )
    row = unit.run(query).one_or_none()
    return None if row is None else ShownContext(row.item_ids, row.aliases or {})


def shown_since(unit: Unit, lane: LaneName, *, seq: int) -> Counter[str]:
    """Return how often each item was shown to a lane's owner since entry ``seq``, at most once for each context."""
    query = sa.select(shown_contexts.c.item_ids).where(
        *own_rows(unit, shown_contexts, owner=owner_of(lane)), shown_contexts.c.seq >= seq
    )
    return Counter(item for item_ids in unit.run(query).scalars() for item in set(item_ids))


def texts_of_items(unit: Unit, item_ids: Collection[str]) -> dict[str, str]:
    """Return the texts of items by id, from any lane of the tenant; a section's text includes its headings."""
    query = sa.select(items.c.id, items.c.content, items.c.kind, items.c.data).where(*own_rows(unit, items))
    return {row.id: _words(row) for row in each_in(unit, query, items.c.id, item_ids)}


def _words(row: Any) -> str:
    """Return an item's text as a context shows it, with the headings of a section."""
    if row.kind != SECTION:
        return str(row.content)
    return "\n".join([row.data["title"], *row.data["path"], row.content])


def forget_shown(unit: Unit, lane: LaneName, session_id: str | None = None) -> None:
    """Delete the impressions of a session, or of every session of a lane."""
    whose = {"owner": owner_of(lane)} if session_id is None else {"session": session_of(lane, session_id)}
    unit.run(sa.delete(shown_contexts).where(*own_rows(unit, shown_contexts, **whose)))


# Items and claims that reads showed to a run (RB-11): ids and distances, never text.

KEPT_OF_RUN: Final = 1_000
"""Number of rows kept for a run, the first ones: far more than learning reads."""

WHOLE_ITEM: Final = ""
"""The part in rows about an item that was read whole."""

Via = Literal["mem_search", "mem_get"]


@dataclass(frozen=True, slots=True)
class Use:
    """An item, or one claim of it (``part``), that a run was shown, and its distance from the query."""

    item_id: str
    part: str
    via: Via
    distance: float | None = None


@dataclass(frozen=True, slots=True)
class _Read:
    lane: LaneName
    run_id: str
    uses: Sequence[Use]


class UsedMemories(WriteBehind[_Read]):
    """Records what runs read."""

    def __init__(self, database: Database) -> None:
        super().__init__(database, most=MAX_WAITING)

    def note(self, tenant: str, lane: LaneName, run_id: str, uses: Sequence[Use]) -> None:
        """Queue what a run read. Never fails and never blocks."""
        if uses:
            self.queue(tenant, _Read(lane, run_id, uses))
            self.settle(tenant, patient=False)

    def store(self, unit: Unit, notes: Sequence[_Read]) -> None:
        """Write what runs read, the first rows of each."""
        for read in notes:
            run = number_of(read.lane, read.run_id)
            counted = sa.select(sa.func.count()).where(*own_rows(unit, used_memories, run=run))
            room = KEPT_OF_RUN - int(unit.run(counted).scalar_one())
            known = {"tenant_id": unit.tenant, "run": run, "owner": _run_owner(read.lane)}
            upsert(unit, used_memories, [{**known, **asdict(use)} for use in read.uses][: max(0, room)])


def _run_owner(lane: LaneName) -> str:
    """Return the number that stands for a lane's owner."""
    return derived_id("used", lane.kind, lane.name)


def number_of(lane: LaneName, run_id: str) -> str:
    """Return the number that stands for a run of a lane."""
    return derived_id("used", _run_owner(lane), run_id)


def used_by(unit: Unit, lane: LaneName, run_id: str) -> list[Use]:
    """Return what a run read: whole items first, then search results, nearest first."""
    columns = used_memories.c
    query = sa.select(*(columns[name] for name in Use.__dataclass_fields__))
    query = query.where(*own_rows(unit, used_memories, run=number_of(lane, run_id)))
    rows = unit.run(query.order_by(columns.via, columns.distance, columns.item_id, columns.part)).mappings()
    return [Use(**row) for row in rows]


def forget_used(unit: Unit, lane: LaneName, item_ids: Collection[str] | None = None) -> None:
    """Delete the records of some items of a lane, and of the runs among them; or all of its runs'."""
    if item_ids is None:
        unit.run(sa.delete(used_memories).where(*own_rows(unit, used_memories, owner=_run_owner(lane))))
        return
    own = own_rows(unit, used_memories)
    for batch in batches(sorted(item_ids)):
        unit.run(sa.delete(used_memories).where(*own, used_memories.c.item_id.in_(batch)))
        named = sa.select(items.c.run_id).where(*own_rows(unit, items), items.c.id.in_(batch), items.c.kind == "run")
        numbers = [number_of(lane, run_id) for run_id in unit.run(named).scalars() if run_id is not None]
        unit.run(sa.delete(used_memories).where(*own, used_memories.c.run.in_(numbers)))
