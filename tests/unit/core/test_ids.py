"""Ids are the same on every machine, and no two lists of parts give one."""

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.core import ids
from phronesis.errors import InputError

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
    assert ids.citation(ENTRY) == f"mem:{ENTRY}"
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
