"""Progress of an external index in each lane, and the changes it has not received yet.

No outbox table is needed: search documents and deltas are written in the transaction of every change, each with its
entry. A mark holds the last entry that was delivered.
"""

from dataclasses import dataclass
from typing import Final

import sqlalchemy as sa

from phronesis.store.compiled_statements import insert_ignore
from phronesis.store.database import Unit
from phronesis.store.document_tables import home_of
from phronesis.store.schema import deltas, index_marks, items
from phronesis.store.side_tables import entries

NEVER: Final = -1
"""The epoch of a lane that was never followed; no lane has it."""


@dataclass(frozen=True, slots=True)
class Mark:
    """The entry and epoch up to which a lane was followed. ``stamp`` counts updates, so that none is lost."""

    epoch: int = NEVER
    seq: int = 0
    stamp: int = 0


def read_mark(unit: Unit, space: str, lane_id: int) -> Mark:
    """Return a lane's mark; that of a lane never followed when there is none."""
    query = sa.select(index_marks.c.epoch, index_marks.c.seq, index_marks.c.stamp).where(
        index_marks.c.tenant_id == unit.tenant, index_marks.c.space == space, index_marks.c.lane_id == lane_id
    )
    row = unit.run(query).one_or_none()
    return Mark() if row is None else Mark(*row)


def move_mark(unit: Unit, space: str, lane_id: int, before: Mark, *, epoch: int, seq: int) -> bool:
    """Move a lane's mark to ``seq``, unless another process moved it since ``before`` was read."""
    fresh = {"tenant_id": unit.tenant, "space": space, "lane_id": lane_id, "epoch": NEVER, "seq": 0, "stamp": 0}
    insert_ignore(unit, index_marks, [fresh])
    moved = unit.run(
        sa.update(index_marks)
        .where(
            index_marks.c.tenant_id == unit.tenant,
            index_marks.c.space == space,
            index_marks.c.lane_id == lane_id,
            index_marks.c.stamp == before.stamp,
        )
        .values(epoch=epoch, seq=seq, stamp=before.stamp + 1)
    )
    return moved.rowcount == 1


def followed_spaces(unit: Unit) -> set[str]:
    """Return the spaces that have followed any lane of the tenant."""
    query = sa.select(index_marks.c.space).where(index_marks.c.tenant_id == unit.tenant).distinct()
    return set(unit.run(query).scalars())


def reset_marks(unit: Unit, space: str) -> None:
    """Reset the marks of a space, so that it follows the tenant's lanes from the start."""
    own = sa.update(index_marks).where(index_marks.c.tenant_id == unit.tenant, index_marks.c.space == space)
    unit.run(own.values(epoch=NEVER, seq=0, stamp=index_marks.c.stamp + 1))


def drop_marks(unit: Unit, space: str) -> None:
    """Delete the marks of a space."""
    unit.run(sa.delete(index_marks).where(index_marks.c.tenant_id == unit.tenant, index_marks.c.space == space))


def changed_items(unit: Unit, lane_id: int, kind: str, *, after: int) -> set[str]:
    """Return the ids of the lane's items of a kind that changed, or whose documents did, after entry ``after``."""
    documents = home_of(kind).documents
    moved = sa.select(documents.c.item_id).where(
        documents.c.tenant_id == unit.tenant,
        documents.c.lane_id == lane_id,
        documents.c.kind == kind,
        documents.c.changed_seq > after,
    )
    edited = (
        sa.select(deltas.c.item_id)
        .join(
            entries,
            sa.and_(
                entries.c.tenant_id == deltas.c.tenant_id,
                entries.c.lane_id == deltas.c.lane_id,
                entries.c.entry_id == deltas.c.entry_id,
            ),
        )
        .join(items, sa.and_(items.c.tenant_id == deltas.c.tenant_id, items.c.id == deltas.c.item_id))
        .where(
            deltas.c.tenant_id == unit.tenant,
            entries.c.tenant_id == unit.tenant,
            items.c.tenant_id == unit.tenant,
            entries.c.lane_id == lane_id,
            entries.c.seq > after,
            deltas.c.lane_id == lane_id,
            items.c.kind == kind,
        )
    )
    return set(unit.run(moved).scalars()) | set(unit.run(edited).scalars())
