"""Migrate a database to this version's schema, or say why that is impossible. The migrations are modules beside this.

Opening reads one row. Alembic takes a tenth of a second to import and is loaded only for a migration. A migration that
makes a table secures it with ``secure_table``; tests/contract holds it to that.
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa

from phronesis.errors import InputError, PhronesisError, SchemaMissing, SchemaTooNew, StorageError
from phronesis.store.database import APPLICATION_ROLE, SEARCH_PATH, TENANT_SETTING, Database
from phronesis.store.dialects import sqlstate_of, translate_error
from phronesis.store.schema import metadata

HEAD: Final = "0006"
"""The newest migration: the schema that this version works with."""

REMEDY: Final = "run `phronesis store upgrade` as the role that owns the database"

_LOCK: Final = 0x7068726F6E65  # "phrone" in ASCII: migrations of one database go one at a time
_IN_PROCESS: Final = threading.Lock()
"""Alembic keeps the migration at hand in a module: in one process, even those of different databases take turns."""

_REFUSED: Final = "42501"
_NO_EXTENSION: Final = frozenset({"0A000", "58P01"})
"""SQLSTATEs of an extension that is not installed on the server: feature_not_supported, before 17 undefined_file."""

_SET_OPTION_SINCE: Final = (16,)
"""PostgreSQL's version from which a role's creator is not its member, and membership says whether it may SET ROLE."""

_MAKE_ROLE: Final = f"""
DO $$ BEGIN
  CREATE ROLE {APPLICATION_ROLE} NOLOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOBYPASSRLS;
EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
END $$
"""
"""Roles belong to the server: another database's migration may make it between a look and a CREATE."""


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
        if not _may_create(database):
            raise SchemaMissing(f"the database has no schema yet, and this role may not make it; {REMEDY}")
    upgrade(database)


def check(database: Database) -> None:
    """Raise SchemaMissing or SchemaTooNew unless the schema is this version's. Changes nothing."""
    version = read_version(database)
    _refuse_newer(version)
    if version != HEAD:
        held = "no schema yet" if version is None else f"schema {version}"
        raise SchemaMissing(f"the database has {held}, this Phronesis needs {HEAD}; {REMEDY}")


def upgrade(database: Database) -> None:
    """Run the missing migrations in one transaction; do nothing when there are none.

    Any number of processes and threads may call it at once: one migrates, the others wait.
    """
    with _IN_PROCESS, _migration_lock(database) as connection:
        version = _version(connection)
        if version == HEAD:
            return
        _refuse_newer(version)
        _run_migrations(connection, version)


def _run_migrations(connection: sa.Connection, version: str | None) -> None:
    from alembic.operations import Operations  # noqa: PLC0415 - see the module's docstring
    from alembic.runtime.migration import MigrationContext, MigrationStep  # noqa: PLC0415
    from alembic.script import ScriptDirectory  # noqa: PLC0415

    folder = str(Path(__file__).parent)
    scripts = ScriptDirectory(folder, version_locations=[folder])
    missing = reversed([*scripts.iterate_revisions(HEAD, version or "base")])
    steps = [MigrationStep.upgrade_from_script(scripts.revision_map, script) for script in missing]
    context = MigrationContext.configure(connection, opts={"fn": lambda _version, _context: steps})
    with Operations.context(context):
        context.run_migrations()


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
    """Create what the migrations and Alembic's table need."""
    try:
        connection.exec_driver_sql("CREATE EXTENSION IF NOT EXISTS vector")
    except sa.exc.DBAPIError as error:
        if sqlstate_of(error) in _NO_EXTENSION:
            raise StorageError("the server lacks the vector extension; install pgvector there") from error
        raise
    connection.exec_driver_sql("CREATE SCHEMA IF NOT EXISTS phronesis")
    connection.exec_driver_sql(f"SET LOCAL search_path = {SEARCH_PATH}")


def _may_create(database: Database) -> bool:
    with _connect(database) as connection:
        query = "SELECT has_database_privilege(current_database(), 'CREATE')"
        return bool(connection.exec_driver_sql(query).scalar())


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


# Who may do what on PostgreSQL: the application's role, its privileges, and row-level security by tenant.


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
