"""Two threads may come with one entry: who is later is told, and need not prepare what nobody will take."""

import threading
from pathlib import Path

from custom_store import open_with, write
from phronesis.conversation import typed_items
from phronesis.core.entries import Entry, Outcome
from phronesis.engine.handler import Handler, PrepareContext
from phronesis.log.reader import load_entries
from phronesis.memory import Memory
from phronesis.store.lanes import list_lanes


def test_the_later_one_is_overtaken(tmp_path: Path) -> None:
    told: list[bool] = []
    first = threading.Event()

    def find(bench: PrepareContext, _entry: Entry) -> list[Outcome]:
        with bench.view() as view:
            assert not bench.overtaken(view)
        if not first.is_set():
            first.set()
            other = threading.Thread(target=memory.flush)
            other.start()
            other.join()
        with bench.view() as view:
            told.append(bench.overtaken(view))
        return [Outcome(role="found", made_by="test", body={})]

    with open_with(
        f"sqlite:///{tmp_path / 'memory.db'}", [Handler(verb="novel", apply=typed_items.apply, prepare=find)]
    ) as memory:
        write(memory, "novel", {"kind": "fact", "content": "tea is hot"})
        assert told == [False, True]
        assert memory.admin.rebuild(verify=True).equal


def test_an_aggregation_that_is_applied_is_not_prepared_again(tmp_path: Path) -> None:
    with Memory.open(f"sqlite:///{tmp_path / 'memory.db'}", policy={"embedder": "none"}) as memory:
        for n in range(2):
            memory.ingest(
                {
                    "situation": "the build is slow",
                    "attempt": f"cached wheels {n}",
                    "result": "fast",
                    "label": "success",
                    "source_ref": f"log:{n}",
                    "source_type": "log",
                }
            )
        memory.aggregate()
        with memory.admin.components.database.transaction(memory.admin.tenant, "read") as unit:
            ((lane, entry),) = [
                (lane, entry)
                for lane in list_lanes(unit)
                for entry in load_entries(unit, lane, after=0, until=lane.head_seq, limit=9)
                if entry.verb == "aggregate"
            ]
        prepare = memory.admin.components.writer.interpreter.stepper.registry["aggregate"].prepare
        assert prepare is not None
        database = memory.admin.components.database
        assert prepare(PrepareContext(database, memory.admin.tenant, lane.lane_id, seq=entry.seq), entry) == []
        assert (
            prepare(PrepareContext(database, memory.admin.tenant, lane.lane_id), entry)[0].body["looked_at"] == 2
        )  # prepared anew
