"""Patterns of one view beside those of the whole, edges between patterns, and the same again when replayed."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from phronesis import Memory
from phronesis.experience.laws.records import Pattern

STUCK = "The nightly restore of the billing database stopped at checksum page 4711 of the ledger tablespace"
LONG = [" ".join(f"deed{n}word{k}" for k in range(24)) for n in range(3)]
RETRIED = "Retried the flaky browser test three times in the merge queue until it went green"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(f"sqlite:///{tmp_path}/patterns.db", policy={"embedder": "none"}) as opened:
        yield opened


def learned(memory: Memory) -> list[Pattern]:
    found = [memory.get(item.id) for item in memory.get_all(kinds=["pattern"], limit=100)]
    return [one for one in found if isinstance(one, Pattern)]


def tell(memory: Memory, label: str = "failure", **texts: str) -> str:
    told = memory.ingest({"source_ref": "log", "label": label, **texts})
    return told[0][0].id


def test_a_pattern_of_one_view_stands_beside_those_of_the_whole(memory: Memory) -> None:
    for number in range(40):  # a lane with other matters, so that words are as rare as they are
        words = [f"matter{number}x{n}" for n in range(24)]
        tell(memory, attempt=" ".join(words[:16]), result=" ".join(words[16:]))
    events = [
        tell(
            memory,
            situation="restore stopped at checksum page 4711",
            attempt=f"{attempt}, run {number}",
            result=" ".join(attempt.split()[3:9]),
        )
        for attempt in LONG
        for number in range(2)
    ]
    memory.aggregate()
    found = learned(memory)
    by_method = {
        method: [one for one in found if one.cluster_info["method"] == method]
        for method in ("average link", "average link by situation")
    }
    assert sorted(len(one.members) for one in by_method["average link"]) == [2, 2, 2]
    (beside,) = by_method["average link by situation"]
    assert {member for member, _ in beside.members} == set(events)
    assert len(found) == 4
    again = tell(memory, situation="restore stopped at checksum page 4711", attempt="Prayed", result="Silence")
    told = memory.aggregate()
    assert [one.id for one in told.changed] == [beside.id]
    assert told.mapping[again] == [beside.id]
    assert memory.admin.rebuild(verify=True).equal


def test_one_failure_among_many_events_speaks_against_the_successes_that_it_is_like(memory: Memory) -> None:
    draw = random.Random(4)
    worn = ["".join(draw.choices("bdfglmnrst", k=5)) for _ in range(900)]
    fill = [
        {
            "attempt": " ".join(draw.choices(worn, k=8)),
            "result": " ".join(draw.choices(worn, k=4)),
            "label": ("failure", "success")[n % 2],
            "source_ref": "log",
        }
        for n in range(160)
    ]
    fine = [
        {"attempt": f"{RETRIED}, run {n}", "result": "merged", "label": "success", "source_ref": "log"}
        for n in range(2)
    ]
    memory.ingest([*fill, *fine])
    assert memory.aggregate().new
    [before] = [one for one in learned(memory) if "browser" in one.content]
    assert not before.counterexamples
    failed = tell(memory, attempt=f"{RETRIED}, run 7", result="a race between two workers reached production")
    [changed] = memory.aggregate().changed  # one event in 162: only what it reaches is looked at
    assert isinstance(changed, Pattern)
    assert changed.id == before.id
    assert [one["id"] for one in changed.counterexamples] == [failed]
    memory.feedback(failed, "label", value="success", reason="the race was another one", actor="bob")
    memory.aggregate()
    [now] = [one for one in learned(memory) if "browser" in one.content]
    assert now.id == before.id
    assert not now.counterexamples
    assert failed in dict(now.members)
    assert memory.admin.rebuild(verify=True).equal


def test_situations_and_attempts_are_crossed_beside_the_patterns_of_the_whole(memory: Memory) -> None:
    """Two situations, two attempts: each combination is a pattern of its own, within that of all (EMB-08)."""
    cells: dict[tuple[str, str], set[str]] = {}
    for n in range(4):
        for situation in (STUCK, "The checkout page of the web shop freezes while the basket holds a voucher"):
            for attempt in (RETRIED, LONG[1]):
                told = tell(memory, situation=situation, attempt=attempt, result=f"Nobody read it, day {n}")
                cells.setdefault((situation, attempt), set()).add(told)
    for n in range(30):
        tell(memory, "success", situation=f"room{n} wall{n}", attempt=f"painted{n} blue{n}", result=f"dry{n}")
    memory.aggregate()
    found = learned(memory)
    crossed = [one for one in found if one.cluster_info.get("crossed")]
    assert {frozenset(event for event, _ in one.members) for one in crossed} == set(map(frozenset, cells.values()))
    for one in crossed:
        assert one.cluster_info["crossed"] == ["situation", "attempt"]
        assert one.cluster_info["method"] == "average link by situation and attempt"
        assert {"situation", "attempt"} <= set(one.view.split("+"))
    others = [one for one in found if not one.cluster_info.get("crossed")]
    assert others
    assert any({event for event, _ in one.members} > cell for one in others for cell in cells.values())
    memory.abstract()
    drawn = [memory.get(item.id).to_dict() for item in memory.get_all(kinds=["principle"])]
    assert not {one.id for one in crossed} & {pattern for one in drawn for pattern in one["patterns"]}
    memory.aggregate(full=True)
    assert {one.id for one in learned(memory)} == {one.id for one in found}
    assert memory.admin.rebuild(verify=True).equal
