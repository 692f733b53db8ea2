"""Runs: recorded once, their feedback, what they read, and how they leave."""

import pytest
import sqlalchemy as sa

from phronesis import Memory
from phronesis.errors import Conflict, InputError, NotFound
from phronesis.store.schema import used_memories

RUN = {
    "run_id": "r1",
    "output": {"M1": "Cu", "M2": "Zn", "atomic_ratio": "3:1", "small_molecule_modifier": "imidazole"},
    "raw": "Prepared Cu–Zn at 3:1, as [C12] says.",
    "trace": {"final_output": {"answer": 1}},
    "note": "a member that nothing here knows",
}
FEEDBACK = {"products": [{"name": "formate", "value": 7.5, "fraction": 0.6}], "pros": "clean", "cons": "slow [C3]"}
BLOCK = (
    'RBMEM_CLAIMS_V1\nTOPIC=Cu–Zn\nCLAIMS_JSON=[{"claim_id":"c1","status":"hypothesis","facts":{"source_run_ids":["x"]},'
    '"inference":"With Cu–Zn the selectivity of formate is at least 0.60."}]'
)


def noted(memory: Memory) -> int:
    with memory.admin.components.database.transaction(memory.admin.tenant, "read") as unit:
        query = sa.select(sa.func.count()).where(used_memories.c.tenant_id == memory.admin.tenant)
        return int(unit.run(query).scalar_one())


def test_a_run_is_recorded_once(memory: Memory) -> None:
    assert memory.runs.record(RUN, user_id="lin") == "r1"
    entries = memory.admin.rebuild(verify=True).entries
    assert memory.runs.record(dict(RUN), user_id="lin") == "r1"
    assert memory.admin.rebuild(verify=True).entries == entries
    with pytest.raises(Conflict, match="another content") as refused:
        memory.runs.record({**RUN, "raw": "other"}, user_id="lin")
    assert (refused.value.code, refused.value.field) == ("conflict", "run_id")
    assert memory.runs.record({**RUN, "raw": "other"}, user_id="bob") == "r1"
    found = memory.runs.get("r1", user_id="lin")
    assert found.output == RUN["output"]
    assert (found.raw, found.extra, found.feedback, found.learned) == (RUN["raw"], {"note": RUN["note"]}, None, ())
    assert found.trace == RUN["trace"]
    assert found.to_dict()["run_id"] == "r1"


def test_what_is_no_run_is_refused(memory: Memory) -> None:
    cases: list[dict[str, object]] = [
        {},
        {"output": "text"},
        {"raw": "x", "memory_ids": "m"},
        {"raw": "x", "run_id": ""},
    ]
    for wrong in cases:
        with pytest.raises(InputError, match=r"^run\."):
            memory.runs.record(wrong)
        assert memory.runs.list() == []


def test_feedback_is_replaced_and_history_keeps_it(memory: Memory) -> None:
    memory.runs.record(RUN, user_id="lin")
    with pytest.raises(NotFound, match=r"runs\.record"):
        memory.runs.feedback("other", FEEDBACK, user_id="lin")
    with pytest.raises(InputError, match=r"products\[0\]\.value"):
        memory.runs.feedback("r1", {"products": [{"name": "CO", "value": -1}]}, user_id="lin")
    memory.runs.feedback("r1", FEEDBACK, user_id="lin")
    assert memory.runs.feedback("r1", FEEDBACK, user_id="lin").items == ()
    later = memory.runs.feedback("r1", {**FEEDBACK, "pros": "very clean"}, user_id="lin")
    run = memory.runs.get("r1", user_id="lin")
    assert run.feedback is not None
    assert run.feedback["pros"] == "very clean"
    assert [event.reason for event in memory.history(run.item_id)] == ["recorded", "feedback", "feedback"]
    memory.rollback(later.entry_id)
    assert (memory.runs.get("r1", user_id="lin").feedback or {})["pros"] == "clean"
    assert memory.admin.rebuild(verify=True).equal


def test_facts_are_codes_own(memory: Memory) -> None:
    memory.runs.record(RUN, user_id="lin")
    memory.runs.feedback("r1", FEEDBACK, user_id="lin")
    facts = memory.runs.get("r1", user_id="lin").facts
    assert facts["run_id"] == "r1"
    assert facts["source_run_ids"] == ["r1"]
    assert facts["run_output"]["modifier"] == "imidazole"
    assert facts["activity_total_value"] == 7.5
    assert "[C" not in repr(facts)  # names of one run: no claim may hold them
    assert facts["feedback_text"]["cons"].strip() == "slow"


def test_a_run_that_waits_is_brought_up_to_date(memory: Memory) -> None:
    memory.runs.record(RUN, user_id="lin", wait=False)
    done = memory.runs.feedback("r1", FEEDBACK, user_id="lin")
    assert not done.pending
    assert memory.runs.get("r1", user_id="lin").feedback is not None
    waiting = memory.learn("r1", user_id="lin", wait=False)
    assert waiting.pending
    memory.flush()
    assert memory.runs.get("r1", user_id="lin").learned == (waiting.entry_id,)


@pytest.mark.both_databases
def test_runs_are_listed_newest_first_and_never_searched(memory: Memory) -> None:
    assert memory.runs.list(user_id="lin") == []
    for n in range(3):
        memory.runs.record({"run_id": f"r{n}", "raw": "imidazole over zinc"}, user_id="lin")
    assert [run.run_id for run in memory.runs.list(user_id="lin", limit=2)] == ["r2", "r1"]
    assert memory.runs.list(user_id="bob") == []
    assert list(memory.search("imidazole over zinc", user_id="lin")) == []
    assert [item.run_id for item in memory.get_all(user_id="lin", kinds=["run"])] == ["r2", "r1", "r0"]
    memory.items.archive(memory.runs.get("r1", user_id="lin").item_id)
    assert [run.run_id for run in memory.runs.list(user_id="lin")] == ["r2", "r0"]
    assert memory.runs.get("r1", user_id="lin").status == "archived"


def test_what_a_run_read_stands_in_its_trace(memory: Memory) -> None:
    item = memory.reasoning.add(BLOCK, user_id="lin")
    memory.mem_search("formate selectivity", user_id="lin", run_id="r1")
    memory.reasoning.get(item.id, run_id="r1")
    memory.mem_search("formate selectivity", user_id="lin")
    assert memory.admin.rebuild(verify=True).entries == 1  # reading is no entry
    memory.runs.record(RUN, user_id="lin")
    trace = memory.runs.get("r1", user_id="lin").to_dict()["trace"]
    assert trace["final_output"] == {"answer": 1}
    [seen] = trace["memories"]
    assert (seen["item_id"], seen["via"]) == (item.id, "mem_get")
    [claim] = seen["matched_claims"]
    assert claim["claim_id"] == "c1"
    assert claim["snippet"].startswith("With Cu–Zn")
    assert 0 <= claim["distance"] <= 1
    assert "lin" not in memory.runs.get("r1", user_id="lin").raw


def test_erasing_a_run_takes_all_that_came_of_it(memory: Memory) -> None:
    item = memory.reasoning.add(BLOCK, user_id="lin")
    memory.mem_search("formate", user_id="lin", run_id="r1")
    memory.runs.record({**RUN, "raw": "a secret recipe of ours"}, user_id="lin")
    said = "The selectivity of formate with Cu–Zn is at least 0.55."
    memory.runs.feedback("r1", {**FEEDBACK, "pros": said}, user_id="lin")
    result = memory.learn("r1", user_id="lin")
    assert memory.reasoning.get(item.id).claims[0].support.run_ids == ("r1",)
    assert len(result.added) == 1
    assert memory.erase(id=memory.runs.get("r1", user_id="lin").item_id).clean
    assert noted(memory) == 0
    assert memory.reasoning.get(item.id).claims[0].support.count == 0
    assert [one.id for one in memory.get_all(user_id="lin")] == [item.id]
    assert memory.runs.record({**RUN, "raw": "another one"}, user_id="lin") == "r1"
    assert memory.admin.rebuild(verify=True).equal


def test_erasing_an_item_takes_what_was_noted_of_it(memory: Memory) -> None:
    kept = memory.reasoning.add(BLOCK.replace("0.60", "0.50"), user_id="lin")
    gone = memory.reasoning.add(BLOCK, user_id="lin")
    memory.runs.record(RUN, user_id="lin")
    memory.runs.feedback("r1", FEEDBACK, user_id="lin")
    memory.mem_search("formate selectivity", user_id="lin", run_id="r1")
    memory.learn("r1", user_id="lin")
    assert memory.erase(id=gone.id).clean
    assert noted(memory) == 1
    assert memory.reasoning.get(kept.id).claims[0].support.run_ids == ("r1",)  # prepared again without the other
    assert [seen.item_id for seen in memory.runs.get("r1", user_id="lin").trace["memories"]] == [kept.id]
    assert memory.admin.rebuild(verify=True).equal
    assert memory.erase(user_id="lin").clean
    assert noted(memory) == 0
    assert memory.runs.list(user_id="lin") == []


def test_erasing_what_was_learned_takes_the_words_it_was_taken_from(memory: Memory) -> None:
    memory.runs.record(RUN, user_id="lin")
    memory.runs.feedback(
        "r1", {"pros": "The selectivity of formate is at least 0.5.", "products": FEEDBACK["products"]}, user_id="lin"
    )
    [made] = memory.learn("r1", user_id="lin").added
    assert memory.erase(id=made.id).clean
    assert memory.runs.get("r1", user_id="lin").feedback is None
    assert memory.get_all(user_id="lin", kinds=["reasoning"]) == []
    assert memory.admin.rebuild(verify=True).equal


# Members of a run that nothing here knows: kept as they came, whatever they are called, and never read as ours.


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("events", {"a": 1, "b": 2}),
        ("messages", "abc"),
        ("tool_calls", {"x": 1}),
        ("$erased", True),
        ("expected_version", 3),
    ],
)
def test_a_member_of_any_name_is_kept(memory: Memory, name: str, value: object) -> None:
    memory.runs.record({"run_id": "r", "output": {"M1": "Cu"}, name: value})
    assert memory.runs.get("r").extra == {name: value}
    assert memory.admin.rebuild(verify=True).equal
    memory.admin.rebuild()
    assert memory.runs.get("r").extra == {name: value}
    assert memory.runs.record({"run_id": "r", "output": {"M1": "Cu"}, name: value}) == "r"


def test_members_name_nothing_for_an_erasure(memory: Memory) -> None:
    message = memory.add("My sister lives in Bergen.", user_id="lin", session_id="s").items[0]
    names = {"item_id": message.id, "target_id": message.id, "entry_id": message.entry_id, "session_id": "s"}
    for n, (name, value) in enumerate(names.items()):
        memory.runs.record({"run_id": f"r{n}", "raw": "what it did", name: value}, user_id="lin")
    memory.erase(id=message.id)
    assert [run.run_id for run in memory.runs.list(user_id="lin")] == ["r3", "r2", "r1", "r0"]
    memory.add("Something else.", user_id="lin", session_id="s")
    memory.erase(user_id="lin", session_id="s")
    assert len(memory.runs.list(user_id="lin")) == 4
    assert memory.admin.rebuild(verify=True).equal
