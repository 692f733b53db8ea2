"""Statements on edges, evidence, entities and mentions, and the listing of a lane's entities."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from functools import cache
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from phronesis.core.relations import NAME, PERSON, Edge, Entity, EvidenceRow, Mention
from phronesis.store.compiled_statements import (
    batches,
    bound_lane,
    each_of,
    fetch,
    in_list,
    in_subquery,
    insert_ignore,
    list_value,
    listed_in_lane,
    looked_up,
    own_rows,
    upsert,
)
from phronesis.store.database import Unit
from phronesis.store.schema import VISIBLE, edges, entities, evidence, items, mentions

_EDGE_NAMES: Final = tuple(Edge.__dataclass_fields__)
_EDGE_COLUMNS: Final = [edges.c[name] for name in _EDGE_NAMES]
_EVIDENCE_NAMES: Final = tuple(EvidenceRow.__dataclass_fields__)
_EVIDENCE_COLUMNS: Final = [evidence.c[name] for name in _EVIDENCE_NAMES]
_ENTITY_COLUMNS: Final = [entities.c[name] for name in Entity.__dataclass_fields__]
_MENTION_COLUMNS: Final = [mentions.c[name] for name in Mention.__dataclass_fields__]


def read_edges(
    unit: Unit, lane_id: int, node_ids: Iterable[str], *, incoming: bool = False, types: Sequence[str] = ()
) -> list[Edge]:
    """Return the lane's edges that leave (or, ``incoming``, reach) any of ``node_ids``, in a fixed order."""
    statement = _edges_of(unit.dialect, incoming, bool(types))
    rows = each_of(unit, statement, node_ids, l=lane_id, types=list_value(unit.dialect, types))
    return sorted((_edge(zip(_EDGE_NAMES, row, strict=True)) for row in rows), key=lambda edge: edge.identity)


@cache
def _edges_of(dialect: str, incoming: bool, by_type: bool) -> sa.Select[Any]:
    # SQLite takes a lane for a few edges, and would walk all of it by the table's key. Of columns that an index holds
    # it takes the index by node, and the empty text keeps it from choosing by type.
    near = edges if dialect == "postgresql" else edges.alias("near")
    wanted = [*bound_lane(near), in_list(near.c.to_id if incoming else near.c.from_id, dialect)]
    if by_type:
        wanted.append(in_list(near.c.type.concat(sa.literal_column("''")), dialect, "types"))
    if near is not edges:
        same = [
            near.c[column.name] == column for column in edges.primary_key.columns if column is not edges.c.tenant_id
        ]
        wanted += [edges.c.tenant_id == sa.bindparam("t"), *same]
    return sa.select(*_EDGE_COLUMNS).where(*wanted)


def nodes_reached(unit: Unit, lane_id: int, type_: str, *, grade: str | None = None) -> set[str]:
    """Return the ids of the nodes that the lane's edges of a type, and of a grade if one is given, reach."""
    query = sa.select(edges.c.to_id).where(*own_rows(unit, edges, lane_id=lane_id, type=type_))
    if grade is not None:
        query = query.where(edges.c.grade == grade)
    return set(unit.run(query.distinct()).scalars())


class Contradiction(NamedTuple):
    """Two items of which one contradicts the other, and the entry that added the edge."""

    one: str
    other: str
    entry_id: str


_CONTRADICTING: Final = sa.select(edges.c.from_id, edges.c.to_id, edges.c.entry_id).where(
    *bound_lane(edges),
    edges.c.type == sa.bindparam("e"),
    edges.c.from_kind == sa.bindparam("k"),
    edges.c.to_kind == sa.bindparam("k"),
)


def contradicting_pairs(unit: Unit, lane_id: int) -> list[Contradiction]:
    """Return the pairs of contradicting items, in a fixed order."""
    bound = {"t": unit.tenant, "l": lane_id, "e": "contradicts", "k": "item"}
    return sorted(Contradiction(*row) for row in fetch(unit, _CONTRADICTING, bound))


def read_evidence(unit: Unit, lane_id: int, item_ids: Iterable[str]) -> dict[str, list[EvidenceRow]]:
    """Return the evidence of items, by item, ordered by identity."""
    out: dict[str, list[EvidenceRow]] = {}
    for values in each_of(unit, _evidence_of(unit.dialect), item_ids, l=lane_id):
        row = EvidenceRow.from_row(dict(zip(_EVIDENCE_NAMES, values, strict=True)))
        out.setdefault(row.item_id, []).append(row)
    return out


@cache
def _evidence_of(dialect: str) -> sa.Select[Any]:
    found = sa.select(*_EVIDENCE_COLUMNS).where(*listed_in_lane(evidence.c.item_id, dialect))
    return found.order_by(*list(evidence.primary_key.columns)[1:])


@cache
def _origins(dialect: str) -> sa.Select[Any]:
    return sa.select(evidence.c.item_id, evidence.c.source_item_id).where(
        *listed_in_lane(evidence.c.item_id, dialect),
        evidence.c.polarity == sa.bindparam("p"),
        evidence.c.source_item_id.is_not(None),
    )


def origins_of(unit: Unit, lane_id: int, item_ids: Sequence[str]) -> dict[str, list[str]]:
    """Return the ids of each item's source items: its evidence of polarity ``source``."""
    out: dict[str, list[str]] = {}
    for item_id, source in sorted(map(tuple, each_of(unit, _origins(unit.dialect), item_ids, l=lane_id, p="source"))):
        out.setdefault(item_id, []).append(source)
    return out


def write_edges(unit: Unit, lane_id: int, added: Sequence[Edge], removed: Sequence[Edge]) -> None:
    """Store edges, replacing those of the same identity, and delete others."""
    columns = (edges.c.type, edges.c.from_kind, edges.c.from_id, edges.c.to_kind, edges.c.to_id)
    for edge in removed:
        unit.run(sa.delete(edges).where(*own_rows(unit, edges, lane_id=lane_id), *_equal(columns, edge.identity)))
    own = {"tenant_id": unit.tenant, "lane_id": lane_id}
    upsert(unit, edges, [{**own, **row, "data": row["data"] or None} for row in (edge.to_row() for edge in added)])


def write_evidence(unit: Unit, lane_id: int, added: Sequence[EvidenceRow], removed: Sequence[EvidenceRow]) -> None:
    """Store evidence rows and delete others."""
    columns = (evidence.c.item_id, evidence.c.part, evidence.c.polarity, evidence.c.source_key)
    for row in removed:
        unit.run(sa.delete(evidence).where(*own_rows(unit, evidence), *_equal(columns, row.identity)))
    upsert(unit, evidence, [{"tenant_id": unit.tenant, "lane_id": lane_id, **row.to_row()} for row in added])


def _equal(columns: Sequence[sa.Column[Any]], values: Sequence[Any]) -> Iterator[sa.ColumnElement[bool]]:
    return (column == value for column, value in zip(columns, values, strict=True))


def find_entities(unit: Unit, lane_id: int, normals: Iterable[str]) -> list[Entity]:
    """Return the lane's entities of these normal names."""
    return _entities(unit, lane_id, _ids_named, normals)


def read_families(unit: Unit, lane_id: int, root_ids: Iterable[str]) -> list[Entity]:
    """Return entities that are nobody's alias, and the entities that point to them."""
    return _entities(unit, lane_id, _ids_of_families, root_ids)


def _entities(unit: Unit, lane_id: int, meant: Callable[[str], Any], values: Iterable[str]) -> list[Entity]:
    rows = each_of(unit, _entity_query(meant, unit.dialect), values, l=lane_id)
    return [Entity(**dict(zip(Entity.__dataclass_fields__, row, strict=True))) for row in rows]


@cache
def _entity_query(meant: Callable[[str], Any], dialect: str) -> sa.Select[Any]:
    # Every search asks this: it goes past SQLAlchemy (docs/decisions/03).
    # By name, the ids come from the index alone: SQLite would walk the tenant's names rather than look up whole rows.
    lane = entities.c.lane_id + sa.literal_column("0")
    query = sa.select(*_ENTITY_COLUMNS).where(
        entities.c.tenant_id == sa.bindparam("t"),
        lane == sa.bindparam("l"),
        in_subquery(entities.c.id, meant(dialect), dialect),
    )
    return query.order_by(entities.c.id)


def _ids_named(dialect: str) -> sa.Select[Any]:
    named = entities.alias("named")
    return sa.select(named.c.id).where(*bound_lane(named), in_list(named.c.normal, dialect))


def _ids_of_families(dialect: str) -> sa.CompoundSelect[Any]:
    root, pointing = entities.alias("root"), entities.alias("pointing")
    return sa.union_all(
        sa.select(root.c.id).where(looked_up(root.c.id, dialect)),
        sa.select(pointing.c.id).where(
            looked_up(pointing.c.canonical_id, dialect), pointing.c.canonical_id.is_not(None)
        ),
    )


def read_mentions(unit: Unit, lane_id: int, entity_ids: Iterable[str]) -> list[Mention]:
    """Return the mentions of entities."""
    out: list[Mention] = []
    for batch in batches(dict.fromkeys(entity_ids)):
        query = sa.select(*_MENTION_COLUMNS).where(
            *own_rows(unit, mentions, lane_id=lane_id), mentions.c.entity_id.in_(batch)
        )
        out += [Mention(**row) for row in unit.run(query.order_by(mentions.c.item_id, mentions.c.start)).mappings()]
    return out


def write_entities(unit: Unit, lane_id: int, found: Sequence[Entity], where: Sequence[Mention]) -> None:
    """Store entities (an existing one only changes its canonical entity) and mentions."""
    own = {"tenant_id": unit.tenant, "lane_id": lane_id}
    insert_ignore(unit, entities, [{**own, **asdict(entity)} for entity in found])
    for entity in found:
        if entity.canonical_id is not None:
            held = sa.update(entities).where(*own_rows(unit, entities, id=entity.id))
            unit.run(held.values(canonical_id=entity.canonical_id))
    insert_ignore(unit, mentions, [{**own, **asdict(mention)} for mention in where])


def drop_entities(unit: Unit, lane_id: int, entity_ids: Sequence[str], where: Sequence[Mention]) -> None:
    """Delete entities and mentions."""
    for batch in batches(entity_ids):
        unit.run(sa.delete(entities).where(*own_rows(unit, entities, lane_id=lane_id), entities.c.id.in_(batch)))
    columns = (mentions.c.item_id, mentions.c.entity_id, mentions.c.start)
    for one in where:
        named = _equal(columns, (one.item_id, one.entity_id, one.start))
        unit.run(sa.delete(mentions).where(*own_rows(unit, mentions, lane_id=lane_id), *named))


def lane_edges(unit: Unit, lane_id: int) -> list[Edge]:
    """Return all of a lane's edges."""
    return [_edge(row) for row in _of_lane(unit, edges, _EDGE_COLUMNS, lane_id)]


def lane_evidence(unit: Unit, lane_id: int) -> list[EvidenceRow]:
    """Return all of a lane's evidence."""
    return [EvidenceRow.from_row(dict(row)) for row in _of_lane(unit, evidence, _EVIDENCE_COLUMNS, lane_id)]


def lane_entities(unit: Unit, lane_id: int) -> list[Entity]:
    """Return all of a lane's entities."""
    return [Entity(**row) for row in _of_lane(unit, entities, _ENTITY_COLUMNS, lane_id)]


def lane_mentions(unit: Unit, lane_id: int) -> list[Mention]:
    """Return all of a lane's mentions."""
    return [Mention(**row) for row in _of_lane(unit, mentions, _MENTION_COLUMNS, lane_id)]


def _of_lane(unit: Unit, table: sa.Table, columns: Sequence[Any], lane_id: int) -> sa.MappingResult:
    return unit.run(sa.select(*columns).where(*own_rows(unit, table, lane_id=lane_id))).mappings()


def _edge(row: Any) -> Edge:
    values = dict(row)
    return Edge(**{**values, "data": values["data"] or {}})


class MentionCount(NamedTuple):
    """How many items name an entity, or are of a subject, with the first and last time in microseconds."""

    named: str
    number: int
    first: int
    last: int


_SAID_AT: Final = sa.func.coalesce(items.c.occurred_at, items.c.recorded_at)
_SUM: Final = (sa.func.count(items.c.id.distinct()), sa.func.min(_SAID_AT), sa.func.max(_SAID_AT))
_SHOWN: Final = (items.c.status == "active", items.c.quarantine.is_(None))
_NAMED: Final = (
    sa.select(mentions.c.entity_id, *_SUM)
    .join_from(mentions, items, sa.and_(items.c.tenant_id == mentions.c.tenant_id, items.c.id == mentions.c.item_id))
    .where(*bound_lane(mentions), *_SHOWN)
    .where(items.c.subject.is_(None))  # a statement counts under the subject that it has now
    .group_by(mentions.c.entity_id)
)
_ABOUT: Final = (
    sa.select(items.c.subject, *_SUM)
    .where(*bound_lane(items), *_SHOWN)
    .where(items.c.subject.is_not(None))
    .group_by(items.c.subject)
)


def sums_by_entity(unit: Unit, lane_id: int) -> list[MentionCount]:
    """Return how many of a lane's active items without a subject, such as messages, name each entity, by its id."""
    return [MentionCount(*row) for row in map(tuple, unit.run(_NAMED, {"t": unit.tenant, "l": lane_id}))]


def sums_by_subject(unit: Unit, lane_id: int) -> list[MentionCount]:
    """Return how many of a lane's active items each subject has, by its name as spelled there."""
    return [MentionCount(*row) for row in map(tuple, unit.run(_ABOUT, {"t": unit.tenant, "l": lane_id}))]


class StatedValue(NamedTuple):
    """Subject, key and value of an item, and the person that it is about by relation and name."""

    subject: str
    key: str
    value: Any
    person: str | None


def stated_values(unit: Unit, lane_id: int) -> list[StatedValue]:
    """Return a lane's live statements, oldest first."""
    query = sa.select(items.c.subject, items.c.key, items.c.value, items.c.data).where(
        *own_rows(unit, items, lane_id=lane_id), items.c.subject.is_not(None), items.c.key.is_not(None), *VISIBLE
    )
    rows = map(tuple, unit.run(query.order_by(items.c.recorded_at, items.c.id)))
    return [StatedValue(subject, key, value, (data or {}).get(PERSON)) for subject, key, value, data in rows]


def lane_of_entity(unit: Unit, entity_id: str) -> int | None:
    """Return the lane of an entity, or None where the tenant has none of that id."""
    query = sa.select(entities.c.lane_id).where(*own_rows(unit, entities, id=entity_id, kind=NAME))
    found: int | None = unit.run(query).scalar()
    return found
