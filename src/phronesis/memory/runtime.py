"""The state behind a Memory: its components, its background threads, and the steps that its verbs share."""

import threading
import weakref
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, tzinfo
from functools import partial
from typing import TYPE_CHECKING, Any

from phronesis.core.ids import LaneName, parse_id
from phronesis.core.items import KINDS, Item
from phronesis.core.lazy_loading import LazyMembers, lazy_module
from phronesis.core.text import check_id, check_text
from phronesis.core.timestamps import parse_moment, parse_zone, to_micros
from phronesis.engine.background import Background, map_lanes
from phronesis.errors import Closed, InputError, PhronesisError
from phronesis.log.inputs import flag
from phronesis.store.eligible import ReadConditions, check_kinds
from phronesis.store.filters import compile_filters, scoped_filters
from phronesis.store.lanes import list_behind
from phronesis.telemetry import Disclosure

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from phronesis.compose.assembly import Assembler
    from phronesis.core import results
    from phronesis.core.context import Budget
    from phronesis.core.proposals import Gated
    from phronesis.core.results import Degraded, EditResult
    from phronesis.engine import edits
    from phronesis.engine.doctor import Doctor
    from phronesis.engine.edits import Call, ItemEditor
    from phronesis.engine.erasure import Eraser
    from phronesis.engine.replay import Replayer
    from phronesis.engine.writer import Writer, WriteResult
    from phronesis.experience.maintenance_schedule import MaintenanceScheduler
    from phronesis.experience.provenance import ExperienceReader
    from phronesis.experience.query import ExperienceSearch
    from phronesis.experience.sources.port import Sources
    from phronesis.forgetting.handler import Forgetter
    from phronesis.index.projections import Reindexer
    from phronesis.index.vectorizer import Vectorizer
    from phronesis.log import payloads
    from phronesis.memory.overview import OverviewReader
    from phronesis.models.model_registry import ModelRegistry
    from phronesis.reasoning.external_mirror import Mirror
    from phronesis.reasoning.migration import Migrator
    from phronesis.reasoning.run_reader import RunReader, RunReviews
    from phronesis.recall import browse
    from phronesis.recall.browse import Browser
    from phronesis.recall.entities import EntityReader
    from phronesis.recall.planner import Planner
    from phronesis.recall.query import Search
    from phronesis.recall.retrievers import PlanExecutor
    from phronesis.resources.documents import ResourceReader
    from phronesis.resources.ingestion import DocumentIngestion
    from phronesis.store.activity_log import ActivityLog
    from phronesis.store.database import Database, Unit
    from phronesis.store.impressions import ShownContexts, UsedMemories
    from phronesis.store.lanes import Lane
    from phronesis.store.model_calls import StoredLedger
    from phronesis.store.retention import Usage
    from phronesis.traits.reflector import Reflector
    from phronesis.traits.search import TraitReader
else:
    browse = lazy_module("phronesis.recall.browse")
    edits = lazy_module("phronesis.engine.edits")
    payloads = lazy_module("phronesis.log.payloads")
    results = lazy_module("phronesis.core.results")


class Components(LazyMembers):
    """The components that a Memory delegates to; ``wiring`` makes each at its first use."""

    database: "Database"
    writer: "Writer"
    editor: "ItemEditor"
    browser: "Browser"
    entities: "EntityReader"
    overviews: "OverviewReader"
    searcher: "Search"
    plan_executor: "PlanExecutor"
    assembler: "Assembler"
    planner: "Planner"
    budget: "Budget"
    replayer: "Replayer"
    eraser: "Eraser"
    shown: "ShownContexts"
    activity: "ActivityLog"
    used: "UsedMemories"
    usage: "Usage"
    runs: "RunReader"
    doctor: "Doctor"
    vectorizer: "Vectorizer"
    reindexer: "Reindexer"
    mirror: "Mirror | None"
    migrator: "Migrator"
    reflector: "Reflector"
    traits: "TraitReader"
    sources: "Sources"
    documents: "DocumentIngestion"
    resources: "ResourceReader"
    experience: "ExperienceReader"
    experience_search: "ExperienceSearch"
    forgetter: "Forgetter"
    maintenance_scheduler: "MaintenanceScheduler"
    model_registry: "ModelRegistry"
    ledger: "StoredLedger"
    clock: Callable[[], datetime]
    disclosure: Disclosure
    zone: tzinfo
    extensions: Mapping[str, Any]
    """Components of engines whose verbs are not those of Memory, by name."""
    reviews: "RunReviews | None"
    """None: no installed plug-in brings reviews."""

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens of a text, by the policy's counter."""
        return self.assembler.counter().count(text)


class Runtime:
    """The state of one Memory: components, tenant, background threads, and the steps that verbs share."""

    def __init__(self, components: Components, tenant: str, *, host: "Runtime | None" = None) -> None:
        self._components = components
        self.tenant = tenant
        self._host = host
        self._closed = False
        self._guests = weakref.WeakSet[Runtime]()
        self._coming = threading.Lock()
        self._background = Background(self._work, name=f"phronesis-{tenant}")
        self._counts_due = False
        self._notes = Background(self._settle, name=f"phronesis-{tenant}-notes")
        if host is None:
            components.ledger.wake = partial(self._notes.wake, pressing=True)

    @property
    def components(self) -> Components:
        """The components of this Memory; Closed if it was closed."""
        if self._closed:
            raise Closed("this Memory was closed; open it again")
        return self._components

    def close(self) -> None:
        """Stop the background thread and close the connections."""
        if self._closed:
            return
        self._closed = True
        if self._host is None:  # first the models: otherwise the thread would wait for an answer
            self._close_made("model_registry", "reviews", "plan_executor")
        self._background.stop()
        self._notes.stop()
        self._settle_shown(patient=False)
        with self._coming:
            guests = list(self._guests)
        for guest in guests:
            guest.close()
        if self._host is None:
            self._close_made("activity", "shown")  # impressions of Memories that were dropped without being closed
            mirror: Mirror | None = self._components.if_made("mirror")
            if mirror is not None:
                mirror.index.close()
            self._close_made("usage")
            self._components.ledger.settle()
            self._components.database.close()

    def _close_made(self, *names: str) -> None:
        for name in names:
            if (made := self._components.if_made(name)) is not None:
                made.close()

    def _settle_shown(self, *, patient: bool) -> None:
        """Write the impressions of this process, if there are any."""
        shown: ShownContexts | None = self._components.if_made("shown")
        if shown is not None:
            shown.settle(self.tenant, patient=patient)

    def for_tenant(self, name: str) -> "Runtime":
        """Return the state of another tenant's Memory over the same components; closed with this one."""
        from phronesis.config import check_tenant  # noqa: PLC0415 - pydantic is not needed before

        guest = Runtime(self.components, check_tenant(name), host=self)
        with self._coming:
            _ = self.components  # raises if closed meanwhile: the guest would never be closed
            self._guests.add(guest)  # a weak reference
        return guest

    def _settle(self, _stopped: Callable[[], bool]) -> None:
        """Write the impressions of reads, which do not wait for that."""
        if not self._components.ledger.settle(patient=False):
            self._notes.wake()  # another process is writing: retry soon
        self._settle_shown(patient=False)
        self._close_made("activity")
        if self._counts_due:
            self._counts_due = False
            self._components.usage.settle(self.tenant, patient=False)

    def note_use(self, item_ids: Iterable[str]) -> None:
        """Count the items that a read showed; the counts are written asynchronously."""
        if self._components.usage.note(self.tenant, item_ids, self._components.clock()):
            self._counts_due = True
            self._notes.wake(pressing=True)

    def call(self, actor: str, idempotency_key: str | None, wait: bool) -> "Call":
        """Return the checked common arguments of a verb that writes."""
        key = None if idempotency_key is None else check_id(idempotency_key, field="idempotency_key")
        return edits.Call(self.tenant, check_id(actor, field="actor"), key, flag(wait, field="wait"))

    def write(self, call: "Call", lane: Any, verb: str, payload: Mapping[str, Any]) -> "WriteResult":
        """Append an entry and, if the call waits, interpret it; empty members of the payload are left out."""
        given = {name: value for name, value in payload.items() if value not in (None, {}, [])}
        self._settle_shown(patient=True)
        key = call.idempotency_key
        written = self._components.writer.write(
            self.tenant, lane, verb=verb, payload=given, actor=call.actor, idempotency_key=key, wait=call.wait
        )
        # Child entries that an entry asks for are interpreted in the background, whoever interpreted the entry.
        more = written.applied is None or bool(written.applied.children)
        self.wake(pending=more, everywhere=False)
        return written

    def item_id(self, given: object, user_id: str | None, *, field: str = "id") -> str:
        """Return the checked id of an item; NotFound if it is in the lane of another user than ``user_id``."""
        checked = parse_id(given, field=field)
        if user_id is not None:
            owner = check_id(user_id, field="user_id")
            with self.components.database.transaction(self.tenant, "read") as unit:
                browse.find_lane_of_item(unit, checked, owner=owner)
        return checked

    def edit(
        self, item_id: str, verb: str, payload: Mapping[str, Any], reason: str | None, call: "Call"
    ) -> "EditResult":
        """Append an entry that edits one item."""
        given = {**payload, "reason": None if reason is None else check_text(reason, field="reason")}
        given = {name: value for name, value in given.items() if value is not None}
        result = self.components.editor.edit(call, item_id, verb, given)
        self.wake(pending=result.pending, everywhere=False)
        return result

    def wake(self, *, pending: bool, everywhere: bool = True) -> None:
        """Wake the background thread for remaining work; not ``everywhere``: only in lanes that the writer named."""
        if everywhere:
            self._components.vectorizer.written.note_all(self.tenant)
        if pending or self._components.vectorizer.serves(self.tenant):
            self._background.wake(pressing=pending)

    def items_changed_by(self, written: "WriteResult") -> tuple[tuple[Item, ...], tuple[Item, ...]]:
        """Return the items that an entry made or refined, and those that it ended."""
        if written.pending:
            return (), ()
        if written.applied is None:
            changes = self._components.browser.changed_by(self.tenant, written.entry)
        else:
            settled = written.applied.settled
            items = {item.id: item for item in (*settled.created, *settled.updated)}
            changes = [(delta, items[delta.item_id]) for delta in settled.deltas]
        stated = "messages" not in written.entry.payload
        ended = [item for delta, item in changes if delta.op == "update" and delta.patch.get("ended", (None,))[-1]]
        gone = {item.id for item in ended}
        made = [
            item
            for delta, item in changes
            if delta.op == "create"
            or "content" in delta.patch
            or (stated and any(row["polarity"] == "support" for row in delta.evidence_added))  # one more mention
        ]
        return tuple(item for item in made if item.id not in gone), tuple(ended)

    def gated(self, written: "WriteResult") -> "tuple[Gated, ...]":
        """Return what was removed before recording, and what produced no item."""
        if written.pending:
            return written.redacted
        if written.applied is None:
            return (*written.redacted, *self._components.browser.gated_by(self.tenant, written.entry))
        settled = written.applied.settled
        rows = settled.changes.conversation.messages if settled.changes.conversation is not None else ()
        made = {item.id for item in settled.created}
        return (*written.redacted, *browse.gated_in(written.entry, rows, made, written.applied.refusals))

    def degraded(self, written: "WriteResult") -> "tuple[Degraded, ...]":
        """Return the models and servers that were unavailable while an entry was prepared."""
        if written.pending:
            return ()
        if written.applied is not None:
            return tuple(written.applied.degraded)
        return self._components.writer.interpreter.degraded(self.tenant, written.entry.id)

    def zone(self, name: str | None) -> tzinfo:
        """Return the time zone of a call: the one it names, else the policy's."""
        return self._components.zone if name is None else parse_zone(name)

    def read_conditions(self, **given: Any) -> ReadConditions:
        """Return the checked filter of a read: kinds, attributes, filters and times."""
        as_of, valid_at = (
            None if given.get(name) is None else to_micros(parse_moment(given[name], field=name))
            for name in ("as_of", "valid_at")
        )
        filters = given.get("filters")
        if filters is not None and given.get("scope") is not None:
            filters = scoped_filters(filters, given["scope"].named)
        compile_filters(filters)  # validate filters before reading any lane
        return ReadConditions(
            kinds=check_kinds(given.get("kinds"), KINDS),
            attributes=given.get("attributes") or {},
            filters=filters,
            as_of=as_of,
            valid_at=valid_at,
            now=to_micros(self._components.clock()) if as_of is None and valid_at is None else None,
        )

    def drain(self, *, give_way: Callable[[], bool] = lambda: False) -> None:
        """Bring every lane up to date; a lane that fails does not stop the others, and is reported at the end.

        ``give_way`` is called between two batches, and stops the loop when it returns true.
        """
        components = self._components
        with components.database.transaction(self.tenant, "read") as unit:
            behind = list_behind(unit)

        def drained(lane: "Lane") -> PhronesisError | None:
            if give_way():
                return None
            try:
                components.writer.interpreter.drain(self.tenant, lane.lane_id, give_way=give_way)
            except PhronesisError as error:
                return error
            finally:
                components.vectorizer.written.note(self.tenant, lane.lane_id)
            return None

        stuck = map_lanes(behind, drained, at_once=lambda: components.model_registry.max_concurrent_calls("extract"))
        for error in filter(None, stuck):
            raise error

    def wake_notes(self, *, pressing: bool = True) -> None:
        """Write soon what reads have noted: impressions, uses and activity; not ``pressing``: when reads pause."""
        self._notes.wake(pressing=pressing)

    def recorded_payload(self, call: "Call") -> Mapping[str, Any] | None:
        """Return the payload recorded under a call's idempotency key, which a repeated call reuses."""
        key = call.idempotency_key
        known = None if key is None else self.components.writer.recorder.known(self.tenant, key)
        if known is None:
            return None
        with self.components.database.transaction(self.tenant, "read") as unit:
            return payloads.load_entry(unit, known).payload

    def _work(self, stopped: Callable[[], bool]) -> None:
        try:
            self.drain(give_way=self._background.give_way)
        finally:
            self._components.vectorizer.catch_up(self.tenant, stopped=stopped, rest=self._background.wait_for_idle)
            if self._components.mirror is not None and not stopped():
                self._components.mirror.follow(self.tenant)

    def flush(self) -> int:
        """Do what `Memory.flush` says."""
        components = self.components
        try:
            self.drain()
            made = components.vectorizer.run(self.tenant, comparing=False)
            if components.mirror is not None:
                components.mirror.follow(self.tenant)
        finally:
            components.ledger.settle()
        return made


class Verbs:
    """Base class of ``Memory`` and of its groups of verbs."""

    def __init__(self, runtime: Runtime) -> None:
        if not isinstance(runtime, Runtime):
            raise InputError("a memory is opened with Memory.open(url), such as Memory.open('sqlite:///memory.db')")
        self._runtime = runtime
        self._tenant = runtime.tenant

    @property
    def _components(self) -> Components:
        """The components of the Memory; Closed if it was closed."""
        return self._runtime.components

    def _reading(self) -> "AbstractContextManager[Unit]":
        """Return a transaction that reads."""
        return self._components.database.transaction(self._tenant, "read")

    def _catch_up(self, lane: LaneName) -> None:
        """Interpret a lane's pending entries."""
        components = self._components
        behind = components.runs.pending_lane(self._tenant, lane)
        if behind is not None:
            components.writer.interpreter.drain(self._tenant, behind)

    def _edit_result(self, written: "WriteResult") -> "EditResult":
        """Return an entry with the items that it made."""
        items = () if written.pending else tuple(self._components.browser.made_by(self._tenant, written.entry))
        return results.EditResult(written.entry.id, items, pending=written.pending, gated=written.redacted)
