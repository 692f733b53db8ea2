"""An export goes from either database into the other."""

from pathlib import Path

from phronesis.memory import Memory

POLICY = {"embedder": "hashing"}


def filled(memory: Memory) -> None:
    for n in range(6):
        turn = {"messages": [{"role": "user", "content": f"Alice Smith drank tea {n} \ud800\x00", "id": str(n)}]}
        memory.commit_turn(f"s{n % 2}", turn, user_id="alice", wait=n % 3 > 0, idempotency_key=f"turn {n}")
    item = memory.add("tea is hot", user_id="alice", kind="fact", subject="tea", key="state").items[0]
    memory.rollback(memory.update(item.id, content="tea was hot").entry_id)
    memory.add("y" * 90_000, namespace="big", infer=False)
    memory.flush()


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
