"""The groups memory.items and memory.quarantine: edits of single items, what is due or suspect, and a preview."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from phronesis.core.changes import ResolvedChanges
from phronesis.core.entries import Entry, Outcome
from phronesis.core.ids import LaneName, item_id, make_scope
from phronesis.core.items import COMING, Item
from phronesis.core.lazy_loading import lazy_module
from phronesis.core.proposals import PROPOSALS, Decision, Proposal
from phronesis.core.reports import Preview, PreviewedProposal
from phronesis.core.results import EditResult
from phronesis.core.serialization import Records
from phronesis.core.timestamps import Moment, from_micros, to_micros
from phronesis.errors import Conflict, InputError
from phronesis.log import inputs
from phronesis.memory.reading import MAX_LIMIT
from phronesis.memory.runtime import Runtime, Verbs
from phronesis.recall.as_of import visible_lanes
from phronesis.store.eligible import ReadConditions
from phronesis.store.lanes import GENESIS, Lane, find_lane
from phronesis.uuid7 import new_id

if TYPE_CHECKING:
    from phronesis.core import statements
    from phronesis.engine import edits, writer
    from phronesis.log import payloads
    from phronesis.recall import entities
else:
    edits = lazy_module("phronesis.engine.edits")
    payloads = lazy_module("phronesis.log.payloads")
    statements = lazy_module("phronesis.core.statements")
    entities = lazy_module("phronesis.recall.entities")
    writer = lazy_module("phronesis.engine.writer")


MAX_LISTED = 10_000
"""Maximum number of items in one answer."""


class Items(Verbs):
    """The group ``memory.items``: archive, unarchive, pin, unpin, retract, delete_all, due and preview."""

    def preview(
        self,
        content: str | Sequence[Mapping[str, Any]],
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        run_id: str | None = None,
        namespace: str | None = None,
        occurred_at: Moment | None = None,
        importance: int | None = None,
        time_zone: str | None = None,
    ) -> Preview:
        """Return what `add` would remember of a text or of messages, without storing anything.

        Each of the ``proposals`` of the rules, the reader or the model names its kind, key and value, the decision on
        it, and the items that would end; ``gated`` says what would be refused, by which rule and why. Models are asked
        as by `add`, and their calls are in the ledger. Entries that wait for their interpretation are not counted in.
        """
        scope = make_scope(
            user_id=user_id, namespace=namespace, agent_id=agent_id, session_id=session_id, run_id=run_id
        )
        now = self._components.clock()
        payload = {
            **scope.attributes,
            "occurred_at": inputs.past(occurred_at, field="occurred_at", now=now),
            "importance": inputs.importance(importance),
            **inputs.zone(time_zone),
            "messages": inputs.messages(content, now=now),
        }
        return preview_messages(self._runtime, scope.write_lane, payload)

    def archive(
        self,
        id: str,  # noqa: A002 - the contract's name
        *,
        user_id: str | None = None,
        expected_version: int | None = None,
        reason: str | None = None,
        actor: str = "agent",
        idempotency_key: str | None = None,
        wait: bool = True,
    ) -> EditResult:
        """Remove an item from ordinary reads; it stays readable by id, and ``items.unarchive`` restores it.

        VersionConflict if ``expected_version`` is given and is not the item's; so for the edits below.
        """
        seen = {"expected_version": inputs.version(expected_version)}
        item_id, call = self._runtime.item_id(id, user_id), self._runtime.call(actor, idempotency_key, wait)
        return self._runtime.edit(item_id, "archive", seen, reason, call)

    def unarchive(
        self,
        id: str,  # noqa: A002 - the contract's name
        *,
        user_id: str | None = None,
        expected_version: int | None = None,
        reason: str | None = None,
        actor: str = "agent",
        idempotency_key: str | None = None,
        wait: bool = True,
    ) -> EditResult:
        """Restore an archived item to ordinary reads."""
        seen = {"expected_version": inputs.version(expected_version)}
        item_id, call = self._runtime.item_id(id, user_id), self._runtime.call(actor, idempotency_key, wait)
        return self._runtime.edit(item_id, "unarchive", seen, reason, call)

    def pin(
        self,
        id: str,  # noqa: A002 - the contract's name
        *,
        user_id: str | None = None,
        expected_version: int | None = None,
        reason: str | None = None,
        actor: str = "agent",
        idempotency_key: str | None = None,
        wait: bool = True,
    ) -> EditResult:
        """Include an item in every composed context of its scope."""
        seen = {"expected_version": inputs.version(expected_version)}
        item_id, call = self._runtime.item_id(id, user_id), self._runtime.call(actor, idempotency_key, wait)
        return self._runtime.edit(item_id, "pin", seen, reason, call)

    def unpin(
        self,
        id: str,  # noqa: A002 - the contract's name
        *,
        user_id: str | None = None,
        expected_version: int | None = None,
        reason: str | None = None,
        actor: str = "agent",
        idempotency_key: str | None = None,
        wait: bool = True,
    ) -> EditResult:
        """Unpin an item: contexts include it only if it is relevant."""
        seen = {"expected_version": inputs.version(expected_version)}
        item_id, call = self._runtime.item_id(id, user_id), self._runtime.call(actor, idempotency_key, wait)
        return self._runtime.edit(item_id, "unpin", seen, reason, call)

    def retract(
        self,
        id: str,  # noqa: A002 - the contract's name
        *,
        user_id: str | None = None,
        expected_version: int | None = None,
        reason: str | None = None,
        actor: str = "agent",
        idempotency_key: str | None = None,
        wait: bool = True,
    ) -> EditResult:
        """Mark an item as wrong: it ends as ``retracted`` and keeps its history."""
        seen = {"expected_version": inputs.version(expected_version)}
        item_id, call = self._runtime.item_id(id, user_id), self._runtime.call(actor, idempotency_key, wait)
        return self._runtime.edit(item_id, "retract", seen, reason, call)

    def due(
        self,
        user_id: str | None = None,
        *,
        namespace: str | None = None,
        within: timedelta | float = COMING,
        limit: int = 100,
        time_zone: str | None = None,
        as_of: Moment | None = None,
    ) -> list[Item]:
        """Return the open intentions and tasks that are due now or ``within`` a time, the most urgent first.

        ``within`` is a timedelta or a number of hours, a day by default; a due time at midnight means that whole day in
        ``time_zone`` (an IANA name; default: the policy's). ``data["due"]`` of an item is its due time, ``valid_to``
        its expiry. Expired, ended and archived items are left out; ``as_of`` returns what was due then, as it was
        known. Nothing is changed: archive an item, or report it as done, when it is done.
        """
        scope = make_scope(user_id=user_id, namespace=namespace)
        wanted, ahead = self._runtime.read_conditions(as_of=as_of), inputs.span(within, field="within")
        count, components = inputs.limit(limit, most=MAX_LIMIT), self._components
        now = entities.reference_time(wanted, components.clock()).astimezone(self._runtime.zone(time_zone))
        with self._reading() as unit:
            return Records(entities.due_items(unit, visible_lanes(unit, scope), wanted, now, ahead)[:count])

    def delete_all(
        self,
        *,
        user_id: str | None = None,
        namespace: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        run_id: str | None = None,
        actor: str = "agent",
        idempotency_key: str | None = None,
        wait: bool = True,
    ) -> EditResult:
        """Archive every item in one user's lane, or in one namespace, that has the given attributes."""
        if user_id is None and namespace is None:
            raise InputError(
                "items.delete_all needs user_id or namespace, so that nothing is deleted by omission", field="user_id"
            )
        scope = make_scope(
            user_id=user_id, namespace=namespace, agent_id=agent_id, session_id=session_id, run_id=run_id
        )
        call = self._runtime.call(actor, idempotency_key, wait)
        return self._components.editor.archive_all(call, scope.write_lane, scope.attributes)


class Quarantine(Verbs):
    """The group ``memory.quarantine``: list, release and reject."""

    def release(
        self,
        id: str,  # noqa: A002 - the contract's name
        *,
        user_id: str | None = None,
        reason: str | None = None,
        actor: str = "agent",
        idempotency_key: str | None = None,
        wait: bool = True,
    ) -> EditResult:
        """Release an item from quarantine: searches and contexts show it again, fenced by its source's trust.

        Nothing is extracted from it by this. NotFound if there is no such item, Conflict if it is not in quarantine.
        """
        call = self._runtime.call(actor, idempotency_key, wait)
        return self._runtime.edit(self._quarantined_id(id, user_id, call), edits.RELEASE, {}, reason, call)

    def reject(
        self,
        id: str,  # noqa: A002 - the contract's name
        *,
        user_id: str | None = None,
        reason: str | None = None,
        actor: str = "agent",
        idempotency_key: str | None = None,
        wait: bool = True,
    ) -> EditResult:
        """Reject a quarantined item: it is archived as retracted and keeps its history. ``erase`` removes its text.

        NotFound if there is no such item, Conflict if it is not in quarantine.
        """
        call = self._runtime.call(actor, idempotency_key, wait)
        return self._runtime.edit(self._quarantined_id(id, user_id, call), edits.REJECT, {}, reason, call)

    def _quarantined_id(self, given: str, user_id: str | None, call: "edits.Call") -> str:
        """Return the id of a quarantined item; with a key the call may be a repetition, which the log decides."""
        item_id = self._runtime.item_id(given, user_id)
        item = self._components.browser.get(self._tenant, item_id, ReadConditions())
        if not edits.in_quarantine(item) and call.idempotency_key is None:
            raise Conflict(
                f"item {item.id} is not in quarantine; quarantine.list shows what is",
                field="id",
                details={"item_id": item.id},
            )
        return item.id

    def list(
        self,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        run_id: str | None = None,
        namespace: str | None = None,
        limit: int = 100,
        across: str | None = None,
    ) -> list[Item]:
        """Return the quarantined items that the scope sees, newest first.

        ``item.quarantine`` is the rule that matched, ``item.data["suspected"]`` the matched text. Other reads omit
        these items, except ``get``, ``history`` and ``explain`` by their id.
        """
        scope = make_scope(
            user_id=user_id, namespace=namespace, agent_id=agent_id, session_id=session_id, run_id=run_id, across=across
        )
        count = inputs.limit(limit, most=MAX_LISTED)
        return Records(self._components.browser.in_quarantine(self._tenant, scope, limit=count))


# A preview: the same preparation and laws as in earnest, and nothing is stored.

VERB = "add"
"""The verb whose handler prepares and applies a preview."""
_NO_LANE = 0
"""The number of a lane of which nothing is stored; those of stored lanes begin at 1."""


def preview_messages(runtime: Runtime, lane_name: LaneName, payload: Mapping[str, Any]) -> Preview:
    """Return what messages would become in a lane as it is interpreted so far."""
    components, tenant = runtime.components, runtime.tenant
    given = {name: value for name, value in payload.items() if value not in (None, {}, [])}
    cleaned, redacted = components.writer.redactor(given)
    with components.database.transaction(tenant, "read") as unit:
        lane = find_lane(unit, lane_name) or Lane(_NO_LANE, lane_name.kind, lane_name.name, 0, 0, 0, 0, 0, GENESIS)
    entry = Entry(
        id=new_id(),
        lane_id=lane.lane_id,
        seq=lane.applied_seq + 1,
        verb=VERB,
        handler_version=components.writer.interpreter.stepper.registry[VERB].version,
        actor="preview",
        recorded_at=from_micros(max(to_micros(components.clock()), lane.last_recorded_at + 1)),
        payload=payloads.as_read(cleaned)[0],
        user_id=lane.user_id,
        namespace=lane.namespace,
    )
    applied, held = components.writer.interpreter.preview(tenant, lane, entry)
    written = writer.WriteResult(entry, applied, repeated=False, pending=False, redacted=redacted)
    items, superseded = runtime.items_changed_by(written)
    return Preview(
        proposals=_previewed(entry, applied.outcomes.get(PROPOSALS, ()), applied.settled, held),
        items=items,
        superseded=superseded,
        gated=runtime.gated(written),
        degraded=runtime.degraded(written),
    )


def _previewed(
    entry: Entry, outcomes: Sequence[Outcome], settled: ResolvedChanges, held: Mapping[str, Item]
) -> tuple[PreviewedProposal, ...]:
    """Return an extractor's proposals with what would become of each, in the order of the text."""
    found = [(one.made_by, Proposal.from_dict(row)) for one in outcomes for row in one.body["proposals"]]
    found.sort(key=lambda pair: (pair[1].n, pair[1].start))
    return tuple(_with_effect(entry, made_by, one, settled, held) for made_by, one in found)


def _with_effect(
    entry: Entry, made_by: str, one: Proposal, settled: ResolvedChanges, held: Mapping[str, Item]
) -> PreviewedProposal:
    after = {item.id: item for item in (*held.values(), *settled.updated, *settled.created)}
    decision, touched, ends = _effect_of(entry, one, settled)
    return PreviewedProposal(
        content=one.content,
        kind=one.kind,
        subject=one.subject,
        key=one.key,
        value=one.value,
        confidence=one.confidence,
        quote=one.quote,
        extractor=made_by,
        decision=decision,
        item=after.get(touched or ""),
        ends=tuple(held[item] for item in ends if item in held),
        contradicts=tuple(held[item] for item in _disputed(settled, touched) if item in held),
    )


def _disputed(settled: ResolvedChanges, item: str | None) -> list[str]:
    """Return the ids of the items that an item would contradict, whichever side says so."""
    pairs = [(one.from_id, one.to_id) for one in settled.changes.edges if one.type == "contradicts"]
    return list(dict.fromkeys(other for pair in pairs if item in pair for other in pair if other != item))


def _effect_of(entry: Entry, one: Proposal, settled: ResolvedChanges) -> tuple[Decision, str | None, list[str]]:
    """Return the decision on a proposal, the item that it makes or confirms, and the ids of those that it ends."""
    proposed = statements.proposed_item_id(entry.id, one)
    if any(item.id == proposed for item in settled.created):
        edges = [edge for edge in settled.changes.edges if edge.type == "supersedes" and edge.from_id == proposed]
        return ("SUPERSEDE" if edges else "ADD"), proposed, [edge.to_id for edge in edges]
    source = item_id(entry.id, "message", str(one.n))
    said = [
        row
        for row in settled.changes.evidence
        if row.source_item_id == source and (row.span_start, row.span_end) == (one.start, one.end)
    ]
    ends = [row.item_id for row in said if row.polarity == "contra"]
    if ends:
        return "RETRACT", None, ends
    confirmed = next((row.item_id for row in said), None)
    refined = any(delta.item_id == confirmed and "content" in delta.patch for delta in settled.deltas)
    return ("UPDATE" if refined else "NONE"), confirmed, []
