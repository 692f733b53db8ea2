"""Ids are the same on every machine, and no two lists of parts give one."""

import base64
import uuid
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.core import ids
from phronesis.core.api_keys import SECRET_BYTES, Role, Token, check_role, hash_secret, parse_token, secret_matches
from phronesis.core.ids import DEFAULT_NAMESPACE, LaneName, make_scope
from phronesis.errors import InputError, Unauthenticated

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)


ENTRY = "01926b3e-8a5c-7d3f-9a41-2f6c0e5b7a90"


def test_derived_ids_never_change() -> None:
    assert ids.derived_id("a", "b") == str(uuid.uuid5(ids.NAMESPACE, "1:a1:b"))
    assert ids.item_id(ENTRY, "fact", "k") == "01926b3e-8a5c-8ec4-8fbe-2b9eba7bec52"


def test_what_an_entry_makes_stands_beside_it() -> None:
    item = ids.item_id(ENTRY, "message", "0")
    made = [item, ids.child_entry_id(ENTRY, 0), ids.document_id(item, "whole", 1), ids.delta_id(ENTRY, item)]
    assert {each[:13] for each in made} == {ENTRY[:13]}
    assert {(uuid.UUID(each).version, uuid.UUID(each).variant) for each in made} == {(8, uuid.RFC_4122)}
    assert [str(uuid.UUID(each)) for each in made] == made


@given(one=st.lists(TEXT, max_size=4), other=st.lists(TEXT, max_size=4))
def test_parts_do_not_collide_by_joining(one: list[str], other: list[str]) -> None:
    assert (ids.derived_id(*one) == ids.derived_id(*other)) == (one == other)


@given(st.uuids())
def test_every_form_of_an_id_reads_as_one(given_id: uuid.UUID) -> None:
    plain = str(given_id)
    for form in (plain, plain.upper(), f"mem:{plain}", given_id.hex, f"{{{plain}}}", given_id, ids.citation(plain)):
        assert ids.parse_id(form, field="id") == plain
    assert [ids.is_id(form) for form in (plain, f"mem:{plain}", given_id.hex, "e")] == [True, False, False, False]


def test_what_is_no_id_is_refused_by_its_field() -> None:
    cases: list[object] = [None, b"x", "", "mem:", "x" * 36]
    for bad in cases:
        with pytest.raises(InputError) as caught:
            ids.parse_id(bad, field="target")
        assert caught.value.field == "target", bad


def test_an_id_a_citation_and_a_uuid_read_as_one() -> None:
    assert {ids.parse_id(form, field="id") for form in (ENTRY, ids.citation(ENTRY), uuid.UUID(ENTRY))} == {ENTRY}


def test_a_part_of_an_id_is_told_with_its_dashes() -> None:
    plain = "0197d4c0-6d2b-7e11-8f3a-2b6c1d9e5f40"
    assert ids.short_id(plain) == "1d9e5f40"
    assert ids.short_id("run-17") == "run-17"
    digits = plain.replace("-", "")
    for size in range(4, 32):
        beginning = ids.id_part(digits[:size])
        end = ids.id_part(f"mem:{digits[-size:].upper()}")
        assert beginning is not None
        assert end is not None
        assert plain.startswith(beginning[0])
        assert plain.endswith(end[1])
    assert ids.id_part("1d9e-5f40") == ("1d9e5f40", "1d9e5f40")
    assert [ids.id_part(other) for other in (plain, digits, "abc", "", "mem:", "tea1", "build.log#L1")] == [None] * 7


# API keys: the form of a token, what is kept of it, and who may do what.


KEY_ID = "01a205fb-710c-7149-96b1-2d76b6d16db7"
TOKEN = Token("acme", KEY_ID, bytes(range(SECRET_BYTES)))


def test_a_token_is_read_as_it_was_written() -> None:
    assert parse_token(str(TOKEN)) == TOKEN
    assert str(TOKEN).startswith("phr_")
    assert str(TOKEN).isascii()


def test_a_token_does_not_show_its_secret_when_it_is_printed() -> None:
    assert str(TOKEN).rpartition(".")[2] not in repr(TOKEN)


def test_what_is_no_token_is_refused_and_not_repeated() -> None:
    cases: list[str] = [
        "",
        "phr_",
        "sk-live-1234",
        str(TOKEN)[4:],
        str(TOKEN) + "A",
        str(TOKEN) + "=",
        str(TOKEN)[:-4],
        str(TOKEN).replace(KEY_ID, KEY_ID.upper()),
        str(TOKEN).replace(KEY_ID, "1"),
        str(TOKEN).replace("YWNtZQ", "YWNtZR"),  # other bits that decode to the same bytes
        str(TOKEN).replace("YWNtZQ", base64.urlsafe_b64encode("租户".encode()).decode()),
        "phr_" + "a" * 1000,
        str(TOKEN).replace("phr_", "phr_钥"),
    ]
    for text in cases:
        with pytest.raises(Unauthenticated, match="no API key of Phronesis") as refusal:
            parse_token(text)
        assert not text or len(text) < 8 or text not in str(refusal.value), text


def test_only_the_secret_itself_opens() -> None:
    kept = hash_secret(TOKEN.secret)
    assert secret_matches(kept, TOKEN.secret)
    assert not secret_matches(kept, bytes(SECRET_BYTES))
    assert TOKEN.secret not in kept


def test_roles_are_ordered_and_known_by_name() -> None:
    assert Role.READ < Role.WRITE < Role.ADMIN
    assert [check_role(name) for name in ("read", "Write", Role.ADMIN)] == list(Role)
    assert Role("admin") is Role.ADMIN  # type: ignore[arg-type]
    for wrong in ("owner", "", None, 3):
        with pytest.raises(InputError, match="read, write, admin"):
            check_role(wrong)


# A scope names one lane to write and at most two to read.


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
