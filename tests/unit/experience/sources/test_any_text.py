"""Sources give what is expected of their inputs; for every text nothing raises, and time goes with the length."""

import json
from collections.abc import Callable
from typing import Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from growth import assert_linear
from phronesis.experience.sources.chat import ChatSource
from phronesis.experience.sources.log import LogSource
from phronesis.experience.sources.manual import ManualSource
from phronesis.experience.sources.port import RawText, Source
from phronesis.experience.sources.run import RunSource
from unit.experience.sources.labelled_sources import DATA, NOW, faults, inputs, read

SOURCES: Final[list[Source]] = [LogSource(), ChatSource(), ManualSource(), RunSource()]
by_source = pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.source_type)

FILES: Final = [path.read_text() for path in sorted(DATA.iterdir()) if not path.name.endswith(".expected.json")]
LINES: Final = sorted({line for text in FILES for line in text.split("\n")})
some_lines = st.lists(st.sampled_from(LINES) | st.text(max_size=30), max_size=25).map("\n".join)
cut_file = st.tuples(st.sampled_from(FILES), st.integers(0, 3000), st.integers(0, 3000)).map(
    lambda given: given[0][given[1] : given[1] + given[2]]
)
members = st.sampled_from(
    """role content tool_calls function name arguments messages id type tool_use text input is_error user assistant
    steps action observation error success reward trace run_id memory output timestamp""".split()
)
documents = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10) | members,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(members, inner, max_size=5),
    max_leaves=25,
).map(json.dumps)


@by_source
@given(text=st.text() | some_lines | cut_file | documents)
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_no_text_raises_and_every_draft_stands_on_its_lines(source: Source, text: str) -> None:
    read(source, text)


def test_an_input_gives_the_expected_drafts() -> None:
    names = {source: inputs(source.source_type) for source in SOURCES}
    assert all(names.values())
    assert sum(map(len, names.values())) > 50
    for source in SOURCES:
        found = {name: faults(read(source, (DATA / name).read_text(), name), name) for name in names[source]}
        assert {name: wrong for name, wrong in found.items() if wrong} == {}, source.source_type


CHAINED: Final = (
    'Traceback (most recent call last):\n  File "a.py", line 1, in f\nE: x\n\n'
    "During handling of the above exception, another exception occurred:\n\n"
)
HOSTILE: Final[dict[str, Callable[[int], str]]] = {
    "underscores": lambda n: "=== FAILURES ===\n" + "__ _ " * n + "__",
    "tracebacks": lambda n: "Traceback (most recent call last):\n" * n,
    "chains": lambda n: CHAINED * n,
    "open lists": lambda n: '[0,{"a":1},\n' * n,
    "calls": lambda n: json.dumps(
        [{"role": "user", "content": "a"}]
        + [{"role": "assistant", "tool_calls": [{"id": str(k), "function": {"name": "a"}}]} for k in range(n)]
        + [{"role": "tool", "tool_call_id": str(k), "content": "ok"} for k in range(n)]
    ),
    "headings": lambda n: "# Attempt 1\n" * n,
    "steps": lambda n: json.dumps({"run_id": "a", "steps": [{"action": "b", "error": "c"}] * n}),
    "cases": lambda n: "<testsuite>" + "<testcase name='a'><failure>E   b: c</failure></testcase>" * n,
}


READ_BY: Final[list[tuple[Source, str]]] = [
    *((LogSource(), kind) for kind in ("underscores", "tracebacks", "chains", "cases")),
    *((ChatSource(), kind) for kind in ("open lists", "calls")),
    (ManualSource(), "headings"),
    (RunSource(), "steps"),
]
"""Each kind of text with the source whose rules go through it."""


@pytest.mark.slow
@pytest.mark.parametrize(("source", "kind"), READ_BY, ids=[f"{one.source_type} {kind}" for one, kind in READ_BY])
def test_time_goes_with_the_length(source: Source, kind: str) -> None:
    unit = len(HOSTILE[kind](64)) / 64
    assert_linear(
        lambda text: source.read(RawText(text=text, recorded_at=NOW)),
        lambda length: HOSTILE[kind](max(1, int(length / unit))),
        160_000,
    )
