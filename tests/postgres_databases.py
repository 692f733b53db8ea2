"""Fresh databases and the role that owns them, on the server that the tests use.

The superuser only prepares: it creates the owner role, the databases and the extensions that need a superuser. The
tests connect as the owner, which may create roles (the migrations make the application's role) but bypasses nothing.
"""

import hashlib
import itertools
import os
import secrets
from urllib.parse import quote, urlencode

import psycopg
from psycopg import conninfo, sql

OWNER = "phronesis_test_owner"


class Databases:
    """Makes and drops databases on one server, through the superuser's `admin_dsn`."""

    def __init__(self, admin_dsn: str) -> None:
        self._admin = {name: str(value) for name, value in conninfo.conninfo_to_dict(admin_dsn).items()}
        # On a server of the developer's own (PHRONESIS_TEST_DSN) several runs meet, and the owner's password may be
        # guessable by nobody who does not know the superuser's DSN.
        self._password = hashlib.sha256(f"{OWNER} {admin_dsn}".encode()).hexdigest()
        self._prefix = f"phronesis_test_{secrets.token_hex(4)}_{os.getpid()}"
        self._numbers = itertools.count(1)
        self._ensure_owner()

    def create(self, template: str = "template1") -> str:
        """Create a database of the owner's as a copy of `template`, and return its name."""
        name = f"{self._prefix}_{next(self._numbers)}"
        # file_copy passes the buffers and the log by: in memory a third of the time of wal_log, on a disk the same.
        self._execute(
            sql.SQL("CREATE DATABASE {} OWNER {} TEMPLATE {} STRATEGY file_copy").format(
                sql.Identifier(name), sql.Identifier(OWNER), sql.Identifier(template)
            )
        )
        return name

    def drop(self, name: str) -> None:
        """Drop the database, ending whatever a test left connected."""
        self._execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))

    def dsn(self, name: str) -> str:
        """Return the owner's DSN of a database."""
        return _url(self._admin | {"user": OWNER, "password": self._password, "dbname": name})

    def admin_dsn(self, name: str) -> str:
        """Return the superuser's DSN of a database."""
        return _url(self._admin | {"dbname": name})

    def _execute(self, statement: sql.Composed) -> None:
        with psycopg.connect(_url(self._admin), autocommit=True) as connection:
            connection.execute(statement)

    def _ensure_owner(self) -> None:
        with psycopg.connect(_url(self._admin)) as connection:
            # Roles belong to the server, and every worker of the run comes here: one at a time.
            connection.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", [OWNER])
            known = connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [OWNER]).fetchone()
            statement = "ALTER ROLE {} {}" if known else "CREATE ROLE {} {}"
            rights = sql.SQL("LOGIN CREATEROLE NOSUPERUSER NOCREATEDB NOBYPASSRLS PASSWORD {}").format(self._password)
            connection.execute(sql.SQL(statement).format(sql.Identifier(OWNER), rights))


def _url(parts: dict[str, str]) -> str:
    rest = dict(parts)
    user, database = quote(rest.pop("user", ""), safe=""), quote(rest.pop("dbname", ""), safe="")
    password = quote(rest.pop("password", ""), safe="")
    host, port = rest.pop("host", "localhost"), rest.pop("port", "5432")
    if host.startswith("/"):  # a socket's folder cannot stand in the address
        rest["host"], host = host, ""
    login = f"{user}:{password}" if password else user
    options = f"?{urlencode(rest)}" if rest else ""
    return f"postgresql://{login}@{host}:{port}/{database}{options}"
