"""Edits of single items beyond update and delete: archive, pin, retract, and what undoes them."""

from phronesis.core.results import EditResult
from phronesis.core.scope import make_scope
from phronesis.errors import InputError
from phronesis.log import inputs
from phronesis.memory.runtime import Verbs


class Items(Verbs):
    """The group ``memory.items``: archive, unarchive, pin, unpin, retract and delete_all."""

    def archive(
        self,
        id: str,  # noqa: A002 - the contract's name
        *,
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
        return self._runtime.edit(id, "archive", seen, reason, self._runtime.call(actor, idempotency_key, wait))

    def unarchive(
        self,
        id: str,  # noqa: A002 - the contract's name
        *,
        expected_version: int | None = None,
        reason: str | None = None,
        actor: str = "agent",
        idempotency_key: str | None = None,
        wait: bool = True,
    ) -> EditResult:
        """Restore an archived item to ordinary reads."""
        seen = {"expected_version": inputs.version(expected_version)}
        return self._runtime.edit(id, "unarchive", seen, reason, self._runtime.call(actor, idempotency_key, wait))

    def pin(
        self,
        id: str,  # noqa: A002 - the contract's name
        *,
        expected_version: int | None = None,
        reason: str | None = None,
        actor: str = "agent",
        idempotency_key: str | None = None,
        wait: bool = True,
    ) -> EditResult:
        """Include an item in every composed context of its scope."""
        seen = {"expected_version": inputs.version(expected_version)}
        return self._runtime.edit(id, "pin", seen, reason, self._runtime.call(actor, idempotency_key, wait))

    def unpin(
        self,
        id: str,  # noqa: A002 - the contract's name
        *,
        expected_version: int | None = None,
        reason: str | None = None,
        actor: str = "agent",
        idempotency_key: str | None = None,
        wait: bool = True,
    ) -> EditResult:
        """Unpin an item: contexts include it only if it is relevant."""
        seen = {"expected_version": inputs.version(expected_version)}
        return self._runtime.edit(id, "unpin", seen, reason, self._runtime.call(actor, idempotency_key, wait))

    def retract(
        self,
        id: str,  # noqa: A002 - the contract's name
        *,
        expected_version: int | None = None,
        reason: str | None = None,
        actor: str = "agent",
        idempotency_key: str | None = None,
        wait: bool = True,
    ) -> EditResult:
        """Mark an item as wrong: it ends as ``retracted`` and keeps its history."""
        seen = {"expected_version": inputs.version(expected_version)}
        return self._runtime.edit(id, "retract", seen, reason, self._runtime.call(actor, idempotency_key, wait))

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
