"""Verbs that record: add, commit_turn, update, delete and rollback. Each appends an entry to the log first."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from phronesis.core.ids import LaneName, Scope, make_scope, parse_id
from phronesis.core.lazy_loading import lazy_module
from phronesis.core.relations import BY_CALLER, BY_CITATION, IGNORED, OUTCOMES, USED, citations_in
from phronesis.core.results import AddResult, CommitResult, EditResult
from phronesis.core.serialization import plain
from phronesis.core.text import check_id, check_text
from phronesis.core.timestamps import Moment
from phronesis.errors import InputError, NotFound
from phronesis.log import inputs
from phronesis.log.inputs import EXTERNAL_ID
from phronesis.log.payloads import message_text
from phronesis.memory.runtime import Runtime, Verbs
from phronesis.store.impressions import KEPT, ShownContext, find_shown
from phronesis.store.lanes import find_lane
from phronesis.telemetry import traced

if TYPE_CHECKING:
    from phronesis.core.results import ReferenceResult
    from phronesis.engine import edits, entry_applier
    from phronesis.engine.writer import WriteResult
    from phronesis.memory import external_ids
    from phronesis.resources import ingestion
    from phronesis.store import items as item_rows
else:
    entry_applier = lazy_module("phronesis.engine.entry_applier")
    external_ids = lazy_module("phronesis.memory.external_ids")
    ingestion = lazy_module("phronesis.resources.ingestion")
    item_rows = lazy_module("phronesis.store.items")


MAX_REPLACED: Final = 100
"""Maximum number of items that one call may supersede."""


class WriteVerbs(Verbs):
    """The verbs add, commit_turn, update, delete and rollback."""

    @traced("upsert_memory", "items")
    def add(
        self,
        content: str | Sequence[Mapping[str, Any]],
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        run_id: str | None = None,
        namespace: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        occurred_at: Moment | None = None,
        infer: bool = True,
        kind: str | None = None,
        importance: int | None = None,
        subject: str | None = None,
        key: str | None = None,
        value: Any = None,
        due: Moment | None = None,
        expires: Moment | None = None,
        supersedes: str | Sequence[str] | None = None,
        external_id: str | None = None,
        time_zone: str | None = None,
        actor: str = "agent",
        idempotency_key: str | None = None,
        wait: bool = True,
    ) -> AddResult:
        """Remember a text, a list of messages, or, with ``kind``, one item.

        A message is ``{role, content, name?, id?, created_at?, metadata?}``. Each becomes one memory, verbatim; with
        ``infer`` the facts it states are extracted as items too. With ``kind`` (fact, task …) the text is that item,
        ``subject`` under ``key`` with ``value``; under a single-valued key (docs/memory-types.md) it supersedes the
        item held, and an item that is held already is not added again.

        An intention or a task may be ``due`` at a time, and over when it ``expires``: contexts show it when it is due,
        and `due` lists it. A due time at midnight means that whole day. InputError names the wrong field. The items in
        ``supersedes`` (ids of the same user or namespace) end as superseded by the new item. ``external_id`` is the
        caller's own name for the item: `get` looks it up, ``filters`` match it. It is unique within a user or namespace
        until its item is archived or ends; the same text again is the same item, other text a Conflict. Messages
        without an offset are dated in ``time_zone``, an IANA name (default: the policy's).
        """
        scope = make_scope(
            user_id=user_id, namespace=namespace, agent_id=agent_id, session_id=session_id, run_id=run_id
        )
        own_name = None if external_id is None else check_id(external_id, field=EXTERNAL_ID)
        payload: dict[str, Any] = {
            **scope.attributes,
            "metadata": inputs.metadata(metadata),
            "occurred_at": inputs.past(occurred_at, field="occurred_at", now=(now := self._components.clock())),
            "importance": inputs.importance(importance),
        } | inputs.zone(time_zone)
        if kind is None:
            inputs.refuse_without_kind(subject=subject, key=key, value=value, due=due, expires=expires)
            payload["messages"] = external_ids.name_messages(inputs.messages(content, now=now), own_name)
            payload["infer"] = inputs.flag(infer, field="infer")
        else:
            payload |= inputs.item(content, kind=kind, subject=subject, key=key, value=value)
            payload |= inputs.times_to_do(kind, due=due, expires=expires) | {EXTERNAL_ID: own_name}
        if supersedes is not None:
            payload[entry_applier.SUPERSEDES] = self._replaceable(supersedes, scope, again=idempotency_key is not None)
        return self._remember(self._runtime.call(actor, idempotency_key, wait), scope, payload)

    def _remember(self, call: "edits.Call", scope: Scope, payload: Mapping[str, Any]) -> AddResult:
        """Record a call of `add`, unless an item with its external id has the same text."""
        names = external_ids.Names(self._components, self._tenant, scope.write_lane, payload)
        held = [] if call.idempotency_key is not None else names.items_named()
        if held and len(held) == len(payload.get("messages", held)):
            return AddResult(held[0].entry_id, tuple(held))
        written = self._runtime.write(call, scope.write_lane, "item" if "kind" in payload else "add", payload)
        made, ended = self._runtime.items_changed_by(written)
        if not written.pending and not written.repeated:
            made = (*made, *names.items_named(without=[str(item.external_id) for item in made]))
        gated, degraded = self._runtime.gated(written), self._runtime.degraded(written)
        return AddResult(written.entry.id, made, gated, ended, pending=written.pending, degraded=degraded)

    def _replaceable(self, given: object, scope: Scope, *, again: bool) -> list[str]:
        """Return the ids of the items to supersede; ``again``: a repeated call, whose items may have ended already."""
        named = [given] if isinstance(given, str) else given
        if not isinstance(named, list | tuple) or not named or not all(isinstance(one, str) for one in named):
            raise InputError("supersedes must be an item's id, or a list of ids", field=entry_applier.SUPERSEDES)
        ids = list(dict.fromkeys(parse_id(one, field=entry_applier.SUPERSEDES) for one in named))
        inputs.limit(len(ids), most=MAX_REPLACED, field=entry_applier.SUPERSEDES)
        with self._reading() as unit:
            lane = find_lane(unit, scope.write_lane)
            held = {} if lane is None else item_rows.read_items(unit, lane, ids)
        for one in ids:
            if one not in held:
                raise NotFound(
                    f"supersedes: no item {one} in this user_id or namespace, and an item replaces those of its own",
                    field=entry_applier.SUPERSEDES,
                )
            if not held[one].live and not again:
                raise InputError(
                    f"supersedes: item {one} has ended or is archived already", field=entry_applier.SUPERSEDES
                )
        return ids

    @traced("upsert_memory", "stored")
    def commit_turn(
        self,
        session_id: str,
        turn_events: str | Sequence[Mapping[str, Any]] | Mapping[str, Any],
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        namespace: str | None = None,
        context_id: str | None = None,
        outcomes: Mapping[str, str] | None = None,
        time_zone: str | None = None,
        actor: str = "agent",
        idempotency_key: str | None = None,
        wait: bool = True,
    ) -> CommitResult:
        """Record one turn: ``{messages, tool_calls?, refs?, session_metadata?}``, as ``sessions.turns`` returns it.

        A list of messages, or the text of one, stands for a turn of these alone, as `add` takes it.

        A message whose id its session holds already with the same text is reported in ``gated``, and not stored or
        shown twice: also a deleted one (``items.unarchive`` restores it), but not one that ``rollback`` reverted.
        References become documents where the policy says so (``resources``): files and artifacts before this returns,
        pages to be fetched later. ``referred`` gives the status of each reference, or the reason for skipping it; the
        same call again under its ``idempotency_key`` returns the current status of pages.

        ``context_id`` is that of the context that the turn was answered with, and ``outcomes`` says what became of the
        items in it: it maps aliases (``m1``) or ids to ``used``, ``ignored`` or ``contradicted``. Without it, what the
        assistant's message cites (``[m1]``) is used, and the rest of the evidence ignored. The latest outcome of an
        item in a context counts: for its usefulness (`forget`, ``explain``), never for its truth. InputError or
        NotFound for an item, an outcome or a context that there is not: nothing is stored.

        ``time_zone`` is the user's, an IANA name (default: the policy's); it determines the day of messages without an
        offset.
        """
        session = check_id(session_id, field="session_id")
        scope = make_scope(user_id=user_id, namespace=namespace, agent_id=agent_id, session_id=session)
        payload = {
            **scope.attributes,
            **inputs.turn(turn_events, now=self._components.clock()),
            **inputs.zone(time_zone),
        }
        if context_id is not None:
            payload["context_id"] = check_id(context_id, field="context_id")
        call = self._runtime.call(actor, idempotency_key, wait)
        payload["outcomes"] = self._outcomes(call, scope, payload, outcomes)
        if call.idempotency_key is None:
            external_ids.Names(self._components, self._tenant, scope.write_lane, payload).items_named()
        written = self._runtime.write(call, scope.write_lane, "turn", payload)
        referred = self._references_of(written)
        # By a call under a known key, only what it interpreted itself is waited for.
        if call.wait and ingestion.is_immediate(referred) and not (written.repeated and written.applied is None):
            self._components.writer.follow(self._tenant, written)
            referred = self._references_of(written)
        made, ended = self._runtime.items_changed_by(written)
        gated, degraded = self._runtime.gated(written), self._runtime.degraded(written)
        return CommitResult(
            written.entry.id, made, gated, ended, pending=written.pending, degraded=degraded, referred=referred
        )

    def _references_of(self, written: "WriteResult") -> "Sequence[ReferenceResult]":
        if written.pending:
            return ()
        return ingestion.reference_results(self._components.database, self._tenant, written.entry)

    def _outcomes(
        self, call: "edits.Call", scope: Scope, payload: Mapping[str, Any], given: object
    ) -> dict[str, Any] | None:
        """Return what a turn says of the items of its context."""
        context_id = payload.get("context_id")
        if context_id is None and given is None:
            return None
        answered = AnsweredContext(self._runtime, scope.write_lane, payload["session_id"], context_id)
        again = self._runtime.recorded_payload(call)
        return answered.outcomes(given, payload.get("messages", ()), again=again)

    @traced("update_memory", "items")
    def update(
        self,
        id: str,  # noqa: A002 - the contract's name
        *,
        user_id: str | None = None,
        content: str | None = None,
        value: Any = None,
        metadata: Mapping[str, Any] | None = None,
        valid_to: Moment | None = None,
        external_id: str | None = None,
        expected_version: int | None = None,
        reason: str | None = None,
        actor: str = "agent",
        idempotency_key: str | None = None,
        wait: bool = True,
    ) -> EditResult:
        """Change an item's text, value, metadata (merged; None removes a key), end of validity or external id.

        History keeps the old version, and `rollback` of the entry restores it. With new text and no ``value``, the
        value of an item under a key of docs/memory-types.md is extracted from the text; if that fails, the item has no
        value, and its text is compared with later statements. Its due time stays. Under a custom key the value stays
        until another is given.

        InputError if ``valid_to`` is on a day before the item's ``valid_from``; VersionConflict if ``expected_version``
        is given and is not the item's; Conflict if another item has the ``external_id``.
        """
        if content is None and value is None and metadata is None and valid_to is None and external_id is None:
            raise InputError("update needs content, value, metadata, valid_to or external_id", field="content")
        payload = {
            "content": None if content is None else check_text(content, field="content"),
            "value": plain(value, field="value"),
            "metadata": None if metadata is None else inputs.metadata(metadata),
            "valid_to": inputs.moment(valid_to, field="valid_to"),
            EXTERNAL_ID: None if external_id is None else check_id(external_id, field=EXTERNAL_ID),
            "expected_version": inputs.version(expected_version),
        }
        item_id, call = self._runtime.item_id(id, user_id), self._runtime.call(actor, idempotency_key, wait)
        return self._runtime.edit(item_id, "update", payload, reason, call)

    @traced("delete_memory", "items")
    def delete(
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
        """Archive an item. ``erase`` removes its text permanently."""
        seen = {"expected_version": inputs.version(expected_version)}
        item_id, call = self._runtime.item_id(id, user_id), self._runtime.call(actor, idempotency_key, wait)
        return self._runtime.edit(item_id, "archive", seen, reason or "deleted", call)

    def rollback(
        self,
        id: str,  # noqa: A002 - the contract's name
        *,
        user_id: str | None = None,
        cascade: bool = False,
        actor: str = "agent",
        idempotency_key: str | None = None,
        wait: bool = True,
    ) -> EditResult:
        """Revert one delta, or all changes of an entry. The rollback is itself an entry and can be reverted.

        RollbackConflict lists later changes that depend on it; ``cascade`` reverts them too.
        """
        target, cascade = parse_id(id, field="id"), inputs.flag(cascade, field="cascade")
        call = self._runtime.call(actor, idempotency_key, wait)
        owner = None if user_id is None else check_id(user_id, field="user_id")
        return self._components.editor.rollback(call, target, cascade=cascade, owner=owner)


# What a turn says of the context that it was answered with, checked and resolved to the ids of items.

FIELD: Final = "outcomes"


@dataclass(frozen=True, slots=True)
class AnsweredContext:
    """A context that a turn of a session was answered with."""

    runtime: Runtime
    lane: LaneName
    session_id: str
    context_id: str | None

    def outcomes(
        self, given: object, messages: Sequence[Mapping[str, Any]], *, again: Mapping[str, Any] | None
    ) -> dict[str, Any] | None:
        """Return the payload's ``outcomes``: the ids of the items of each outcome, and ``by`` whom; None without any.

        ``given`` is the caller's, None: the citations in the assistant's ``messages`` decide. ``again`` is the payload
        that was recorded under the call's idempotency key, whose context may be gone. InputError or NotFound for a
        context, an item or an outcome that there is not.
        """
        stated = None if given is None else _stated(given)
        replies = [message_text(one) for one in messages if stated is None and one["role"] == "assistant"]
        cited = [citation for text in replies for citation in citations_in(text)]
        if stated and self.context_id is None:
            raise InputError(
                "outcomes are those of a context: give its context_id, as compose_context returned it",
                field="context_id",
            )
        if stated and not messages:
            raise InputError(
                "outcomes are recorded with the reply: give a message of the turn in turn_events", field="turn_events"
            )
        if not (stated or cited) or self.context_id is None:
            return None
        components, tenant = self.runtime.components, self.runtime.tenant
        components.shown.settle(tenant)
        with components.database.transaction(tenant, "read") as unit:
            shown = find_shown(unit, self.lane, self.session_id, self.context_id)
        if shown is not None:
            return _resolved(stated, shown) if stated else _by_citation(cited, shown)
        if again is not None:
            return again.get(FIELD)
        if stated:
            raise NotFound(
                f"context_id: session {self.session_id!r:.80} was shown no memory by a context {self.context_id:.60};"
                f" give the one that compose_context returned for it (not of a dry_run, one of its last {KEPT}), or"
                " leave outcomes out",
                field="context_id",
            )
        return None


def _stated(given: object) -> dict[str, str]:
    """Return a caller's outcomes by alias or id."""
    if not isinstance(given, Mapping):
        raise InputError(
            f"outcomes must map aliases or ids to {', '.join(OUTCOMES)}, not be a {type(given).__name__}", field=FIELD
        )
    for name, outcome in given.items():
        if not isinstance(name, str):
            raise InputError(f"outcomes: {name!r:.40} is no alias and no id, such as m1", field=FIELD)
        if outcome not in OUTCOMES:
            raise InputError(
                f"outcomes.{name:.60} must be one of {', '.join(OUTCOMES)}; got {outcome!r:.40}",
                field=f"{FIELD}.{name:.60}",
            )
    return dict(given)


def _resolved(stated: Mapping[str, str], shown: ShownContext) -> dict[str, Any]:
    known: dict[str, str] = {}
    for name, outcome in stated.items():
        item_id = shown.resolve_reference(name.strip().removeprefix("[").removesuffix("]"))
        where = f"{FIELD}.{name:.60}"
        if item_id is None:
            aliases = [alias for held in shown.aliases.values() for alias in held]
            told = f"its aliases are {aliases[0]} to {aliases[-1]}" if aliases else "it has no aliases"
            raise InputError(f"{where}: the context shows no such item; {told}, and ids of its items do", field=where)
        if known.setdefault(item_id, outcome) != outcome:
            raise InputError(f"{where}: the same item is {known[item_id]} by another name; give it once", field=where)
    return _payload(known, BY_CALLER)


def _by_citation(cited: Iterable[str], shown: ShownContext) -> dict[str, Any] | None:
    """Return what was cited as used, and the rest of the evidence as ignored; None where nothing shown is cited.

    Whatever stands in every context (a profile, a summary) is not ignored by a reply that has no use for it.
    """
    used = dict.fromkeys(item_id for one in cited if (item_id := shown.resolve_reference(one)) is not None)
    if not used:
        return None
    rest = [one for one in dict.fromkeys(shown.aliases.get("evidence", {}).values()) if one not in used]
    return _payload({**dict.fromkeys(used, USED), **dict.fromkeys(rest, IGNORED)}, BY_CITATION)


def _payload(outcomes: Mapping[str, str], by: str) -> dict[str, Any]:
    named = {outcome: [one for one, said in outcomes.items() if said == outcome] for outcome in OUTCOMES}
    return {"by": by} | {outcome: ids for outcome, ids in named.items() if ids}
