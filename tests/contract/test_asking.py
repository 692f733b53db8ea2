"""Asking the experience base gives the same on both databases: seeds, slots, the graph, and other times."""

from collections.abc import Iterator

import pytest

from phronesis import Memory
from phronesis.experience.laws.answers import Answer

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


def refs(answer: Answer) -> set[str | None]:
    return {one.item.source_ref for one in answer.l1_evidence}


def test_names_words_and_slots(memory: Memory) -> None:
    named = memory.query(situation="safe-7")
    assert len(refs(named)) == 6
    assert named.l1_evidence[0].item.position == 2
    assert refs(memory.query(goal="turn the dial slowly", label="failure")) == {f"failure/{n}" for n in range(3)}
    assert refs(memory.query(goal="turn the dial slowly", source_type="manual")) == {"success/0", "failure/0"}
    assert refs(memory.query(goal="which hinge?")) == {"door"} or "door" in refs(memory.query(goal="which hinge?"))
    assert len(refs(memory.query(goal="what of src/safe.py?", artifacts=["src/safe.py"]))) == 6


def test_patterns_and_other_times(memory: Memory) -> None:
    before = memory.query(situation=SHUT, explain=True)
    assert {one.item.label for one in before.l2_patterns} == {"success", "failure"}
    assert all(len(one.sources) == 3 and not one.needs_validation for one in before.l2_patterns)
    first = before.l1_evidence[0].item
    then = max(one.item.updated_at for one in before.l2_patterns)
    memory.items.archive(first.id)
    assert first.source_ref not in refs(memory.query(situation=SHUT))
    assert first.source_ref in refs(memory.query(situation=SHUT, as_of=then))
    assert len(memory.query(situation=SHUT, as_of=then).l2_patterns) == 2
    assert memory.query(situation=SHUT, as_of="2001-01-01").abstained
    assert refs(memory.query(situation=SHUT, valid_at="2001-01-01")) == set()
    assert memory.admin.rebuild(verify=True).equal


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
