"""Plan an erasure: the log parts, items and dependent outcomes that a target covers."""

import re
from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, Final

from phronesis.core.items import Item
from phronesis.core.serialization import decode
from phronesis.engine.handler import Registry
from phronesis.log.erasure import LoggedEntry, read_logged
from phronesis.log.payloads import ENVELOPE, body_of
from phronesis.store.database import Unit
from phronesis.store.erasure_queries import (
    OutcomeRow,
    Probes,
    all_outcomes,
    items_of_entries,
    items_of_session,
    leaning_lanes,
    repeats_of,
    sources_of_item,
    taken_from,
)
from phronesis.store.items import read_items
from phronesis.store.lanes import Lane
from phronesis.store.log import find_entry, read_parts

ERASE: Final = "erase"
PREPARE_AGAIN: Final = "prepare_again"

_KEPT: Final = frozenset({ERASE, PREPARE_AGAIN})
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
    whole = {entry.entry_id for entry in logged if _session_of(entry) == session_id and entry.left}
    return _close_plan(unit, lane, logged, items_of_session(unit, lane.lane_id, session_id), whole)


def plan_lane(unit: Unit, lane: Lane) -> Plan:
    """Plan the erasure of a whole lane: every part of every entry."""
    cut = {entry.entry_id: entry.left for entry in read_logged(unit, lane) if entry.left}
    return Plan(cut, frozenset(items_of_entries(unit, lane.lane_id, cut)), frozenset(cut), everything=True)


def _session_of(entry: LoggedEntry) -> Any:
    attributes = entry.envelope.get("attributes")
    named = attributes.get("session_id") if isinstance(attributes, Mapping) else None
    return entry.envelope.get("session_id", named)


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
    if entry.verb in _KEPT:
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
        if (cut or stands_for) and entry.verb not in _KEPT and registry[entry.verb].prepare is not None:
            out.add(entry.entry_id)
    return out


def _depends_on_plan(unit: Unit, row: OutcomeRow, plan: Plan, probes: Probes) -> bool:
    if any(found.decode() in plan.items or found.decode() in plan.whole for found in _IDS.findall(row.body)):
        return True
    quoted = {piece for _, piece in probes.find(row.body)}
    return bool(quoted) and not _holds(unit, row.entry_id, quoted)


def _holds(unit: Unit, entry_id: str, quoted: Collection[bytes]) -> bool:
    own = b"\0".join(body_of(unit, part) for part in read_parts(unit, [entry_id])[entry_id])
    return all(piece in own for piece in quoted)


def payload_of(plan: Plan | None, lean: Dependents) -> dict[str, Any]:
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
