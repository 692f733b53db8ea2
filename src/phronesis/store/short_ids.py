"""Find ids by their beginning or end, among all that a person may name: items, entries, changes, entities and keys."""

from typing import Final, NamedTuple

import sqlalchemy as sa

from phronesis.store.database import Unit
from phronesis.store.schema import deltas, entities, items
from phronesis.store.side_tables import api_keys, entries

_IDS: Final = (
    (items, items.c.id, items.c.kind, items.c.content),
    (entries, entries.c.entry_id, sa.literal("entry"), entries.c.verb),
    (deltas, deltas.c.id, sa.literal("change"), deltas.c.reason),
    (entities, entities.c.id, sa.literal("entity"), entities.c.name),
    (api_keys, api_keys.c.key_id, sa.literal("key"), api_keys.c.label),
)
"""Of each table: the id, what it is the id of, and words by which a person knows it."""


class FoundId(NamedTuple):
    """An id, what it is the id of, and words by which a person knows it."""

    id: str
    kind: str
    words: str


def find_ids(unit: Unit, *, beginning: str, end: str, limit: int) -> list[FoundId]:
    """Return at most ``limit`` ids of the tenant that have this beginning or this end.

    No index helps to find an end: the ids of each table are scanned, in an index that holds nothing else.
    """
    found: dict[str, FoundId] = {}
    for table, identity, kind, words in _IDS:
        mine = table.c.tenant_id == unit.tenant
        like = sa.or_(identity.like(f"{beginning}%"), identity.like(f"%{end}"))
        ids = sa.select(identity).where(mine, like).order_by(identity).limit(limit)
        query = sa.select(identity.label("id"), kind.label("kind"), words.label("words")).where(mine, identity.in_(ids))
        for row in unit.run(query.order_by(identity)):
            found.setdefault(row.id, FoundId(row.id, row.kind, row.words))
    return list(found.values())[:limit]
