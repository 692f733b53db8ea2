"""Taking a failed entry up again: a new entry, at the lane's end, that stands for the old one.

It is a ``retry``, whose halves are those of the old one's verb. What an entry does to the log itself hangs on its verb:
such an entry is taken up by another of its verb, that says the same and names it. And some work is better asked for
again: a ``rederive`` compares with the lane as it is when it runs, and an erasure of words is planned anew, with what
has come to lean on them since, and certified.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Final

from phronesis.core.changes import Changes
from phronesis.core.entries import Entry, Outcome, is_erased
from phronesis.derive.erasure_plan import ERASE, PREPARE_AGAIN
from phronesis.derive.handler import FAILED_ROLE, Bench, Handler, Outcomes, Registry
from phronesis.errors import Conflict, Erased
from phronesis.storage.database import Unit
from phronesis.storage.erasing import is_named
from phronesis.storage.lane_view import LaneView
from phronesis.storage.log import entries_of_verb, read_outcomes
from phronesis.truth.erasure import left_of
from phronesis.truth.reader import fit, load_entry

VERB: Final = "retry"
REDERIVE: Final = "rederive"

REPEATED: Final = frozenset({ERASE, PREPARE_AGAIN})
"""Verbs that have an effect on the log."""

_STANDS_FOR: Final = "entry_id"
"""Where an entry that takes up another names it."""


def called_again(verb: str, payload: Mapping[str, Any]) -> str | None:
    """Give the verb to call again where a failed entry is not taken up by ``retry``; None where it is."""
    if verb == REDERIVE:
        return REDERIVE
    return ERASE if verb == ERASE and (payload.get("parts") or payload.get("everything")) else None


def remedy_of(entry: Entry) -> str:
    """Say what to call for an entry that failed, once its cause is mended."""
    again = called_again(entry.verb, entry.payload)
    return f"call {again} again" if again is not None else f"call retry('{entry.id}')"


def has_failed(unit: Unit, entry_id: str) -> bool:
    """Tell whether an entry was set aside as failed."""
    return any(row["role"] == FAILED_ROLE for row in read_outcomes(unit, [entry_id])[entry_id])


def stands_for_another(entry: Entry) -> bool:
    """Tell whether an entry takes up one that failed."""
    return entry.verb == VERB or (entry.verb in REPEATED and _STANDS_FOR in entry.payload)


def retry_of(unit: Unit, original: Entry, *, before: int | None = None) -> str | None:
    """Give the id of the entry that took another up and did not fail (it may be pending), or None.

    ``before`` looks at the lane as it was below that seq.
    """
    verb = original.verb if original.verb in REPEATED else VERB
    for row in entries_of_verb(unit, original.lane_id, verb, after=original.seq, before=before):
        again = load_entry(unit, row.entry_id)
        if again.payload.get(_STANDS_FOR) == original.id and not has_failed(unit, again.id):
            return again.id
    return None


def is_made_good(unit: Unit, original: Entry) -> bool:
    """Tell whether what a failed entry was to do has been taken up, or done otherwise since."""
    match called_again(original.verb, original.payload):
        case None:
            return retry_of(unit, original) is not None
        case str(verb) if verb == REDERIVE:
            later = entries_of_verb(unit, original.lane_id, REDERIVE, after=original.seq)
            return any(not has_failed(unit, row.entry_id) for row in later)
        case _ if original.payload.get("everything"):
            return not is_named(unit, original.lane_id)
        case _:
            return not left_of(unit, original.payload["parts"])


def failed_original(unit: Unit, entry_id: str) -> Entry:
    """Give the entry that a retry of ``entry_id`` takes up: itself, or the one that it was a retry of.

    NotFound when there is no such entry, Erased when its words are gone, Conflict when it did not fail, or is asked
    for again by a call of its own.
    """
    entry = load_entry(unit, entry_id)
    if not has_failed(unit, entry_id):
        raise Conflict(
            f"entry {entry_id} did not fail: it was interpreted, or still will be (see doctor); there is nothing to"
            " retry",
            field="entry_id",
        )
    again = stands_for_another(entry) and not is_erased(entry.payload)
    original = load_entry(unit, entry.payload[_STANDS_FOR]) if again else entry
    if is_erased(original.payload):
        raise Erased(f"the words of entry {original.id} were erased; it cannot be interpreted again", field="entry_id")
    if called_again(original.verb, original.payload) is not None:
        raise _not_retried(original)
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


def taking_up(original: Entry) -> tuple[str, Mapping[str, Any]]:
    """Give the verb and payload of the entry that takes up one that failed."""
    if original.verb in REPEATED:
        return original.verb, {**original.payload, _STANDS_FOR: original.id}
    return VERB, {_STANDS_FOR: original.id}


def retry_handler(originals: Registry) -> Handler:
    """Give the handler of ``retry``, whose halves are those of the original entry's verb.

    An original that no retry stands for fails it: a lane does not wait for what will never be known. One of a verb that
    nothing here knows raises HandlerMissing, and waits as the original would.
    """

    def prepare(bench: Bench, entry: Entry) -> Sequence[Outcome]:
        with bench.view() as view:
            original = _original(view, entry)
        if original.verb in {VERB, REDERIVE}:
            raise _not_retried(original)
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


def _not_retried(original: Entry) -> Conflict:
    return Conflict(
        f"entry {original.id} ({original.verb}) is not interpreted again as it stands: {remedy_of(original)}",
        field="entry_id",
    )


def _original(view: LaneView, entry: Entry) -> Entry:
    original = load_entry(view.log or view.unit, entry.payload[_STANDS_FOR])
    return dataclasses.replace(original, payload=fit(dict(original.payload)))
