"""Runs and what came back of them, as items: a run is recorded once, its feedback may be given again."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from phronesis.core.canonical import dumps
from phronesis.core.changes import Changes, Patch
from phronesis.core.entries import Entry, is_erased
from phronesis.core.ids import derived_id, item_id
from phronesis.core.items import DEFAULT_IMPORTANCE, Item, Trust
from phronesis.core.reasoning.facts import GenericFacts
from phronesis.core.reasoning.runs import Feedback, Run, checked_feedback, checked_run
from phronesis.derive.handler import Handler, Outcomes
from phronesis.storage.lane_view import LaneView
from phronesis.truth.reader import fit

RUN: Final = "run"
"""The kind of item that a run is, and the verb that records one."""

FEEDBACK: Final = "run_feedback"

_EXTRA: Final = "extra"

_MEMBERS: Final = ("output", "raw", "trace", "memory_ids", _EXTRA)


def run_payload(run: object) -> dict[str, Any]:
    """Give what is recorded of a run, or raise InputError naming the field.

    Members that nothing here knows stand together under ``extra``: whatever they are called, they name nothing of ours.
    Those that are None count as left out, like all others.
    """
    checked = checked_run(run)
    extra = {name: value for name, value in checked.extra.items() if value is not None}
    known = _filled(replace(checked, extra={}).to_json())
    return {**known, _EXTRA: extra} if extra else known


def recorded_run(payload: Mapping[str, Any]) -> Run:
    """Give the run that a payload describes."""
    known = {name: value for name, value in payload.items() if name != _EXTRA}
    return replace(checked_run(known), extra=payload.get(_EXTRA, {}))


def feedback_payload(feedback: object) -> dict[str, Any]:
    """Give what is recorded of a feedback, or raise InputError naming the field."""
    return checked_feedback(feedback).to_json()


def run_id_of(entry: Entry) -> str:
    """Give the id of the run that an entry records: the one given, else one that follows from the entry."""
    return str(entry.payload.get("run_id") or derived_id("run", entry.id))


def find_run(view: LaneView, run_id: str) -> Item | None:
    """Give the lane's run of this id, archived or not; None when there is none that was not taken back."""
    found = [item for item in view.find(kinds=(RUN,), run_id=run_id, live=False) if item.ended is None]
    return found[-1] if found else None


def run_of(item: Item) -> Run:
    """Give the run that an item of this kind is."""
    data = item.data
    return Run(
        run_id=item.run_id or "", output=data.get("output") or {}, raw=data.get("raw") or "", trace=data.get("trace"),
        memory_ids=tuple(data.get("memory_ids") or ()), extra=data.get("extra") or {},
    )  # fmt: skip


def feedback_of(item: Item) -> Feedback | None:
    """Give the feedback of a run's item; None when there is none yet."""
    given = item.data.get("feedback")
    return None if given is None else checked_feedback(given)


def same_run(item: Item, payload: Mapping[str, Any]) -> bool:
    """Tell whether an item is the run that a payload describes."""
    return dumps(_said(run_of(item))) == dumps(_said(recorded_run(fit(payload))))


def apply_run(view: LaneView, entry: Entry, _outcomes: Outcomes) -> Changes:
    """Make the run's item, unless the lane has a run of its id."""
    payload = entry.payload
    if is_erased(payload):
        return Changes()
    run_id = run_id_of(entry)
    if find_run(view, run_id) is not None:
        return Changes()
    run = recorded_run({**payload, "run_id": run_id})
    said = _said(run)
    item = Item(
        id=item_id(entry.id, RUN, run_id),
        kind=RUN,
        content=_summary(run),
        entry_id=entry.id,
        recorded_at=entry.recorded_at,
        updated_at=entry.recorded_at,
        importance=DEFAULT_IMPORTANCE[RUN],
        trust=Trust.TOOL,
        source_type=RUN,
        source_ref=run_id,
        run_id=run_id,
        occurred_at=entry.recorded_at,
        valid_from=entry.recorded_at,
        data={name: said[name] for name in _MEMBERS if said.get(name) not in (None, "", {}, [])},
        **view.scope_fields(),
    )
    return Changes(items=[item])


def apply_feedback(view: LaneView, entry: Entry, _outcomes: Outcomes) -> Changes:
    """Put the feedback beside its run, in the place of one that was given before."""
    payload = entry.payload
    run = None if is_erased(payload) else view.item(payload["item_id"])
    if run is None or run.kind != RUN:
        return Changes()
    if run.data.get("feedback") == payload["feedback"]:
        return Changes()
    fields = {"data.feedback": payload["feedback"], "data.feedback_entry": entry.id}
    return Changes(patches=[Patch(run.id, fields, "feedback")])


def _said(run: Run) -> dict[str, Any]:
    return {**run.to_json(), "extra": dict(run.extra)}


def _filled(run: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in run.items() if value not in (None, "", {}, [])}


def _summary(run: Run) -> str:
    """Give a run in words, whatever its field of work: the same on every machine, whatever the policy."""
    builder = GenericFacts()
    return builder.summary(builder.facts(run, Feedback())) or run.run_id


HANDLERS: Final = (Handler(verb=RUN, apply=apply_run), Handler(verb=FEEDBACK, apply=apply_feedback))
