"""The verbs for what reads like an order to a model: see it, let it go, end it."""

from phronesis.core.ids import parse_id
from phronesis.core.items import Item
from phronesis.core.results import EditResult
from phronesis.core.scope import make_scope
from phronesis.derive.editor import Call
from phronesis.derive.quarantine import REJECT, RELEASE, in_quarantine
from phronesis.errors import Conflict
from phronesis.memory.inside import Inside
from phronesis.storage.eligible import Wanted
from phronesis.truth import inputs

MAX_LISTED = 10_000
"""Items in one answer."""


class Quarantining(Inside):
    """quarantine_list, quarantine_release, quarantine_reject."""

    def quarantine_list(
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
        """Give what is in quarantine of what the scope sees, newest first.

        ``item.quarantine`` is the rule that found it, ``item.data["suspected"]`` the words. Nothing else shows these
        items, but ``get``, ``history`` and ``explain`` by their id.
        """
        scope = make_scope(user_id=user_id, namespace=namespace, agent_id=agent_id, session_id=session_id,
                           run_id=run_id, across=across)  # fmt: skip
        count = inputs.limit(limit, most=MAX_LISTED)
        return self._open_stages().browser.in_quarantine(self._tenant, scope, limit=count)

    def quarantine_release(
        self,
        id: str,  # noqa: A002 - the contract's name
        *,
        reason: str | None = None,
        actor: str = "agent",
        idempotency_key: str | None = None,
        wait: bool = True,
    ) -> EditResult:
        """Let an item go: it is found and shown again, fenced as its source is trusted.

        Nothing is learned from it by that. NotFound when there is no such item, Conflict when it is not in quarantine.
        """
        call = self._call(actor, idempotency_key, wait)
        return self._edit(self._held(id, call), RELEASE, {}, reason, call)

    def quarantine_reject(
        self,
        id: str,  # noqa: A002 - the contract's name
        *,
        reason: str | None = None,
        actor: str = "agent",
        idempotency_key: str | None = None,
        wait: bool = True,
    ) -> EditResult:
        """End an item: it is archived as retracted and keeps its history. To remove its words for good, ``erase`` it.

        NotFound when there is no such item, Conflict when it is not in quarantine.
        """
        call = self._call(actor, idempotency_key, wait)
        return self._edit(self._held(id, call), REJECT, {}, reason, call)

    def _held(self, given: str, call: Call) -> str:
        """Give the id of an item in quarantine; with a key it may be the same call again, and the log decides."""
        item = self._open_stages().browser.get(self._tenant, parse_id(given, field="id"), Wanted())
        if not in_quarantine(item) and call.idempotency_key is None:
            raise Conflict(
                f"item {item.id} is not in quarantine; quarantine_list shows what is",
                field="id",
                details={"item_id": item.id},
            )
        return item.id
