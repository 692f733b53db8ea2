"""How a reflection is asked for."""

from typing import Any

import pytest

from phronesis.derive.reflection import reflect_payload
from phronesis.errors import InputError


@pytest.mark.parametrize("given", [{"force": 1}, {"session_ended": None}, {"force": "yes"}])
def test_a_switch_is_true_or_false(given: dict[str, Any]) -> None:
    with pytest.raises(InputError) as refused:
        reflect_payload(**given)
    assert refused.value.field == next(iter(given))


def test_what_is_not_said_is_no() -> None:
    assert reflect_payload(force=True) == {"force": True, "session_ended": False}
