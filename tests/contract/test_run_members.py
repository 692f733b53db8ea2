"""Members of a run that nothing here knows: kept as they came, whatever they are called, and never read as ours."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from phronesis import Memory
from phronesis.log.reader import fit

NAMES = (
    "messages",
    "events",
    "tool_calls",
    "refs",
    "metadata",
    "$erased",
    "extra",
    "item_id",
    "target_id",
    "entry_id",
    "session_id",
    "expected_version",
    "attributes",
    "user_id",
    "content",
    "note",
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.sampled_from([0.5, -1.25]) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)
MEMBERS = st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=4), JSON, max_size=4)
KNOWN = {"run_id", "output", "raw", "trace", "memory_ids"}


@pytest.fixture(scope="module")
def many() -> Iterator[Memory]:
    with Memory.open("sqlite://", policy={"embedder": "none"}) as opened:
        yield opened


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


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(MEMBERS, min_size=1, max_size=4))
@pytest.mark.slow
def test_members_survive_a_rebuild(many: Memory, drawn: list[dict[str, Any]]) -> None:
    said = [{name: value for name, value in one.items() if name not in KNOWN} for one in drawn]
    ids = [many.runs.record({"raw": "what it did", **one}) for one in said]
    # What no database holds (NUL, halves of characters) is made fit for it, once: a run keeps it as it was then.
    kept = [fit({name: value for name, value in one.items() if value is not None}) for one in said]
    assert [dict(many.runs.get(one).extra) for one in ids] == kept
    assert many.admin.rebuild(verify=True).equal
    many.admin.rebuild()
    assert [dict(many.runs.get(one).extra) for one in ids] == kept


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
