"""Read tables of another program's SQLite file, which is opened read-only. It is no store: it has no tenants."""

import sqlite3
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from phronesis.errors import InputError

_MAGIC: Final = b"SQLite format 3\0"


def has_tables(path: Path, names: Collection[str]) -> bool:
    """Return whether a file is an SQLite database with these tables."""
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        if stream.read(len(_MAGIC)) != _MAGIC:
            return False
    try:
        with closing(_connect(path)) as connection:
            return set(names) <= _tables(connection)
    except sqlite3.Error:
        return False


def check_file(path: Path) -> None:
    """Raise InputError if an SQLite file is damaged."""
    try:
        with closing(_connect(path)) as connection:
            [problem] = connection.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.Error as error:
        problem = str(error)
    if problem != "ok":
        raise InputError(f"path: {path.name} is a damaged database ({problem}); copy it again", field="path")


def read_table(path: Path, name: str) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of a table by row id, none of a table that it lacks."""
    with closing(_connect(path)) as connection:
        if name in _tables(connection):
            for row in connection.execute(f'SELECT * FROM "{name}" ORDER BY rowid'):
                yield dict(row)


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    connection.row_factory = sqlite3.Row
    return connection


def _tables(connection: sqlite3.Connection) -> set[str]:
    return {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
