"""The ledger of model calls in the database."""

from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from phronesis.core.instants import to_micros
from phronesis.core.model_calls import ModelCall, Spent
from phronesis.storage.database import Database
from phronesis.storage.schema import model_calls
from phronesis.storage.statements import insert


@dataclass(frozen=True, slots=True)
class StoredLedger:
    """Keeps calls in the store they were made for."""

    database: Database

    def record(self, tenant: str, call: ModelCall) -> None:
        """Store one call. It may be lost with the power, not with the process."""
        row = {
            "tenant_id": tenant, "call_id": call.call_id, "at": to_micros(call.at), "role": call.role,
            "model": call.model, "status": call.status, "prompt_tokens": call.prompt_tokens,
            "completion_tokens": call.completion_tokens, "cost": call.cost, "milliseconds": call.milliseconds,
        }  # fmt: skip
        with self.database.transaction(tenant, "derive") as unit:
            insert(unit, model_calls, [row])

    def spent(self, tenant: str, *, since: datetime, role: str | None = None) -> Spent:
        """Give what a tenant's calls have taken since a moment, all or those of one role."""
        columns = model_calls.c
        query = sa.select(
            sa.func.count().label("calls"),
            sa.func.coalesce(sa.func.sum(columns.prompt_tokens + columns.completion_tokens), 0).label("tokens"),
            sa.func.coalesce(sa.func.sum(columns.cost), 0.0).label("cost"),
        ).where(columns.tenant_id == tenant, columns.at >= to_micros(since))
        if role is not None:
            query = query.where(columns.role == role)
        with self.database.transaction(tenant, "read") as unit:
            row = unit.run(query).mappings().one()
        return Spent(row["calls"], int(row["tokens"]), float(row["cost"]))
