"""Laws of learning: counts do not depend on the order of learns, and learning twice changes nothing."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from phronesis import Memory
from phronesis.reasoning.laws.records import Claim

TESTS = [
    {"metric": "fraction", "product": "CO", "op": ">=", "value": 0.5},
    {"metric": "activity", "op": "<", "value": 5, "given": {"M1": "Cu"}},
    {"metric": "value", "product": "CO", "op": ">", "versus": {"M1": "Cu"}},
]
SHARES = st.sampled_from([None, 0.1, 0.5, 0.9])
RUNS = st.lists(st.tuples(st.sampled_from(["Cu", "Ni"]), SHARES), min_size=1, max_size=5)


def filled(path: Path, runs: list[tuple[str, float | None]]) -> Memory:
    memory = Memory.open(f"sqlite:///{path / 'm.db'}", policy={"embedder": "none", "reasoning": {"top_k": 0}})
    claims: list[dict[str, Any]] = [
        {"claim_id": f"c{n}", "status": status, "facts": {"source_run_ids": ["x"]}, "inference": "…", "test": test}
        for n, (status, test) in enumerate(zip(("hypothesis", "conclusion", "fact"), TESTS, strict=True))
    ]
    made = memory.reasoning.add(f"RBMEM_CLAIMS_V1\nTOPIC=t\nCLAIMS_JSON={json.dumps(claims)}", user_id="lin")
    for n, (metal, share) in enumerate(runs):
        memory.runs.record({"run_id": f"r{n}", "output": {"M1": metal}, "memory_ids": [made.id]}, user_id="lin")
        if share is not None:
            product = {"name": "CO", "value": 10 * share, "fraction": share}
            memory.runs.feedback(f"r{n}", {"products": [product]}, user_id="lin")
    return memory


def learned(memory: Memory, order: list[str]) -> tuple[Claim, ...]:
    for run_id in order:
        memory.learn(run_id, user_id="lin")
    [item] = memory.get_all(user_id="lin", kinds=["reasoning"])
    return tuple(memory.reasoning.get(item.id).claims)


@pytest.mark.slow
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(runs=RUNS, data=st.data())
def test_counts_do_not_depend_on_the_order(
    tmp_path_factory: pytest.TempPathFactory, runs: list[tuple[str, float | None]], data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("order")
    filled(folder, runs).close()
    ids = [f"r{n}" for n in range(len(runs))]
    shuffled = data.draw(st.permutations(ids))
    counts = []
    for n, order in enumerate((ids, shuffled)):
        copy = folder / str(n)
        copy.mkdir()
        shutil.copyfile(folder / "m.db", copy / "m.db")
        with Memory.open(f"sqlite:///{copy / 'm.db'}", policy={"embedder": "none"}) as memory:
            claims = learned(memory, order)
            assert learned(memory, order) == claims  # twice changes nothing
            counts.append(
                [
                    (set(one.support.run_ids), set(one.contra.run_ids), one.support.count, one.contra.count)
                    for one in claims
                ]
            )
            assert claims[2].status == "fact"
            assert memory.admin.rebuild(verify=True).equal
    assert counts[0] == counts[1]


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(runs=RUNS, data=st.data())
def test_a_learn_that_is_taken_back_leaves_the_others(
    tmp_path_factory: pytest.TempPathFactory, runs: list[tuple[str, float | None]], data: st.DataObject
) -> None:
    with filled(tmp_path_factory.mktemp("undo"), runs) as memory:
        ids = [f"r{n}" for n in range(len(runs))]
        done = [memory.learn(run_id, user_id="lin") for run_id in ids]
        counting = [one for one in done if any(row.counted for row in one.judged)]
        if not counting:
            return
        chosen = data.draw(st.sampled_from(counting))
        memory.rollback(chosen.entry_id, cascade=True)
        claims = learned(memory, [])
        assert all(chosen.run_id not in (*one.support.run_ids, *one.contra.run_ids) for one in claims)
        again = memory.learn(chosen.run_id, user_id="lin")
        assert [row.counted for row in again.judged] == [row.counted for row in chosen.judged]
        assert memory.admin.rebuild(verify=True).equal
