"""What one row of a batch says: a run, what came of it, whether to learn from it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from phronesis.batch.pieces import Piece
from phronesis.core.canonical import digest
from phronesis.core.ids import derived_id
from phronesis.core.reasoning.strict_json import Unreadable, read_json
from phronesis.core.text import check_id
from phronesis.derive.runs import feedback_payload, run_payload
from phronesis.errors import InputError
from phronesis.truth.inputs import flag

_ABOUT: Final = frozenset({"run_id", "feedback", "learn"})
"""The members of a row that is about a run which the store, or an earlier row, has."""


@dataclass(frozen=True, slots=True)
class Row:
    """A checked row: the payload of its run (None when it is about a known one) and of its feedback."""

    line: int
    end: int
    run_id: str
    run: Mapping[str, Any] | None
    feedback: Mapping[str, Any] | None
    learn: bool


def read_row(piece: Piece) -> Row:
    """Read a row, or raise InputError naming the field.

    ``{run_id?, output, raw, trace, memory_ids, feedback?, learn?}``; without output and raw it is about a run that is
    known. ``learn`` is true where it is left out and there is feedback. A run without an id gets one that follows from
    what its row says of it, feedback included: the same row is the same run.
    """
    members = _members(piece)
    given = members.get("feedback")
    feedback = None if given is None else feedback_payload(given)
    learn = feedback is not None if members.get("learn") is None else flag(members["learn"], field="learn")
    if all(name in _ABOUT for name, value in members.items() if value is not None):
        if feedback is None and not learn:
            raise InputError("the row names no run, no feedback and no learn; there is nothing to do", field="row")
        run_id = check_id(members.get("run_id"), field="run_id")
        return Row(piece.line, piece.end, run_id, None, feedback, learn)
    run = run_payload({name: value for name, value in members.items() if name not in _ABOUT or name == "run_id"})
    if "run_id" not in run:
        run = {"run_id": derived_id("batch", "run", digest([run, feedback])), **run}
    return Row(piece.line, piece.end, run["run_id"], run, feedback, learn)


def named_in(piece: Piece) -> str | None:
    """Give the run that a row names, which may say something unlawful of it; None where it cannot be told."""
    try:
        return check_id(_members(piece).get("run_id"), field="run_id")
    except InputError:
        return None


def _members(piece: Piece) -> Mapping[str, Any]:
    if piece.fault is not None:
        raise InputError(piece.fault, field="row")
    try:
        value = read_json(piece.body.decode().strip())
    except UnicodeDecodeError as error:
        raise InputError(f"the row is not UTF-8: byte {error.start + 1} of it", field="row") from error
    except Unreadable as error:
        raise InputError(f"the row cannot be read: {error}", field="row") from error
    if not isinstance(value, dict):
        raise InputError(f"a row must be a JSON object, not {type(value).__name__}", field="row")
    return value
