"""Deriving a lane anew with today's extractors: what would it hold, had they been there from the start?

Preparing prepares every entry again and replays the lane over the new outcomes into a scratch store; its outcome is
what differs from the live state. Applying it is then as cheap as any entry, and a replay needs no extractor.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from phronesis.core.changes import Changes, Delta, Patch
from phronesis.core.entities import Entity, Mention
from phronesis.core.entries import Entry, Outcome, is_erased
from phronesis.core.instants import optional_moment
from phronesis.core.items import TIME_FIELDS, Item, Trust
from phronesis.core.relations import Edge, EvidenceRow
from phronesis.core.results import RederiveResult
from phronesis.derive.handler import FAILED_ROLE, Bench, Handler, Outcomes, Registry
from phronesis.derive.interpreter import checked
from phronesis.derive.lane_difference import difference
from phronesis.derive.replay import replayed
from phronesis.derive.retry import REDERIVE
from phronesis.derive.step import Stepper
from phronesis.storage.database import Unit
from phronesis.storage.deltas import deltas_of_entry
from phronesis.storage.lane_view import LaneView
from phronesis.storage.log import read_outcomes
from phronesis.truth.reader import load_entries

VERB: Final = REDERIVE
ROLE: Final = "rederived"
MADE_BY: Final = "rederive/1"
PAGE: Final = 200
"""Entries read at a time."""

_PASSED_OVER: Final = (Outcome(role=FAILED_ROLE, made_by=MADE_BY),)


def rederive_handler(stepper: Stepper) -> Handler:
    """Give the handler of ``rederive``; ``stepper`` knows every verb that a lane may hold but this one."""
    folds = stepper.registry.folds

    def prepare(bench: Bench, entry: Entry) -> Sequence[Outcome]:
        fresh = {again.id: outcomes for again, outcomes in _prepared(bench, entry, stepper.registry)}
        with bench.view() as view:
            today = _Today(view.unit, fresh)
            with replayed(view.unit, view.lane, stepper, until=entry.seq - 1, instead=today) as scratch:
                found = difference(view.unit, scratch, view.lane, folds)
        return [Outcome(role=ROLE, made_by=MADE_BY, n=n, body=body) for n, body in enumerate(found)]

    def apply(view: LaneView, entry: Entry, outcomes: Outcomes) -> Changes:
        return _changes(view, entry, [outcome.body for outcome in outcomes.get(ROLE, ())])

    return Handler(verb=VERB, apply=apply, prepare=prepare, separable=True)


def _prepared(bench: Bench, entry: Entry, registry: Registry) -> Iterator[tuple[Entry, list[Outcome]]]:
    """Prepare anew each older entry of the lane that has a ``prepare``; what failed stays failed."""
    after = 0
    while after < entry.seq - 1:
        with bench.view() as view:
            page = load_entries(view.unit, view.lane, after=after, until=entry.seq - 1, limit=PAGE)
            stored = read_outcomes(view.unit, [older.id for older in page])
        for older in page:
            if (
                older.verb == VERB
                or is_erased(older.payload)
                or any(row["role"] == FAILED_ROLE for row in stored[older.id])
            ):
                continue
            prepare = registry[older.verb].prepare
            if prepare is not None:
                yield older, checked(prepare(bench, older))
        after = page[-1].seq


@dataclasses.dataclass(frozen=True, slots=True)
class _Today:
    """A replay with fresh outcomes. What callers decided stands, though versions may be counted differently."""

    live: Unit
    fresh: Mapping[str, Sequence[Outcome]]

    def __call__(self, _scratch: Unit, entry: Entry, outcomes: Sequence[Outcome]) -> tuple[Entry, Sequence[Outcome]]:
        """Give the entry and outcomes to be applied in place of the recorded ones."""
        if any(outcome.role == FAILED_ROLE for outcome in outcomes):
            return entry, outcomes
        if entry.verb == VERB:
            return entry, _PASSED_OVER  # what it found is found again, or is not
        payload = dict(entry.payload)
        if payload.pop("expected_version", None) is not None:
            met = bool(deltas_of_entry(self.live, entry.lane_id, entry.id))
            fresh = self.fresh.get(entry.id, outcomes) if met else _PASSED_OVER
            return dataclasses.replace(entry, payload=payload), fresh
        return entry, self.fresh.get(entry.id, outcomes)


def _changes(view: LaneView, entry: Entry, bodies: Sequence[Mapping[str, Any]]) -> Changes:
    """Put what was found into changes; what the lane no longer holds falls away."""

    def rows(name: str) -> list[Any]:
        return [row for body in bodies for row in body.get(name, ())]

    at = entry.recorded_at
    vanished = [item for item in view.items(rows("vanished")).values() if item.ended is None]
    created = [
        dataclasses.replace(Item.from_row(row, **view.scope_fields()), version=1, recorded_at=at, updated_at=at)
        for row in rows("created")
    ]
    patches = [
        Patch(item_id, {name: _typed(name, value) for name, value in fields.items()}, "derived anew")
        for item_id, fields in rows("changed")
    ]
    patches += [
        Patch(item.id, {"ended": "retired", "ended_by": entry.id}, "no longer found")
        for item in sorted(vanished, key=lambda item: item.id)
    ]
    learned = [{**row, "entry_id": entry.id} for row in rows("evidence")]
    return Changes(
        items=created,
        patches=patches,
        edges=[Edge(**row) for row in rows("edges")],
        dropped_edges=[Edge(**row) for row in rows("dropped_edges")],
        evidence=[dataclasses.replace(EvidenceRow.from_row(row), recorded_at=at) for row in learned],
        dropped_evidence=[EvidenceRow.from_row(row) for row in rows("dropped_evidence")],
        entities=[Entity(**row) for row in rows("entities")],
        mentions=[Mention(**row) for row in rows("mentions")],
        dropped_entities=rows("dropped_entities"),
        dropped_mentions=[Mention(**row) for row in rows("dropped_mentions")],
    )


def _typed(name: str, value: Any) -> Any:
    if name in TIME_FIELDS:
        return optional_moment(value)
    return Trust(value) if name == "trust" else value


def effect(entry_id: str, deltas: Sequence[Delta]) -> RederiveResult:
    """Say what a rederive came to, from its deltas."""
    added = [delta.item_id for delta in deltas if delta.op == "create"]
    vanished = [delta.item_id for delta in deltas if list(delta.patch.get("ended", ())) == [None, "retired"]]
    changed = [delta.item_id for delta in deltas if delta.item_id not in {*added, *vanished}]
    return RederiveResult(entry_id, tuple(added), tuple(changed), tuple(vanished))
