"""Migrate a database to this version's schema, or say why that is impossible.

Opening reads one row. An empty database is made as the code declares it, an older one goes through what changed since.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite

from phronesis.errors import InputError, PhronesisError, SchemaMissing, SchemaTooNew, StorageError
from phronesis.store.database import APPLICATION_ROLE, SEARCH_PATH, Database
from phronesis.store.dialects import sqlstate_of, translate_error
from phronesis.store.schema import metadata

HEAD: Final = "0006"
"""The newest migration: the schema that this version works with."""

REMEDY: Final = "run `phronesis store upgrade` as the role that owns the database"

_LOCK: Final = 0x7068726F6E65  # "phrone" in ASCII: migrations of one database go one at a time

_VERSIONS: Final = """
CREATE TABLE IF NOT EXISTS alembic_version (
  version_num VARCHAR(32) NOT NULL, CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
)
"""
"""The table of Alembic, which once ran the migrations."""

_REFUSED: Final = "42501"
_NO_EXTENSION: Final = frozenset({"0A000", "58P01"})
"""SQLSTATEs of an extension that is not installed on the server: feature_not_supported, before 17 undefined_file."""


def open_schema(database: Database) -> None:
    """Ensure that the schema is this version's, on every opening. Closes ``database`` on failure.

    An empty database is prepared, and an older SQLite file upgraded. An older PostgreSQL database is not upgraded,
    since other processes may be using it: that is the operator's decision.

    Raises SchemaMissing for an empty or older database that is not upgraded here; SchemaTooNew if a newer Phronesis
    wrote it; InputError if the path of a SQLite file leads nowhere; StorageError if the database cannot be read or
    written.
    """
    try:
        _check_path(database)
        version = read_version(database)
        if version != HEAD:
            _raise_to_head(database, version)
    except PhronesisError:
        database.engine.dispose()
        raise


def _raise_to_head(database: Database, version: str | None) -> None:
    _refuse_newer(version)
    if database.dialect == "postgresql":
        if version is not None:
            raise SchemaMissing(f"the database is at schema {version}, this Phronesis needs {HEAD}; {REMEDY}")
        with _connect(database) as connection:
            query = "SELECT has_database_privilege(current_database(), 'CREATE')"
            may_create = connection.exec_driver_sql(query).scalar()
        if not may_create:
            raise SchemaMissing(f"the database has no schema yet, and this role may not make it; {REMEDY}")
    upgrade(database)


def upgrade(database: Database) -> None:
    """Run the missing migrations in one transaction; do nothing when there are none.

    Any number of processes and threads may call it at once: one migrates, the others wait.
    """
    with _migration_lock(database) as connection:
        version = _version(connection)
        if version == HEAD:
            return
        _refuse_newer(version)
        _run_migrations(connection, version)


def _run_migrations(connection: sa.Connection, version: str | None) -> None:
    connection.exec_driver_sql(_VERSIONS)
    if version is None and connection.dialect.name == "sqlite":
        for statement in sqlite_statements():
            connection.exec_driver_sql(statement)
    elif version is None:
        from phronesis.store.migrations.operations import make_on_postgres  # noqa: PLC0415 - seldom needed

        make_on_postgres(connection)
    else:
        from phronesis.store.migrations.revisions import REVISIONS  # noqa: PLC0415

        for migrate in (migrate for number, migrate in REVISIONS.items() if version < number):
            migrate(connection)
    connection.exec_driver_sql("DELETE FROM alembic_version")
    connection.exec_driver_sql(f"INSERT INTO alembic_version VALUES ('{HEAD}')")


@cache
def sqlite_statements() -> Sequence[str]:
    """Return the statements that make SQLite's tables, cached: compiling takes four times as long as running them."""
    worded: list[str] = []
    dialect = sqlite.dialect()
    engine = sa.create_mock_engine(
        "sqlite://", lambda made, *_, **__: worded.append(str(made.compile(dialect=dialect)))
    )
    metadata.create_all(engine, checkfirst=False)
    return worded


def read_version(database: Database) -> str | None:
    """Return the number of the newest migration that the database has, or None for a database without our tables."""
    with _connect(database) as connection:
        return _version(connection)


def _version(connection: sa.Connection) -> str | None:
    if connection.dialect.name == "sqlite":
        known = connection.exec_driver_sql("SELECT 1 FROM sqlite_master WHERE name = 'alembic_version'").scalar()
    else:
        known = connection.exec_driver_sql(
            "SELECT 1 FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
            " WHERE n.nspname = 'phronesis' AND c.relname = 'alembic_version'"
        ).scalar()
        if known is not None:
            _become_application(connection)
    if known is None:
        return None
    version: str | None = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SET LOCAL ROLE NONE")
    return version


def _become_application(connection: sa.Connection) -> None:
    """Switch to the application role, so that a login without permission fails when the store is opened."""
    try:
        connection.exec_driver_sql(f"SET LOCAL ROLE {APPLICATION_ROLE}; SET LOCAL search_path = {SEARCH_PATH}")
    except sa.exc.ProgrammingError as error:
        if sqlstate_of(error) != _REFUSED:
            raise
        raise StorageError(
            f"this login may not act as {APPLICATION_ROLE}; let the owner of the database run:"
            f' GRANT {APPLICATION_ROLE} TO "{connection.engine.url.username}"'
        ) from error


@contextmanager
def _connect(database: Database) -> Iterator[sa.Connection]:
    try:
        with database.engine.connect() as connection:
            yield connection
    except sa.exc.SQLAlchemyError as error:
        raise translate_error(error) from error


@contextmanager
def _migration_lock(database: Database) -> Iterator[sa.Connection]:
    """Return a connection in a transaction that holds the database's migration lock; commits at the end."""
    with _connect(database) as connection:
        if database.dialect == "sqlite":
            connection.exec_driver_sql("PRAGMA synchronous=FULL")
            connection.exec_driver_sql("BEGIN EXCLUSIVE")
        else:
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
            _prepare_postgres(connection)
        try:
            yield connection
        except BaseException:
            connection.rollback()
            raise
        connection.commit()


def _prepare_postgres(connection: sa.Connection) -> None:
    """Create what the migrations and the table of the version need."""
    try:
        connection.exec_driver_sql("CREATE EXTENSION IF NOT EXISTS vector")
    except sa.exc.DBAPIError as error:
        if sqlstate_of(error) in _NO_EXTENSION:
            raise StorageError("the server lacks the vector extension; install pgvector there") from error
        raise
    connection.exec_driver_sql("CREATE SCHEMA IF NOT EXISTS phronesis")
    connection.exec_driver_sql(f"SET LOCAL search_path = {SEARCH_PATH}")


def _refuse_newer(version: Any) -> None:
    if version is not None and not (version.isdigit() and version <= HEAD):
        raise SchemaTooNew(
            f"the database is at schema {version}, this Phronesis knows schemas up to {HEAD}; use the newer Phronesis"
            " that wrote it, or another url",
            details={"schema": version, "known": HEAD},
        )


def _check_path(database: Database) -> None:
    if database.path is None:
        return
    path = Path(database.path)
    try:
        is_folder, has_parent = path.is_dir(), path.parent.is_dir()
    except PermissionError as error:
        raise StorageError(f"{error.filename} may not be read by this user; grant it, or give another url") from error
    if is_folder:
        raise InputError(f"url names a folder, {path}; name a file in it, such as {path / 'memory.db'}", field="url")
    if not has_parent:
        raise InputError(f"the folder {path.parent} of url does not exist; make it first", field="url")


# Row-level security on PostgreSQL, for ``doctor``.


def bypassing_role(database: Database, tenant: str) -> str | None:
    """Return the name of the transactions' PostgreSQL role if it bypasses row-level security."""
    with database.transaction(tenant, "read") as unit:
        return unit.run(
            sa.text("SELECT rolname FROM pg_roles WHERE rolname = current_user AND (rolsuper OR rolbypassrls)")
        ).scalar_one_or_none()


def unprotected_tables(database: Database, tenant: str) -> list[str]:
    """Return the PostgreSQL tables without forced row-level security, with their schema."""
    with database.transaction(tenant, "read") as unit:
        query = sa.text(
            "SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            " WHERE n.nspname IN ('phronesis', 'phronesis_resources') AND c.relkind IN ('r', 'p')"
            " AND NOT (c.relrowsecurity AND c.relforcerowsecurity) ORDER BY c.relname"
        )
        ours = {table.name for table in metadata.tables.values()}
        return [f"{row.nspname}.{row.relname}" for row in unit.run(query) if row.relname in ours]


def bind_role_sql(role: str) -> str:
    """Return the SQL that makes row-level security apply to a role."""
    return f'ALTER ROLE "{role}" NOSUPERUSER NOBYPASSRLS'


def force_policies_sql(tables: Sequence[str]) -> str:
    """Return the SQL that forces row-level security on tables."""
    return "; ".join(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY" for table in tables)
