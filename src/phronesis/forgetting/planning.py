"""Plan a run of ``forget`` at a given time, from the lane, the law and the usage since the last run."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final, TypedDict

from phronesis.core.items import Item
from phronesis.core.relations import CONTEXT_OUTCOME, UNUSED, EvidenceRow, ItemUse, uses_of
from phronesis.core.timestamps import from_micros, parse_moment, to_micros
from phronesis.experience.aggregation import MIN_MEMBERS
from phronesis.experience.laws.evidence_fold import sides, sum_judgements, usefulness
from phronesis.experience.laws.records import PATTERN, PRINCIPLE
from phronesis.forgetting.laws import (
    EXPERIENCE,
    FORGETTABLE,
    FORGETTING,
    MESSAGE,
    USE,
    USEFULNESS,
    Action,
    Law,
    RetentionFields,
    RetentionFigures,
    Rule,
    Why,
    age_reference_time,
    explain_retention,
    fields_of,
    is_expired,
    is_forgotten,
    is_human,
    next_action,
    protection,
    retention,
    was_restored,
)
from phronesis.store.compiled_statements import batches
from phronesis.store.items import ItemHead, read_heads
from phronesis.store.lane_view import LaneView
from phronesis.store.relations import nodes_reached
from phronesis.store.retention import DueConditions, each_forgettable_item, items_resting_on, spoken_of


class ForgetPayload(TypedDict, total=False):
    """The verb ``forget``: the kinds, the figures of the law, usage since the last run, and what narrows the call."""

    kinds: list[str]
    law: dict[str, Any]
    used: dict[str, Any]
    session_id: str
    agent_id: str


# Protection: a faded item is kept while a live item rests on it.

LEAST_SUPPORT: Final[Mapping[str, int]] = {PATTERN: MIN_MEMBERS}
"""Minimum number of live items on which each kind rests; 1 for all others."""

_Place = tuple[str, str]
"""An item, and a part of it."""


@dataclass(slots=True)
class RemainingSupport:
    """What rests on each of some items, and how much of their own support is left.

    A message is kept for any item extracted from it, as evidence. Anything else is kept for a live principle, and as
    the last evidence of a live item.
    """

    above: Mapping[str, list[_Place]]
    owners: Mapping[str, ItemHead]
    left: dict[_Place, int] = field(default_factory=dict)
    archived: set[str] = field(default_factory=set)
    deleted: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, view: LaneView, candidates: Mapping[str, str]) -> "RemainingSupport":
        """Read it for some items, given with their kinds."""
        above = items_resting_on(view.unit, view.lane_id, candidates.keys())
        found = dict.fromkeys(owner for places in above.values() for owner, _ in places)
        owners = read_heads(view.unit, view.lane_id, found)
        bearing = {owner for one, places in above.items() if candidates[one] != MESSAGE for owner, _ in places}
        counted = {owner for owner in bearing if owner in owners and owners[owner].live}
        # A principle above a pattern keeps the pattern's events too.
        upper = items_resting_on(view.unit, view.lane_id, counted - above.keys()) if counted else {}
        above |= upper
        new = {owner for places in upper.values() for owner, _ in places} - owners.keys()
        out = cls(above, {**owners, **read_heads(view.unit, view.lane_id, sorted(new))})
        out._count(view, sorted(counted))
        return out

    def _count(self, view: LaneView, owners: Collection[str]) -> None:
        rows = [row for of in view.evidence(owners).values() for row in of if row.polarity in ("support", "source")]
        named = sorted({row.source_item_id for row in rows if row.source_item_id})
        sources = read_heads(view.unit, view.lane_id, named)
        live = {one for one, state in sources.items() if state.live}
        for row in rows:
            if row.source_item_id is None or row.source_item_id in live:
                place = (row.item_id, row.part)
                self.left[place] = self.left.get(place, 0) + 1

    def reason_to_keep(self, item: RetentionFields, *, ending: bool) -> str | None:
        """Return why an item is kept from archiving, or (``ending``) from deletion; None without a reason."""
        if item.kind == MESSAGE:
            return self._evidence_of(item, ending=ending)
        for owner, part in sorted(self.above.get(item.id, ())):
            kind = self._live_kind(owner)
            if kind is None:
                continue
            borne = (self._live_kind(one) for one, _ in self.above.get(owner, ()))
            if kind == PRINCIPLE or PRINCIPLE in borne:
                return f"supports {kind} {owner}"
            # What is archived already is not among those that are left.
            least = LEAST_SUPPORT.get(kind, 1) if item.status == "active" else 0
            if self.left.get((owner, part), 0) <= least:
                return f"is the last evidence of {kind} {owner}"
        return None

    def _evidence_of(self, item: RetentionFields, *, ending: bool) -> str | None:
        gone = self.deleted if ending else self.archived | self.deleted
        for owner, _ in sorted(self.above.get(item.id, ())):
            state = self.owners.get(owner)
            if state is not None and owner not in gone and (state.ended is None if ending else state.live):
                return f"is evidence of {state.kind} {owner}"
        return None

    def _live_kind(self, owner: str) -> str | None:
        """Return the kind of a live item; None otherwise."""
        state = self.owners.get(owner)
        return state.kind if state is not None and state.live and owner not in self.archived else None

    def take(self, item: RetentionFields, *, ending: bool) -> None:
        """Remove an item from the support counts."""
        if ending:
            self.deleted.add(item.id)
            return
        self.archived.add(item.id)
        for place in self.above.get(item.id, ()):
            self.left[place] = self.left.get(place, 0) - 1


MAX_KEPT: Final = 1_000
"""Maximum number of reported items that are kept though they have faded."""

NARROWING: Final = ("session_id", "agent_id")
"""Members of a payload that restrict what is forgotten."""

_DAY: Final = timedelta(days=1)
_LIFTS: Final = frozenset({"support", "useful", "correct"})
"""Reinforcing evidence, from whose time age counts."""


@dataclass(frozen=True, slots=True)
class ForgettingStep:
    """An item that forgetting changes, or (action ``keep``) a faded one that it leaves."""

    item: Item | RetentionFields
    action: Action | str
    reason: str
    told: Mapping[str, Any]
    fields: Mapping[str, Any] = field(default_factory=dict)
    protected_by: str | None = None


@dataclass(frozen=True, slots=True)
class ForgettingPlan:
    """What forgetting changes, in order, and the first of the faded items that it keeps."""

    steps: Sequence[ForgettingStep]
    kept: Sequence[ForgettingStep]


@dataclass(frozen=True, slots=True)
class _Assessment:
    item: RetentionFields
    figures: RetentionFigures
    kept: float
    action: Action
    why: Why | None


def make_plan(view: LaneView, payload: ForgetPayload, at: datetime) -> ForgettingPlan:
    """Return the plan at a time: principles first, messages last, lowest retention first within a kind."""
    law = Law.of(payload["law"])
    kinds = [kind for kind in FORGETTABLE if kind in law.rules and kind in (payload.get("kinds") or ())]
    judged = sorted(
        _RetentionAssessor(view, payload, law, at).of(kinds),
        key=lambda one: (FORGETTABLE.index(one.item.kind), one.kept, one.item.id),
    )
    moved = {one.item.id: one.item.kind for one in judged if one.action in ("archive", "delete")}
    plan = _make_plan(judged, law, RemainingSupport.of(view, moved), at)
    return replace(plan, steps=[*plan.steps, *_restore_evidence(view, plan.steps)])


def _make_plan(judged: Iterable[_Assessment], law: Law, standing: RemainingSupport, at: datetime) -> ForgettingPlan:
    steps, kept = list[ForgettingStep](), list[ForgettingStep]()
    for one in judged:
        if len(steps) >= law.most:
            break
        item, rule, action, needed = one.item, law.rules[one.item.kind], one.action, None
        held = None if action == "restore" else protection(item, rule)
        ending = action == "delete"
        if held is None and action in ("archive", "delete"):
            held = needed = standing.reason_to_keep(item, ending=ending)
        done = (item.data.get(FORGETTING) or {}).get("action")
        if needed is not None and action == "archive" and rule.downweight_below > 0.0 and done != "downweight":
            action, held = "downweight", None
        step = _step(one, action, rule, at, needed)
        if held is not None:
            if len(kept) < MAX_KEPT:
                kept.append(ForgettingStep(item, "keep", f"{step.reason}; {held}", step.told, protected_by=held))
            continue
        if action in ("archive", "delete"):
            standing.take(item, ending=ending)
        steps.append(step)
    return ForgettingPlan(steps, kept)


def _restore_evidence(view: LaneView, steps: Iterable[ForgettingStep]) -> list[ForgettingStep]:
    """Restore the source messages of items that somebody restored."""
    back = {step.item.id: step for step in steps if step.action == "restore" and was_restored(step.item)}
    rows = [row for of in view.evidence(back).values() for row in of if row.polarity in ("source", "support")]
    messages = view.items(sorted({row.source_item_id for row in rows if row.source_item_id is not None}))
    told = {row.source_item_id: row.item_id for row in rows}
    return [
        ForgettingStep(
            one,
            "restore",
            f"restore: is evidence of {back[told[one.id]].item.kind} {told[one.id]}",
            {},
            {**fields_of("restore", {}, one.recorded_at), "status": "active"},
        )
        for one in messages.values()
        if one.kind == MESSAGE and one.ended is None and one.id not in back and is_forgotten(one)
    ]


def _step(one: _Assessment, action: Action, rule: Rule, at: datetime, needed: str | None) -> ForgettingStep:
    why = one.why or explain_retention(one.figures, rule, action)
    told = {"why": why, **one.figures.to_data(one.kept)}
    reason = _reason(action, why, one, rule)
    if needed is not None and action == "downweight":
        told, reason = {**told, "protected_by": needed}, f"{reason}; {needed}"
    fields = fields_of(action, told, at, weighed=rule.downweight_below > 0.0)
    return ForgettingStep(one.item, action, reason, told, fields, needed if action == "downweight" else None)


def _reason(action: Action, why: Why, one: _Assessment, rule: Rule) -> str:
    told, figures = f"retention {one.kept:.2f}", one.figures
    if action == "restore":
        return f"restore: {told}"
    if action == "delete":
        return f"delete: archived for {rule.delete_after_days:g} days"
    if why == "expired":
        return f"{action}: its time was over on {one.item.valid_to:%Y-%m-%d}"
    below = rule.archive_below if action == "archive" else rule.downweight_below
    since = f"{figures.age_days:.0f} days without use" if figures.age_days >= 1 else f"{figures.counter:.0%} against it"
    return f"{action}: {told} below {below:g}, {since}"


class _RetentionAssessor:
    """Computes retention and action of candidates."""

    def __init__(self, view: LaneView, payload: ForgetPayload, law: Law, at: datetime) -> None:
        # By the second: an entry may be recorded some microseconds after the dry run that foresaw it.
        self._view, self._law, self._at = view, law, at.replace(microsecond=0)
        used = payload.get("used") or {}
        self._used: Mapping[str, tuple[int, datetime]] = {
            one: (count, from_micros(last)) for one, (count, last) in used.items()
        }
        self._narrowed: dict[str, Any] = {name: payload.get(name) for name in NARROWING}

    def of(self, kinds: Sequence[str]) -> list[_Assessment]:
        """Return the changes of some kinds, before protection by dependents."""
        if not kinds:
            return []
        known, against = spoken_of(self._view.unit, self._view.lane_id)
        answered = nodes_reached(self._view.unit, self._view.lane_id, CONTEXT_OUTCOME)
        out, spoken = list[_Assessment](), list[RetentionFields]()
        for item in each_forgettable_item(self._view.unit, self._view.lane, self._due_conditions(kinds, against)):
            if item.id in known or item.id in answered:
                spoken.append(item)
            elif (judged := self._assess(item, ())) is not None:
                out.append(judged)
        for batch in batches(spoken):
            rows = self._view.evidence(item.id for item in batch)
            outcomes = self._view.edges_to((item.id for item in batch if item.id in answered), CONTEXT_OUTCOME)
            uses = uses_of(outcomes)
            assessed = (self._assess(one, rows.get(one.id, ()), uses.get(one.id, UNUSED)) for one in batch)
            out += filter(None, assessed)
        return out

    def _due_conditions(self, kinds: Sequence[str], against: Collection[str]) -> DueConditions:
        rules, now = self._law.rules, to_micros(self._at)
        youngest = {kind: rules[kind].youngest_days for kind in kinds}
        learned = {kind: now - int(min(days, now / 86_400_000_000) * 86_400_000_000) for kind, days in youngest.items()}
        return DueConditions(learned_by=learned, over=now, also=against, **self._narrowed)

    def _assess(self, item: RetentionFields, rows: Sequence[EvidenceRow], use: ItemUse = UNUSED) -> _Assessment | None:
        rule = self._law.rules[item.kind]
        use_so_far = item.data.get(USE) or {}
        counted = use_so_far.get("count", 0), parse_moment(use_so_far["last"], field="last") if use_so_far else None
        count, last = self._used.get(item.id, counted)
        figures = self._figures(item, rows, count, last, use)
        kept = retention(figures, rule.half_life_days)
        done = next_action(item, kept, rule, self._at, expired=is_expired(item, rule, last, self._at))
        return None if done is None else _Assessment(item, figures, kept, *done)

    def _figures(
        self, item: RetentionFields, rows: Sequence[EvidenceRow], count: int, last: datetime | None, use: ItemUse
    ) -> RetentionFigures:
        reinforced = (row.recorded_at for row in rows if row.part == "" and row.polarity in _LIFTS)
        since = self._at if was_restored(item) else max([age_reference_time(item, last), *reinforced])
        useful = item.data.get(USEFULNESS)
        if useful is None or use != UNUSED:
            useful = usefulness(sum_judgements(row for row in rows if not row.part), use)
        return RetentionFigures(
            age_days=max(0.0, (self._at - since) / _DAY),
            uses=count,
            usefulness=useful,
            counter=_counter(item, rows),
            human=is_human(item),
            importance=item.importance,
            usual=self._law.rules[item.kind].usual,
        )


def _counter(item: RetentionFields, rows: Sequence[EvidenceRow]) -> float:
    """Return the share of counter-evidence of an item, feedback included."""
    if not rows:
        return 0.0
    if item.kind == PATTERN:
        found = sides(item.label, rows)
        support, contra = (sum(one.weight for one in side) for side in (found.members, found.counter))
    else:
        # What a memory was taken from speaks for it; of experience each support is a row of its own.
        supporting = ("support",) if item.kind in EXPERIENCE else ("support", "source")
        own = [row for row in rows if row.part == ""]
        support = sum(row.weight for row in own if row.polarity in supporting)
        contra = sum(row.weight for row in own if row.polarity == "contra")
    share = contra / (support + contra) if contra else 0.0
    return 1.0 - (1.0 - share) * sum_judgements(row for row in rows if not row.part).credence
