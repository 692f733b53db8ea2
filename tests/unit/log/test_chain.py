"""A payload comes back as it went in, or with marks where it was erased; the chain finds whatever was altered."""

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.core.entries import ERASED
from phronesis.errors import InputError
from phronesis.log.payloads import SPLIT, as_read, commitment, facts_of, join, link, split, verify
from phronesis.store.lanes import GENESIS, Lane
from phronesis.store.log import EntryRow, PartRow

Rows = list[tuple[EntryRow, list[tuple[PartRow, bytes]]]]


def log_of(count: int) -> tuple[Lane, Rows]:
    previous, rows = GENESIS, Rows()
    for seq in range(1, count + 1):
        parts = split({"session_id": "s", "messages": [{"content": f"{seq}-{n}"} for n in range(2)]})
        salts = [bytes([seq, n] * 8) for n in range(len(parts))]
        commitments = b"".join(commitment(part, salt) for part, salt in zip(parts, salts, strict=True))
        row = EntryRow(
            lane_id=7,
            seq=seq,
            entry_id=f"e{seq}",
            verb="turn",
            handler_version=1,
            actor="agent",
            recorded_at=seq,
            parent_id=None,
            idempotency=None,
            paths=[part.path for part in parts],
            commitments=commitments,
            hash="",
        )
        row = dataclasses.replace(row, hash=link(previous, facts_of(row), commitments))
        kept = [
            (PartRow(entry_id=row.entry_id, n=n, salt=salts[n], body=part.body, blob_id=None), part.body)
            for n, part in enumerate(parts)
        ]
        rows.append((row, kept))
        previous = row.hash
    lane = Lane(7, "user", "u", count, count, count, 0, count, previous)
    return lane, rows


def test_an_untouched_log_verifies() -> None:
    assert [verify(*log_of(count)) for count in (0, 1, 5)] == [[], [], []]


@pytest.mark.parametrize("place", [0, 2, 4])
def test_any_altered_column_is_found(place: int) -> None:
    cases: list[dict[str, Any]] = [
        {"verb": "add"},
        {"actor": "eve"},
        {"recorded_at": 99},
        {"entry_id": "x"},
        {"handler_version": 2},
        {"seq": 9},
        {"parent_id": "p"},
        {"paths": ["", "messages/1", "messages/0"]},
        {"commitments": b"\0" * 96},
        {"hash": "0" * 64},
        {"lane_id": 8},
    ]
    for change in cases:
        lane, rows = log_of(5)
        rows[place] = (dataclasses.replace(rows[place][0], **change), rows[place][1])
        found = verify(lane, rows)
        assert found, change
        assert found[0].seq in {rows[place][0].seq, place + 2}, change


@given(place=st.integers(0, 4), part=st.integers(0, 2), body=st.binary(max_size=20))
def test_any_altered_part_is_found(place: int, part: int, body: bytes) -> None:
    lane, rows = log_of(5)
    row, before = rows[place][1][part]
    rows[place][1][part] = (row, body)
    assert [found.problem for found in verify(lane, rows)] == (
        [] if body == before else [f"part {part} of the payload was altered"]
    )


def test_an_erased_part_leaves_the_chain_whole_and_what_is_foreign_or_missing_does_not() -> None:
    lane, rows = log_of(4)
    assert "head" in verify(lane, rows[:3])[0].problem
    for place in (0, 1, 3):
        assert verify(lane, [*rows[:place], *rows[place + 1 :]])
    del rows[1][1][2]
    assert verify(lane, rows) == []
    foreign = dataclasses.replace(rows[0][1][0][0], n=9)
    rows[0][1].append((foreign, b"{}"))
    assert [(found.seq, found.problem) for found in verify(lane, rows)] == [(1, "part 9 of the payload was altered")]


@given(
    st.dictionaries(st.sampled_from(["a\x00", "a\ufffd", "\ud83d\ude00", "b"]), st.text(st.characters(), max_size=3))
)
def test_a_payload_is_taken_as_it_will_be_read(metadata: dict[str, str]) -> None:
    payload = {"metadata": metadata, "messages": [{"content": "x", **metadata}, {"content": "".join(metadata)}]}
    read, _parts = as_read(payload)
    assert as_read(read)[0] == read
    parts = split(read)
    assert join([part.path for part in parts], {n: part.body for n, part in enumerate(parts)}) == read


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


ODD = st.dictionaries(st.sampled_from([*SPLIT, "metadata", "$", "raw"]), JSON, max_size=5)


@given(PAYLOADS | ODD)
def test_a_payload_of_any_form_survives_its_parts(payload: dict[str, Any]) -> None:
    parts = split(payload)
    assert join([part.path for part in parts], {n: part.body for n, part in enumerate(parts)}) == payload


@pytest.mark.parametrize("payload", [{**ERASED, "raw": "x"}, {"messages": [{"content": "a"}, {**ERASED}]}])
def test_the_mark_of_an_erased_part_is_refused(payload: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="erased") as refused:
        as_read(payload)
    assert refused.value.field == "$erased"
