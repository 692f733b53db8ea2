"""The state behind a Memory: its components, its background threads, and the steps that its verbs share."""

import threading
import weakref
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import tzinfo
from functools import partial
from typing import TYPE_CHECKING, Any

from phronesis.core.ids import parse_id
from phronesis.core.items import KINDS, Item
from phronesis.core.lazy_loading import lazy_module
from phronesis.core.text import check_id, check_text
from phronesis.core.timestamps import parse_moment, parse_zone, to_micros
from phronesis.engine.background import Background, each_lane
from phronesis.errors import Closed, InputError, PhronesisError
from phronesis.log.inputs import flag
from phronesis.memory.components import Components
from phronesis.store.eligible import ReadConditions, check_kinds
from phronesis.store.filters import compile_filters, scoped_filters
from phronesis.store.lanes import list_behind

if TYPE_CHECKING:
    from phronesis.core import results
    from phronesis.core.changes import Delta
    from phronesis.core.proposals import Gated
    from phronesis.core.results import Degraded, EditResult, Evidence, ReferenceResult, SearchResult
    from phronesis.engine import edits
    from phronesis.engine.edits import Call
    from phronesis.engine.writer import WriteResult
    from phronesis.log import payloads
    from phronesis.reasoning import documents
    from phronesis.reasoning.external_mirror import Mirror
    from phronesis.reasoning.laws import claim_status
    from phronesis.recall import browse
    from phronesis.recall.search_options import Query
    from phronesis.resources import ingestion
    from phronesis.store.impressions import ShownContexts
    from phronesis.store.lanes import Lane
else:
    claim_status = lazy_module("phronesis.reasoning.laws.claim_status")
    results = lazy_module("phronesis.core.results")
    browse = lazy_module("phronesis.recall.browse")
    documents = lazy_module("phronesis.reasoning.documents")
    edits = lazy_module("phronesis.engine.edits")
    payloads = lazy_module("phronesis.log.payloads")
    ingestion = lazy_module("phronesis.resources.ingestion")


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
        """Stop the background thread and close the connections.

        Missing vectors are made by the next write, flush or worker.
        """
        if not self._closed:
            self._closed = True
            if self._host is None:
                # First the models: otherwise the thread would wait for an answer.
                for name in ("roster", "reviews", "retrieving"):
                    self._close_made(name)
            self._background.stop()
            self._notes.stop()
            self._settle_shown(patient=False)
            with self._coming:
                guests = list(self._guests)
            for guest in guests:
                guest.close()
            if self._host is None:
                self._close_made("activity")
                self._close_made("shown")  # impressions of Memories that were dropped without being closed
                mirror: Mirror | None = self._components.if_made("mirror")
                if mirror is not None:
                    mirror.index.close()
                self._close_made("usage")
                self._components.ledger.settle()
                self._components.database.close()

    def _close_made(self, name: str) -> None:
        """Close a component if it was made."""
        made = self._components.if_made(name)
        if made is not None:
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

    def search_claims(self, asked: "Query") -> "SearchResult":
        """Search reasoning items by their claims, the only search over them alone (RB-11, RB-12)."""
        narrowed = replace(asked, wanted=replace(asked.wanted, parts=documents.CLAIM))
        found = self.components.searcher.search(self.tenant, narrowed)
        return replace(found, evidence=tuple(_by_claims(one) for one in found.evidence))

    def call(self, actor: str, idempotency_key: str | None, wait: bool) -> "Call":
        """Return the checked common arguments of a verb that writes."""
        key = None if idempotency_key is None else check_id(idempotency_key, field="idempotency_key")
        return edits.Call(self.tenant, check_id(actor, field="actor"), key, flag(wait, field="wait"))

    def write(self, call: "Call", lane: Any, verb: str, payload: Mapping[str, Any]) -> "WriteResult":
        """Append an entry and, if the call waits, interpret it; empty members of the payload are left out."""
        given = {name: value for name, value in payload.items() if value not in (None, {}, [])}
        self._settle_shown(patient=True)
        written = self._components.writer.write(
            self.tenant,
            lane,
            verb=verb,
            payload=given,
            actor=call.actor,
            idempotency_key=call.idempotency_key,
            wait=call.wait,
        )
        # Child entries that an entry asks for are interpreted in the background.
        more = written.pending or (written.applied is not None and bool(written.applied.children))
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
        self,
        item_id: str,
        verb: str,
        payload: Mapping[str, Any],
        reason: str | None,
        call: "Call",
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

    def learned(self, written: "WriteResult") -> tuple[tuple[Item, ...], tuple[Item, ...]]:
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
            if delta.op == "create" or "content" in delta.patch or (stated and _is_mention(delta))
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

    def referred(self, written: "WriteResult") -> "tuple[ReferenceResult, ...]":
        """Return what became of each reference of a turn."""
        return () if written.pending else ingestion.referred_in(self._components.database, self.tenant, written.entry)

    def zone(self, name: str | None) -> tzinfo:
        """Return the time zone of a call: the one it names, else the policy's."""
        return self._components.zone if name is None else parse_zone(name)

    def wanted(self, **given: Any) -> ReadConditions:
        """Return the checked filter of a read: kinds, attributes, filters and times."""
        times = {
            name: None if given.get(name) is None else to_micros(parse_moment(given[name], field=name))
            for name in ("as_of", "valid_at")
        }
        asks_now = times["as_of"] is None and times["valid_at"] is None
        filters = given.get("filters")
        if filters is not None and given.get("scope") is not None:
            filters = scoped_filters(filters, given["scope"].named)
        compile_filters(filters)  # validate filters before reading any lane
        return ReadConditions(
            kinds=check_kinds(given.get("kinds"), KINDS),
            attributes=given.get("attributes") or {},
            filters=filters,
            as_of=times["as_of"],
            valid_at=times["valid_at"],
            now=to_micros(self._components.clock()) if asks_now else None,
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

        stuck = each_lane(behind, drained, at_once=lambda: components.roster.calls_at_once("extract"))
        for error in filter(None, stuck):
            raise error

    def wake_notes(self, *, pressing: bool = True) -> None:
        """Write soon what reads have noted: impressions, uses and activity; not ``pressing``: when reads pause."""
        self._notes.wake(pressing=pressing)

    def recorded_payload(self, call: "Call") -> Mapping[str, Any] | None:
        """Return the payload recorded under a call's idempotency key, which a repeated call reuses."""
        if call.idempotency_key is None:
            return None
        known = self.components.writer.recorder.known(self.tenant, call.idempotency_key)
        if known is None:
            return None
        with self.components.database.transaction(self.tenant, "read") as unit:
            return payloads.load_entry(unit, known).payload

    def _work(self, stopped: Callable[[], bool]) -> None:
        try:
            self.drain(give_way=self._background.give_way)
        finally:
            self._components.vectorizer.catch_up(self.tenant, stopped=stopped, rest=self._background.rest)
            if self._components.mirror is not None and not stopped():
                self._components.mirror.follow(self.tenant)

    def flush(self) -> int:
        """Interpret every pending entry and make the vectors that searches miss; return the number of vectors made.

        Vectors by which only reflection and consolidation compare are made there, and by the background work.
        An external index receives its pending changes; IndexUnavailable if it cannot be reached.
        """
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


def _is_mention(delta: "Delta") -> bool:
    """Return whether a change counts one more mention of an item."""
    return any(row["polarity"] == "support" for row in delta.evidence_added)


def _by_claims(found: "Evidence") -> "Evidence":
    item = found.item
    claims = []
    for match in found.matched:
        claim_id = match.part.partition(":")[2]
        claims.append(
            results.ClaimMatch(
                match.id,
                match.part,
                match.snippet,
                match.distance,
                item.id,
                claim_id,
                claim_status.status_of(item, claim_id),
            )
        )
    return replace(found, matched=tuple(claims))
