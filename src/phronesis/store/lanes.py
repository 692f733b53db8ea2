"""Statements on tenants and lanes: the row that orders a lane's log, and its lock for derivation."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from phronesis.core.ids import LaneKind, LaneName
from phronesis.errors import NotFound
from phronesis.store.compiled_statements import bound_lane, each_in, fetch, insert_ignore, own_rows, run_one, upsert
from phronesis.store.database import Database, Unit
from phronesis.store.schema import TABLE_SETS, embedding_models, lanes, tenants

GENESIS: Final = "0" * 64
"""The previous hash of a lane's first entry."""


@dataclass(frozen=True, slots=True)
class Lane:
    """The row of a lane. ``head_seq`` is the last entry appended, ``applied_seq`` the last applied.

    ``documents_seq`` is the last entry that changed search documents; ``epoch`` counts rebuilds and erasures, after
    which all caches are invalid.
    """

    lane_id: int
    kind: LaneKind
    name: str | None
    head_seq: int
    applied_seq: int
    documents_seq: int
    epoch: int
    last_recorded_at: int
    head_hash: str

    @property
    def user_id(self) -> str | None:
        """The user of the lane, or None."""
        return self.name if self.kind == "user" else None

    @property
    def namespace(self) -> str | None:
        """The shared namespace of the lane, or None."""
        return self.name if self.kind == "shared" else None

    def is_foreign_to(self, user_id: str | None) -> bool:
        """Return whether it is the lane of another user; shared lanes are nobody's, and None names nobody."""
        return user_id is not None and self.kind == "user" and self.name != user_id


class ActiveModel(NamedTuple):
    """The model whose vectors searches use, and its dimension."""

    model_id: str
    dimension: int


_COLUMNS: Final[list[sa.Column[Any]]] = [lanes.c[name] for name in Lane.__dataclass_fields__]
_BY_NAME: Final = sa.select(*_COLUMNS).where(
    lanes.c.tenant_id == sa.bindparam("t"), lanes.c.kind == sa.bindparam("k"), lanes.c.name == sa.bindparam("n")
)
_BY_ID: Final = sa.select(*_COLUMNS).where(*bound_lane(lanes))
_LOCKED: Final = _BY_ID.with_for_update()
_LOCKED_BY_NAME: Final = _BY_NAME.with_for_update()
_SECRET: Final = sa.select(tenants.c.secret).where(tenants.c.tenant_id == sa.bindparam("t"))


def ensure_tenant(unit: Unit, *, secret: bytes, created_at: int) -> bytes:
    """Return the tenant's secret, creating the tenant if it is new."""
    known = find_secret(unit)
    if known is None:
        insert_ignore(unit, tenants, [{"tenant_id": unit.tenant, "secret": secret, "created_at": created_at}])
        known = find_secret(unit)  # another process may have been first
    if known is None:
        raise NotFound("the tenant could not be made; call again")
    return known


def find_secret(unit: Unit) -> bytes | None:
    """Return the tenant's secret, or None when nothing was ever written for it."""
    rows = fetch(unit, _SECRET, {"t": unit.tenant})
    return bytes(rows[0][0]) if rows else None


def find_lane(unit: Unit, name: LaneName) -> Lane | None:
    """Return the lane of that name, or None when nothing was ever written to it."""
    rows = fetch(unit, _BY_NAME, {"t": unit.tenant, "k": name.kind, "n": name.name})
    return Lane(*rows[0]) if rows else None


def find_lanes(unit: Unit, names: Sequence[LaneName]) -> list[Lane]:
    """Return the existing ones of some lanes, in that order."""
    return [lane for name in names if (lane := find_lane(unit, name)) is not None]


def new_lane(lane_id: int, kind: str, name: str | None, *, head_hash: str = GENESIS) -> dict[str, Any]:
    """Return the columns of a lane without entries."""
    numbers = dict.fromkeys(("head_seq", "applied_seq", "documents_seq", "epoch", "last_recorded_at"), 0)
    return {"lane_id": lane_id, "kind": kind, "name": name, "head_hash": head_hash, **numbers}


def ensure_lane(unit: Unit, name: LaneName, *, new_id: int) -> Lane:
    """Return the lane of that name, creating it under ``new_id`` if it is new."""
    lane = find_lane(unit, name)
    if lane is None:
        insert_ignore(unit, lanes, [{"tenant_id": unit.tenant, **new_lane(new_id, name.kind, name.name)}])
        lane = find_lane(unit, name)
    if lane is None:  # the number was taken by another lane: one chance in 2**62
        raise NotFound(f"lane {name} could not be made; call again")
    return lane


def get_lane(unit: Unit, lane_id: int) -> Lane:
    """Return a lane by number; NotFound when there is none."""
    lane = find_numbered(unit, lane_id)
    if lane is None:
        raise NotFound("there is no such lane in this tenant")
    return lane


def find_numbered(unit: Unit, lane_id: int) -> Lane | None:
    """Return the lane of a number, or None."""
    rows = fetch(unit, _BY_ID, {"t": unit.tenant, "l": lane_id})
    return Lane(*rows[0]) if rows else None


def lock_lane_named(unit: Unit, name: LaneName, *, new_id: Callable[[], int]) -> Lane:
    """Return the lane of that name with its row locked, creating it if it is new."""
    rows = fetch(unit, _LOCKED_BY_NAME, {"t": unit.tenant, "k": name.kind, "n": name.name})
    return Lane(*rows[0]) if rows else lock_lane(unit, ensure_lane(unit, name, new_id=new_id()).lane_id)


def lock_lane(unit: Unit, lane_id: int) -> Lane:
    """Return a lane with its row locked until the transaction ends. SQLite's writers lock the whole file already."""
    rows = fetch(unit, _LOCKED, {"t": unit.tenant, "l": lane_id})
    if not rows:
        raise NotFound("there is no such lane in this tenant")
    return Lane(*rows[0])


def list_lanes(unit: Unit) -> list[Lane]:
    """Return the tenant's lanes, by number."""
    query = sa.select(*_COLUMNS).where(*own_rows(unit, lanes)).order_by(lanes.c.lane_id)
    return [Lane(**row) for row in unit.run(query).mappings()]


class DocumentState(NamedTuple):
    """The state of a lane's search documents."""

    lane_id: int
    epoch: int
    documents_seq: int


_NAMES: Final = (
    sa.select(lanes.c.name)
    .where(lanes.c.tenant_id == sa.bindparam("t"), lanes.c.kind == sa.bindparam("k"), lanes.c.name.is_not(None))
    .order_by(lanes.c.last_recorded_at.desc(), lanes.c.name)
)


def lane_names(unit: Unit, kind: LaneKind, *, containing: str, limit: int) -> list[str]:
    """Return the names of a kind's lanes that contain a text, most recently active first."""
    query = _NAMES.where(lanes.c.name.icontains(containing, autoescape=True)) if containing else _NAMES
    return list(unit.run(query.limit(limit), {"t": unit.tenant, "k": kind}).scalars())


def documented_lanes(unit: Unit, lane_ids: Collection[int] | None = None) -> list[DocumentState]:
    """Return the tenant's lanes that ever had search documents, or those among some, by number."""
    query = sa.select(*(lanes.c[name] for name in DocumentState._fields)).where(
        *own_rows(unit, lanes), lanes.c.documents_seq > 0
    )
    rows = unit.run(query) if lane_ids is None else each_in(unit, query, lanes.c.lane_id, lane_ids)
    return sorted(DocumentState(*row) for row in map(tuple, rows))


def list_behind(unit: Unit) -> list[Lane]:
    """Return the lanes with pending entries."""
    query = sa.select(*_COLUMNS).where(*own_rows(unit, lanes), lanes.c.applied_seq < lanes.c.head_seq)
    return [Lane(**row) for row in unit.run(query.order_by(lanes.c.lane_id)).mappings()]


_UPDATE: Final = sa.update(lanes).where(*bound_lane(lanes))
_HEAD: Final = _UPDATE.values(
    head_seq=sa.bindparam("seq"), head_hash=sa.bindparam("hash"), last_recorded_at=sa.bindparam("at")
)
_APPLIED: Final = _UPDATE.values(applied_seq=sa.bindparam("seq"))
_APPLIED_DOCUMENTS: Final = _UPDATE.values(applied_seq=sa.bindparam("seq"), documents_seq=sa.bindparam("seq"))


def advance_head(unit: Unit, lane_id: int, *, seq: int, entry_hash: str, recorded_at: int) -> None:
    """Record the newest entry of a locked lane."""
    run_one(unit, _HEAD, {"t": unit.tenant, "l": lane_id, "seq": seq, "hash": entry_hash, "at": recorded_at})


def advance_applied(unit: Unit, lane_id: int, *, seq: int, documents_changed: bool) -> None:
    """Record the last applied entry of a locked lane."""
    statement = _APPLIED_DOCUMENTS if documents_changed else _APPLIED
    run_one(unit, statement, {"t": unit.tenant, "l": lane_id, "seq": seq})


def mark_documents(unit: Unit, lane_id: int, *, seq: int) -> None:
    """Record that entry ``seq`` changed a locked lane's search documents."""
    unit.run(sa.update(lanes).where(*own_rows(unit, lanes, lane_id=lane_id)).values(documents_seq=seq))


def next_epoch(unit: Unit, lane_id: int, *, forget_name: bool = False) -> None:
    """Record that derived state was replaced; ``forget_name`` also detaches the lane from its user."""
    values: dict[str, Any] = {"epoch": lanes.c.epoch + 1}
    if forget_name:
        values["name"] = None
    unit.run(sa.update(lanes).where(*own_rows(unit, lanes, lane_id=lane_id)).values(**values))


# A tenant's embedding models: which one's vectors are compared, and which are being built.

# Every search asks this: it goes past SQLAlchemy (docs/decisions/03).
_ACTIVE: Final = sa.select(embedding_models.c.model_id, embedding_models.c.dimension).where(
    embedding_models.c.tenant_id == sa.bindparam("t"), embedding_models.c.active.is_(True)
)


def active_model(unit: Unit) -> ActiveModel | None:
    """Return the model whose vectors searches use."""
    rows = fetch(unit, _ACTIVE, {"t": unit.tenant})
    return ActiveModel(*rows[0]) if rows else None


def has_model(unit: Unit, model_id: str) -> bool:
    """Return whether a model's vectors are kept, active or not."""
    query = sa.select(embedding_models.c.model_id).where(*own_rows(unit, embedding_models, model_id=model_id))
    return unit.run(query).one_or_none() is not None


def put_model(unit: Unit, model_id: str, *, dimension: int, prefix_scheme: str, active: bool) -> None:
    """Record an embedding model; an active one replaces the previous active one."""
    if active:
        unit.run(sa.update(embedding_models).where(*own_rows(unit, embedding_models)).values(active=False))
    row = {"model_id": model_id, "dimension": dimension, "prefix_scheme": prefix_scheme, "active": active}
    upsert(unit, embedding_models, [{"tenant_id": unit.tenant, **row}])


def drop_other_models(unit: Unit, kept: Collection[str]) -> None:
    """Delete the vectors and records of every model except some."""
    for home in TABLE_SETS:
        own, models = own_rows(unit, home.vectors), home.vectors.c.model_id
        unit.run(sa.delete(home.vectors).where(*own, models.not_in(kept)))
    unit.run(
        sa.delete(embedding_models).where(*own_rows(unit, embedding_models), embedding_models.c.model_id.not_in(kept))
    )


def try_writing(database: Database, tenant: str) -> None:
    """Write a row and delete it in the same transaction; StorageError when the database cannot be written."""
    with database.transaction(tenant, "append") as unit:
        unit.run(sa.insert(lanes), {"tenant_id": tenant, **new_lane(0, "shared", None)})
        unit.run(sa.delete(lanes).where(lanes.c.tenant_id == tenant, lanes.c.lane_id == 0))
