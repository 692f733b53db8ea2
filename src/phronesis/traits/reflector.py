"""Open reflection: whether one is due, and the result of one: what callers need around the verb ``reflect``."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from threading import Lock
from typing import Any
from weakref import WeakValueDictionary

from phronesis.core.entries import Entry
from phronesis.core.ids import LaneName, make_scope
from phronesis.core.items import Item
from phronesis.core.reports import Job, pause_after
from phronesis.core.serialization import decode
from phronesis.engine.content_guards import Guard
from phronesis.engine.handler import Handler, PrepareContext, decider_of
from phronesis.engine.plugin import OpenEngine, Platform
from phronesis.engine.writer import Writer
from phronesis.log.payloads import load_entry
from phronesis.recall.query import Query
from phronesis.store.database import Database
from phronesis.store.deltas import deltas_of_entry
from phronesis.store.eligible import ReadConditions
from phronesis.store.impressions import shown_since
from phronesis.store.items import read_items
from phronesis.store.lane_view import LaneView
from phronesis.store.lanes import Lane, find_lane, get_lane, list_lanes
from phronesis.store.log import read_outcomes, seqs_of_entries
from phronesis.traits import reflection
from phronesis.traits.laws.records import CYCLE, ReflectionCycle, cycle_of, not_due
from phronesis.traits.laws.strength import MEMORY_KINDS, TRAIT, NewMemories, ReflectionTrigger, Thresholds, due
from phronesis.traits.llm_reflection import FOUND, ModelStrategy
from phronesis.traits.policy_section import TraitPolicy
from phronesis.traits.reflection import REFLECT, TRIGGER
from phronesis.traits.reflection_state import failure_times, last_cycle
from phronesis.traits.strategies import ReflectionStrategy, RuleStrategy, TextSimilarity


@dataclass(frozen=True, slots=True)
class Reflector:
    """Checks the triggers of a lane, and reads the results of reflections."""

    database: Database
    thresholds: Thresholds = field(default_factory=Thresholds)
    background: bool = True
    """Whether workers run due reflections."""
    _guard: Lock = field(default_factory=Lock)
    _locks: WeakValueDictionary[tuple[str, LaneName], Lock] = field(default_factory=WeakValueDictionary)

    def due(self, tenant: str, name: LaneName, now: datetime, **asked: bool) -> ReflectionTrigger:
        """Return whether a reflection on a lane is due; ``asked`` are force, session_ended and daily."""
        with self._open(tenant, name) as view:
            learned = NewMemories(memories=0, importance=0) if view is None else _count_new(view)
        return due(learned, now, self.thresholds, **asked)

    def due_jobs(self, tenant: str, now: datetime) -> Iterator[Job]:
        """Yield the reflections that are due, by lane."""
        with self.database.transaction(tenant, "read") as unit:
            users = [lane.user_id for lane in list_lanes(unit) if lane.user_id is not None]
        for user in users:
            due = self.due(tenant, LaneName("user", user), now)
            if due:
                yield Job(state="due", work="reflect", user_id=user, message=due.reason)

    def current_view(self, tenant: str, name: LaneName) -> dict[str, Any]:
        """Return the caller's view to record in an entry: the last reflection, and the traits recalled since."""
        with self._open(tenant, name) as view:
            if view is None:
                return {}
            last = last_cycle(view)
            seq = 0 if last is None else seqs_of_entries(view.unit, [last.entry_id]).get(last.entry_id, 0)
            shown = shown_since(view.unit, name, seq=seq)
            recalled = {one: shown[one] for one, item in sorted(view.items(shown).items()) if item.kind == TRAIT}
        told = {"last": None if last is None else last.id, "recalled": recalled}
        return {name: value for name, value in told.items() if value}

    def recorded_view(self, tenant: str, entry_id: str) -> dict[str, Any]:
        """Return the view recorded in an entry: a repeated call must send the same."""
        with self.database.transaction(tenant, "read") as unit:
            payload = load_entry(unit, entry_id).payload
        return {name: payload[name] for name in ("last", "recalled") if name in payload}

    def since(self, tenant: str, name: LaneName, seen: Mapping[str, Any]) -> ReflectionCycle | None:
        """Return the last reflection if it is not the one in ``seen``, else None."""
        with self._open(tenant, name) as view:
            last = None if view is None else last_cycle(view)
        return None if last is None or last.id == seen.get("last") else cycle_of(last)

    @contextmanager
    def exclusive(self, tenant: str, name: LaneName) -> Iterator[None]:
        """Serialise this process's reflections on a lane, so that a model is asked once."""
        with self._guard:
            lock = self._locks.setdefault((tenant, name), Lock())
        with lock:
            yield

    @contextmanager
    def _open(self, tenant: str, name: LaneName) -> Iterator[LaneView | None]:
        with self.database.transaction(tenant, "read") as unit:
            lane = find_lane(unit, name)
            yield None if lane is None else LaneView(unit, lane)

    def visit(self, writer: Writer, tenant: str, lane: Lane, now: datetime) -> bool:
        """Reflect on a user's lane if a reflection is due, or a day of decay has passed; return whether it ran.

        After failures it waits, longer each time (`core.reports`): each try costs model calls and an entry.
        """
        if lane.user_id is None:
            return False
        name = LaneName("user", lane.user_id)
        found = self.due(tenant, name, now, daily=True)
        with self._open(tenant, name) as view:
            if not found or view is None or not (found.new_memories or view.find(kinds=(TRAIT,), limit=1)):
                return False
            failed = failure_times(view)
        longest = timedelta(hours=self.thresholds.hours)
        if failed and now - failed[-1] < pause_after(len(failed), longest=longest):
            return False
        payload = {"daily": True, **self.current_view(tenant, name)}
        writer.write(tenant, name, verb=REFLECT, payload=payload, actor="worker")
        return True

    def reflection_of_entry(self, tenant: str, entry: Entry) -> ReflectionCycle:
        """Return the reflection of an entry, or the one that already did its work."""
        with self.database.transaction(tenant, "read") as unit:
            lane = get_lane(unit, entry.lane_id)
            made = [delta.item_id for delta in deltas_of_entry(unit, lane.lane_id, entry.id)]
            found = [item for item in read_items(unit, lane, made).values() if item.kind == CYCLE]
            if found:
                return cycle_of(found[0])
            rows = read_outcomes(unit, [entry.id])[entry.id]
            trigger: Mapping[str, Any] = next((decode(row["body"]) for row in rows if row["role"] == TRIGGER), {})
            last = read_items(unit, lane, [trigger["last"]]) if trigger.get("last") else {}
            for item in last.values():
                return cycle_of(item)
        return not_due(trigger.get("reason", "nothing_new"), trigger.get("value"))


def _count_new(view: LaneView) -> NewMemories:
    last: Item | None = last_cycle(view)
    since = None if last is None else last.recorded_at
    memories, importance = view.weight(MEMORY_KINDS, since=since)
    return NewMemories(memories=memories, importance=importance, since=since)


def open_reflection(platform: Platform) -> OpenEngine:
    """Open reflection: its verb, and what decides when it is due."""
    own = platform.policy.of(TraitPolicy).traits
    thresholds = Thresholds(importance=own.importance, hours=own.hours)
    guard, similarity = Guard(own.sensitive), TextSimilarity(platform.embedders)
    mind = _make_strategy(platform, similarity)
    prepare = reflection.ReflectionPreparer(mind, guard, similarity, thresholds, decider_of(platform))
    return OpenEngine(
        handlers=(Handler(verb=REFLECT, apply=reflection.apply, prepare=prepare),),
        components={"reflector": Reflector(platform.database, thresholds, background=own.background)},
    )


def _make_strategy(platform: Platform, similarity: TextSimilarity) -> ReflectionStrategy:
    """Return the reflection strategy: the role's model, with or without questions, or rules."""
    models, search = platform.models, platform.search
    asker = models.asker("reflect")
    if asker is None:
        return RuleStrategy(similarity)

    def look(bench: PrepareContext, question: str) -> list[str]:
        with bench.view() as view:
            scope = make_scope(user_id=view.lane.user_id, namespace=view.lane.namespace)
        found = search.search(bench.tenant, Query(question, scope, ReadConditions(kinds=MEMORY_KINDS), FOUND))
        return [one.item.id for one in found]

    return ModelStrategy(asker, models.asker("questions"), models.asker("special_reflection"), look)
