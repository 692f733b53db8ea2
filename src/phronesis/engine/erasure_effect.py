"""The effect of an erase entry on the log and on derived state (law 9).

An erase is an entry of ids, durable before anything is removed. Its effect runs in the transaction that applies it: the
payload parts and outcomes are deleted, and the lane's derived state becomes that of a replay of the remaining log. A
crash before that leaves the entry pending, and the next process that takes the lane completes it. Entries whose
outcomes depended on the erased text are prepared again by a child entry. A replay runs no effect, because the log it
reads no longer holds the text.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from phronesis.core.changes import Changes, ChildEntry
from phronesis.core.entries import Entry, ErasePayload, Outcome, is_erased, payload_of
from phronesis.engine.edits import DECIDED_ROLE
from phronesis.engine.erasure_plan import ERASE, PREPARE_AGAIN
from phronesis.engine.handler import FAILED_ROLE, Effect, Handler, Outcomes, PrepareContext
from phronesis.engine.interpreter import check_outcomes, outcome_row
from phronesis.engine.replay import Replayer, replay_lane
from phronesis.log.erasure import cut_out, read_logged
from phronesis.store.database import Unit
from phronesis.store.deltas import deltas_of_entry
from phronesis.store.erasure_queries import drop_outcome, drop_outcomes, entries_of_lane
from phronesis.store.lane_state import clear_lane
from phronesis.store.lane_view import LaneView
from phronesis.store.lanes import Lane, get_lane, mark_documents, next_epoch
from phronesis.store.log import put_outcomes, read_parts
from phronesis.store.model_calls import forget_lookups

MADE_BY: Final = "erasure/1"

_KEPT: Final = frozenset({FAILED_ROLE, DECIDED_ROLE})
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


def apply_prepare_again(_view: LaneView, _entry: Entry, _outcomes: Outcomes) -> Changes:
    """Change nothing: the verb acts through its effect."""
    return Changes()


HANDLERS: Final = (
    Handler(verb=ERASE, apply=apply_erase),
    Handler(verb=PREPARE_AGAIN, apply=apply_prepare_again),
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
        drop_outcomes(unit, [*cut, *anew], keep=_KEPT)
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
        drop_outcomes(unit, entry_ids, keep=_KEPT)
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

            def instead(scratch: Unit, older: Entry, outcomes: Sequence[Outcome]) -> tuple[Entry, Sequence[Outcome]]:
                prepare = stepper.registry[older.verb].prepare if older.id in wanted else None
                failed = any(outcome.role == FAILED_ROLE for outcome in outcomes)
                if prepare is None or failed or is_erased(older.payload):
                    return older, outcomes
                place = _Place(bench.database, bench.tenant, bench.lane_id, scratch=scratch, log=view.unit)
                fresh = check_outcomes(prepare(place, older))
                found.extend([_enclose_outcome(older.id, made, len(found) + n) for n, made in enumerate(fresh)])
                return older, [*fresh, *(outcome for outcome in outcomes if outcome.role in _KEPT)]

            with replay_lane(view.unit, view.lane, stepper, until=entry.seq - 1, instead=instead):
                return found

    def carry_out(self, unit: Unit, lane: Lane, entry: Entry, outcomes: Sequence[Outcome]) -> None:
        """Store the outcomes with their entries, and rebuild the lane from its log."""
        by_entry: dict[str, list[dict[str, Any]]] = {}
        for outcome in outcomes:
            if outcome.role == PREPARE_AGAIN:
                entry_id, made = _open_outcome(outcome)
                by_entry.setdefault(entry_id, []).append(outcome_row(made))
        drop_outcomes(unit, payload_of(entry, ErasePayload)["entries"], keep=_KEPT)
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


def _open_outcome(outcome: Outcome) -> tuple[str, Outcome]:
    body = outcome.body
    return body["entry_id"], Outcome(role=body["role"], n=body["n"], made_by=body["made_by"], body=body["body"])
