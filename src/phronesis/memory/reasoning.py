"""Verbs of the reasoning bank: search claims, and the group memory.reasoning, which stores and checks them."""

from typing import TYPE_CHECKING

from phronesis.core.lazy_loading import lazy_module
from phronesis.core.results import ClaimIndexResult, SearchResult
from phronesis.core.scope import make_scope
from phronesis.core.text import check_id, check_text, storable
from phronesis.errors import NotFound, Violation
from phronesis.log import inputs
from phronesis.memory.reading import MAX_LIMIT
from phronesis.memory.runtime import Verbs
from phronesis.store.eligible import ReadConditions

if TYPE_CHECKING:
    from phronesis.reasoning import documents, handlers
    from phronesis.reasoning.laws import claim_status, item_records, records
    from phronesis.recall import search_options as searching
    from phronesis.store import impressions
else:
    claim_status = lazy_module("phronesis.reasoning.laws.claim_status")
    documents = lazy_module("phronesis.reasoning.documents")
    handlers = lazy_module("phronesis.reasoning.handlers")
    item_records = lazy_module("phronesis.reasoning.laws.item_records")
    records = lazy_module("phronesis.reasoning.laws.records")
    searching = lazy_module("phronesis.recall.search_options")
    impressions = lazy_module("phronesis.store.impressions")


class ReasoningVerbs(Verbs):
    """The verb mem_search."""

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
        `learn` evaluates them, `runs.get` lists them. If the policy names an external index, it supplies the
        candidates; when it is unavailable the database answers, and ``degraded`` says so. A ``cursor`` or ``offset`` is
        an InputError.
        """
        inputs.no_pages(cursor=cursor, offset=offset)
        scoped = {} if scope is None else {"label": storable(check_text(scope, field="scope"))}
        wanted = ReadConditions(kinds=[records.REASONING], attributes=scoped)
        count = inputs.limit(limit, most=MAX_LIMIT)
        text = storable(check_text(query, field="query"))
        asked = searching.Query(text, make_scope(user_id=user_id, namespace=namespace), wanted, count)
        result = self._runtime.search_claims(asked)
        if run_id is not None:
            uses = [
                impressions.Use(match.parent_mem_id, match.claim_id, "mem_search", match.distance)
                for one in result
                for match in one.matched_claims
            ]
            self._runtime.components.used.note(
                self._runtime.tenant, asked.scope.write_lane, check_id(run_id, field="run_id"), uses
            )
        return result


class Reasoning(Verbs):
    """The group ``memory.reasoning``: add, check, get and rebuild_index."""

    def add(
        self,
        content: str,
        *,
        user_id: str | None = None,
        namespace: str | None = None,
        actor: str = "agent",
        idempotency_key: str | None = None,
        wait: bool = True,
    ) -> "item_records.ReasoningItem":
        """Store a block of claims (``RBMEM_CLAIMS_V1``, docs/how-to/claims.md) in a user's lane or a namespace.

        Facts, support and contra are kept as written. ``update`` replaces the block. ClaimsRefused, with every
        violation, if it breaks a rule: nothing is stored then.
        """
        scope = make_scope(user_id=user_id, namespace=namespace)
        call = self._runtime.call(actor, idempotency_key, wait)
        payload = handlers.reasoning_payload(content)
        written = self._runtime.write(call, scope.write_lane, handlers.ADD, payload)
        made = handlers.made_id(written.entry)
        if not written.pending:
            return item_records.reasoning_item(
                self._runtime.components.browser.get(self._runtime.tenant, made, ReadConditions())
            )
        block = claim_status.written_block(payload)
        return item_records.pending_item(made, block, entry_id=written.entry.id, at=written.entry.recorded_at)

    def check(self, content: str, status: str = "active") -> list[Violation]:
        """Return every rule that a block of claims breaks: ``rule message line key claim_id``; empty if it is valid.

        ``status`` is the item's, ``active`` or ``archived``. Nothing is stored.
        """
        _ = self._runtime.components  # raises if the memory was closed
        return handlers.check_block(content, status)

    def get(
        self,
        id: str,  # noqa: A002 - the contract's name
        *,
        run_id: str | None = None,
        user_id: str | None = None,
        namespace: str | None = None,
    ) -> "item_records.ReasoningItem":
        """Return a reasoning item, whatever its status; NotFound if there is none of that id.

        ``run_id`` notes that this run saw it; ``user_id`` or ``namespace`` name the run's lane, if it is not the item's
        own.
        """
        item_id = self._runtime.item_id(id, user_id)
        item = self._runtime.components.browser.get(self._runtime.tenant, item_id, ReadConditions())
        if item.kind != records.REASONING:
            raise NotFound(f"item {item.id} is of kind {item.kind}, not reasoning; get shows it", field="id")
        if run_id is not None:
            own = user_id is None and namespace is None
            lane = make_scope(
                user_id=item.user_id if own else user_id, namespace=item.namespace if own else namespace
            ).write_lane
            self._runtime.components.used.note(
                self._runtime.tenant,
                lane,
                check_id(run_id, field="run_id"),
                [impressions.Use(item.id, impressions.WHOLE_ITEM, "mem_get")],
            )
        return item_records.reasoning_item(item)

    def rebuild_index(self) -> ClaimIndexResult:
        """Rebuild the search documents of every reasoning item of the tenant from the items and their history.

        Correct documents and their vectors stay. No entry is recorded: the index is a projection. An external index is
        then synchronised: IndexUnavailable if it cannot be reached.
        """
        components = self._runtime.components
        self._runtime.drain()
        done = components.reindexer.run(self._runtime.tenant, records.REASONING, counted=documents.CLAIM)
        self._runtime.wake(pending=False)
        outside = components.mirror.repair(self._runtime.tenant) if components.mirror is not None else None
        return ClaimIndexResult(done.items, done.counted, done.documents, done.repaired, outside)
