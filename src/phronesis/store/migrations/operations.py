"""What migrations do: make tables and indexes, and on PostgreSQL roles, privileges and row-level security by tenant."""

from typing import Final

import sqlalchemy as sa
from alembic import op

from phronesis.errors import StorageError
from phronesis.store.database import APPLICATION_ROLE, TENANT_SETTING
from phronesis.store.dialects import declared

MEMORY: Final = "phronesis"
RESOURCES: Final = "phronesis_resources"
_OF_RESOURCES: Final = ("documents", "sections", "chunks", "chunk_vectors")


def make_table(
    name: str, columns: str, *, key: str = "", rowid: bool = False, check: str = "", unique: str = ""
) -> None:
    """Make a table of `declared` columns; ``key`` is the primary key after the tenant.

    On PostgreSQL it lies in the schema of memory, and one of the resources' in theirs.
    """
    keys = ["tenant_id", *key.split()]
    constraints: list[sa.Constraint] = [sa.PrimaryKeyConstraint(*keys, name=f"pk_{name}")]
    if check:
        constraints.append(sa.CheckConstraint(check, name=f"ck_{name}_{check.split(maxsplit=1)[0]}"))
    if unique:
        names = ["tenant_id", *unique.split()]
        constraints.append(sa.UniqueConstraint(*names, name=f"uq_{name}_{'_'.join(names)}"))
    op.create_table(name, *declared(columns, key), *constraints, schema=schema_of(name), sqlite_with_rowid=rowid)


def add_columns(table: str, columns: str) -> None:
    """Add columns as of `make_table`."""
    for column in [*declared(columns)][1:]:  # without the tenant's
        op.add_column(table, column, schema=schema_of(table))


def schema_of(table: str) -> str | None:
    """Return the schema in which PostgreSQL has a table; None for SQLite."""
    if op.get_bind().dialect.name != "postgresql":
        return None
    return RESOURCES if table in _OF_RESOURCES else MEMORY


def make_index(table: str, columns: str) -> None:
    """Make an index of columns behind the tenant."""
    names = ["tenant_id", *columns.split()]
    op.create_index(f"ix_{table}_{'_'.join(names)}", table, names, schema=schema_of(table))


def make_partial_index(
    table: str,
    title: str,
    columns: str,
    *,
    where: str,
    on_postgres: str | None = None,
    unique: bool = False,
    last: tuple[str, ...] = (),
) -> None:
    """Make an index of the rows that meet a condition; ``last`` are expressions behind the columns."""
    op.create_index(
        f"ix_{table}_{title}",
        table,
        ["tenant_id", *columns.split(), *map(sa.text, last)],
        unique=unique,
        sqlite_where=sa.text(where),
        postgresql_where=sa.text(on_postgres or where),
    )


_SET_OPTION_SINCE: Final = (16,)
"""PostgreSQL's version from which a role's creator is not its member, and membership says whether it may SET ROLE."""

_MAKE_ROLE: Final = f"""
DO $$ BEGIN
  CREATE ROLE {APPLICATION_ROLE} NOLOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOBYPASSRLS;
EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
END $$
"""
"""Roles belong to the server: another database's migration may make it between a look and a CREATE."""


def make_role(connection: sa.Connection) -> None:
    """Make the application's role when the server lacks it, and let the migrating role switch to it.

    StorageError when the role is another owner's and this one may not grant it to itself.
    """
    found = connection.exec_driver_sql(f"SELECT 1 FROM pg_roles WHERE rolname = '{APPLICATION_ROLE}'").scalar()
    if found is None:
        connection.exec_driver_sql(_MAKE_ROLE)
    if may_become_application(connection):
        return
    option = " WITH SET TRUE" if _has_set_option(connection) else ""
    try:
        with connection.begin_nested():
            connection.exec_driver_sql(f"GRANT {APPLICATION_ROLE} TO CURRENT_USER{option}")
    except sa.exc.ProgrammingError as error:
        name = connection.exec_driver_sql("SELECT current_user").scalar_one()
        raise StorageError(
            f"the role {APPLICATION_ROLE} belongs to another owner on this server; let that one or a superuser run:"
            f' GRANT {APPLICATION_ROLE} TO "{name}"{option}'
        ) from error


def may_become_application(connection: sa.Connection) -> bool:
    """Return whether this login may SET ROLE to the application's role, which must exist."""
    kind = "SET" if _has_set_option(connection) else "MEMBER"
    return bool(
        connection.exec_driver_sql(f"SELECT pg_has_role(current_user, '{APPLICATION_ROLE}', '{kind}')").scalar()
    )


def make_schema(connection: sa.Connection, name: str) -> None:
    """Make a schema whose tables, present and future, the application may read and write but not alter."""
    default = f"ALTER DEFAULT PRIVILEGES IN SCHEMA {name}"
    for statement in (
        f"CREATE SCHEMA IF NOT EXISTS {name}",
        f"GRANT USAGE ON SCHEMA {name} TO {APPLICATION_ROLE}",
        f"{default} GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO {APPLICATION_ROLE}",
        f"{default} GRANT USAGE, SELECT ON SEQUENCES TO {APPLICATION_ROLE}",
    ):
        connection.exec_driver_sql(statement)


def secure_table(connection: sa.Connection, name: str) -> None:
    """Show and take only rows of the session's tenant, to and from everybody, the table's owner included.

    No setting, no rows. The condition holds no sub-query, so that it distributes (Citus).
    """
    rule = f"tenant_id = current_setting('{TENANT_SETTING}', true)"
    for statement in (
        f"ALTER TABLE {name} ENABLE ROW LEVEL SECURITY",
        f"ALTER TABLE {name} FORCE ROW LEVEL SECURITY",
        f"CREATE POLICY tenant ON {name} USING ({rule}) WITH CHECK ({rule})",
    ):
        connection.exec_driver_sql(statement)


def keep_no_tenant_statistics(connection: sa.Connection, name: str) -> None:
    """Let PostgreSQL plan for every tenant alike: it keeps no statistics of whose rows a table holds.

    They are made now and then, and hold the largest tenants by name. Whoever is not among them is taken for a row or
    two, so that any index that begins with the tenant seems as good as that of the ids which a statement names, and all
    that a new tenant of 100,000 memories has is walked to find ten. Without statistics it is taken for a two-hundredth
    of the table (``DEFAULT_NUM_DISTINCT`` in PostgreSQL's ``selfuncs.h``), and ids are looked up.
    """
    connection.exec_driver_sql(f"ALTER TABLE {name} ALTER COLUMN tenant_id SET STATISTICS 0")


def _has_set_option(connection: sa.Connection) -> bool:
    version = connection.dialect.server_version_info
    return version is not None and tuple(version) >= _SET_OPTION_SINCE


def secure_tables(*names: str) -> None:
    """Close tables to other tenants on PostgreSQL, and let it plan for every tenant alike."""
    connection = op.get_bind()
    if connection.dialect.name == "postgresql":
        for name in names:
            secure_table(connection, f"{schema_of(name)}.{name}")
            keep_no_tenant_statistics(connection, f"{schema_of(name)}.{name}")
