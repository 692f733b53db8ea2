"""The log on both databases: order, durability of every character, idempotency, and a chain that finds tampering."""

import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
import sqlalchemy as sa

from phronesis.core.ids import LaneName
from phronesis.errors import NotFound
from phronesis.log.payloads import check_chain, iterate, load_entry
from phronesis.log.recorder import BLOB_BYTES, NewEntry, Recorder
from phronesis.store import schema
from phronesis.store.database import Database, connect
from phronesis.store.lanes import find_lane, get_lane, list_behind, list_lanes, lock_lane
from set_clock import Clock

ADA = LaneName("user", "ada")
START = datetime(2026, 5, 1, tzinfo=UTC)

PAYLOADS: list[dict[str, Any]] = [
    {"content": "NUL \x00, lone \ud800 and \udfff, pair \U0001f469\u200d\U0001f52c, \u202ertl, \ufffe, \x1b[31m"},
    {"messages": [{"content": "\x00"}, {"content": "\ud83d"}, {"content": ""}], "refs": [{"uri": "\ud800"}]},
    {"nul\x00key": {"\ud800": [None, True, False, 0, -1, 2**63 - 1, -(2**63), 1.5, 1e300, 1e-9, "", [], {}]}},
    {"content": "word " * 40_000},
    {"messages": [{"content": "长" * BLOB_BYTES}, {"content": "short"}, {"content": "\ud800" * BLOB_BYTES}]},
    {},
]


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = connect(database_url)
    yield database
    database.close()


@pytest.fixture
def recorder(database: Database, clock: Clock) -> Recorder:
    return Recorder(database, clock)


def _append(recorder: Recorder, payload: dict[str, Any], lane: Any = ADA, **options: Any) -> Any:
    tenant, key = options.pop("tenant", "t"), options.pop("idempotency_key", None)
    return recorder.append(tenant, lane, NewEntry("item", 1, payload, "agent", key), **options)


@pytest.mark.both_databases
def test_payloads_come_back_character_for_character(database: Database, recorder: Recorder) -> None:
    entries = [_append(recorder, payload).entry for payload in PAYLOADS]
    with database.transaction("t", "read") as unit:
        assert [load_entry(unit, entry.id).payload for entry in entries] == PAYLOADS
        lane = find_lane(unit, ADA)
        assert lane is not None
        assert [entry.payload for entry in iterate(unit, lane)] == PAYLOADS
        assert check_chain(unit, lane) == []
        assert unit.run(sa.select(sa.func.count()).select_from(schema.blobs)).scalar_one() == 3


@pytest.mark.both_databases
def test_seq_has_no_gaps_whoever_writes(database: Database, recorder: Recorder) -> None:
    lanes = [ADA, LaneName("shared", "ada"), LaneName("user", "Ada")]

    def write(n: int) -> None:
        for k in range(8):
            _append(recorder, {"n": n, "k": k}, lanes[k % len(lanes)])

    threads = [threading.Thread(target=write, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with database.transaction("t", "read") as unit:
        for lane in list_lanes(unit):
            entries = list(iterate(unit, lane))
            assert [entry.seq for entry in entries] == list(range(1, lane.head_seq + 1))
            own = [[entry.payload["k"] for entry in entries if entry.payload["n"] == n] for n in range(4)]
            assert all(order == sorted(order) for order in own)
            assert check_chain(unit, lane) == []
        assert sum(lane.head_seq for lane in list_lanes(unit)) == 32
        assert len(list_behind(unit)) == 3


@pytest.mark.both_databases
def test_one_key_from_many_threads_is_one_entry(recorder: Recorder) -> None:
    seen: list[str] = []
    threads = [
        threading.Thread(target=lambda: seen.append(_append(recorder, {"x": 1}, idempotency_key="k").entry.id))
        for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 6
    assert len(set(seen)) == 1


@pytest.mark.both_databases
def test_lanes_whose_names_differ_in_anything_are_different(database: Database, recorder: Recorder) -> None:
    names = ["alice", "Alice", "alice ", "ålice", "a\u030alice", "alice-2", "alice@corp.com", "ALICE", "a%", "a_"]
    for name in names:
        _append(recorder, {"of": name}, LaneName("user", name))
    with database.transaction("t", "read") as unit:
        for name in names:
            lane = find_lane(unit, LaneName("user", name))
            assert lane is not None
            assert [entry.payload for entry in iterate(unit, lane)] == [{"of": name}]
        assert find_lane(unit, LaneName("shared", "alice")) is None
    assert lane is not None
    with database.transaction("other", "read") as unit:
        assert find_lane(unit, ADA) is None
        with pytest.raises(NotFound):
            get_lane(unit, lane.lane_id)
    with pytest.raises(NotFound), database.transaction("other", "derive") as unit:
        lock_lane(unit, lane.lane_id)
