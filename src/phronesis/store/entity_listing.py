"""Statements that list a lane's entities: where each is mentioned, and what is stated about it."""

from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from phronesis.core.relations import NAME, PERSON
from phronesis.store.database import Unit
from phronesis.store.schema import entities, items, mentions


class MentionSum(NamedTuple):
    """How many items are about an entity or name it, with the times of the first and the last in microseconds."""

    entity_id: str
    number: int
    first: int
    last: int


_OF_LANE: Final = (
    entities.c.tenant_id == sa.bindparam("t"),
    entities.c.lane_id == sa.bindparam("l"),
    entities.c.kind == NAME,
    items.c.status == "active",
    items.c.quarantine.is_(None),
)
_SAID_AT: Final = sa.func.coalesce(items.c.occurred_at, items.c.recorded_at).label("at")
_PAIR: Final = (entities.c.id.label("entity"), items.c.id.label("item"), _SAID_AT)

_NAMED: Final = (
    sa.select(*_PAIR)
    .join_from(
        mentions, entities, sa.and_(entities.c.tenant_id == mentions.c.tenant_id, entities.c.id == mentions.c.entity_id)
    )
    .join(items, sa.and_(items.c.tenant_id == mentions.c.tenant_id, items.c.id == mentions.c.item_id))
    # A statement is counted under the subject that it has now.
    .where(*_OF_LANE, sa.or_(items.c.subject.is_(None), sa.func.lower(items.c.subject) == entities.c.normal))
)
_ABOUT: Final = (
    sa.select(*_PAIR)
    .join_from(
        entities,
        items,
        sa.and_(
            items.c.tenant_id == entities.c.tenant_id,
            items.c.lane_id == entities.c.lane_id,
            items.c.subject == entities.c.name,
        ),
    )
    .where(*_OF_LANE)
)
_PAIRS: Final = sa.union(_NAMED, _ABOUT).subquery()
_SUMS: Final = sa.select(_PAIRS.c.entity, sa.func.count(), sa.func.min(_PAIRS.c.at), sa.func.max(_PAIRS.c.at)).group_by(
    _PAIRS.c.entity
)


def mention_sums(unit: Unit, lane_id: int) -> list[MentionSum]:
    """Return how often each of a lane's names is mentioned; names that no active item mentions are left out."""
    return [MentionSum(*row) for row in map(tuple, unit.run(_SUMS, {"t": unit.tenant, "l": lane_id}))]


class StatedValue(NamedTuple):
    """Subject, key and value of an item, and the person that it is about by relation and name."""

    subject: str
    key: str
    value: Any
    person: str | None


def stated_values(unit: Unit, lane_id: int) -> list[StatedValue]:
    """Return a lane's live statements, oldest first."""
    query = sa.select(items.c.subject, items.c.key, items.c.value, items.c.data).where(
        items.c.tenant_id == unit.tenant,
        items.c.lane_id == lane_id,
        items.c.subject.is_not(None),
        items.c.key.is_not(None),
        items.c.status == "active",
        items.c.ended.is_(None),
        items.c.quarantine.is_(None),
    )
    rows = map(tuple, unit.run(query.order_by(items.c.recorded_at, items.c.id)))
    return [StatedValue(subject, key, value, (data or {}).get(PERSON)) for subject, key, value, data in rows]


def lane_of_entity(unit: Unit, entity_id: str) -> int | None:
    """Return the lane of an entity, or None where the tenant has none of that id."""
    query = sa.select(entities.c.lane_id).where(
        entities.c.tenant_id == unit.tenant, entities.c.id == entity_id, entities.c.kind == NAME
    )
    found: int | None = unit.run(query).scalar()
    return found
