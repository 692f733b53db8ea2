"""Asking the experience base gives the same on both databases: seeds, slots, the graph, and other times."""

from collections.abc import Iterator

import pytest

from phronesis import Memory

SHUT = "the safe is shut"


@pytest.fixture
def memory(database_url: str) -> Iterator[Memory]:
    with Memory.open(database_url, policy={"embedder": "hashing"}) as memory:
        for label in ("success", "failure"):
            memory.ingest(
                [
                    {
                        "situation": SHUT,
                        "attempt": f"{how} {n} times in src/safe.py",
                        "label": label,
                        "seq": n,
                        "source_ref": f"{label}/{n}",
                        "source_type": "log" if n else "manual",
                        "episode_id": "safe-7",
                        "reflection": f"lesson {label} {n}",
                    }
                    for n, how in enumerate([f"turned the {label} dial slowly"] * 3)
                ]
            )
        memory.ingest({"situation": "the door squeaks", "attempt": "oiled the hinge", "source_ref": "door"})
        memory.aggregate()
        memory.flush()
        yield memory


@pytest.mark.both_databases
def test_the_graph_is_walked_by_edges_alone(memory: Memory) -> None:
    answer = memory.query(goal="turned the success dial slowly 1 times", limit=1, explain=True)
    assert answer.explain is not None
    assert {step["by"] for step in answer.explain["reached"].values()} <= {
        "about",
        "member_of",
        "contradicts",
        "similar",
    }
    assert len(answer.l1_evidence) == 1
