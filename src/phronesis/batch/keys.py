"""What makes a row the same row again: keys of entries, and the comparison of runs."""

from typing import Any

from phronesis.core.canonical import digest
from phronesis.core.ids import derived_id
from phronesis.core.reasoning.runs import Run
from phronesis.core.scope import LaneName
from phronesis.errors import Conflict


def key_of(lane: LaneName, verb: str, about: str, content: Any) -> str:
    """Give the idempotency key of what a row records.

    ``about`` is the run's id for a run, so that another run of this id is a conflict; else its item, so that what was
    said of a run that is gone does not stand for a new one. ``content`` is the feedback: other feedback is news, the
    same feedback is the same however often its row comes.
    """
    return derived_id("batch", lane.kind, lane.name, verb, about, digest(content))


def said_of(run: Run) -> str:
    """Give the digest of all that a run says: two runs of one id are the same when it is."""
    return digest({**run.to_json(), "extra": dict(run.extra)})


def another(run_id: str) -> Conflict:
    """Give the error of a row whose run id is that of another run."""
    return Conflict(
        f"run {run_id!r:.80} was recorded before with another content; a run is recorded once, so give this one another"
        " run_id",
        field="run_id",
    )


def taken_back(run_id: str) -> Conflict:
    """Give the error of a row whose run was recorded by a batch and rolled back."""
    return Conflict(
        f"run {run_id!r:.80} was recorded by a batch and taken back; it stays so. Give it another run_id, or record it"
        " by itself",
        field="run_id",
    )
