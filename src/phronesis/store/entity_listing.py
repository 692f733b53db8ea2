"""Statements that list a lane's entities: where each is mentioned, and what is stated about it."""

from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from phronesis.core.relations import NAME, PERSON
from phronesis.store.database import Unit
from phronesis.store.schema import entities, items, mentions


class MentionSum(NamedTuple):
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
    .where(mentions.c.tenant_id == sa.bindparam("t"), mentions.c.lane_id == sa.bindparam("l"), *_SHOWN)
    .where(items.c.subject.is_(None))  # a statement counts under the subject that it has now
    .group_by(mentions.c.entity_id)
)
_ABOUT: Final = (
    sa.select(items.c.subject, *_SUM)
    .where(items.c.tenant_id == sa.bindparam("t"), items.c.lane_id == sa.bindparam("l"), *_SHOWN)
    .where(items.c.subject.is_not(None))
    .group_by(items.c.subject)
)


def sums_by_entity(unit: Unit, lane_id: int) -> list[MentionSum]:
    """Return how many of a lane's active items without a subject, such as messages, name each entity, by its id."""
    return [MentionSum(*row) for row in map(tuple, unit.run(_NAMED, {"t": unit.tenant, "l": lane_id}))]


def sums_by_subject(unit: Unit, lane_id: int) -> list[MentionSum]:
    """Return how many of a lane's active items each subject has, by its name as spelled there."""
    return [MentionSum(*row) for row in map(tuple, unit.run(_ABOUT, {"t": unit.tenant, "l": lane_id}))]


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
