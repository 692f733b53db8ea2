"""Whatever stands in an export instead of what its program writes: it is passed over or told of, the rest goes on."""

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import exports
from phronesis.importers import FORMATS, ImportRunner
from phronesis.importers.import_call import ImportCall
from phronesis.memory import Memory

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=3,
)
SOUND: dict[str, list[Any]] = {
    "chatgpt": [exports.chatgpt_conversation()],
    "claude": [exports.claude_conversation()],
    "mem0": exports.MEM0[:2],
    "langgraph": exports.LANGGRAPH[:2],
}
WHOLE: dict[str, Any] = {
    "mem0": {"memory": "whole"},
    "langgraph": {"key": "k", "value": "whole"},
    "chatgpt": exports.chatgpt_conversation("whole"),
    "claude": exports.claude_conversation("whole"),
}
WORDS = {"mem0": "whole", "langgraph": "whole", "chatgpt": "A lake.", "claude": "And for how long?"}


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of everything in a JSON value."""
    if path:
        yield path
    for name, inner in (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    ):
        yield from places(inner, (*path, name))


def replaced(value: Any, path: tuple[Any, ...], by: Any) -> Any:
    made = copy.deepcopy(value)
    holder = made
    for name in path[:-1]:
        holder = holder[name]
    holder[path[-1]] = by
    return made


@pytest.fixture(scope="module")
def memory() -> Iterator[Memory]:
    with Memory.open("sqlite://", policy={"embedder": "none"}) as opened:
        yield opened


@pytest.mark.slow
@pytest.mark.parametrize("form", SOUND)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_damage_stops_the_rest(form: str, memory: Memory, tmp_path: Path, data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(list(places(SOUND[form]))))
    damaged = replaced(SOUND[form], path, data.draw(JSON))
    file = exports.written(tmp_path / "export.json", [*damaged, WHOLE[form]])
    *_, last = (step for step in FORMATS[form].read(file) if isinstance(step, ImportCall))
    assert WORDS[form] in str(last.arguments)
    summary = ImportRunner(memory, user_id="lin").run(file, format=form, dry_run=True)
    assert summary.missing >= 1
