"""A payload comes back as it went in; what was erased leaves a mark and nothing else."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.core.entries import ERASED
from phronesis.errors import InputError
from phronesis.log.payloads import SPLIT, as_read, join, split

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(0, 99) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)
FIELDS = {"content": JSON, "metadata": st.dictionaries(st.text(max_size=5), JSON, max_size=3), "session_id": st.text()}
LISTS = {
    name: st.lists(st.fixed_dictionaries({"content": JSON}), min_size=1, max_size=3)
    for name in ("messages", "tool_calls", "refs")
}
PAYLOADS = st.fixed_dictionaries({}, optional={**FIELDS, **LISTS})


@given(PAYLOADS)
def test_a_payload_survives_its_parts(payload: dict[str, Any]) -> None:
    parts = split(payload)
    assert join([part.path for part in parts], {n: part.body for n, part in enumerate(parts)}) == payload


@given(st.dictionaries(st.sampled_from([*SPLIT, "metadata", "$", "raw"]), JSON, max_size=5))
def test_a_payload_of_any_form_survives_its_parts(payload: dict[str, Any]) -> None:
    parts = split(payload)
    assert join([part.path for part in parts], {n: part.body for n, part in enumerate(parts)}) == payload


@pytest.mark.parametrize("payload", [{**ERASED, "raw": "x"}, {"messages": [{"content": "a"}, {**ERASED}]}])
def test_the_mark_of_an_erased_part_is_refused(payload: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="erased") as refused:
        as_read(payload)
    assert refused.value.field == "$erased"
