"""Verbs of the reasoning bank: validate, store and search blocks of claims, and migrate free text to claims."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from phronesis.core.ids import parse_id
from phronesis.core.results import ClaimIndexResult, SearchResult
from phronesis.core.scope import LaneName, make_scope
from phronesis.core.text import check_id, check_text, storable
from phronesis.errors import InputError, NotFound, Violation
from phronesis.log import inputs
from phronesis.memory.reading import MAX_LIMIT
from phronesis.memory.service import Service
from phronesis.reasoning import handlers
from phronesis.reasoning.documents import CLAIM
from phronesis.reasoning.laws.claim_status import written_block
from phronesis.reasoning.laws.item_records import ReasoningItem, pending_item, reasoning_item
from phronesis.reasoning.laws.records import REASONING, MigratedSource, MigrationResult
from phronesis.reasoning.migration import Source
from phronesis.reasoning.migration_sources import MARKED, MIGRATED_KINDS, held, rows_of
from phronesis.recall.browse import find_item
from phronesis.recall.search import Query
from phronesis.store.eligible import Wanted, check_kinds
from phronesis.store.usage import WHOLE_ITEM, Use


class Reasoning(Service):
    """The verbs add_reasoning, check_claims, mem_search, mem_get and rebuild_claim_index."""

    def add_reasoning(
        self,
        content: str,
        *,
        user_id: str | None = None,
        namespace: str | None = None,
        actor: str = "agent",
        idempotency_key: str | None = None,
        wait: bool = True,
    ) -> ReasoningItem:
        """Store a block of claims (``RBMEM_CLAIMS_V1``, docs/reasoning-bank.md) in a user's lane or a namespace.

        Facts, support and contra are kept as written. ``update`` replaces the block. ClaimsRefused, with every
        violation, if it breaks a rule: nothing is stored then.
        """
        scope = make_scope(user_id=user_id, namespace=namespace)
        call = self._call(actor, idempotency_key, wait)
        payload = handlers.reasoning_payload(content)
        written = self._write(call, scope.write_lane, handlers.ADD, payload)
        made = handlers.made_id(written.entry)
        if not written.pending:
            return reasoning_item(self._stages.browser.get(self._tenant, made, Wanted()))
        block = written_block(payload)
        return pending_item(made, block, entry_id=written.entry.id, at=written.entry.recorded_at)

    def check_claims(self, content: str, status: str = "active") -> list[Violation]:
        """Return every rule that a block of claims breaks: ``rule message line key claim_id``; empty if it is valid.

        ``status`` is the item's, ``active`` or ``archived``. Nothing is stored.
        """
        self._open_stages()
        return handlers.check_block(content, status)

    def mem_search(
        self,
        query: str,
        *,
        scope: str | None = None,
        user_id: str | None = None,
        namespace: str | None = None,
        limit: int = 8,
        run_id: str | None = None,
        cursor: object = None,
        offset: object = None,
    ) -> SearchResult:
        """Return reasoning items found by their claims, best first: an item counts as its best claim.

        ``scope`` is that of the items' SCOPE line. Each result's ``matched`` (and ``matched_claims``) are the matching
        claims, best first, with their status; archived items are never found. ``run_id`` notes that this run saw them:
        `learn` evaluates them, `get_run` lists them. If the policy names an external index, it supplies the candidates;
        when it is unavailable the database answers, and ``degraded`` says so. A ``cursor`` or ``offset`` is an
        InputError.
        """
        inputs.no_pages(cursor=cursor, offset=offset)
        scoped = {} if scope is None else {"label": storable(check_text(scope, field="scope"))}
        wanted = Wanted(kinds=[REASONING], attributes=scoped)
        count = inputs.limit(limit, most=MAX_LIMIT)
        text = storable(check_text(query, field="query"))
        asked = Query(text, make_scope(user_id=user_id, namespace=namespace), wanted, count)
        result = self._search_claims(asked)
        if run_id is not None:
            uses = [
                Use(match.parent_mem_id, match.claim_id, "mem_search", match.distance)
                for one in result
                for match in one.matched_claims
            ]
            self._stages.used.note(self._tenant, asked.scope.write_lane, check_id(run_id, field="run_id"), uses)
        return result

    def mem_get(
        self,
        id: str,  # noqa: A002 - the contract's name
        *,
        run_id: str | None = None,
        user_id: str | None = None,
        namespace: str | None = None,
    ) -> ReasoningItem:
        """Return a reasoning item, whatever its status; NotFound if there is none of that id.

        ``run_id`` notes that this run saw it; ``user_id`` or ``namespace`` name the run's lane, if it is not the item's
        own.
        """
        item = self._open_stages().browser.get(self._tenant, parse_id(id, field="id"), Wanted())
        if item.kind != REASONING:
            raise NotFound(f"item {item.id} is of kind {item.kind}, not reasoning; get shows it", field="id")
        if run_id is not None:
            own = user_id is None and namespace is None
            lane = make_scope(
                user_id=item.user_id if own else user_id, namespace=item.namespace if own else namespace
            ).write_lane
            self._stages.used.note(
                self._tenant, lane, check_id(run_id, field="run_id"), [Use(item.id, WHOLE_ITEM, "mem_get")]
            )
        return reasoning_item(item)

    def rebuild_claim_index(self) -> ClaimIndexResult:
        """Rebuild the search documents of every reasoning item of the tenant from the items and their history.

        Correct documents and their vectors stay. No entry is recorded: the index is a projection. An external index is
        then synchronised: IndexUnavailable if it cannot be reached.
        """
        stages = self._open_stages()
        self._drain()
        done = stages.reindexer.run(self._tenant, REASONING, counted=CLAIM)
        self._wake(pending=False)
        outside = stages.mirror.repair(self._tenant) if stages.mirror is not None else None
        return ClaimIndexResult(done.items, done.counted, done.documents, done.repaired, outside)


# Migration of free-text memories to claims.

Progress = Callable[[str, int, int], None]
"""Called with the current step, the amount done, and the total."""


class Migrating(Service):
    """The verb migrate_memories."""

    def migrate_memories(
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
    ) -> MigrationResult:
        """Rewrite free-text memories as items of claims, by the model of the role ``migrate`` or by rules.

        ``memories`` are texts, or mappings ``{content, id?, title?, metadata?, created_at?, run_ids?, kind?}``, as read
        from a file. Without them items of the lane are rewritten: those of ``ids``, or of ``kinds`` and ``filters``; by
        default those whose metadata has ``kind: reasoning``. ``scope`` becomes the SCOPE line. The old text is archived
        and quoted by the new item, and ``rollback`` reverts each entry. Memories that the claim gate would refuse are
        left unchanged and reported with every violation. A repeated call continues where the last one stopped.
        ``dry_run`` returns the result for each with a diff, and writes nothing.
        """
        lane = make_scope(user_id=user_id, namespace=namespace).write_lane
        call = self._call(actor, None, True)
        named = None if scope is None else check_id(scope, field="scope")
        dry = inputs.flag(dry_run, field="dry_run")
        if memories is not None and (ids, kinds, filters) != (None, None, None):
            raise InputError(
                "memories are those of a file; ids, kinds and filters choose items of the store: give one or the other",
                field="memories",
            )
        if not dry:
            self._drain()
        if memories is not None:
            rows = rows_of(memories, scope=named, now=self._open_stages().clock())
            sources = [Source.of_row(row, lane) for row in rows]
        else:
            sources = self._chosen(lane, ids, kinds, filters, named)
        done: list[MigratedSource] = []
        for n, source in enumerate(sources):
            if on_progress is not None:
                on_progress("rewriting memories", n, len(sources))
            stages = self._open_stages()
            migrator = stages.migrator
            done.append(
                migrator.preview(self._tenant, source) if dry else migrator.migrate(stages.writer, call, source)
            )
        self._wake(pending=any(one.status == "pending" for one in done))
        return MigrationResult(tuple(done), dry)

    def _chosen(
        self,
        lane: LaneName,
        ids: Sequence[str] | None,
        kinds: Sequence[str] | None,
        filters: Mapping[str, Any] | None,
        scope: str | None,
    ) -> list[Source]:
        """Return the items that a call selects, oldest first."""
        wanted = check_kinds(kinds, MIGRATED_KINDS)
        chosen = MARKED if (kinds, filters) == (None, None) else filters
        asked = self._wanted(kinds=wanted or list(MIGRATED_KINDS), filters=chosen)
        with self._open_stages().database.transaction(self._tenant, "read") as unit:
            if ids is None:
                return [Source.of_item(item, lane, scope) for item in held(unit, lane, asked)]
            if (kinds, filters) != (None, None) or isinstance(ids, str):
                raise InputError("ids is a list that names the items itself; leave kinds and filters out", field="ids")
            found = [find_item(unit, parse_id(one, field="ids")) for one in ids]
        for _, item in found:
            if item.kind not in MIGRATED_KINDS:
                raise InputError(f"ids: {item.id} is of kind {item.kind}, whose words are no free text", field="ids")
        return [Source.of_item(item, of.lane_id, scope) for of, item in found]
