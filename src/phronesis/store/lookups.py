"""Cache of public sources' answers, keyed by a hash of the address and the question, never by text.

An erasure clears a tenant's answers (``engine/erasure_effect``), since they may repeat what was erased.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from phronesis.core.ids import derived_id
from phronesis.store.compiled_statements import upsert
from phronesis.store.database import Unit
from phronesis.store.side_tables import lookups


@dataclass(frozen=True, slots=True)
class Lookup:
    """An answer with the time of the request and its expiry: microseconds since 1970 UTC."""

    asked_at: int
    expires_at: int
    answer: Mapping[str, Any]


def lookup_number(source: str, question: str) -> str:
    """Return the key under which a source's answer to a question is stored."""
    return derived_id("looked_up", source, question)


def read_lookup(unit: Unit, number: str, *, now: int) -> Lookup | None:
    """Return an answer that has not expired, or None."""
    query = sa.select(lookups.c.asked_at, lookups.c.expires_at, lookups.c.answer).where(
        lookups.c.tenant_id == unit.tenant, lookups.c.number == number, lookups.c.expires_at > now
    )
    row = unit.run(query).one_or_none()
    return None if row is None else Lookup(row.asked_at, row.expires_at, row.answer)


def keep_lookup(unit: Unit, number: str, lookup: Lookup) -> None:
    """Store an answer, replacing an older one, and delete expired ones."""
    unit.run(sa.delete(lookups).where(lookups.c.tenant_id == unit.tenant, lookups.c.expires_at <= lookup.asked_at))
    row = {
        "tenant_id": unit.tenant,
        "number": number,
        "asked_at": lookup.asked_at,
        "expires_at": lookup.expires_at,
        "answer": dict(lookup.answer),
    }
    upsert(unit, lookups, [row])


def forget_lookups(unit: Unit) -> None:
    """Delete all cached answers of a tenant."""
    unit.run(sa.delete(lookups).where(lookups.c.tenant_id == unit.tenant))
