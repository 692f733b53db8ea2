"""The interface that engines implement: handlers (prepare and apply), effects, and the registry of both.

Also the outcomes of models: the attempts of an answer, what took a model's place, and the decisions of one entry.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final, Protocol

from phronesis.core.changes import Changes, Fold, as_of
from phronesis.core.entries import Entry, Outcome, is_erased
from phronesis.core.items import Item
from phronesis.core.lazy_loading import lazy_module
from phronesis.core.relations import EvidenceRow
from phronesis.errors import HandlerMissing, ModelError, PhronesisError
from phronesis.log.payloads import fit, load_entries
from phronesis.store.database import Database, Unit
from phronesis.store.lane_view import LaneView
from phronesis.store.lanes import Lane, get_lane
from phronesis.store.log import read_outcomes, seqs_of_entries

if TYPE_CHECKING:
    from phronesis.engine.plugin import Platform
    from phronesis.models import decision
    from phronesis.models.structured_client import Answer
else:
    decision = lazy_module("phronesis.models.decision")

FAILED_ROLE: Final = "failed"
"""The role of the outcome of an entry that could not be interpreted. A replay skips such entries, as the live lane did.
"""

DEGRADED_ROLE: Final = "degraded"
"""The role of the outcome that records a model's replacement by rules: ``{role, reason, by, instead_of}``."""


ERASE: Final = "erase"
PREPARE_AGAIN: Final = "prepare_again"
"""Verbs that have an effect on the log. Their payloads hold only ids."""


class TooEarly(Exception):
    """A preparation looked at the lane, which has not reached the entry yet."""


def _unchanged(entry: Entry) -> Entry:
    return entry


@dataclass(frozen=True, slots=True)
class PrepareContext:
    """The read access of a preparation to its lane: short read transactions, opened on demand.

    No transaction is held during preparation. ``seq`` is the entry that the lane applies next; another one may be
    prepared in this context when it is prepared again. ``ahead``: the lane has not reached the prepared entry, so that
    reading the lane raises TooEarly. ``adapt`` is what a preparation around this one makes of an entry. ``lane`` is the
    lane where it is not stored: that of a preview for a user of whom nothing is.
    """

    database: Database
    tenant: str
    lane_id: int
    seq: int | None = None
    ahead: bool = False
    adapt: Callable[[Entry], Entry] = _unchanged
    lane: Lane | None = None

    @contextmanager
    def view(self) -> Iterator[LaneView]:
        """Open a short read transaction on the lane."""
        if self.ahead:
            raise TooEarly
        with self.database.transaction(self.tenant, "read") as unit:
            yield LaneView(unit, self.lane or get_lane(unit, self.lane_id))

    def list_following(self, verbs: Collection[str], limit: int) -> list[Entry]:
        """Return the entries of some verbs that wait right behind this one, unprepared; none when it is not pending."""
        if self.seq is None or self.ahead:
            return []
        with self.database.transaction(self.tenant, "read") as unit:
            lane = get_lane(unit, self.lane_id)
            if lane.applied_seq != self.seq - 1:
                return []
            entries = load_entries(unit, lane, after=self.seq, until=lane.head_seq, limit=limit)
            stored = read_outcomes(unit, [entry.id for entry in entries])
        fresh = takewhile(lambda one: one.verb in verbs and not stored[one.id], entries)
        return [self.adapt(entry) for entry in fresh if not is_erased(entry.payload)]

    def is_overtaken(self, view: LaneView) -> bool:
        """Return whether another thread or process applied the entry meanwhile, so that the preparation is dropped."""
        return self.seq is not None and view.lane.applied_seq >= self.seq


Outcomes = Mapping[str, Sequence[Outcome]]
"""Prepared outcomes by role, in order of ``n``."""

Apply = Callable[[LaneView, Entry, Outcomes], Changes]
"""A pure function from the lane's state, the entry and its outcomes to changes. It checks each proposal against the
state, since the lane may have moved since the preparation."""

Prepare = Callable[[PrepareContext, Entry], Sequence[Outcome]]
"""The preparation of an entry: all work that may differ between machines, versions and days."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Handler:
    """How one verb is interpreted.

    ``version`` is written into new entries; ``older`` keeps the ``apply`` of versions that entries still carry.
    ``prepare`` is None where the entry contains everything. ``quick``: preparation uses rules and a few indexed rows,
    so that many entries are prepared and applied in one transaction. ``separable``: its outcomes are independent, so
    that an erasure removes the dependent ones and keeps the rest; otherwise all are prepared again, and until then
    ``apply`` sees none of them.
    """

    verb: str
    version: int = 1
    apply: Apply
    prepare: Prepare | None = None
    quick: bool = False
    separable: bool = False
    older: Mapping[int, Apply] = field(default_factory=dict)

    def apply_of(self, version: int) -> Apply:
        """Return the ``apply`` of a version; an error asks to upgrade when there is none."""
        if version == self.version:
            return self.apply
        if version in self.older:
            return self.older[version]
        raise HandlerMissing(
            f"this entry was written for version {version} of '{self.verb}', which this Phronesis does not know;"
            " use the version that wrote it, or a newer one"
        )


class Effect(Protocol):
    """What an entry does to the log itself, besides changing derived state. Only erasures have one.

    The live interpreter carries it out once, in the transaction that applies the entry; a replay never does. The
    entry's one outcome records that it was done, so an imported log's effect is not repeated.
    """

    def prepare(self, bench: PrepareContext, entry: Entry) -> Sequence[Outcome]:
        """Do the slow work, outside any transaction."""
        ...

    def carry_out(self, unit: Unit, lane: Lane, entry: Entry, outcomes: Sequence[Outcome]) -> None:
        """Carry out the effect on a locked lane that is interpreted up to the entry before this one."""
        ...


Consequence = Callable[[LaneView, Entry, Changes, Mapping[str, Item]], Changes]
"""A pure function that adds the consequences of changes, whatever verb made them.

It takes the lane before the entry, the entry, its changes and the items that they touch. It runs for every entry, so it
must be quick where nothing follows.
"""


class Registry:
    """Handlers by verb, folds by kind, and the consequences of changes.

    A mapping of handlers may make each at its first use (`LazyMapping`).
    """

    def __init__(
        self,
        handlers: Iterable[Handler] | Mapping[str, Handler],
        folds: Mapping[str, Fold] | None = None,
        consequences: Sequence[Consequence] = (),
    ) -> None:
        self.folds: Mapping[str, Fold] = {} if folds is None else folds
        self.consequences = tuple(consequences)
        self._handlers = handlers if isinstance(handlers, Mapping) else _by_verb(handlers)

    def __getitem__(self, verb: str) -> Handler:
        """Return a verb's handler; an error asks to upgrade when there is none."""
        if verb not in self._handlers:
            raise self.missing(verb)
        return self._handlers[verb]

    @staticmethod
    def missing(verb: str) -> HandlerMissing:
        """Return the error of a verb without a handler."""
        return HandlerMissing(
            f"no engine here interprets the verb '{verb}': install the package that brings it, or a newer Phronesis"
        )

    def __contains__(self, verb: str) -> bool:
        return verb in self._handlers

    def __iter__(self) -> Iterator[Handler]:
        return iter(self._handlers.values())


def _by_verb(handlers: Iterable[Handler]) -> Mapping[str, Handler]:
    found: dict[str, Handler] = {}
    for handler in handlers:
        if handler.verb in found:
            raise PhronesisError(f"two handlers for the verb '{handler.verb}'")
        found[handler.verb] = handler
    return found


def by_role(outcomes: Iterable[Outcome]) -> dict[str, list[Outcome]]:
    """Group outcomes by role, in order of ``n``."""
    out: dict[str, list[Outcome]] = {}
    for outcome in sorted(outcomes, key=lambda outcome: (outcome.role, outcome.n)):
        out.setdefault(outcome.role, []).append(outcome)
    return out


# Point-in-time views for a ``learn`` that is prepared again in a lane that has since moved on.


def items_before(view: LaneView, items: Iterable[Item], entry: Entry) -> list[Item]:
    """Return items as they were before an entry; as they are where the lane has not reached it yet."""
    listed = list(items)
    if view.lane.applied_seq < entry.seq:
        return listed
    deltas = view.deltas([item.id for item in listed])
    seqs = seqs_of_entries(view.unit, {delta.entry_id for row in deltas.values() for delta in row})
    later = {item_id: [delta for delta in row if seqs[delta.entry_id] >= entry.seq] for item_id, row in deltas.items()}
    return [as_of(item, later.get(item.id, [])[::-1]) for item in listed]


def evidence_before(view: LaneView, item_ids: Iterable[str], entry: Entry) -> dict[str, list[EvidenceRow]]:
    """Return the evidence of items from before an entry."""
    held = view.evidence(item_ids)
    if view.lane.applied_seq < entry.seq:
        return held
    seqs = seqs_of_entries(view.unit, {row.entry_id for rows in held.values() for row in rows})
    return {item_id: [row for row in rows if seqs[row.entry_id] < entry.seq] for item_id, rows in held.items()}


# Outcomes of models.

ANSWERS: Final = "answer"
"""The usual role of outcomes that hold a model's answers."""


def answer_outcomes(
    role: str,
    answer: "Answer[Any]",
    *,
    model: str,
    by: str | None = None,
    kept_as: str = ANSWERS,
    after: Sequence[Outcome] = (),
) -> list[Outcome]:
    """Return the attempts of an answer, and the outcome ``degraded`` where it has no value and ``by`` took its place.

    Numbers go on from those of ``after``.
    """
    first = _count(after, kept_as)
    outcomes = [
        Outcome(
            role=kept_as,
            n=first + n,
            made_by=model,
            body={
                "role": role,
                "constraint": attempt.constraint,
                "text": fit(attempt.text),
                "finish_reason": attempt.finish_reason,
                "problem": attempt.problem,
            },
        )
        for n, attempt in enumerate(answer.attempts)
    ]
    if answer.value is None and by is not None:
        outcomes.append(degraded_outcome(role, answer.reason, model=model, by=by, after=after))
    return outcomes


def degraded_outcome(role: str, reason: str, *, model: str, by: str, after: Sequence[Outcome] = ()) -> Outcome:
    """Return the outcome that says that ``by`` took the model's place, and why."""
    body = {"role": role, "reason": reason, "by": by, "instead_of": model}
    return Outcome(role=DEGRADED_ROLE, n=_count(after, DEGRADED_ROLE), made_by=model, body=body)


def _count(outcomes: Sequence[Outcome], role: str) -> int:
    return sum(one.role == role for one in outcomes)


DECISION_ROLE: Final = "decision"
"""The role of the outcome that records a decision: ``{question, option, probability}`` and what it is about."""
MAX_ASKED: Final = 40
"""Maximum decisions of one entry."""


@dataclass(slots=True)
class Decisions:
    """Asks for the decisions of one entry, and gathers their ``outcomes``. No transaction may be open meanwhile.

    A model that gives nothing is not asked again for this entry: an outcome ``degraded`` says so, and ``by`` stands in.
    """

    decider: "decision.Decider"
    tenant: str
    by: str
    outcomes: list[Outcome] = field(default_factory=list)

    @property
    def can_ask(self) -> bool:
        """Return whether another question would be asked."""
        degraded = any(one.role == DEGRADED_ROLE for one in self.outcomes)
        return not degraded and len(self.outcomes) < MAX_ASKED

    def ask(self, question: "decision.Question", **about: str) -> "decision.Decision | None":
        """Return the decision; None if there is none. ``about`` is recorded with it."""
        if not self.can_ask:
            return None
        try:
            made = self.decider.decide(self.tenant, question)
        except ModelError as error:
            self.outcomes.append(degraded_outcome(decision.ROLE, error.code, model=self.decider.name, by=self.by))
            return None
        likely = None if made.probability is None else round(made.probability, 4)
        told = {"question": question.kind, "option": made.option, "probability": likely, **about}
        made_by = f"{self.decider.name} {decision.VERSION}"
        self.outcomes.append(Outcome(role=DECISION_ROLE, made_by=made_by, body=told, n=len(self.outcomes)))
        return made


def decider_of(platform: "Platform") -> "decision.Decider | None":
    """Return the model of the role ``decide``; a policy without gateways has none."""
    return platform.models.decider() if platform.policy.gateways else None
