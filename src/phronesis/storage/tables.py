"""How tables are made: one collection of them, names of constraints, the tenant in front of every row."""

from typing import Final

import sqlalchemy as sa

from phronesis.storage.columns import tenant

collection: Final = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def table(name: str, *columns: sa.schema.SchemaItem, small: bool = False) -> sa.Table:
    """Give a table of every tenant's rows; the rows of a ``small`` one live in the key's own tree."""
    # A small row lives in the key's own tree; a wide one would make that tree deep. Every tree that a write touches is
    # a page more to write and to sync: an index must earn its keep.
    return sa.Table(name, collection, tenant(), *columns, sqlite_with_rowid=not small)
