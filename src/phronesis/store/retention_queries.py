"""Queries of forgetting: candidates without their text, what they support, and what rests on them.

A lane may hold hundreds of thousands of items of which few are due: the database preselects and streams them.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import sqlalchemy as sa

from phronesis.core.items import Trust
from phronesis.core.timestamps import from_micros, optional_moment
from phronesis.forgetting.laws import FORGETTING, RetentionFields
from phronesis.store.compiled_statements import batches, fetch
from phronesis.store.database import Unit
from phronesis.store.dialects import has_member, key
from phronesis.store.items import read_heads
from phronesis.store.lanes import Lane
from phronesis.store.schema import evidence, items

_FETCHED: Final = 2_000
_COLUMNS: Final = (
    items.c.id,
    items.c.kind,
    items.c.recorded_at,
    items.c.key,
    items.c.importance,
    items.c.status,
    items.c.pinned,
    items.c.trust,
    items.c.source_type,
    items.c.label,
    items.c.occurred_at,
    items.c.valid_from,
    items.c.valid_to,
    items.c.data,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DueConditions:
    """Which items of a lane may be due: by kind, those learned at or before a time.

    Besides, whatever their age: archived items, items that forgetting moved before, items that were over at ``over``,
    and ``also``. Times are microseconds since 1970 UTC.
    """

    learned_by: Mapping[str, int]
    over: int
    session_id: str | None = None
    agent_id: str | None = None
    also: Collection[str] = field(default_factory=frozenset)


def each_fading(unit: Unit, lane: Lane, wanted: DueConditions) -> Iterator[RetentionFields]:
    """Yield the items that have not ended, are not quarantined, and may be due, each once, in no order."""
    due = sa.or_(
        *(sa.and_(items.c.kind == kind, items.c.recorded_at <= at) for kind, at in wanted.learned_by.items()),
        items.c.status == "archived",
        items.c.valid_to <= wanted.over,
        has_member(items.c.data, key(FORGETTING)),
    )
    query = sa.select(*_COLUMNS).where(*_lane_conditions(unit, lane, wanted), due)
    seen = set[str]() if wanted.also else None
    for row in unit.run(query.execution_options(yield_per=_FETCHED)):
        if seen is not None and row[0] in wanted.also:
            seen.add(row[0])
        yield _retention_fields(row)
    for batch in batches(sorted(set(wanted.also) - (seen or set()))):
        young = sa.select(*_COLUMNS).where(*_lane_conditions(unit, lane, wanted), items.c.id.in_(batch))
        for row in unit.run(young):
            yield _retention_fields(row)


def _lane_conditions(unit: Unit, lane: Lane, wanted: DueConditions) -> list[sa.ColumnElement[bool]]:
    named = {items.c.session_id: wanted.session_id, items.c.agent_id: wanted.agent_id}
    return [
        items.c.tenant_id == unit.tenant,
        items.c.lane_id == lane.lane_id,
        items.c.ended.is_(None),
        items.c.quarantine.is_(None),
        items.c.kind.in_(sorted(wanted.learned_by)),
        *(column == value for column, value in named.items() if value is not None),
    ]


def _retention_fields(row: Any) -> RetentionFields:
    one, kind, recorded, key_, importance, status, pinned, trust, source, label, occurred, start, end, data = row
    return RetentionFields(
        id=one,
        kind=kind,
        recorded_at=from_micros(recorded),
        key=key_,
        importance=importance,
        status=status,
        pinned=bool(pinned),
        trust=Trust(trust),
        source_type=source,
        label=label,
        occurred_at=optional_moment(occurred),
        valid_from=optional_moment(start),
        valid_to=optional_moment(end),
        data=RetentionFields.members(data),
    )


_SPOKEN: Final = (
    sa.select(evidence.c.item_id, evidence.c.polarity)
    .where(
        evidence.c.tenant_id == sa.bindparam("t"),
        evidence.c.lane_id == sa.bindparam("l"),
        evidence.c.polarity != sa.bindparam("p"),
    )
    .distinct()
)


def spoken_of(unit: Unit, lane_id: int) -> tuple[set[str], set[str]]:
    """Return the items with evidence besides their sources, and those with counter-evidence."""
    known, against = set[str](), set[str]()
    for item_id, polarity in fetch(unit, _SPOKEN, {"t": unit.tenant, "l": lane_id, "p": "source"}):
        known.add(item_id)
        if polarity in ("contra", "incorrect"):
            against.add(item_id)
    return known, against


def borne_by(unit: Unit, lane_id: int, sources: Collection[str]) -> dict[str, list[tuple[str, str]]]:
    """Return, for some items, the items and parts that have them as source or support.

    One pass over the lane's evidence: an index by source would cost every write.
    """
    query = sa.select(evidence.c.source_item_id, evidence.c.item_id, evidence.c.part).where(
        evidence.c.tenant_id == unit.tenant,
        evidence.c.lane_id == lane_id,
        evidence.c.polarity.in_(("source", "support")),
        evidence.c.source_item_id.is_not(None),
    )
    out: dict[str, list[tuple[str, str]]] = {}
    rows: Iterable[Any] = unit.run(query.execution_options(yield_per=_FETCHED)) if sources else ()
    for source, item_id, part in rows:
        if source in sources:
            out.setdefault(source, []).append((item_id, part))
    return out


@dataclass(frozen=True, slots=True)
class Owner:
    """What forgetting needs to know of an item that rests on others."""

    kind: str
    live: bool
    held: bool
    """Whether the item has not ended; archived or quarantined, it may be restored."""


def read_owners(unit: Unit, lane: Lane, ids: Iterable[str]) -> dict[str, Owner]:
    """Return those of ``ids`` that the lane holds."""
    return {
        one.id: Owner(
            one.kind, one.status == "active" and one.ended is None and one.quarantine is None, one.ended is None
        )
        for one in read_heads(unit, lane.lane_id, ids)
    }
