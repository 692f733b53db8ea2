"""The handler of ``forget``, which archives and finally ends items that are no longer used (EMB-16; docs/decisions/17).

The entry holds the kinds, the parameters, and the usage since the last run, so that ``apply`` is pure and a dry run
computes the same plan.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from phronesis.core.changes import Changes, Patch
from phronesis.core.entries import Entry, is_erased, payload_of
from phronesis.core.ids import LaneName
from phronesis.core.items import Item
from phronesis.core.timestamps import from_micros
from phronesis.engine.handler import FAILED_ROLE, Handler, Outcomes
from phronesis.engine.writer import Writer
from phronesis.errors import InputError
from phronesis.experience.laws.records import Forgotten
from phronesis.forgetting.laws import (
    FORGETTABLE,
    FORGETTING,
    USE,
    WEIGHT,
    Law,
    RetentionFields,
    usage_field,
    was_restored,
)
from phronesis.forgetting.planning import ForgetPayload, ForgettingStep, make_plan
from phronesis.recall.browse import Browser
from phronesis.store.database import Database
from phronesis.store.lane_view import LaneView
from phronesis.store.lanes import Lane, find_lane
from phronesis.store.retention import Usage, used_since

FORGET: Final = "forget"

KEEP: Final = "keep"
"""The action in rows of items that have faded and are kept."""

_ASIDE: Final = frozenset({"action", "at", "why", "protected_by"})
"""Members of an item's forgetting record that are no figures."""


def apply_forget(view: LaneView, entry: Entry, _outcomes: Outcomes) -> Changes:
    """Carry out the plan, and record usage."""
    if is_erased(entry.payload):
        return Changes()
    shown = entry.payload.get("used") or {}
    patches = []
    for step in make_plan(view, payload_of(entry, ForgetPayload), entry.recorded_at).steps:
        one, count = step.item, (step.item.data.get(USE) or {}).get("count", 0)
        ended = {"ended": "retired", "ended_by": entry.id, "valid_to": entry.recorded_at}
        patches.append(Patch(one.id, {**step.fields, **(ended if step.action == "delete" else {})}, step.reason))
        if step.action == "restore" and was_restored(one):  # else it would be archived again at once
            patches.append(Patch(one.id, usage_field(count, entry.recorded_at), step.reason))
    back = {patch.item_id for patch in patches if f"data.{USE}" in patch.fields}
    for one_id, (count, last) in sorted(shown.items()):
        when = entry.recorded_at if one_id in back else from_micros(last)
        patches.append(Patch(one_id, usage_field(count, when), "shown"))
    return Changes(patches=patches)


def forgotten_row(item: Item | RetentionFields, patch: Mapping[str, Sequence[Any]], reason: str) -> Forgotten | None:
    """Return the row of an item that was, or would be, patched by forgetting ({field: [before, after]}), or None."""
    told = patch.get(f"data.{FORGETTING}")
    if told is None:
        return None
    before, after = told
    shown = {
        "status": (item.status, "status"),
        "ended": (item.ended, "ended"),
        "weight": (item.data.get(WEIGHT), f"data.{WEIGHT}"),
    }
    sides = {name: patch.get(key, [value, value]) for name, (value, key) in shown.items()}
    action = "restore" if after is None else after["action"]
    if after is None:
        by_hand = before["action"] == "archive" and "status" not in patch
        after = {"why": "brought back" if by_hand else "of use again"}
    return Forgotten(
        item.id,
        item.kind,
        action,
        reason,
        {name: value for name, value in after.items() if name not in _ASIDE},
        before={name: _plain_value(name, values[0]) for name, values in sides.items()},
        after={name: _plain_value(name, values[1]) for name, values in sides.items()},
        why=after["why"],
        protected_by=after.get("protected_by"),
    )


def _plain_value(name: str, value: Any) -> Any:
    return 1.0 if name == "weight" and value is None else value


def _foreseen_change(step: ForgettingStep) -> Forgotten | None:
    item, patch = step.item, dict[str, list[Any]]()
    for name, value in step.fields.items():
        member = name.removeprefix("data.")
        patch[name] = [getattr(item, name) if member == name else item.data.get(member), value]
    if step.action == "delete":
        patch["ended"] = [None, "retired"]
    return forgotten_row(step.item, patch, step.reason)


def _kept_row(step: ForgettingStep) -> Forgotten:
    item = step.item
    stands = {"status": item.status, "ended": None, "weight": _plain_value("weight", item.data.get(WEIGHT))}
    figures = {name: value for name, value in step.told.items() if name not in _ASIDE}
    told: dict[str, Any] = {"before": stands, "after": stands, "why": step.told["why"]}
    return Forgotten(item.id, item.kind, KEEP, step.reason, figures, protected_by=step.protected_by, **told)


HANDLERS: Final = (Handler(verb=FORGET, apply=apply_forget),)


# Queries around ``forget``: the entry's content, its dry run, its result, and when it is due.

ACTOR: Final = "worker"


@dataclass(frozen=True, slots=True)
class Forgetter:
    """Builds the payload of ``forget`` for a lane and reads its results. With ``background``, a worker forgets too."""

    database: Database
    usage: Usage
    law: Law
    background: bool = False
    hours: float = 168.0
    _looked: dict[tuple[str, int], datetime] = field(default_factory=dict)

    @property
    def kinds(self) -> list[str]:
        """The kinds with a rule, in the order in which they are forgotten."""
        return [kind for kind in FORGETTABLE if kind in self.law.rules]

    def payload(
        self, tenant: str, name: LaneName, kinds: object = None, narrowing: ForgetPayload | None = None
    ) -> ForgetPayload:
        """Return the payload of an entry: kinds, figures, and usage since the last run.

        InputError: no such kind.
        """
        wanted = self._check_kinds(kinds)
        self.usage.settle(tenant)
        with self.database.transaction(tenant, "read") as unit:
            lane = find_lane(unit, name)
            used = {} if lane is None else used_since(unit, lane.lane_id)
        rules = Law(rules={kind: self.law.rules[kind] for kind in wanted}, most=self.law.most)
        shown = {one: list(figures) for one, figures in used.items()}
        narrowed: ForgetPayload = {} if narrowing is None else narrowing
        return {**narrowed, "kinds": wanted, "law": rules.to_payload(), "used": shown}

    def _check_kinds(self, kinds: object) -> list[str]:
        known = self.kinds
        if kinds is None:
            return known
        listed = kinds if isinstance(kinds, Sequence) and not isinstance(kinds, str) else ()
        if not listed or any(kind not in known for kind in listed):
            raise InputError(f"kinds must be a list of kinds that are forgotten ({', '.join(known)})", field="kinds")
        return [kind for kind in known if kind in listed]

    def predict(
        self, tenant: str, name: LaneName, payload: ForgetPayload, at: datetime
    ) -> tuple[list[Forgotten], list[Forgotten]]:
        """Return what an entry with this payload would do at a time, and the faded items that it would keep."""
        with self.database.transaction(tenant, "read") as unit:
            lane = find_lane(unit, name)
            if lane is None:
                return [], []
            plan = make_plan(LaneView(unit, lane), payload, at)
        changed = filter(None, map(_foreseen_change, plan.steps))
        return list(changed), [_kept_row(step) for step in plan.kept]

    def result_of_entry(self, browser: Browser, tenant: str, entry: Entry) -> list[Forgotten]:
        """Return the result of an entry."""
        rows = (forgotten_row(item, delta.patch, delta.reason) for delta, item in browser.changed_by(tenant, entry))
        return [row for row in rows if row is not None]

    def visit(self, writer: Writer, tenant: str, lane: Lane, now: datetime) -> bool:
        """Forget in a lane that was not checked for long; return whether anything was done.

        Usage is recorded then too. If nothing changes, no entry is written.
        """
        if lane.name is None:
            return False
        with self.database.transaction(tenant, "read") as unit:
            view = LaneView(unit, lane)
            last = view.last_recorded(FORGET, before=lane.head_seq + 1, without=FAILED_ROLE)
        looked = max([one for one in (last, self._looked.get((tenant, lane.lane_id))) if one is not None], default=None)
        if looked is not None and now - looked < timedelta(hours=self.hours):
            return False
        self._looked[tenant, lane.lane_id] = now
        name = LaneName(lane.kind, lane.name)
        payload = self.payload(tenant, name)
        with self.database.transaction(tenant, "read") as unit:
            due = bool(make_plan(LaneView(unit, lane), payload, now).steps)
        if due:
            writer.write(tenant, name, verb=FORGET, payload=payload, actor=ACTOR)
        return due
