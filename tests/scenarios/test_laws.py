"""Whatever verbs are called in whatever order, the laws of the log hold (1, 6, 10, 11)."""

import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from phronesis.memory import Memory
from scenarios.machine import Caller
from scenarios.writers import POLICY, start, sum_judgements, turn_of, verify_copy


@pytest.mark.slow
def test_any_sequence_of_verbs_keeps_the_laws(tmp_path: Path) -> None:
    template = tmp_path / "template.db"
    Memory.open(f"sqlite:///{template}", policy=POLICY).close()
    machine = type("Bound", (Caller,), {"template": template})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=10,
            stateful_step_count=30,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
        ),
    )


@pytest.mark.slow
def test_a_copied_store_verifies_on_a_machine_without_an_encoder(tmp_path: Path) -> None:
    store = tmp_path / "memory.db"
    with Memory.open(f"sqlite:///{store}", policy={"embedder": "hashing"}) as memory:
        for n in range(12):
            turn = memory.commit_turn("s", turn_of("Alice", n), user_id="alice", wait=n % 3 != 0)
            if turn.stored:
                memory.update(turn.stored[0].id, content=f"Alice went to Kyoto {n}")
        memory.rollback(turn.entry_id if turn.stored else memory.add("x", user_id="alice").entry_id, cascade=True)
        memory.flush()
        own = memory.admin.rebuild(verify=True)
    assert own.equal
    shutil.copy(store, tmp_path / "copy.db")
    start(verify_copy, f"sqlite:///{tmp_path / 'copy.db'}", str(tmp_path / "said")).join()
    [said] = sum_judgements(tmp_path / "said")
    assert (said["equal"], said["live_hash"]) == (True, own.live_hash)
