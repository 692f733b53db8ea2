"""The verb ``forget``: what nobody needs any more is downweighted, archived, and deleted at last (EMB-16).

The entry says which kinds, by which figures, and what was shown since the last time; so applying it is pure, and a dry
run is the same plan. Pinned items, and what something that lives still stands on, are kept.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from phronesis.core.changes import Changes, Patch
from phronesis.core.entries import Entry, is_erased
from phronesis.core.experience.forgetting import (
    FORGETTING,
    USE,
    WEIGHT,
    Action,
    Figures,
    Law,
    fields_of,
    is_human,
    next_action,
    retention,
    used,
)
from phronesis.core.experience.records import L1, PATTERN, PRINCIPLE
from phronesis.core.experience.standing import sides
from phronesis.core.experience.upkeep import Forgotten
from phronesis.core.experience.voices import heard
from phronesis.core.instants import parse_moment
from phronesis.core.items import Item
from phronesis.core.relations import EvidenceRow
from phronesis.core.scope import LaneName
from phronesis.derive.experience.aggregating import MIN_MEMBERS
from phronesis.derive.experience.marks import FORGOTTEN, mark, marked
from phronesis.derive.experience.patterns import membership
from phronesis.derive.handler import Handler, Outcomes
from phronesis.storage.lane_view import LaneView
from phronesis.storage.shown import shown_since

FORGET: Final = "forget"

FORGETTABLE: Final = (PRINCIPLE, PATTERN, L1)
"""Kinds that are forgotten, those above first: what goes there keeps nothing below."""

LEAST_SUPPORT: Final[Mapping[str, int]] = {PATTERN: MIN_MEMBERS}
"""Live items that each kind stands on at least; 1 of all others."""

_DAY: Final = timedelta(days=1)
_LIFTS: Final = frozenset({"support", "useful", "correct"})
"""Evidence that reinforces: time counts from it."""


@dataclass(frozen=True, slots=True)
class Step:
    """One item that forgetting moves."""

    item: Item
    action: Action
    reason: str
    fields: Mapping[str, Any]


@dataclass(slots=True)
class _Standing:
    """What lives of what each item is evidence for, and how much of that evidence is left."""

    above: dict[str, set[tuple[str, str]]] = field(default_factory=dict)
    left: dict[tuple[str, str], int] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, view: LaneView, sources: Collection[str]) -> "_Standing":
        """Read it from the evidence that comes from some items, and from the rest of what that is evidence for."""
        rows = _bearing(view.evidence_from(sources))
        owners = {one: item for one, item in view.items(row.item_id for row in rows).items() if item.live}
        held = [row for rows_of in view.evidence(owners).values() for row in _bearing(rows_of)]
        live = {one for one, item in view.items(row.source_item_id for row in held if row.source_item_id).items()
                if item.live}  # fmt: skip
        out = cls(kinds={one: item.kind for one, item in owners.items()})
        for row in held:
            place = (row.item_id, row.part)
            if row.source_item_id is not None:
                out.above.setdefault(row.source_item_id, set()).add(place)
            if row.source_item_id is None or row.source_item_id in live:
                out.left[place] = out.left.get(place, 0) + 1
        return out

    def kept_for(self, item: Item, gone: Collection[str]) -> str | None:
        """Say for what an item is kept; None where nothing stands on it."""
        for owner, part in sorted(self.above.get(item.id, ())):
            if owner in gone:
                continue
            kind = self.kinds[owner]
            if kind == PRINCIPLE or self._bears_principle(owner, gone):
                return f"supports {kind} {owner}"
            # What is archived already is not among those that are left.
            least = LEAST_SUPPORT.get(kind, 1) if item.live else 0
            if self.left.get((owner, part), 0) <= least:
                return f"is the last evidence of {kind} {owner}"
        return None

    def _bears_principle(self, owner: str, gone: Collection[str]) -> bool:
        return any(self.kinds.get(one) == PRINCIPLE and one not in gone for one, _ in self.above.get(owner, ()))

    def take(self, item: Item) -> None:
        """Count an item out."""
        for place in self.above.get(item.id, ()):
            self.left[place] = self.left.get(place, 0) - 1


def _bearing(rows: Iterable[EvidenceRow]) -> list[EvidenceRow]:
    return [row for row in rows if row.polarity in ("support", "source")]


def plan(view: LaneView, payload: Mapping[str, Any], at: datetime) -> list[Step]:
    """Say what forgetting does at a time: principles first, then patterns, then events, the worst retained first."""
    law = Law.of(payload["law"])
    kinds = [kind for kind in FORGETTABLE if kind in (payload.get("kinds") or ())]
    held = [item for item in view.find(kinds=FORGETTABLE, live=False) if item.ended is None and item.quarantine is None]
    evidence = view.evidence(item.id for item in held)
    standing = _Standing.of(view, [item.id for item in held])
    shown = payload.get("shown") or {}
    gone, out = set[str](), list[Step]()
    for kind in kinds:
        judged = [(item, _figures(item, evidence.get(item.id, ()), shown, at)) for item in held if item.kind == kind]
        ranked = sorted(((retention(figures, law.half_life_days), item.id, item, figures) for item, figures in judged),
                        key=lambda one: one[:2])  # fmt: skip
        for kept, _, item, figures in ranked:
            action = next_action(item, kept, law, at)
            if action is None or (action != "restore" and _spared(item, law)):
                continue
            reason = _reason(action, kept, figures, law)
            if action in ("archive", "delete") and (needed := standing.kept_for(item, gone)) is not None:
                if action == "delete" or (item.data.get(FORGETTING) or {}).get("action") == "downweight":
                    continue
                action, reason = "downweight", f"{_reason('downweight', kept, figures, law)}; {needed}"
            if action == "archive":
                gone.add(item.id)
                standing.take(item)
            out.append(Step(item, action, reason, fields_of(action, figures, kept, at)))
    return out


def _spared(item: Item, law: Law) -> bool:
    return item.pinned or item.source_type in law.keep_sources


def _figures(item: Item, rows: Sequence[EvidenceRow], shown: Mapping[str, int], at: datetime) -> Figures:
    use = item.data.get(USE) or {}
    fresh = shown.get(item.id, 0)
    last = at if fresh or _brought_back(item) else max([item.recorded_at, *_reinforced(rows), *_last(use)])
    return Figures(
        age_days=max(0.0, (at - last) / _DAY), uses=use.get("count", 0) + fresh,
        usefulness=item.data.get("usefulness", 0.5), counter=_counter(item, rows), human=is_human(item),
    )  # fmt: skip


def _brought_back(item: Item) -> bool:
    """Whether somebody took out of the archive what forgetting had put there."""
    return item.status == "active" and (item.data.get(FORGETTING) or {}).get("action") == "archive"


def _reinforced(rows: Sequence[EvidenceRow]) -> Iterable[datetime]:
    return (row.recorded_at for row in rows if row.part == "" and row.polarity in _LIFTS)


def _last(use: Mapping[str, Any]) -> list[datetime]:
    return [parse_moment(use["last"], field="last")] if use else []


def _counter(item: Item, rows: Sequence[EvidenceRow]) -> float:
    """Give the share of the evidence that speaks against something, what was said of it included."""
    if item.kind == PATTERN:
        found = sides(item.label, rows)
        support, contra = (sum(one.weight for one in side) for side in (found.members, found.counter))
    else:
        counted = membership(rows)
        support, contra = (sum(row.weight for row in counted if row.polarity == one) for one in ("support", "contra"))
    share = contra / (support + contra) if contra else 0.0
    return 1.0 - (1.0 - share) * heard(row for row in rows if not row.part).credence


def _reason(action: Action, kept: float, figures: Figures, law: Law) -> str:
    told = f"retention {kept:.2f}"
    if action == "restore":
        return f"restore: {told}"
    if action == "delete":
        return f"delete: archived for {law.delete_after_days:g} days"
    below = law.archive_below if action == "archive" else law.downweight_below
    since = f"{figures.age_days:.0f} days without use" if figures.age_days >= 1 else f"{figures.counter:.0%} against it"
    return f"{action}: {told} below {below:g}, {since}"


def apply_forget(view: LaneView, entry: Entry, _outcomes: Outcomes) -> Changes:
    """Carry the plan out, and note what was of use."""
    if is_erased(entry.payload):
        return Changes()
    shown = entry.payload.get("shown") or {}
    patches = []
    for step in plan(view, entry.payload, entry.recorded_at):
        ended = {"ended": "retired", "ended_by": entry.id, "valid_to": entry.recorded_at}
        patches.append(Patch(step.item.id, {**step.fields, **(ended if step.action == "delete" else {})}, step.reason))
        if step.action == "restore" and _brought_back(step.item):  # else it would be archived again at once
            patches.append(
                Patch(step.item.id, used(step.item, shown.get(step.item.id, 0), entry.recorded_at), step.reason)
            )
    seen = [item for one, item in sorted(view.items(shown).items()) if item.kind in FORGETTABLE and item.ended is None]
    patches += [Patch(item.id, used(item, shown[item.id], entry.recorded_at), "shown") for item in seen]
    if not seen:
        return Changes(patches=patches)
    marks, moved = mark(view, entry, FORGOTTEN)
    return Changes(items=marks, patches=[*patches, *moved])


def forgotten(item: Item, patch: Mapping[str, Sequence[Any]], reason: str) -> Forgotten | None:
    """Give the row of an item that was, or would be, patched so ({field: [before, after]}); None: not forgetting's."""
    told = patch.get(f"data.{FORGETTING}")
    if told is None:
        return None
    before, after = told
    shown = {"status": (item.status, "status"), "ended": (item.ended, "ended"),
             "weight": (item.data.get(WEIGHT), f"data.{WEIGHT}")}  # fmt: skip
    sides_of = {name: patch.get(key, [value, value]) for name, (value, key) in shown.items()}
    figures = {name: value for name, value in (after or before or {}).items() if name not in ("action", "at")}
    return Forgotten(
        item.id, item.kind, "restore" if after is None else after["action"], reason, figures if after else {},
        before={name: _told(name, values[0]) for name, values in sides_of.items()},
        after={name: _told(name, values[1]) for name, values in sides_of.items()},
    )  # fmt: skip


def _told(name: str, value: Any) -> Any:
    return 1.0 if name == "weight" and value is None else value


def foreseen(view: LaneView, payload: Mapping[str, Any], at: datetime) -> list[Forgotten]:
    """Give the rows of what forgetting would do at a time."""
    out = []
    for step in plan(view, payload, at):
        patch = {name: [_before(step.item, name), value] for name, value in step.fields.items()}
        if step.action == "delete":
            patch["ended"] = [None, "retired"]
        row = forgotten(step.item, patch, step.reason)
        out += [row] if row is not None else []
    return out


def _before(item: Item, name: str) -> Any:
    return item.data.get(name.removeprefix("data.")) if name.startswith("data.") else getattr(item, name)


def shown_in(view: LaneView) -> dict[str, int]:
    """Give how often reads showed each item of a lane since the last time that forgetting looked."""
    name = LaneName(view.lane.kind, view.lane.name or "")
    counts = shown_since(view.unit, name, seq=marked(view, FORGOTTEN))
    found = view.items(counts)
    return {one: counts[one] for one in sorted(found) if found[one].kind in FORGETTABLE}


HANDLERS: Final = (Handler(verb=FORGET, apply=apply_forget),)
