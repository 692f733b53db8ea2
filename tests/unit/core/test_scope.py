"""A scope names one lane to write and at most two to read."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.core.ids import DEFAULT_NAMESPACE, LaneName, make_scope
from phronesis.errors import InputError

NAMES = st.none() | st.sampled_from(["a", "A", "å", "shared:a", "user:a"])


@given(user=NAMES, namespace=NAMES, agent=NAMES, session=NAMES, run=NAMES)
def test_a_write_goes_to_a_lane_that_a_read_of_the_same_scope_sees(
    user: str | None, namespace: str | None, agent: str | None, session: str | None, run: str | None
) -> None:
    scope = make_scope(user_id=user, namespace=namespace, agent_id=agent, session_id=session, run_id=run)
    shared = LaneName("shared", namespace or DEFAULT_NAMESPACE)
    assert scope.write_lane == (shared if user is None else LaneName("user", user))
    assert set(scope.read_lanes) == {scope.write_lane, shared}
    given_names = {"agent_id": agent, "session_id": session, "run_id": run}
    assert scope.attributes == {name: value for name, value in given_names.items() if value is not None}
    assert not scope.across_tenant


def test_of_their_own_a_user_sees_one_lane() -> None:
    assert replace(make_scope(user_id="a"), own_only=True).read_lanes == (LaneName("user", "a"),)
    assert replace(make_scope(namespace="a"), own_only=True).read_lanes == (LaneName("shared", "a"),)


def test_a_user_is_no_namespace_of_the_same_name() -> None:
    assert LaneName("user", "a") != LaneName("shared", "a")
    assert str(LaneName("user", "a")) == "user:a"


def test_across_is_asked_for_by_name() -> None:
    assert make_scope(across="tenant").across_tenant
    for bad in ("", "all", True, ["tenant"]):
        with pytest.raises(InputError) as caught:
            make_scope(across=bad)
        assert caught.value.field == "across"


def test_a_wrong_name_is_refused_by_its_field() -> None:
    cases: list[str] = ["user_id", "namespace", "agent_id", "session_id", "run_id"]
    for field in cases:
        with pytest.raises(InputError) as caught:
            make_scope(**{field: ""})
        assert caught.value.field == field, field
