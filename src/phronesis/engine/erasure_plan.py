"""Plan an erasure, and carry the plan out on the log and on derived state (law 9).

A plan names the log parts, items and dependent outcomes that a target covers. The erase entry holds its ids, durable
before anything is removed. Its effect runs in the transaction that applies it: the payload parts and outcomes are
deleted, and the lane's derived state becomes that of a replay of the remaining log. A crash before that leaves the
entry pending, and the next process that takes the lane completes it. Entries whose outcomes depended on the erased text
are prepared again by a child entry. A replay runs no effect, because the log it reads no longer holds the text.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from phronesis.core.changes import Changes, ChildEntry
from phronesis.core.entries import Entry, ErasePayload, Outcome, is_erased, payload_of
from phronesis.core.items import Item
from phronesis.core.serialization import decode
from phronesis.engine.edits import DECIDED_ROLE
from phronesis.engine.handler import (
    ERASE,
    FAILED_ROLE,
    PREPARE_AGAIN,
    Effect,
    Handler,
    Outcomes,
    PrepareContext,
    Registry,
)
from phronesis.engine.interpreter import check_outcomes, outcome_row
from phronesis.engine.replay import Replayer, replay_lane
from phronesis.log.erasure import LoggedEntry, cut_out, read_logged
from phronesis.log.payloads import ENVELOPE, body_of
from phronesis.store.database import Unit
from phronesis.store.deltas import deltas_of_entry
from phronesis.store.erasure_queries import (
    OutcomeRow,
    Probes,
    all_outcomes,
    drop_outcome,
    drop_outcomes,
    entries_of_lane,
    items_of_entries,
    items_of_session,
    leaning_lanes,
    repeats_of,
    sources_of_item,
    taken_from,
)
from phronesis.store.items import read_items
from phronesis.store.lane_state import clear_lane
from phronesis.store.lane_view import LaneView
from phronesis.store.lanes import Lane, get_lane, mark_documents, next_epoch
from phronesis.store.log import find_entry, put_outcomes, read_parts
from phronesis.store.model_calls import forget_lookups

_KEPT_VERBS: Final = frozenset({ERASE, PREPARE_AGAIN})
"""Verbs whose payloads hold only ids: they stay until their whole lane is erased."""

_IDS: Final = re.compile(rb"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class Plan:
    """What to remove from one lane: parts of entries, and the items made from them.

    Nothing remains of the entries in ``whole``.
    """

    cut: Mapping[str, frozenset[int]]
    items: frozenset[str]
    whole: frozenset[str]
    everything: bool = False

    @property
    def gone(self) -> frozenset[str]:
        """The ids that no evidence may come from any more.

        They include ids of entries that keep a part: evidence from the remaining part names its item.
        """
        return self.items | self.cut.keys()


@dataclass(slots=True)
class Dependents:
    """What in one lane depends on the items and entries to be removed.

    ``gone`` are ids that evidence and edges name; ``anew`` entries to be prepared again; ``apart`` outcomes (entry,
    role, n) that are removed alone, since each outcome of their entry is independent.
    """

    gone: set[str] = field(default_factory=set)
    anew: set[str] = field(default_factory=set)
    apart: list[tuple[str, str, int]] = field(default_factory=list)


def plan_item(unit: Unit, lane: Lane, item: Item) -> Plan:
    """Plan the erasure of one item: the text it came from, and every later entry about it.

    A message, and an event given as such, comes from its own part; an extracted item from its source items; anything
    else from its whole entry.
    """
    items, whole, waiting = {item.id}, set[str](), [item]
    logged = list(read_logged(unit, lane))
    members = {member for entry in logged for member in entry.members()}
    while waiting:
        one = waiting.pop()
        apart = one.kind == "message" or one.id in members
        sources = [] if apart else sources_of_item(unit, lane.lane_id, one.id)
        whole |= {entry for source, entry in sources if source is None and entry is not None}
        if not apart and not sources:
            whole.add(one.entry_id)
        above = {source for source, _ in sources if source is not None} - items
        items |= above
        waiting += read_items(unit, lane, sorted(above)).values()
    return _close_plan(unit, lane, logged, items, whole)


def plan_session(unit: Unit, lane: Lane, session_id: str) -> Plan:
    """Plan the erasure of a session: its turns and additions, what was learned from it, and every edit of that."""
    logged = list(read_logged(unit, lane))
    whole = set[str]()
    for entry in logged:
        attributes = entry.envelope.get("attributes")
        named = attributes.get("session_id") if isinstance(attributes, Mapping) else None
        if entry.left and entry.envelope.get("session_id", named) == session_id:
            whole.add(entry.entry_id)
    return _close_plan(unit, lane, logged, items_of_session(unit, lane.lane_id, session_id), whole)


def plan_lane(unit: Unit, lane: Lane) -> Plan:
    """Plan the erasure of a whole lane: every part of every entry."""
    cut = {entry.entry_id: entry.left for entry in read_logged(unit, lane) if entry.left}
    return Plan(cut, frozenset(items_of_entries(unit, lane.lane_id, cut)), frozenset(cut), everything=True)


def _close_plan(unit: Unit, lane: Lane, logged: list[LoggedEntry], items: set[str], whole: set[str]) -> Plan:
    """Return the closure: items of entries, entries about items, and items derived from items."""
    known = {entry.entry_id: entry for entry in logged}
    said = {item: (entry, n) for entry in logged for item, n in entry.members().items()}
    whole &= known.keys()
    while True:
        parts = _message_parts(unit, known, said, items)
        found_items = items | items_of_entries(unit, lane.lane_id, whole) | taken_from(unit, lane.lane_id, items)
        found_items |= {item for item, (entry, _) in said.items() if entry.entry_id in whole}
        found_whole = whole | {entry_id for entry_id, going in parts.items() if going == known[entry_id].left}
        found_whole |= {entry.entry_id for entry in logged if entry.left and _is_about(entry, found_items, found_whole)}
        if (found_items, found_whole) == (items, whole):
            break
        items, whole = found_items, found_whole
    cut = {entry_id: going for entry_id, going in parts.items() if going}
    cut |= {entry_id: known[entry_id].left for entry_id in whole if known[entry_id].left}
    return Plan(cut, frozenset(items), frozenset(whole))


def _message_parts(
    unit: Unit, known: Mapping[str, LoggedEntry], said: Mapping[str, tuple[LoggedEntry, int]], items: AbstractSet[str]
) -> dict[str, frozenset[int]]:
    numbers: dict[str, set[int]] = {}
    for entry, n in (said[item] for item in items if item in said):
        numbers.setdefault(entry.entry_id, set()).add(n)
    for entry_id, n in repeats_of(unit, sorted(items)):
        part = known[entry_id].part_of_message(n) if entry_id in known else None
        if part is not None:
            numbers.setdefault(entry_id, set()).add(part)
    return {entry_id: known[entry_id].with_last_member(going) for entry_id, going in numbers.items()}


def _is_about(entry: LoggedEntry, items: AbstractSet[str], whole: AbstractSet[str]) -> bool:
    """Return whether an entry is about a removed item (its text, its reason), or stands for a removed entry."""
    if entry.verb in _KEPT_VERBS:
        return False
    named = {entry.envelope.get("item_id"), entry.envelope.get("target_id")}
    return bool(named & items) or entry.parent_id in whole or entry.envelope.get("entry_id") in whole


def find_dependents(unit: Unit, lane: Lane, plan: Plan, probes: Probes, registry: Registry) -> dict[int, Dependents]:
    """Find what depends on the removal: evidence and edges in other lanes, outcomes in every lane.

    An outcome depends on it when it names a removed id, quotes text that its own entry does not hold, or was made from
    the outcomes of an entry that is dependent or loses a part (``stands_on``).
    """
    found = {other: Dependents(gone=ids) for other, ids in leaning_lanes(unit, plan.gone, beside=lane.lane_id).items()}
    standing: list[tuple[OutcomeRow, frozenset[str]]] = []
    for row in all_outcomes(unit):
        here = row.lane_id == lane.lane_id
        if row.entry_id in plan.cut or (here and plan.everything):
            continue
        if not _depends_on_plan(unit, row, plan, probes):
            if b'"stands_on"' in row.body:
                standing.append((row, frozenset(decode(row.body).get("stands_on", ()))))
            continue
        in_lane = found.setdefault(row.lane_id, Dependents())
        entry = find_entry(unit, row.entry_id)
        if entry is not None and registry[entry.verb].separable:
            in_lane.apart.append((row.entry_id, row.role, row.n))
        else:
            in_lane.anew.add(row.entry_id)
    _follow(standing, found, plan)
    return found


def _follow(standing: Sequence[tuple[OutcomeRow, frozenset[str]]], found: dict[int, Dependents], plan: Plan) -> None:
    """Add the entries whose outcomes were made from those of entries that are prepared again, transitively."""
    while True:
        again = plan.cut.keys() | {entry for lean in found.values() for entry in lean.anew}
        late = [row for row, below in standing if below & again and row.entry_id not in again]
        for row in late:
            found.setdefault(row.lane_id, Dependents()).anew.add(row.entry_id)
        if not late:
            return


def cut_but_not_through(unit: Unit, lane: Lane, plan: Plan, registry: Registry) -> set[str]:
    """Return the lane's entries that lose a part and keep something to prepare, and their retries."""
    out: set[str] = set()
    for entry in read_logged(unit, lane) if plan.cut.keys() != plan.whole else ():
        going = plan.cut.get(entry.entry_id, frozenset())
        cut = bool(going) and bool(entry.left - going - {ENVELOPE})
        stands_for = entry.envelope.get("entry_id") in plan.cut and not going
        if (cut or stands_for) and entry.verb not in _KEPT_VERBS and registry[entry.verb].prepare is not None:
            out.add(entry.entry_id)
    return out


def _depends_on_plan(unit: Unit, row: OutcomeRow, plan: Plan, probes: Probes) -> bool:
    if any(found.decode() in plan.items or found.decode() in plan.whole for found in _IDS.findall(row.body)):
        return True
    quoted = {piece for _, piece in probes.find(row.body)}
    if not quoted:
        return False
    own = b"\0".join(body_of(unit, part) for part in read_parts(unit, [row.entry_id])[row.entry_id])
    return any(piece not in own for piece in quoted)


def erase_payload(plan: Plan | None, lean: Dependents) -> dict[str, Any]:
    """Return the payload of an erase entry: ids and part numbers, no text."""
    payload: dict[str, Any] = {
        "gone": sorted(lean.gone),
        "anew": sorted(lean.anew),
        "apart": [list(row) for row in sorted(lean.apart)],
    }
    if plan is not None and plan.everything:
        payload = {"everything": True}
    elif plan is not None:
        payload["parts"] = {entry_id: sorted(numbers) for entry_id, numbers in sorted(plan.cut.items())}
    return {name: value for name, value in payload.items() if value}


# The effects that carry a plan out.

MADE_BY: Final = "erasure/1"

_KEPT_ROLES: Final = frozenset({FAILED_ROLE, DECIDED_ROLE})
"""Outcome roles that record a decision and hold no text: they stay, since no preparation makes them again."""


def apply_erase(view: LaneView, entry: Entry, _outcomes: Outcomes) -> Changes:
    """Drop the lane's evidence and edges from erased sources, and request a new preparation of dependent entries."""
    payload = payload_of(entry, ErasePayload)
    gone = payload.get("gone", ())
    anew = payload.get("anew", ())
    return Changes(
        dropped_evidence=view.evidence_from(gone),
        dropped_edges=view.edges_to(gone),
        children=[ChildEntry(verb=PREPARE_AGAIN, payload={"entries": anew})] if anew else (),
    )


HANDLERS: Final = (
    Handler(verb=ERASE, apply=apply_erase),
    Handler(verb=PREPARE_AGAIN, apply=lambda _view, _entry, _outcomes: Changes()),  # it acts through its effect alone
)


def effects(replayer: Replayer) -> dict[str, Effect]:
    """Return the effects on the log by verb, for the live interpreter."""
    return {ERASE: Erasure(replayer), PREPARE_AGAIN: Preparation(replayer)}


@dataclass(frozen=True, slots=True)
class Erasure:
    """The effect of ``erase``."""

    replayer: Replayer

    def prepare(self, _bench: PrepareContext, _entry: Entry) -> Sequence[Outcome]:
        """Prepare nothing: the entry contains everything."""
        return ()

    def carry_out(self, unit: Unit, lane: Lane, entry: Entry, _outcomes: Sequence[Outcome]) -> None:
        """Remove the text from the log, and what was derived from it from the lane and from cached lookups."""
        payload = payload_of(entry, ErasePayload)
        forget_lookups(unit)  # nothing says which run a name was looked up for, and it can be asked again
        if payload.get("everything"):
            self._forget(unit, lane, entry)
            return
        cut = {entry_id: frozenset(numbers) for entry_id, numbers in payload.get("parts", {}).items()}
        anew, apart = payload.get("anew", ()), payload.get("apart", ())
        _keep_decisions(unit, lane)
        cut_out(unit, cut)
        drop_outcomes(unit, [*cut, *anew], keep=_KEPT_ROLES)
        for entry_id, role, n in apart:
            drop_outcome(unit, entry_id, role, n)
        if cut or anew or apart:
            self.replayer.replace(unit, lane)
        else:
            next_epoch(unit, lane.lane_id)

    def _forget(self, unit: Unit, lane: Lane, entry: Entry) -> None:
        """Empty the lane and detach its name; the same name then starts another lane."""
        entry_ids = entries_of_lane(unit, lane.lane_id, before=entry.seq)
        parts = read_parts(unit, entry_ids)
        cut_out(unit, {entry_id: {part.n for part in parts[entry_id]} for entry_id in entry_ids})
        drop_outcomes(unit, entry_ids, keep=_KEPT_ROLES)
        clear_lane(unit, lane.lane_id)
        mark_documents(unit, lane.lane_id, seq=lane.applied_seq)
        next_epoch(unit, lane.lane_id, forget_name=True)


def _keep_decisions(unit: Unit, lane: Lane) -> None:
    """Record which edits met the expected version before versions are counted anew.

    Edits after the erasure are not decided yet: they compare with the versions that it leaves.
    """
    for entry in read_logged(unit, lane, until=lane.applied_seq):
        if entry.envelope.get("expected_version") is not None:
            body = {"met": bool(deltas_of_entry(unit, lane.lane_id, entry.entry_id))}
            put_outcomes(unit, lane.lane_id, entry.entry_id, [outcome_row(Outcome(DECIDED_ROLE, MADE_BY, body))])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place(PrepareContext):
    """A prepare context at an earlier entry: it shows the lane as it was there, without what was erased."""

    scratch: Unit
    log: Unit

    @contextmanager
    def view(self) -> Iterator[LaneView]:
        """View the lane in the replay."""
        yield LaneView(self.scratch, get_lane(self.scratch, self.lane_id), self.log)


@dataclass(frozen=True, slots=True)
class Preparation:
    """The effect of ``prepare_again``: new outcomes replace those that an erasure removed."""

    replayer: Replayer

    def prepare(self, bench: PrepareContext, entry: Entry) -> Sequence[Outcome]:
        """Prepare each entry again at its place in the log, from a snapshot and without a lock."""
        wanted = frozenset(payload_of(entry, ErasePayload)["entries"])
        found: list[Outcome] = []
        stepper = self.replayer.stepper
        with bench.view() as view:

            def instead(scratch: Unit, older: Entry, outcomes: list[Outcome]) -> tuple[Entry, list[Outcome]]:
                prepare = stepper.registry[older.verb].prepare if older.id in wanted else None
                failed = any(outcome.role == FAILED_ROLE for outcome in outcomes)
                if prepare is None or failed or is_erased(older.payload):
                    return older, outcomes
                place = _Place(bench.database, bench.tenant, bench.lane_id, scratch=scratch, log=view.unit)
                fresh = check_outcomes(prepare(place, older))
                found.extend([_enclose_outcome(older.id, made, len(found) + n) for n, made in enumerate(fresh)])
                return older, [*fresh, *(outcome for outcome in outcomes if outcome.role in _KEPT_ROLES)]

            with replay_lane(view.unit, view.lane, stepper, until=entry.seq - 1, instead=instead):
                return found

    def carry_out(self, unit: Unit, lane: Lane, entry: Entry, outcomes: Sequence[Outcome]) -> None:
        """Store the outcomes with their entries, and rebuild the lane from its log."""
        by_entry: dict[str, list[dict[str, Any]]] = {}
        for outcome in outcomes:
            if outcome.role == PREPARE_AGAIN:
                made = dict(outcome.body)
                by_entry.setdefault(made.pop("entry_id"), []).append(outcome_row(Outcome(**made)))
        drop_outcomes(unit, payload_of(entry, ErasePayload)["entries"], keep=_KEPT_ROLES)
        for entry_id, rows in by_entry.items():
            put_outcomes(unit, lane.lane_id, entry_id, rows)
        self.replayer.replace(unit, lane)


def _enclose_outcome(entry_id: str, outcome: Outcome, n: int) -> Outcome:
    body = {
        "entry_id": entry_id,
        "role": outcome.role,
        "n": outcome.n,
        "made_by": outcome.made_by,
        "body": outcome.body,
    }
    return Outcome(role=PREPARE_AGAIN, made_by=MADE_BY, n=n, body=body)
