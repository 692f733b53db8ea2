"""Members of a run that nothing here knows: kept as they came, whatever they are called, and never read as ours."""

import pytest

from phronesis import Memory


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
