"""A tenant's embedding models: which one's vectors are compared, and which are being built."""

from collections.abc import Collection
from typing import Final

import sqlalchemy as sa

from phronesis.store.database import Unit
from phronesis.store.document_tables import HOMES
from phronesis.store.lanes import ActiveModel
from phronesis.store.schema import embedding_models
from phronesis.store.statements import fetch, upsert

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
    query = sa.select(embedding_models.c.model_id).where(
        embedding_models.c.tenant_id == unit.tenant, embedding_models.c.model_id == model_id
    )
    return unit.run(query).one_or_none() is not None


def put_model(unit: Unit, model_id: str, *, dimension: int, prefix_scheme: str, active: bool) -> None:
    """Record an embedding model; an active one replaces the previous active one."""
    if active:
        unit.run(sa.update(embedding_models).where(embedding_models.c.tenant_id == unit.tenant).values(active=False))
    row = {
        "tenant_id": unit.tenant,
        "model_id": model_id,
        "dimension": dimension,
        "prefix_scheme": prefix_scheme,
        "active": active,
    }
    upsert(unit, embedding_models, [row])


def drop_other_models(unit: Unit, kept: Collection[str]) -> None:
    """Delete the vectors and records of every model except some."""
    for home in HOMES:
        own = home.vectors.c
        unit.run(sa.delete(home.vectors).where(own.tenant_id == unit.tenant, own.model_id.not_in(kept)))
    unit.run(
        sa.delete(embedding_models).where(
            embedding_models.c.tenant_id == unit.tenant, embedding_models.c.model_id.not_in(kept)
        )
    )
