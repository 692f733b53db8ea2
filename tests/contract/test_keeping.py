"""The verbs that keep a store in order, the same on both databases, and from one to the other."""

from pathlib import Path

import pytest

from custom_store import failing, open_with, write
from phronesis.conversation import direct_statements, handlers
from phronesis.core.entries import Entry
from phronesis.engine.handler import Handler
from phronesis.errors import EntryFailed
from phronesis.memory import Memory
from phronesis.models.embedder import HashingEmbedder
from phronesis.worker import Worker

POLICY = {"embedder": "hashing"}


def filled(memory: Memory) -> None:
    for n in range(6):
        turn = {"messages": [{"role": "user", "content": f"Alice Smith drank tea {n} \ud800\x00", "id": str(n)}]}
        memory.commit_turn(f"s{n % 2}", turn, user_id="alice", wait=n % 3 > 0, idempotency_key=f"turn {n}")
    item = memory.add("tea is hot", user_id="alice", kind="fact", subject="tea", key="state").items[0]
    memory.rollback(memory.update(item.id, content="tea was hot").entry_id)
    memory.add("y" * 90_000, namespace="big", infer=False)
    memory.flush()


def test_failing_retrying_and_deriving_anew(database_url: str) -> None:
    broken = [True]

    def bad(entry: Entry) -> bool:
        return broken[0] and "bad" in str(entry.payload)

    blind = Handler(verb="turn", apply=failing(handlers.apply, bad), prepare=lambda _bench, _entry: [])
    refused = Handler(verb="item", apply=failing(direct_statements.apply, bad))
    with open_with(database_url, [blind, refused]) as memory:
        filled(memory)
        with pytest.raises(EntryFailed) as told:
            write(memory, "item", {"kind": "fact", "content": "bad"})
        broken[0] = False
        memory.admin.retry(told.value.details["entry_id"])
        assert memory.admin.rebuild(verify=True).equal
    with open_with(database_url, []) as memory:
        assert "mention" not in memory.search("Smith", user_id="alice", explain=True).explain["channels"]  # type: ignore[index]
        result = memory.admin.rederive(user_id="alice")
        assert (result.added, result.changed, result.vanished) == ((), (), ())
        found = memory.search("What did Alice Smith do?", user_id="alice", explain=True)
        assert "mention" in found.explain["channels"]  # type: ignore[index]
        assert memory.admin.rebuild(verify=True).equal
        assert memory.admin.doctor().ok


def test_an_export_goes_from_either_database_into_the_other(database_url: str, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'copy.db'}"
    with Memory.open(database_url, policy=POLICY) as source, Memory.open(url, policy=POLICY) as copy:
        filled(source)
        source.export(tmp_path / "a.jsonl")
        copy.import_(tmp_path / "a.jsonl")
        copy.export(tmp_path / "b.jsonl")
        back = source.for_tenant("back")
        back.import_(tmp_path / "b.jsonl")
        back.export(tmp_path / "c.jsonl")
        texts = [(tmp_path / name).read_text("utf-8").splitlines()[1:] for name in ("a.jsonl", "b.jsonl", "c.jsonl")]
        assert texts[0] == texts[1] == texts[2]
        hashes = [memory.admin.rebuild(verify=True) for memory in (source, copy, back)]
        assert all(result.equal for result in hashes)
        assert len({result.live_hash for result in hashes}) == 1


@pytest.mark.both_databases
def test_worker_doctor_and_another_encoder(database_url: str) -> None:
    class Renamed(HashingEmbedder):
        @property
        def name(self) -> str:
            return "renamed-1"

    with Memory.open(database_url, policy=POLICY) as memory:
        memory._runtime._background.stop()
        for n in range(5):
            memory.add(f"tea {n}", user_id="alice", wait=False)
        assert not memory.admin.doctor().ok
        assert Worker(memory).work() == 10
        assert memory.admin.doctor().ok
        assert memory.admin.reembed(Renamed()).vectors == 5
        assert memory.search("tea", user_id="alice", explain=True).explain["embedder"] == "renamed-1"  # type: ignore[index]
        assert memory.admin.doctor().ok
