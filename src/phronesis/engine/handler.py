"""The port of every engine: a verb's two halves, and the registry that finds them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final, Protocol

from phronesis.core.changes import Changes, Fold, as_of
from phronesis.core.entries import Entry, Outcome
from phronesis.core.items import Item
from phronesis.core.relations import EvidenceRow
from phronesis.errors import HandlerMissing, PhronesisError
from phronesis.store.database import Database, Unit
from phronesis.store.lane_view import LaneView
from phronesis.store.lanes import Lane, get_lane
from phronesis.store.log import seqs_of_entries

FAILED_ROLE: Final = "failed"
"""The outcome that says an entry could not be interpreted: a replay passes over it as the live lane did."""

DEGRADED_ROLE: Final = "degraded"
"""The outcome that says that rules stood in for a model: ``{role, reason, by, instead_of}``."""


class TooEarly(Exception):
    """The lane was looked at for an entry that it has not come to."""


@dataclass(frozen=True, slots=True)
class Bench:
    """What preparing may look at: short read transactions on its lane, opened when asked for.

    No transaction is held while anything is prepared. ``seq`` is the entry that the lane comes to next; another may be
    prepared on this bench, one that is prepared again. ``ahead``: the lane has not come to the entry that is prepared,
    so that looking at it raises TooEarly.
    """

    database: Database
    tenant: str
    lane_id: int
    seq: int | None = None
    ahead: bool = False

    @contextmanager
    def view(self) -> Iterator[LaneView]:
        """Open a short read of the lane."""
        if self.ahead:
            raise TooEarly
        with self.database.transaction(self.tenant, "read") as unit:
            yield LaneView(unit, get_lane(unit, self.lane_id))

    def overtaken(self, view: LaneView) -> bool:
        """Tell whether another thread or process has applied the entry meanwhile: what is prepared here is dropped."""
        return self.seq is not None and view.lane.applied_seq >= self.seq


Outcomes = Mapping[str, Sequence[Outcome]]
"""What was prepared, by role, in order of ``n``."""

Apply = Callable[[LaneView, Entry, Outcomes], Changes]
"""Pure: the lane's state, the entry and its outcomes give the changes. It checks each proposal of an outcome
against the state, since the lane may have moved since it was prepared."""

Prepare = Callable[[Bench, Entry], Sequence[Outcome]]
"""Everything that may differ between machines, versions and days: models, encoders, extractors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Handler:
    """How one verb is interpreted.

    ``version`` is written into new entries; ``older`` keeps the ``apply`` of versions that entries still carry.
    ``prepare`` None: the entry says everything itself. ``quick``: it works by rules, in little time, on the entry and
    a few rows that an index gives, so that the entry is prepared before it is recorded, and applied as it is.
    ``separable``: each of its outcomes stands alone, so that an erasure removes those that lean on what is erased and
    leaves the others; else all are prepared again. Until that is done, ``apply`` sees none of them.
    """

    verb: str
    version: int = 1
    apply: Apply
    prepare: Prepare | None = None
    quick: bool = False
    separable: bool = False
    older: Mapping[int, Apply] = field(default_factory=dict)

    def apply_of(self, version: int) -> Apply:
        """Return the ``apply`` of a version; an error that says to upgrade when there is none."""
        if version == self.version:
            return self.apply
        if version in self.older:
            return self.older[version]
        raise HandlerMissing(
            f"this entry was written for version {version} of '{self.verb}', which this Phronesis does not know;"
            " use the version that wrote it, or a newer one"
        )


class Effect(Protocol):
    """What an entry does to the log itself, beside what it changes in derived state. Only an erasure has one.

    The live interpreter carries it out once, in the transaction that applies the entry; a replay never does. That it
    was done is the entry's one outcome, so an imported log's is not done again.
    """

    def prepare(self, bench: Bench, entry: Entry) -> Sequence[Outcome]:
        """Do what may take long, outside any transaction."""
        ...

    def carry_out(self, unit: Unit, lane: Lane, entry: Entry, outcomes: Sequence[Outcome]) -> None:
        """Do it, on a locked lane that is interpreted up to the entry before this one."""
        ...


Consequence = Callable[[LaneView, Entry, Changes, Mapping[str, Item]], Changes]
"""What follows from changes whatever verb wished them: the lane before, the entry, its changes and the items that they
touch give the changes with their consequences. Pure, and quick where there are none: every entry comes by."""


class Registry:
    """The handlers by verb, by kind the folds of what they make, and what follows from any change."""

    def __init__(
        self,
        handlers: Iterable[Handler],
        folds: Mapping[str, Fold] | None = None,
        consequences: Sequence[Consequence] = (),
    ) -> None:
        self.folds: Mapping[str, Fold] = dict(folds or {})
        self.consequences = tuple(consequences)
        self._handlers: dict[str, Handler] = {}
        for handler in handlers:
            if handler.verb in self._handlers:
                raise PhronesisError(f"two handlers for the verb '{handler.verb}'")
            self._handlers[handler.verb] = handler

    def __getitem__(self, verb: str) -> Handler:
        """Return a verb's handler; an error that says to upgrade when there is none."""
        try:
            return self._handlers[verb]
        except KeyError:
            raise HandlerMissing(
                f"no handler for the verb '{verb}': the log is of a newer Phronesis, or an extension is missing"
            ) from None

    def __iter__(self) -> Iterator[Handler]:
        return iter(self._handlers.values())


def by_role(outcomes: Iterable[Outcome]) -> dict[str, list[Outcome]]:
    """Group outcomes by role, in order of ``n``."""
    out: dict[str, list[Outcome]] = {}
    for outcome in sorted(outcomes, key=lambda outcome: (outcome.role, outcome.n)):
        out.setdefault(outcome.role, []).append(outcome)
    return out


# What a learn looked at, when it is prepared again in a lane that went on: things as they stood before its entry.


def items_before(view: LaneView, items: Iterable[Item], entry: Entry) -> list[Item]:
    """Return items as they stood before an entry; as they are where the lane has not come to it yet."""
    listed = list(items)
    if view.lane.applied_seq < entry.seq:
        return listed
    deltas = view.deltas([item.id for item in listed])
    seqs = seqs_of_entries(view.unit, {delta.entry_id for row in deltas.values() for delta in row})
    later = {item_id: [delta for delta in row if seqs[delta.entry_id] >= entry.seq] for item_id, row in deltas.items()}
    return [as_of(item, later.get(item.id, [])[::-1]) for item in listed]


def evidence_before(view: LaneView, item_ids: Iterable[str], entry: Entry) -> dict[str, list[EvidenceRow]]:
    """Return the evidence of items, without what came with an entry or after it."""
    held = view.evidence(item_ids)
    if view.lane.applied_seq < entry.seq:
        return held
    seqs = seqs_of_entries(view.unit, {row.entry_id for rows in held.values() for row in rows})
    return {item_id: [row for row in rows if seqs[row.entry_id] < entry.seq] for item_id, rows in held.items()}
