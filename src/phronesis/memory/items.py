"""The group memory.items: edits of single items, what is due, and a preview of what a message would become."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from phronesis.core.items import Item
from phronesis.core.lazy_loading import lazy_module
from phronesis.core.prospective import COMING
from phronesis.core.record_display import Records
from phronesis.core.results import EditResult
from phronesis.core.scope import make_scope
from phronesis.core.timestamps import Moment
from phronesis.errors import InputError
from phronesis.log import inputs
from phronesis.memory.reading import MAX_LIMIT
from phronesis.memory.runtime import Verbs
from phronesis.recall.as_of import visible_lanes

if TYPE_CHECKING:
    from phronesis.core import previews
    from phronesis.memory import preview
    from phronesis.recall import entities
else:
    preview = lazy_module("phronesis.memory.preview")
    previews = lazy_module("phronesis.core.previews")
    entities = lazy_module("phronesis.recall.entities")


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
    ) -> "previews.Preview":
        """Return what `add` would remember of a text or of messages, without storing anything.

        Each of the ``proposals`` of the rules, the reader or the model names its kind, key and value, the decision on
        it, and the items that would end; ``gated`` says what would be refused, by which rule and why. Models are asked
        as by `add`, and their calls are in the ledger. Entries that wait for their interpretation are not counted in.
        """
        scope = make_scope(
            user_id=user_id, namespace=namespace, agent_id=agent_id, session_id=session_id, run_id=run_id
        )
        now = self._runtime.components.clock()
        payload = {
            **scope.attributes,
            "occurred_at": inputs.past(occurred_at, field="occurred_at", now=now),
            "importance": inputs.importance(importance),
            **inputs.zone(time_zone),
            "messages": inputs.messages(content, now=now),
        }
        return preview.preview_messages(self._runtime, scope.write_lane, payload)

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
        wanted, ahead = self._runtime.wanted(as_of=as_of), inputs.span(within, field="within")
        count, components = inputs.limit(limit, most=MAX_LIMIT), self._runtime.components
        now = entities.asked_at(wanted, components.clock()).astimezone(self._runtime.zone(time_zone))
        with components.database.transaction(self._runtime.tenant, "read") as unit:
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
        return self._runtime.components.editor.archive_all(call, scope.write_lane, scope.attributes)
