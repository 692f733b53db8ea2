"""What migrations do: make tables and indexes, and on PostgreSQL roles, privileges and row-level security by tenant."""

from typing import Final

import sqlalchemy as sa

from phronesis.errors import StorageError
from phronesis.store.database import APPLICATION_ROLE, SEARCH_PATH, TENANT_SETTING
from phronesis.store.dialects import NAMING, declared
from phronesis.store.schema import RESOURCE_TABLES, metadata

MEMORY: Final = "phronesis"
RESOURCES: Final = "phronesis_resources"


def make_on_postgres(connection: sa.Connection) -> None:
    """Make roles, schemas and all tables in an empty PostgreSQL database."""
    _make_role(connection)
    for name in (MEMORY, RESOURCES):
        _make_schema(connection, name)
    # The table of the version was made before there were default privileges. The application reads it, no more.
    connection.exec_driver_sql(f"GRANT SELECT ON {MEMORY}.alembic_version TO {APPLICATION_ROLE}")
    _state_conditions()
    memory = [table for table in metadata.sorted_tables if table not in RESOURCE_TABLES]
    for name, tables in ((RESOURCES, RESOURCE_TABLES), (MEMORY, memory)):
        connection.exec_driver_sql(f"SET LOCAL search_path = {name}, public")
        metadata.create_all(connection, tables, checkfirst=False)
    connection.exec_driver_sql(f"SET LOCAL search_path = {SEARCH_PATH}")
    secure_tables(connection, *metadata.tables)


def _state_conditions() -> None:
    """Let PostgreSQL's partial indexes have the conditions of SQLite's; there, a truth value is a number."""
    for index in (index for table in metadata.tables.values() for index in table.indexes):
        where = index.dialect_options["sqlite"]["where"]
        if where is not None:
            index.dialect_options["postgresql"]["where"] = sa.text(where.text.replace("pinned = 1", "pinned"))


def make_table(connection: sa.Connection, name: str, columns: str, *, key: str, rowid: bool = False) -> None:
    """Make a table of memory with `declared` columns, and close it to other tenants."""
    table = sa.Table(name, sa.MetaData(naming_convention=NAMING), *declared(columns, key), sqlite_with_rowid=rowid)
    table.create(connection)
    secure_tables(connection, name)


def add_columns(connection: sa.Connection, table: str, columns: str) -> None:
    """Add `declared` columns that may be NULL."""
    for column in [*declared(columns)][1:]:  # without the tenant's
        text = sa.schema.CreateColumn(column).compile(dialect=connection.dialect)
        connection.exec_driver_sql(f"ALTER TABLE {table} ADD COLUMN {text}")


_SET_OPTION_SINCE: Final = (16,)
"""PostgreSQL's version from which a role's creator is not its member, and membership says whether it may SET ROLE."""

_MAKE_ROLE: Final = f"""
DO $$ BEGIN
  CREATE ROLE {APPLICATION_ROLE} NOLOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOBYPASSRLS;
EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
END $$
"""
"""Roles belong to the server: another database's migration may make it between a look and a CREATE."""


def _make_role(connection: sa.Connection) -> None:
    """Make the application's role when the server lacks it, and let the migrating role switch to it.

    StorageError when the role is another owner's and this one may not grant it to itself.
    """
    found = connection.exec_driver_sql(f"SELECT 1 FROM pg_roles WHERE rolname = '{APPLICATION_ROLE}'").scalar()
    if found is None:
        connection.exec_driver_sql(_MAKE_ROLE)
    version = connection.dialect.server_version_info
    kind, option = ("SET", " WITH SET TRUE") if version and version >= _SET_OPTION_SINCE else ("MEMBER", "")
    may_switch = f"SELECT pg_has_role(current_user, '{APPLICATION_ROLE}', '{kind}')"
    if connection.exec_driver_sql(may_switch).scalar():
        return
    try:
        with connection.begin_nested():
            connection.exec_driver_sql(f"GRANT {APPLICATION_ROLE} TO CURRENT_USER{option}")
    except sa.exc.ProgrammingError as error:
        name = connection.exec_driver_sql("SELECT current_user").scalar_one()
        raise StorageError(
            f"the role {APPLICATION_ROLE} belongs to another owner on this server; let that one or a superuser run:"
            f' GRANT {APPLICATION_ROLE} TO "{name}"{option}'
        ) from error


def _make_schema(connection: sa.Connection, name: str) -> None:
    """Make a schema whose tables, present and future, the application may read and write but not alter."""
    default = f"ALTER DEFAULT PRIVILEGES IN SCHEMA {name}"
    for statement in (
        f"CREATE SCHEMA IF NOT EXISTS {name}",
        f"GRANT USAGE ON SCHEMA {name} TO {APPLICATION_ROLE}",
        f"{default} GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO {APPLICATION_ROLE}",
        f"{default} GRANT USAGE, SELECT ON SEQUENCES TO {APPLICATION_ROLE}",
    ):
        connection.exec_driver_sql(statement)


def secure_tables(connection: sa.Connection, *names: str) -> None:
    """Close tables to other tenants on PostgreSQL, and let it plan for every tenant alike.

    Only rows of the session's tenant are shown and taken, to and from everybody, the table's owner included. No
    setting, no rows. The condition holds no sub-query, so that it distributes (Citus).

    No statistics are kept of whose rows a table holds. They are made now and then, and hold the largest tenants by
    name. Whoever is not among them is taken for a row or two, so that any index that begins with the tenant seems as
    good as that of the ids which a statement names, and all that a new tenant of 100,000 memories has is walked to find
    ten. Without statistics it is taken for a two-hundredth of the table (``DEFAULT_NUM_DISTINCT`` in PostgreSQL's
    ``selfuncs.h``), and ids are looked up.
    """
    rule = f"tenant_id = current_setting('{TENANT_SETTING}', true)"
    for name in names if connection.dialect.name == "postgresql" else ():
        for statement in (
            f"ALTER TABLE {name} ENABLE ROW LEVEL SECURITY",
            f"ALTER TABLE {name} FORCE ROW LEVEL SECURITY",
            f"CREATE POLICY tenant ON {name} USING ({rule}) WITH CHECK ({rule})",
            f"ALTER TABLE {name} ALTER COLUMN tenant_id SET STATISTICS 0",
        ):
            connection.exec_driver_sql(statement)
