"""What a run used, as its own words tell: memories named in its text, its output and its trace."""

from typing import Any

from phronesis.reasoning.laws.records import checked_run
from phronesis.reasoning.learn_candidates import SEARCHED, used_ids

A, B, C = (f"0198f0c2-7a41-8c3d-9a10-00000000000{n}" for n in "abc")


def used(**said: Any) -> list[str]:
    return used_ids(checked_run({"raw": "x", **said}), [])


NAMES_USED: list[dict[str, Any]] = [
    {"output": {"rationale": f"as [mem:{A}] says"}},
    {"output": {"steps": [{"why": [f"see mem:{A.upper()}"]}]}},
    {"trace": {"thoughts": [f"mem:{A}"]}},
    {"trace": [{"tool": "mem_get", "args": {"id": A}}]},
    {"trace": [{"name": "mcp__phronesis__mem_get", "input": {"id": f"mem:{A}"}}]},
]


def test_what_it_names_is_used() -> None:
    for said in NAMES_USED:
        assert used(**said) == [A], said


def test_each_once_and_what_is_listed_first() -> None:
    said = {"memory_ids": [C], "output": {"why": f"mem:{B} and mem:{C}"}, "trace": [{"tool": "mem_get", "id": A}]}
    assert used_ids(checked_run(said), [{"item_id": B}]) == [C, B, A]


def test_so_many_characters_are_looked_through() -> None:
    assert used(output={"a": "x" * (SEARCHED - 60), "b": f"mem:{A}", "c": f"mem:{B}"}) == [A]
