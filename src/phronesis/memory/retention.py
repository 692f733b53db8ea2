"""Verbs on what a store retains: forget, erase, export and import_."""

import os
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from phronesis.core.ids import make_scope
from phronesis.core.lazy_loading import lazy_module
from phronesis.core.results import ErasureCertificate, ExportResult, ImportResult
from phronesis.core.text import check_id, check_text
from phronesis.log import inputs
from phronesis.log.inputs import flag
from phronesis.memory.runtime import Verbs
from phronesis.telemetry import traced

if TYPE_CHECKING:
    from phronesis.engine import erasure
    from phronesis.experience.laws import records
    from phronesis.forgetting import handler, planning
    from phronesis.log import export as exporting
    from phronesis.log import import_log
    from phronesis.memory import keys as key_ring
else:
    erasure = lazy_module("phronesis.engine.erasure")
    exporting = lazy_module("phronesis.log.export")
    handler = lazy_module("phronesis.forgetting.handler")
    import_log = lazy_module("phronesis.log.import_log")
    key_ring = lazy_module("phronesis.memory.keys")
    planning = lazy_module("phronesis.forgetting.planning")
    records = lazy_module("phronesis.experience.laws.records")


class StoreVerbs(Verbs):
    """The verbs forget, erase, export and import_."""

    @traced("delete_memory", "rows")
    def forget(
        self,
        *,
        user_id: str | None = None,
        namespace: str | None = None,
        session_id: str | None = None,
        agent_id: str | None = None,
        kinds: Sequence[str] | None = None,
        dry_run: bool = False,
        actor: str = "agent",
        idempotency_key: str | None = None,
        wait: bool = True,
    ) -> "records.ForgetResult":
        """Archive items with low retention, and end long-archived ones; experience is downweighted first.

        Retention decays with the days since an item was last shown or reinforced; use, importance, usefulness and a
        person's feedback slow the decay, evidence against the item lowers it at once (docs/how-to/forgetting.md). Tasks
        and intentions that are over are archived for that reason. ``kinds`` (default: all of the policy's),
        ``session_id`` and ``agent_id`` narrow the call, in the lane of ``user_id`` or ``namespace``.

        Exempt are items that are pinned, important or named by the policy, a message from which a live item was
        extracted, evidence of a live principle, and the last evidence of a live pattern, trait or claim. Archived items
        leave ordinary reads, and ``items.unarchive`` restores them. Deleted ones end (``retired``): get, history and
        explain still read them; only ``erase`` removes text.

        ``dry_run`` returns the rows, with the reason for each one kept, and writes nothing. A second call at the same
        time changes nothing; ``rollback(result.entry_id)`` reverts the entry. InputError: a kind that is not subject to
        forgetting.
        """
        lane = make_scope(user_id=user_id, namespace=namespace).write_lane
        narrowing: planning.ForgetPayload = {}
        if session_id is not None:
            narrowing["session_id"] = check_id(session_id, field="session_id")
        if agent_id is not None:
            narrowing["agent_id"] = check_id(agent_id, field="agent_id")
        call, components = self._runtime.call(actor, idempotency_key, wait), self._components
        payload = components.forgetter.payload(self._tenant, lane, kinds, narrowing)
        again = self._runtime.recorded_payload(call)
        if again is not None and "law" in again:  # else the key is of another verb, which the write refuses
            payload = {**payload, "law": again["law"], "used": again.get("used") or {}}
        if flag(dry_run, field="dry_run"):
            rows, kept = components.forgetter.predict(self._tenant, lane, payload, components.clock())
            return self._forget_result(None, rows, kept, dry_run=True)
        written = self._runtime.write(call, lane, handler.FORGET, payload)
        if written.pending:
            return records.ForgetResult(written.entry.id, pending=True)
        return self._forget_result(
            written.entry.id, components.forgetter.result_of_entry(components.browser, self._tenant, written.entry)
        )

    def _forget_result(
        self,
        entry_id: str | None,
        rows: "Sequence[records.Forgotten]",
        kept: "Sequence[records.Forgotten]" = (),
        *,
        dry_run: bool = False,
    ) -> "records.ForgetResult":
        counts, most = dict(Counter(row.action for row in rows)), self._components.forgetter.law.most
        return records.ForgetResult(
            entry_id, tuple(rows), counts, dry_run=dry_run, kept=tuple(kept), more=len(rows) >= most
        )

    @traced("delete_memory")
    def erase(
        self,
        *,
        id: str | None = None,  # noqa: A002 - the contract's name
        session_id: str | None = None,
        user_id: str | None = None,
        namespace: str | None = None,
        expected_version: int | None = None,
        reason: str | None = None,
        actor: str = "agent",
    ) -> ErasureCertificate:
        """Erase text permanently from the log and everything derived from it, and check for remaining traces.

        ``id`` erases an item: the messages or sources it was extracted from, and every edit of it. ``session_id``
        erases all that a session of ``user_id`` (else of the shared ``namespace``) said and what was learned there.
        ``user_id`` alone erases the whole user: the lane's rows stay, without text or name, and the same name starts a
        new lane; the user's API keys and OAuth grants are revoked. Entries stay in the chain; items derived from them
        elsewhere lose that evidence.

        The erasure is an entry that holds ids, and cannot be rolled back. Its ``reason`` is kept: InputError if it
        quotes erased text. NotFound if there is nothing to erase. VersionConflict if ``expected_version`` is given with
        an ``id`` and is not the item's version: nothing is erased then.
        """
        version = inputs.version(expected_version)
        target = erasure.Target.of(
            item_id=id, session_id=session_id, user_id=user_id, namespace=namespace, version=version
        )
        said = None if reason is None else check_text(reason, field="reason")
        call = self._runtime.call(actor, None, True)
        if user_id is not None and id is None and session_id is None:
            key_ring.KeyRing(self._components.database, self._tenant, self._components.clock).forget_user(user_id)
        self._components.shown.settle(self._tenant)  # otherwise it would be written after the erasure
        self._components.activity.settle(self._tenant)
        certificate = self._components.eraser.erase(call, target, reason=said)
        self._runtime.wake(pending=False)
        return certificate

    def export(self, path: str | os.PathLike[str]) -> ExportResult:
        """Write this tenant's whole log to a file of JSON lines, from which ``import_`` makes the same store.

        The file holds all text that was recorded and not erased; only its owner can read it.
        """
        components = self._components
        self._runtime.drain()
        return exporting.write_export(components.database, self._tenant, path, components.clock())

    def import_(self, path: str | os.PathLike[str]) -> ImportResult:
        """Import a file written by ``export`` (entries, outcomes, failures) and interpret its entries.

        Entries that exist already are skipped, so the call may be repeated. InputError or IntegrityError for a damaged
        or altered file, of which nothing is stored; SchemaTooNew for one of a newer version; Conflict if a lane holds
        other entries than the file.
        """
        components = self._components
        taken = import_log.Importer(components.database, self._tenant, components.clock).run(path)
        self._runtime.wake(pending=True)
        self._runtime.drain()
        return taken
