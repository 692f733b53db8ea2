"""What a row says, and every way in which it may be wrong."""

import json
from typing import Any

import pytest

from phronesis.batch.rows import BatchRow, RowSource, read_row
from phronesis.errors import InputError

FEEDBACK = {"products": [{"name": "CO", "value": 1.0}]}


def read(row: Any) -> BatchRow:
    return read_row(RowSource(7, row if isinstance(row, bytes) else json.dumps(row).encode(), 9))


def test_a_run_with_feedback_is_learned_from() -> None:
    row = read({"run_id": "r", "raw": "x", "feedback": FEEDBACK, "note": 1})
    assert (row.line, row.run_id, row.learn) == (7, "r", True)
    assert row.run == {"run_id": "r", "raw": "x", "extra": {"note": 1}}
    assert row.feedback is not None


def test_learn_follows_the_feedback_unless_it_is_said() -> None:
    cases: list[tuple[dict[str, Any], bool]] = [
        ({"raw": "x"}, False),
        ({"raw": "x", "learn": True}, True),
        ({"raw": "x", "learn": False, "feedback": FEEDBACK}, False),
        ({"run_id": "r", "feedback": FEEDBACK, "output": None}, True),
        ({"run_id": "r", "learn": True}, True),
    ]
    for row, learn in cases:
        assert read(row).learn is learn, row
        assert (read(row).run is None) == ("raw" not in row), row


def test_a_run_without_an_id_gets_one_of_its_content() -> None:
    plain, same, other = read({"raw": "x"}), read({"raw": "x", "learn": True}), read({"raw": "x", "feedback": FEEDBACK})
    assert plain.run_id == same.run_id != other.run_id
    assert plain.run is not None
    assert plain.run["run_id"] == plain.run_id


def test_what_is_wrong_is_named() -> None:
    cases: list[tuple[Any, str]] = [
        (b'{"raw": "a\\u0000b"}', "row"),
        (b'{"raw": "x", "raw": "y"}', "row"),
        (b'{"raw": "x", "trace": ' + b"[" * 5000 + b"]" * 5000 + b"}", "row"),
        ({"run_id": 1, "feedback": FEEDBACK}, "run_id"),
        ({"run_id": "r", "outptu": {}}, "run.output"),
        ({"raw": "x", "learn": "yes"}, "learn"),
        ({"raw": "x", "feedback": {"products": [{"name": "CO", "value": -1}]}}, "feedback.products[0].value"),
    ]
    for row, field in cases:
        with pytest.raises(InputError) as refused:
            read(row)
        assert refused.value.field == field, row
        assert len(refused.value.message) < 300, row
    with pytest.raises(InputError, match="too long"):
        read_row(RowSource(1, b"", 5, "too long"))
