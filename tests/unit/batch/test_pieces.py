"""A file cut into rows: however it is written, and in whatever portions it arrives."""

import io
import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from phronesis.batch.rows import RowSource, read_pieces

JSON = st.recursive(
    st.none() | st.integers(-99, 99) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.lists(st.dictionaries(st.text(max_size=4), JSON, max_size=3), min_size=1, max_size=6)


CLOSED = "the list is not closed: nothing behind this place was read"
BEHIND = "something stands behind the list's end; it was not read"


class Trickle(io.BytesIO):
    """Gives three bytes at a time, as a slow pipe may."""

    def read(self, size: int | None = -1) -> bytes:
        return super().read(min(3, size) if size is not None and size > 0 else size)


def cut(data: bytes, most: int = 1000) -> list[RowSource]:
    return list(read_pieces(io.BytesIO(data), most=most))


@settings(max_examples=40)
@given(OBJECTS, st.sampled_from([b"\n", b"\r\n", b"\n\n  \n"]), st.booleans(), st.booleans())
def test_lines_come_back(rows: list[Any], between: bytes, mark: bool, last: bool) -> None:
    data = between.join(json.dumps(row).encode() for row in rows) + (between if last else b"")
    found = cut((b"\xef\xbb\xbf" if mark else b"") + data)
    assert [json.loads(one.body) for one in found] == rows
    assert [one.line for one in found] == [1 + n * between.count(b"\n") for n in range(len(rows))]
    assert found[-1].end <= len(data) + 3 * mark


@settings(max_examples=40)
@given(OBJECTS, st.sampled_from([None, 1]), st.booleans())
def test_the_members_of_a_list_come_back(rows: list[Any], indent: int | None, escaped: bool) -> None:
    data = json.dumps(rows, indent=indent, ensure_ascii=escaped).encode()
    found = list(read_pieces(Trickle(b"\n" + data), most=1000))
    assert [json.loads(one.body) for one in found] == rows
    lines = (b"\n" + data).split(b"\n")
    assert all(lines[one.line - 1].lstrip(b"[ ").startswith(b"{") for one in found)
    assert found[-1].end == len(data) + 1


def test_a_list_on_one_line_is_read_in_chunks() -> None:
    class Watched(io.BytesIO):
        most = 0

        def read(self, size: int | None = -1) -> bytes:
            return self.watch(super().read(size))

        def readline(self, size: int | None = -1) -> bytes:
            return self.watch(super().readline(size))

        def watch(self, read: bytes) -> bytes:
            self.most = max(self.most, len(read))
            return read

    stream = Watched(json.dumps([{"a": "x" * 900}] * 1000).encode())
    assert sum(1 for _ in read_pieces(stream, most=1 << 28)) == 1000
    assert stream.most <= 1 << 16
    [line] = read_pieces(Watched(b'{"a": "' + b"x" * 200_000 + b'"}'), most=1 << 28)
    assert len(line.body) == line.end == 200_009


def test_an_empty_file_has_no_rows() -> None:
    cases: list[bytes] = [b"", b"\n \r\n", b"\xef\xbb\xbf", b"[]", b" [ \n ] \n"]
    for data in cases:
        assert cut(data) == [], data


def test_a_line_that_is_too_long_is_passed_over() -> None:
    long = b'{"raw": "' + b"x" * 200_000 + b'"}'
    found = cut(long + b"\n" + b"{}\n" + long, most=100)
    assert [(one.line, one.body, one.fault is None) for one in found] == [
        (1, b"", False),
        (2, b"{}\n", True),
        (3, b"", False),
    ]
    assert [one.end for one in found] == [len(long) + 1, len(long) + 4, 2 * len(long) + 4]
    assert "100 bytes" in str(found[0].fault)


def test_a_member_that_is_too_long_is_passed_over() -> None:
    found = cut(b'[{"a":1},\n{"raw": "' + b"x" * 200_000 + b'"},\n{"b":2}]', most=100)
    assert [(one.line, one.body.strip()) for one in found] == [(1, b'{"a":1}'), (2, b""), (3, b'{"b":2}')]
    assert [one.fault is None for one in found] == [True, False, True]


def test_a_broken_list_is_read_as_far_as_it_goes() -> None:
    cases: list[tuple[bytes, int, str | None]] = [
        (b'[{"a": 1}, {"b": [2}', 1, CLOSED),
        (b'[{"a": 1}, {"b": "', 1, CLOSED),
        (b'[{"a": 1}] {"b": 2}\n{"c": 3}', 1, BEHIND),
        (b'[{"a": 1}]] [', 1, BEHIND),
        (b'[{"a": nonsense}, [1], 2,]', 3, None),
    ]
    for data, whole, fault in cases:
        found = cut(data)
        assert len([one for one in found if one.fault is None]) == whole, data
        assert [fault in one.fault for one in found if one.fault is not None and fault is not None] == [True] * (
            fault is not None
        ), data
