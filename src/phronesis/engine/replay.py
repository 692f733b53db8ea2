"""Replay a lane: verify and rebuild from recorded outcomes, and ``rederive`` with today's extractors.

The prepare of ``rederive`` prepares every entry again and replays the lane over the new outcomes into a scratch store;
its outcome is the difference from the live state. Applying it needs no extractor, neither live nor in a replay.
"""

import dataclasses
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from phronesis.core.changes import Changes, Delta, Fold, Patch
from phronesis.core.entries import Entry, Outcome, is_erased
from phronesis.core.items import BOOKKEEPING, TIME_FIELDS, Item, Trust, flat_row
from phronesis.core.relations import Edge, Entity, EvidenceRow, Mention
from phronesis.core.results import RebuildResult, RederiveResult
from phronesis.core.serialization import digest, plain
from phronesis.core.timestamps import optional_moment
from phronesis.engine.entry_applier import EntryApplier
from phronesis.engine.handler import FAILED_ROLE, Handler, Outcomes, PrepareContext, Registry
from phronesis.engine.interpreter import check_outcomes, stored_outcomes
from phronesis.engine.rollback import REDERIVE
from phronesis.log.payloads import load_entries, load_entry
from phronesis.store.database import Database, Unit
from phronesis.store.deltas import deltas_of_entry
from phronesis.store.documents import delete_stray_vectors
from phronesis.store.items import read_where
from phronesis.store.lane_state import differences, make_equal, open_scratch, snapshot
from phronesis.store.lane_view import LaneView
from phronesis.store.lanes import Lane, get_lane, list_lanes, lock_lane, mark_documents, next_epoch
from phronesis.store.log import entries_of_verb, read_outcomes, verbs_of_lane
from phronesis.store.relations import lane_edges, lane_entities, lane_evidence, lane_mentions

# Replay of the log (law 1): the same ``apply`` over the recorded outcomes, into a scratch store, compared by hash.

PAGE = 200
"""Entries read at a time."""

MAX_NAMED = 50
"""Maximum number of differences named in a result; the hashes cover all."""


@dataclass(frozen=True, slots=True)
class Replayer:
    """Rebuilds derived state from the log."""

    database: Database
    stepper: EntryApplier

    def verify(self, tenant: str) -> RebuildResult:
        """Replay every lane of the tenant and compare it with the live state, without changing anything."""
        live_hashes: dict[str, str] = {}
        replayed_hashes: dict[str, str] = {}
        named: list[str] = []
        entries = 0
        with self.database.transaction(tenant, "read") as unit:
            for lane in list_lanes(unit):
                with self.replayed(unit, lane) as scratch:
                    live, again = snapshot(unit, lane.lane_id), snapshot(scratch, lane.lane_id)
                live_hashes[str(lane.lane_id)] = live.digest
                replayed_hashes[str(lane.lane_id)] = again.digest
                entries += lane.applied_seq
                if live.digest != again.digest:
                    named += [f"lane {lane.lane_id}: {difference}" for difference in differences(live, again)]
        return RebuildResult(
            equal=live_hashes == replayed_hashes,
            live_hash=digest(live_hashes),
            replayed_hash=digest(replayed_hashes),
            differences=tuple(named[:MAX_NAMED]),
            entries=entries,
        )

    def rebuild(self, tenant: str) -> RebuildResult:
        """Replay every lane and replace its live state by the result; each lane in one transaction."""
        before = self.verify(tenant)
        with self.database.transaction(tenant, "read") as unit:
            lane_ids = [lane.lane_id for lane in list_lanes(unit)]
        for lane_id in lane_ids:
            with self.database.transaction(tenant, "derive") as unit:
                self.replace(unit, lock_lane(unit, lane_id))
        return dataclasses.replace(before, applied=True)

    def replace(self, unit: Unit, lane: Lane) -> int:
        """Replace a locked lane's derived rows by those of a replay; return the number of rows changed."""
        with self.replayed(unit, lane) as scratch:
            touched = make_equal(unit, scratch, lane.lane_id)
        delete_stray_vectors(unit, lane.lane_id)
        mark_documents(unit, lane.lane_id, seq=lane.applied_seq)
        next_epoch(unit, lane.lane_id)
        return touched

    @contextmanager
    def replayed(self, unit: Unit, lane: Lane) -> Iterator[Unit]:
        """Return a scratch store with the lane replayed up to ``applied_seq``."""
        with replay_lane(unit, lane, self.stepper, until=lane.applied_seq) as scratch:
            yield scratch


Instead = Callable[[Unit, Entry, list[Outcome]], tuple[Entry, list[Outcome]]]
"""A function from the scratch store, an entry and its recorded outcomes to the entry and outcomes to apply instead."""


@contextmanager
def replay_lane(
    unit: Unit, lane: Lane, stepper: EntryApplier, *, until: int, instead: Instead | None = None
) -> Iterator[Unit]:
    """Return a scratch store with the lane replayed up to ``until``, with entries exchanged by ``instead``."""
    with open_scratch(unit.tenant, lane) as scratch:
        after = 0
        while after < until:
            page = load_entries(unit, lane, after=after, until=until, limit=PAGE)
            stored = stored_outcomes(unit, [entry.id for entry in page])
            for entry in page:
                applied, outcomes = entry, stored[entry.id]
                if instead is not None:
                    applied, outcomes = instead(scratch, entry, outcomes)
                stepper.step(scratch, get_lane(scratch, lane.lane_id), applied, outcomes, log=unit)
            after = page[-1].seq
        yield scratch


def require_engines(unit: Unit, lane_id: int, registry: Registry, *, without: Collection[str] = ()) -> None:
    """Raise HandlerMissing if a lane cannot be replayed because an engine is not installed.

    What needs a replay is refused then, since it would stay pending, and all that is written after it. Erased entries
    need no handler; those in ``without`` are about to be erased.
    """
    for verb in verbs_of_lane(unit, lane_id):
        unknown = [] if verb in registry else entries_of_verb(unit, lane_id, verb)
        left = [row.entry_id for row in unknown if row.entry_id not in without]
        if any(not is_erased(load_entry(unit, entry_id).payload) for entry_id in left):
            raise registry.missing(verb)


# The difference between two derivations of a lane, as rows grouped by source entry.

_LEARNING: Final = BOOKKEEPING | {"id", "recorded_at", "entry_id"}
"""Fields that say when and from what an item was learned: they depend on the derivation and are not compared."""

Found = dict[str, dict[str, list[Any]]]
"""Differing rows by entry and by operation. One outcome for each entry, so that an erasure finds its own."""


def difference(live: Unit, other: Unit, lane: Lane, folds: Mapping[str, Fold]) -> list[dict[str, Any]]:
    """Return the changes that make the live lane equal the other: one body for each entry, ordered by entry id.

    A body has ``created`` items, ``changed`` [id, fields] and ``vanished`` ids; edges, evidence, entities and mentions
    to add, or to drop (``dropped_…``). Ended items stay ended; what belongs to a vanished item is left as its history.
    """
    found: Found = {}
    before, after = ({item.id: item for item in read_where(unit, lane)} for unit in (live, other))
    _items(found, before, after, folds)
    for name, records in (("edges", lane_edges), ("evidence", lane_evidence)):
        old, new = ({row.identity: row for row in records(unit, lane.lane_id)} for unit in (live, other))
        for key in sorted(new.keys() - old.keys()):
            _note(found, new[key].entry_id, name, new[key].to_row())
        for key in sorted(old.keys() - new.keys()):
            owner = old[key].to_row().get("item_id") or old[key].to_row().get("from_id")
            if owner in after or owner not in before:
                _note(found, old[key].entry_id, f"dropped_{name}", old[key].to_row())
    _names(found, live, other, lane.lane_id)
    return [{"entry_id": entry_id, **found[entry_id]} for entry_id in sorted(found)]


def _items(found: Found, before: Mapping[str, Item], after: Mapping[str, Item], folds: Mapping[str, Fold]) -> None:
    for item in after.values():
        old = before.get(item.id)
        if old is None:
            _note(found, item.entry_id, "created", item.to_row())
            continue
        folded = folds[item.kind].fields if item.kind in folds else frozenset()
        fields = _changed_fields(old, item, _LEARNING | folded)
        if fields:
            _note(found, item.entry_id, "changed", [item.id, fields])
    for item in before.values():
        if item.id not in after and item.ended is None:
            _note(found, item.entry_id, "vanished", item.id)


def _changed_fields(old: Item, new: Item, skipped: Iterable[str]) -> dict[str, Any]:
    was, now = (plain(flat_row(item.to_row()), field="item") for item in (old, new))
    names = sorted((was.keys() | now.keys()) - set(skipped))
    return {name: now.get(name) for name in names if was.get(name) != now.get(name)}


def _names(found: Found, live: Unit, other: Unit, lane_id: int) -> None:
    old, new = ({entity.id: entity for entity in lane_entities(unit, lane_id)} for unit in (live, other))
    for key in sorted(new):
        if key not in old or new[key].canonical_id not in (None, old[key].canonical_id):
            _note(found, new[key].entry_id, "entities", dataclasses.asdict(new[key]))
    for key in sorted(old.keys() - new.keys()):
        _note(found, old[key].entry_id, "dropped_entities", key)
    said, says = (
        {(m.item_id, m.entity_id, m.start): m for m in lane_mentions(unit, lane_id)} for unit in (live, other)
    )
    for place in sorted(says.keys() - said.keys()):
        _note(found, says[place].entry_id, "mentions", dataclasses.asdict(says[place]))
    for place in sorted(said.keys() - says.keys()):
        _note(found, said[place].entry_id, "dropped_mentions", dataclasses.asdict(said[place]))


def _note(found: Found, entry_id: str, name: str, row: Any) -> None:
    found.setdefault(entry_id, {}).setdefault(name, []).append(row)


VERB: Final = REDERIVE
ROLE: Final = "rederived"
MADE_BY: Final = "rederive/1"

_PASSED_OVER: Final = [Outcome(role=FAILED_ROLE, made_by=MADE_BY)]


def rederive_handler(stepper: EntryApplier) -> Handler:
    """Return the handler of ``rederive``; ``stepper`` knows every other verb that a lane may hold."""
    folds = stepper.registry.folds

    def prepare(bench: PrepareContext, entry: Entry) -> Sequence[Outcome]:
        fresh = {again.id: outcomes for again, outcomes in _prepare_entries(bench, entry, stepper.registry)}
        with bench.view() as view:
            today = _with_fresh(view.unit, fresh)
            with replay_lane(view.unit, view.lane, stepper, until=entry.seq - 1, instead=today) as scratch:
                found = difference(view.unit, scratch, view.lane, folds)
        return [Outcome(role=ROLE, made_by=MADE_BY, n=n, body=body) for n, body in enumerate(found)]

    def apply(view: LaneView, entry: Entry, outcomes: Outcomes) -> Changes:
        return _changes(view, entry, [outcome.body for outcome in outcomes.get(ROLE, ())])

    return Handler(verb=VERB, apply=apply, prepare=prepare, separable=True)


def _prepare_entries(bench: PrepareContext, entry: Entry, registry: Registry) -> Iterator[tuple[Entry, list[Outcome]]]:
    """Prepare every older entry of the lane again that has a ``prepare``; failed entries stay failed."""
    after = 0
    while after < entry.seq - 1:
        with bench.view() as view:
            page = load_entries(view.unit, view.lane, after=after, until=entry.seq - 1, limit=PAGE)
            stored = read_outcomes(view.unit, [older.id for older in page])
        for older in page:
            failed = any(row["role"] == FAILED_ROLE for row in stored[older.id])
            if older.verb == VERB or is_erased(older.payload) or failed:
                continue
            prepare = registry[older.verb].prepare
            if prepare is not None:
                yield older, check_outcomes(prepare(bench, older))
        after = page[-1].seq


def _with_fresh(live: Unit, fresh: Mapping[str, list[Outcome]]) -> Instead:
    """Exchange outcomes for fresh ones. Callers' decisions stand, though versions may be counted differently."""

    def instead(_scratch: Unit, entry: Entry, outcomes: list[Outcome]) -> tuple[Entry, list[Outcome]]:
        if any(outcome.role == FAILED_ROLE for outcome in outcomes):
            return entry, outcomes
        if entry.verb == VERB:
            return entry, _PASSED_OVER  # what it found is found again, or is not
        payload = dict(entry.payload)
        if payload.pop("expected_version", None) is None:
            return entry, fresh.get(entry.id, outcomes)
        met = bool(deltas_of_entry(live, entry.lane_id, entry.id))
        return dataclasses.replace(entry, payload=payload), fresh.get(entry.id, outcomes) if met else _PASSED_OVER

    return instead


def _changes(view: LaneView, entry: Entry, bodies: Sequence[Mapping[str, Any]]) -> Changes:
    """Turn the recorded difference into changes, leaving out what the lane no longer holds."""

    def rows(name: str) -> list[Any]:
        return [row for body in bodies for row in body.get(name, ())]

    at = entry.recorded_at
    vanished = [item for item in view.items(rows("vanished")).values() if item.ended is None]
    created = [
        dataclasses.replace(Item.from_row(row, **view.scope_fields()), version=1, recorded_at=at, updated_at=at)
        for row in rows("created")
    ]
    patches = [
        Patch(item_id, {name: _typed_value(name, value) for name, value in fields.items()}, "derived anew")
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


def _typed_value(name: str, value: Any) -> Any:
    if name in TIME_FIELDS:
        return optional_moment(value)
    return Trust(value) if name == "trust" else value


def effect(entry_id: str, deltas: Sequence[Delta]) -> RederiveResult:
    """Return the result of a rederive, from its deltas."""
    added = [delta.item_id for delta in deltas if delta.op == "create"]
    vanished = [delta.item_id for delta in deltas if list(delta.patch.get("ended", ())) == [None, "retired"]]
    changed = [delta.item_id for delta in deltas if delta.item_id not in {*added, *vanished}]
    return RederiveResult(entry_id, tuple(added), tuple(changed), tuple(vanished))
