"""Taking a failed entry up again: a new entry, at the lane's end, that stands for the old one."""

import dataclasses
from collections.abc import Sequence
from typing import Final

from phronesis.core.changes import Changes
from phronesis.core.entries import Entry, Outcome, is_erased
from phronesis.derive.handler import FAILED_ROLE, Bench, Handler, Outcomes, Registry
from phronesis.errors import Conflict, Erased
from phronesis.storage.database import Unit
from phronesis.storage.lane_view import LaneView
from phronesis.storage.log import entries_of_verb, read_outcomes
from phronesis.truth.reader import fit, load_entry

VERB: Final = "retry"


def has_failed(unit: Unit, entry_id: str) -> bool:
    """Tell whether an entry was set aside as failed."""
    return any(row["role"] == FAILED_ROLE for row in read_outcomes(unit, [entry_id])[entry_id])


def retry_of(unit: Unit, original: Entry, *, before: int | None = None) -> str | None:
    """Give the id of the ``retry`` that took an entry up and did not fail (it may be pending), or None.

    ``before`` looks at the lane as it was below that seq.
    """
    for row in entries_of_verb(unit, original.lane_id, VERB, after=original.seq, before=before):
        again = load_entry(unit, row.entry_id)
        if again.payload.get("entry_id") == original.id and not has_failed(unit, again.id):
            return again.id
    return None


def failed_original(unit: Unit, entry_id: str) -> Entry:
    """Give the entry that a retry of ``entry_id`` takes up: itself, or the one that it was a retry of.

    NotFound when there is no such entry, Erased when its words are gone, Conflict when it did not fail.
    """
    entry = load_entry(unit, entry_id)
    if not has_failed(unit, entry_id):
        raise Conflict(
            f"entry {entry_id} did not fail: it was interpreted, or still will be (see doctor); there is nothing to"
            " retry",
            field="entry_id",
        )
    again = entry.verb == VERB and not is_erased(entry.payload)
    original = load_entry(unit, entry.payload["entry_id"]) if again else entry
    if is_erased(original.payload):
        raise Erased(f"the words of entry {original.id} were erased; it cannot be interpreted again", field="entry_id")
    return original


def refuse_second_retry(unit: Unit, original: Entry) -> None:
    """Raise Conflict when a retry took the entry up already: what it says would count twice."""
    earlier = retry_of(unit, original)
    if earlier is not None:
        raise Conflict(
            f"entry {original.id} was taken up again by entry {earlier}",
            field="entry_id",
            details={"entry_id": earlier},
        )


def retry_handler(originals: Registry) -> Handler:
    """Give the handler of ``retry``, whose halves are those of the original entry's verb."""

    def prepare(bench: Bench, entry: Entry) -> Sequence[Outcome]:
        with bench.view() as view:
            original = _original(view, entry)
        delegate = originals[original.verb].prepare
        return delegate(bench, original) if delegate is not None else ()

    def apply(view: LaneView, entry: Entry, outcomes: Outcomes) -> Changes:
        original = _original(view, entry)
        if retry_of(view.log or view.unit, original, before=entry.seq) is not None:
            return Changes()  # two callers asked at the same time
        changes = originals[original.verb].apply_of(original.handler_version)(view, original, outcomes)
        return learned_at(changes, entry)

    return Handler(verb=VERB, apply=apply, prepare=prepare)


def learned_at(changes: Changes, entry: Entry) -> Changes:
    """Date what an older entry gives as learned with ``entry``: before that, nobody knew it (``as_of``)."""
    at = entry.recorded_at
    return dataclasses.replace(
        changes,
        items=[dataclasses.replace(item, recorded_at=at, updated_at=at) for item in changes.items],
        evidence=[dataclasses.replace(row, recorded_at=at) for row in changes.evidence],
    )


def _original(view: LaneView, entry: Entry) -> Entry:
    original = load_entry(view.log or view.unit, entry.payload["entry_id"])
    return dataclasses.replace(original, payload=fit(dict(original.payload)))
