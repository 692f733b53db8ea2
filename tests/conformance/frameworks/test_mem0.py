"""The shim beside mem0 itself, which runs on vectors of a word's letters and without a model."""

import inspect
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import mem0
import numpy as np
import pytest

from conformance.opened import opened
from phronesis.adapters.mem0 import AsyncMemory, Memory
from phronesis_benchmarks.systems import Mem0System

VERBS = ("add", "get", "get_all", "search", "update", "delete", "delete_all", "history", "reset", "from_config", "chat")
LEFT_OUT = {"search": {"reference_date"}}
"""mem0 raises for these outside its paid platform; here they go with the older arguments, and raise as well."""
ALEX = {"user_id": "alex"}


class Letters:
    """A vector of how often each letter stands in a text."""

    dimension = 64

    def embed_query(self, text: str) -> Any:
        vector = np.zeros(self.dimension)
        for letter in text:
            vector[ord(letter) % self.dimension] += 1
        return vector

    def embed_documents(self, texts: Sequence[str]) -> Any:
        return np.array([self.embed_query(text) for text in texts])


@pytest.fixture
def theirs(tmp_path: Path) -> Iterator[Any]:
    system = Mem0System(tmp_path, Letters())  # type: ignore[arg-type]
    yield system._memory
    system.close()


@pytest.fixture
def ours() -> Iterator[Memory]:
    with opened() as memory:
        yield Memory(memory=memory)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("one", ["Memory", "AsyncMemory"])
def test_the_arguments_are_mem0s(one: str, verb: str) -> None:
    mine = getattr({"Memory": Memory, "AsyncMemory": AsyncMemory}[one], verb)
    wanted = inspect.signature(getattr(getattr(mem0, one), verb)).parameters
    have = inspect.signature(mine).parameters
    for name, parameter in wanted.items():
        if name in ("self", "kwargs") or name in LEFT_OUT.get(verb, ()) or not public(name, one, verb):
            continue
        assert name in have, name
        assert have[name].kind == parameter.kind, name
        if isinstance(parameter.default, str | int | float | None):
            assert have[name].default == parameter.default, name
    assert inspect.iscoroutinefunction(mine) == (one == "AsyncMemory" and verb != "from_config")


def public(name: str, one: str, verb: str) -> bool:
    """`llm` of the asynchronous add is a LangChain model, for procedures that a model writes."""
    return (name, one, verb) != ("llm", "AsyncMemory", "add")


def walk(m: Any) -> dict[str, Any]:
    """Use a memory, and return what it gave."""
    said = [{"role": "user", "content": "I like green tea", "name": "alex"}, {"role": "assistant", "content": "Noted"}]
    given: dict[str, Any] = {}
    given["add"] = m.add(said, user_id="alex", agent_id="a1", run_id="r1", metadata={"topic": "tea"}, infer=False)
    first, second = (one["id"] for one in given["add"]["results"])
    # Each ranks in its own way, and mem0 lists in the order of its random ids.
    found = m.search("green tea", filters={**ALEX, "topic": "tea"}, threshold=0.0)
    given["search"] = [one for one in found["results"] if one["id"] == first]
    explained = m.search("green tea", filters=ALEX, threshold=0.0, explain=True)
    given["explained"] = ["score_details" in one for one in explained["results"] if one["id"] == first]
    given["get"] = m.get(first)
    given["get_all"] = sorted(m.get_all(filters=ALEX)["results"], key=lambda one: str(one["memory"]))
    given["update"] = m.update(first, text="I like black tea", metadata={"sure": True})
    given["updated"] = m.get(first)
    given["delete"] = m.delete(first)
    given["deleted"] = m.get(first)
    given["history"] = m.history(first)
    m.add("plain", run_id="r2", infer=False)
    given["plain"] = m.get_all(filters={"run_id": "r2"})
    given["delete_all"] = m.delete_all(user_id="alex")
    given["none"] = m.get_all(filters=ALEX)
    given["gone"] = m.get(second)
    return given


def shape(value: Any) -> Any:
    """Return the keys and types of a result."""
    if isinstance(value, dict):
        return {name: shape(inner) for name, inner in value.items() if name != "score_details"}
    if isinstance(value, list):
        return [shape(inner) for inner in value]
    return type(value).__name__


def test_the_results_have_mem0s_shape(ours: Memory, theirs: Any) -> None:
    mine, wanted = walk(ours), walk(theirs)
    for verb, result in wanted.items():
        assert shape(mine[verb]) == shape(result), verb
    for verb in ("explained", "update", "delete", "deleted", "delete_all", "none", "gone"):
        assert mine[verb] == wanted[verb], verb
    assert [one["event"] for one in mine["history"]] == [one["event"] for one in wanted["history"]]
    for key in ("memory", "hash", "user_id", "agent_id", "run_id", "actor_id", "role", "metadata"):
        assert mine["updated"][key] == wanted["updated"][key], key


def test_a_missing_memory_is_none_to_both(ours: Memory, theirs: Any) -> None:
    nobody = "00000000-0000-4000-8000-000000000000"
    assert ours.get(nobody) is theirs.get(nobody) is None
    assert ours.history(nobody) == theirs.history(nobody) == []


def test_the_page_tells_the_truth(run_page: Callable[..., None]) -> None:
    run_page("mem0")
