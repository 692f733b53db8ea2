"""Whatever stands in an export instead of what its program writes: it is passed over or told of, the rest goes on."""

import copy
import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import exports
from phronesis.errors import InputError
from phronesis.importers import FORMATS, MAX_TOLD, ImportRunner, check_format
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
    "chatgpt": [exports.chatgpt_conversation(), exports.chatgpt_with_tools()],
    "claude": [exports.claude_artifacts(), exports.CLAUDE_MEMORY, *exports.CLAUDE_PROJECTS],
    "letta": [exports.LETTA, exports.LETTA_FIRST],
    "claude-mem": [{**exports.CLAUDE_MEM, "directives": exports.DIRECTIVES}],
    "mem0": exports.MEM0[:2],
    "langgraph": exports.LANGGRAPH[:2],
}
WHOLE: dict[str, Any] = {
    "mem0": {"memory": "whole"},
    "langgraph": {"key": "k", "value": "whole"},
    "chatgpt": exports.chatgpt_conversation("whole"),
    "claude": exports.claude_conversation("whole"),
    "letta": {"agent_type": "a", "name": "whole", "core_memory": [{"label": "human", "value": "whole"}]},
    "claude-mem": {"observations": [{"title": "whole", "project": "whole"}], "prompts": []},
}


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


def files_of(form: str, folder: Path) -> Path:
    """Write a file of a format and return where."""
    if form == "claude-mem":
        return exports.claude_mem_database(folder / "claude-mem.db")
    if form == "claude":
        return exports.claude_archive(folder / "export.zip")
    path = folder / ("sam.af" if form == "letta" else "export.json")
    path.write_text(json.dumps(exports.LETTA if form == "letta" else SOUND[form], indent=form == "letta"), "utf-8")
    return path


@pytest.mark.slow
@pytest.mark.parametrize("form", SOUND)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_broken_file_ends_in_a_clear_error_or_in_counts(form: str, tmp_path: Path, data: st.DataObject) -> None:
    folder = tmp_path / uuid.uuid4().hex
    folder.mkdir()
    path = files_of(form, folder)
    body = path.read_bytes()
    begin = data.draw(st.integers(0, len(body) - 1))
    end = data.draw(st.just(len(body)) | st.integers(begin, min(len(body), begin + 64)))
    path.write_bytes(body[:begin] + data.draw(st.binary(max_size=8)) + body[end:])
    with Memory.open("sqlite://", policy={"embedder": "none"}) as memory:
        try:
            check_format(path, form)
            summary = ImportRunner(memory, user_id="lin").run(path, format=form)
        except InputError as refused:
            problem, held = refused.message, memory.get_all(user_id="lin").items
        else:
            problem, held = "", ()
        if problem:
            assert path.name in problem
            assert not held
            return
        assert memory.admin.rebuild(verify=True).equal
        assert ImportRunner(memory, user_id="lin").run(path, format=form).recorded == 0
        assert len(summary.errors) == min(summary.failed, MAX_TOLD)
        assert all(one["message"] for one in summary.errors)


@pytest.mark.slow
@pytest.mark.parametrize("form", SOUND)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_damage_stops_the_rest(form: str, memory: Memory, tmp_path: Path, data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(list(places(SOUND[form]))))
    damaged = replaced(SOUND[form], path, data.draw(JSON))
    file = exports.written(tmp_path / "export.json", [*damaged, WHOLE[form]])
    calls = [step for step in FORMATS[form].read(file) if isinstance(step, ImportCall)]
    assert any("whole" in f"{call.ref} {call.arguments}" for call in calls)
    assert ImportRunner(memory, user_id="lin").run(file, format=form).recorded + len(calls)
    assert not memory.admin.jobs().failed
