"""The verb ``forget``: what nobody needs any more is put away, and ends at last (EMB-16; decisions 25 and 30).

The entry says which kinds, by which figures, and what was shown since the last time; so applying it is pure, and a dry
run is the same plan.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from phronesis.core.changes import Changes, Patch
from phronesis.core.entries import Entry, is_erased
from phronesis.core.experience.upkeep import Forgotten
from phronesis.core.forgetting import FORGETTING, USE, WEIGHT, Fading, brought_back, used
from phronesis.core.instants import from_micros
from phronesis.core.items import Item
from phronesis.derive.forgetting.planning import Step, planned
from phronesis.derive.handler import Handler, Outcomes
from phronesis.storage.lane_view import LaneView

FORGET: Final = "forget"

KEEP: Final = "keep"
"""The action of a row about what has faded, and is kept."""

_ASIDE: Final = frozenset({"action", "at", "why", "protected_by"})
"""Members of what an item says of its forgetting that are no figures."""


def apply_forget(view: LaneView, entry: Entry, _outcomes: Outcomes) -> Changes:
    """Carry the plan out, and note what was of use."""
    if is_erased(entry.payload):
        return Changes()
    shown = entry.payload.get("used") or {}
    patches = []
    for step in planned(view, entry.payload, entry.recorded_at).steps:
        one, count = step.item, (step.item.data.get(USE) or {}).get("count", 0)
        ended = {"ended": "retired", "ended_by": entry.id, "valid_to": entry.recorded_at}
        patches.append(Patch(one.id, {**step.fields, **(ended if step.action == "delete" else {})}, step.reason))
        if step.action == "restore" and brought_back(one):  # else it would be archived again at once
            patches.append(Patch(one.id, used(count, entry.recorded_at), step.reason))
    back = {patch.item_id for patch in patches if f"data.{USE}" in patch.fields}
    for one_id, (count, last) in sorted(shown.items()):
        when = entry.recorded_at if one_id in back else from_micros(last)
        patches.append(Patch(one_id, used(count, when), "shown"))
    return Changes(patches=patches)


def forgotten(item: Item | Fading, patch: Mapping[str, Sequence[Any]], reason: str) -> Forgotten | None:
    """Give the row of an item that was, or would be, patched so ({field: [before, after]}); None: not forgetting's."""
    told = patch.get(f"data.{FORGETTING}")
    if told is None:
        return None
    before, after = told
    shown = {"status": (item.status, "status"), "ended": (item.ended, "ended"),
             "weight": (item.data.get(WEIGHT), f"data.{WEIGHT}")}  # fmt: skip
    sides = {name: patch.get(key, [value, value]) for name, (value, key) in shown.items()}
    action = "restore" if after is None else after["action"]
    if after is None:
        by_hand = before["action"] == "archive" and "status" not in patch
        after = {"why": "brought back" if by_hand else "of use again"}
    return Forgotten(
        item.id, item.kind, action, reason, {name: value for name, value in after.items() if name not in _ASIDE},
        before={name: _told(name, values[0]) for name, values in sides.items()},
        after={name: _told(name, values[1]) for name, values in sides.items()},
        why=after["why"], protected_by=after.get("protected_by"),
    )  # fmt: skip


def _told(name: str, value: Any) -> Any:
    return 1.0 if name == "weight" and value is None else value


def foreseen(view: LaneView, payload: Mapping[str, Any], at: datetime) -> tuple[list[Forgotten], list[Forgotten]]:
    """Give the rows of what forgetting would do at a time, and of what it keeps though it has faded."""
    plan = planned(view, payload, at)
    return [row for step in plan.steps if (row := _foreseen(step)) is not None], [_kept(step) for step in plan.kept]


def _foreseen(step: Step) -> Forgotten | None:
    patch = {name: [_before(step.item, name), value] for name, value in step.fields.items()}
    if step.action == "delete":
        patch["ended"] = [None, "retired"]
    return forgotten(step.item, patch, step.reason)


def _kept(step: Step) -> Forgotten:
    item = step.item
    stands = {"status": item.status, "ended": None, "weight": _told("weight", item.data.get(WEIGHT))}
    figures = {name: value for name, value in step.told.items() if name not in _ASIDE}
    return Forgotten(item.id, item.kind, KEEP, step.reason, figures, before=stands, after=stands,
                     why=step.told["why"], protected_by=step.protected_by)  # fmt: skip


def _before(item: Item | Fading, name: str) -> Any:
    return item.data.get(name.removeprefix("data.")) if name.startswith("data.") else getattr(item, name)


HANDLERS: Final = (Handler(verb=FORGET, apply=apply_forget),)
