"""What asking the experience base reads: the strongest edges at some nodes, the views of events, and names."""

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from phronesis.core.experience.records import L1
from phronesis.storage.database import Unit
from phronesis.storage.documents import ASIDE
from phronesis.storage.homes import home_of
from phronesis.storage.prepared import fetch
from phronesis.storage.schema import edges, items
from phronesis.storage.statements import batches, list_value, listed


class EdgeEnd(NamedTuple):
    """An edge as seen from one of its ends."""

    near: str
    far: str
    type: str
    weight: float
    grade: str | None
    entry_id: str


_DOCUMENTS: Final = home_of(L1).documents

# Both in full: so the indexes by node serve all four conditions, and SQLite takes them before the primary key.
_LANE: Final = edges.c.lane_id == sa.bindparam("l")


def strongest_edges(unit: Unit, lane_id: int, ids: Iterable[str], types: Sequence[str], *, each: int) -> list[EdgeEnd]:
    """Give the edges at some items, whichever way they point: at most the ``each`` heaviest of each item, way and type.

    Edges to artifacts are among them where their type is; edges at artifacts are not (`holders`).
    """
    out: list[EdgeEnd] = []
    for batch in batches(dict.fromkeys(ids)):
        bound = {"t": unit.tenant, "l": lane_id, "each": each, "ids": list_value(unit.dialect, batch),
                 "types": list_value(unit.dialect, types)}  # fmt: skip
        for incoming in (False, True):
            out += [EdgeEnd(*row) for row in fetch(unit, _strongest(unit.dialect, incoming), bound)]
    return sorted(out, key=_place)


@cache
def _strongest(dialect: str, incoming: bool) -> sa.Select[Any]:
    ends = (edges.c.from_id, edges.c.to_id)
    near, far = reversed(ends) if incoming else ends
    rank = sa.func.row_number().over(partition_by=(near, edges.c.type), order_by=(edges.c.weight.desc(), far))
    found = (
        sa.select(near.label("near"), far.label("far"), edges.c.type, edges.c.weight, edges.c.grade, edges.c.entry_id,
                  rank.label("place"))
        .where(edges.c.tenant_id == sa.bindparam("t"), _LANE, listed(near, dialect),
               listed(edges.c.type, dialect, "types"))
        .subquery()
    )  # fmt: skip
    columns = [found.c[name] for name in EdgeEnd._fields]
    return sa.select(*columns).where(found.c.place <= sa.bindparam("each", type_=sa.Integer))


def holders(unit: Unit, lane_id: int, artifact_id: str, type_: str, *, most: int | None) -> list[EdgeEnd]:
    """Give the edges of a type from items to an artifact; none where there are more than ``most``."""
    bound = {"t": unit.tenant, "l": lane_id, "a": artifact_id, "y": type_}
    rows = [EdgeEnd(*row) for row in fetch(unit, _holding(None if most is None else most + 1), bound)]
    return sorted(rows, key=_place) if most is None or len(rows) <= most else []


@cache
def _holding(limit: int | None) -> sa.Select[Any]:
    query = sa.select(
        edges.c.to_id, edges.c.from_id, edges.c.type, edges.c.weight, edges.c.grade, edges.c.entry_id
    ).where(
        edges.c.tenant_id == sa.bindparam("t"), _LANE, edges.c.to_id == sa.bindparam("a"),
        edges.c.type == sa.bindparam("y"),
    )  # fmt: skip
    return query if limit is None else query.limit(sa.literal_column(str(limit))).offset(sa.literal_column("0"))


def _place(edge: EdgeEnd) -> tuple[str, str, str, float]:
    return (edge.near, edge.far, edge.type, edge.weight)


class View(NamedTuple):
    """A document that is one view of an item and is compared, not searched."""

    id: str
    item_id: str
    part: str


def views_of(unit: Unit, lane_id: int, item_ids: Iterable[str]) -> list[View]:
    """Give the current views of some items."""
    out: list[View] = []
    for batch in batches(dict.fromkeys(item_ids)):
        bound = {"t": unit.tenant, "l": lane_id, "a": ASIDE, "ids": list_value(unit.dialect, batch)}
        out += [View(*row) for row in fetch(unit, _views(unit.dialect), bound)]
    return sorted(out)


@cache
def _views(dialect: str) -> sa.Select[Any]:
    lane = _DOCUMENTS.c.lane_id + sa.literal_column("0")
    first = sa.func.substr(_DOCUMENTS.c.part, sa.literal_column("1"), sa.literal_column("1"))
    return sa.select(_DOCUMENTS.c.id, _DOCUMENTS.c.item_id, _DOCUMENTS.c.part).where(
        _DOCUMENTS.c.tenant_id == sa.bindparam("t"), listed(_DOCUMENTS.c.item_id, dialect), lane == sa.bindparam("l"),
        first == sa.bindparam("a"), _DOCUMENTS.c.current_to.is_(None),
    )  # fmt: skip


def changed_views(unit: Unit, lane_id: int, kind: str, parts: Sequence[str], *, after: int) -> list[tuple[str, str]]:
    """Give the item's id and the text of the views of a kind that came after entry ``after``, past ones too."""
    query = sa.select(_DOCUMENTS.c.item_id, _DOCUMENTS.c.text).where(
        _DOCUMENTS.c.tenant_id == unit.tenant, _DOCUMENTS.c.lane_id == lane_id, _DOCUMENTS.c.changed_seq > after,
        _DOCUMENTS.c.kind == kind, _DOCUMENTS.c.part.in_(parts), _DOCUMENTS.c.text.is_not(None),
    )  # fmt: skip
    return [(row.item_id, row.text) for row in unit.run(query)]


def of_episode(unit: Unit, lane_id: int, kind: str, run_id: str, *, limit: int) -> list[str]:
    """Give the ids of the items of a kind that belong to an episode, or a run: the last ``limit`` recorded."""
    bound = {"t": unit.tenant, "l": lane_id, "r": run_id, "k": kind, "n": limit}
    return [row[0] for row in fetch(unit, _OF_EPISODE, bound)]


_OF_EPISODE: Final = (
    sa.select(items.c.id)
    .where(
        items.c.tenant_id == sa.bindparam("t"), items.c.lane_id == sa.bindparam("l"),
        items.c.run_id == sa.bindparam("r"), items.c.kind == sa.bindparam("k"),
    )
    .order_by(items.c.recorded_at.desc(), items.c.id.desc())
    .limit(sa.bindparam("n", type_=sa.Integer))
)  # fmt: skip
