"""The group memory.quarantine: list, release or reject items that look like prompt injection."""

from typing import TYPE_CHECKING

from phronesis.core.items import Item
from phronesis.core.lazy_loading import lazy_module
from phronesis.core.record_display import Records
from phronesis.core.results import EditResult
from phronesis.core.scope import make_scope
from phronesis.errors import Conflict
from phronesis.log import inputs
from phronesis.memory.runtime import Verbs
from phronesis.store.eligible import ReadConditions

if TYPE_CHECKING:
    from phronesis.engine import edits
else:
    edits = lazy_module("phronesis.engine.edits")

MAX_LISTED = 10_000
"""Maximum number of items in one answer."""


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
        item = self._runtime.components.browser.get(self._runtime.tenant, item_id, ReadConditions())
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
        return Records(self._runtime.components.browser.in_quarantine(self._runtime.tenant, scope, limit=count))
