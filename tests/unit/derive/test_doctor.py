"""Every check of the doctor passes on a sound store, and fails with a remedy on one that is broken in its way."""

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
from phronesis.derive.doctor import Doctor
from phronesis.derive.handler import Handler, Outcomes
from phronesis.errors import EntryFailed
from phronesis.memory import Memory
from phronesis.models.hashing_embedder import HashingEmbedder
from phronesis.storage import database, schema
from phronesis.storage import truth_tables as truth
from phronesis.storage.lane_view import LaneView
from phronesis.storage.transfer import stage_lane

NAMES = ["schema", "synchronous", "journal_mode", "secure_delete", "writable", "space", "imports", "chain", "pending",
         "failed", "degraded", "embedder", "vectors", "index", "tokens", *(f"role.{role}" for role in ROLES),
         "spending"]  # fmt: skip


def _fails(_view: LaneView, _entry: Entry, _outcomes: Outcomes) -> Changes:
    raise ZeroDivisionError


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with open_with(
        f"sqlite:///{tmp_path / 'memory.db'}", [Handler(verb="broken", apply=_fails)], embedder=HashingEmbedder()
    ) as opened:
        opened._background.stop()
        opened.add("tea is hot", user_id="alice")
        opened.flush()
        yield opened


def run(memory: Memory, *statements: str) -> None:
    """Run statements on the pool's one connection, outside any transaction of ours."""
    with memory.stages.database.engine.connect() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)


def check(memory: Memory, name: str) -> Check:
    return next(found for found in memory.doctor().checks if found.name == name)


def test_a_sound_store(memory: Memory) -> None:
    report = memory.doctor()
    assert [found.name for found in report.checks] == NAMES
    assert report.ok
    assert report.to_dict()["ok"] is True
    assert all(found.remedy is None for found in report.checks)
    before = memory.rebuild(verify=True).live_hash
    assert memory.rebuild(verify=True).live_hash == before


def _older_schema(memory: Memory) -> None:
    run(memory, "UPDATE alembic_version SET version_num = '0000'")


def _no_secure_delete(memory: Memory) -> None:
    run(memory, "PRAGMA secure_delete=OFF")


def _on_every_connection(memory: Memory, statement: str) -> None:
    database = memory.stages.database
    database.close()  # those that are open are used no more
    sa.event.listen(database.engine, "connect", lambda driver, _record: driver.execute(statement))


def _no_wal(memory: Memory) -> None:
    _on_every_connection(memory, "PRAGMA journal_mode=DELETE")


def _read_only(memory: Memory) -> None:
    _on_every_connection(memory, "PRAGMA query_only=ON")


def _altered(memory: Memory) -> None:
    with memory.stages.database.transaction(memory.tenant, "append") as unit:
        unit.run(sa.update(truth.entries).values(actor="mallory"))


def _half_imported(memory: Memory) -> None:
    with memory.stages.database.transaction(memory.tenant, "append") as unit:
        stage_lane(unit, 7, "user", head_hash="0" * 64)
        unit.run(sa.insert(truth.entries), [{
            "tenant_id": unit.tenant, "lane_id": 7, "seq": 1, "entry_id": "x", "verb": "item", "handler_version": 1,
            "actor": "a", "recorded_at": 1, "paths": [], "commitments": b"", "hash": "",
        }])  # fmt: skip


def _pending(memory: Memory) -> None:
    write(memory, "item", {"kind": "fact", "content": "later"}, wait=False)


def _failed(memory: Memory) -> None:
    with pytest.raises(EntryFailed):
        write(memory, "broken", {})


def _no_vector(memory: Memory) -> None:
    memory.add("not embedded yet", user_id="alice")


def _other_model(memory: Memory) -> None:
    with memory.stages.database.transaction(memory.tenant, "derive") as unit:
        unit.run(sa.update(schema.embedding_models).values(model_id="novel-1"))


def _other_dimension(memory: Memory) -> None:
    with memory.stages.database.transaction(memory.tenant, "derive") as unit:
        unit.run(sa.update(schema.embedding_models).values(dimension=3))


BROKEN: list[tuple[str, Callable[[Memory], None], str]] = [
    ("schema", _older_schema, "db upgrade"),
    ("secure_delete", _no_secure_delete, "erased"),
    ("journal_mode", _no_wal, "local disk"),
    ("writable", _read_only, "mend"),
    ("imports", _half_imported, "import the same file again"),
    ("chain", _altered, "restore"),
    ("pending", _pending, "flush"),
    ("failed", _failed, "retry('"),
    ("vectors", _no_vector, "flush"),
    ("embedder", _other_model, "reembed"),
    ("embedder", _other_dimension, "reembed"),
]


@pytest.mark.parametrize(("name", "breaks", "remedy"), BROKEN)
def test_a_broken_one(memory: Memory, name: str, breaks: Callable[[Memory], None], remedy: str) -> None:
    breaks(memory)
    found = check(memory, name)
    assert not found.ok
    assert remedy in str(found.remedy)
    assert not memory.doctor().ok


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

    stages = memory.stages
    doctor = Doctor(stages.database, stages.doctor.registry, stages.doctor.embedders, Mute, stages.roster)
    assert [found.name for found in doctor.examine(memory.tenant).checks if not found.ok] == ["tokens"]


def test_a_check_that_cannot_be_run_has_failed(memory: Memory) -> None:
    run(memory, "DROP TABLE vectors")
    assert not check(memory, "vectors").ok


def test_a_retried_failure_is_mended(memory: Memory, tmp_path: Path) -> None:
    _failed(memory)
    entry_id = str(check(memory, "failed").remedy).split("'")[1]
    mended = Handler(verb="broken", apply=lambda _view, _entry, _outcomes: Changes())
    with open_with(f"sqlite:///{tmp_path / 'memory.db'}", [mended], embedder=HashingEmbedder()) as again:
        again.retry(entry_id)
        assert check(again, "failed").ok


def test_a_store_in_memory_and_one_without_encoder() -> None:
    with Memory.open("sqlite://", policy={"embedder": "none"}) as memory:
        memory.add("x")
        assert memory.doctor().ok
        assert "space" not in [found.name for found in memory.doctor().checks]


@pytest.mark.parametrize("table", ["phronesis.items", "phronesis_resources.chunks"])
def test_the_isolation_of_tenants(postgres_dsn: str, table: str) -> None:
    with Memory.open(postgres_dsn, policy={"embedder": "none"}) as memory:
        memory.add("x")
        assert check(memory, "isolation").ok
        assert memory.doctor().ok
        with memory.stages.database.engine.connect() as connection:
            connection.exec_driver_sql(f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY")
            connection.commit()
        found: Any = check(memory, "isolation")
        assert not found.ok
        assert table.partition(".")[2] in found.detail
