"""The verbs of the reasoning bank: blocks of claims, checked before they are stored, and found claim by claim."""

from phronesis.core.ids import parse_id
from phronesis.core.reasoning.item import ReasoningItem, pending_item, reasoning_item
from phronesis.core.reasoning.records import REASONING
from phronesis.core.reasoning.standing import written_block
from phronesis.core.results import ClaimIndexResult, SearchResult
from phronesis.core.scope import make_scope
from phronesis.core.text import check_id, check_text, storable
from phronesis.derive import reasoning
from phronesis.errors import NotFound, Violation
from phronesis.index.reasoning import CLAIM
from phronesis.memory.inside import Inside
from phronesis.memory.reading import MAX_LIMIT
from phronesis.recall.search import Query
from phronesis.storage.eligible import Wanted
from phronesis.storage.used import WHOLE_ITEM, Use
from phronesis.truth import inputs


class Reasoning(Inside):
    """add_reasoning, check_claims, mem_search, mem_get, rebuild_claim_index."""

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

        Facts, support and contra are kept as written. ``update`` takes a new block in its place. ClaimsRefused, with
        every violation, when it breaks a rule: nothing is stored then.
        """
        scope = make_scope(user_id=user_id, namespace=namespace)
        call = self._call(actor, idempotency_key, wait)
        payload = reasoning.reasoning_payload(content)
        written = self._write(call, scope.write_lane, reasoning.ADD, payload)
        made = reasoning.made_id(written.entry)
        if not written.pending:
            return reasoning_item(self._stages.browser.get(self._tenant, made, Wanted()))
        block = written_block(payload)
        return pending_item(made, block, entry_id=written.entry.id, at=written.entry.recorded_at)

    def check_claims(self, content: str, status: str = "active") -> list[Violation]:
        """Give every rule that a block of claims breaks: ``rule message line key claim_id``; none when it is lawful.

        ``status`` is the item's, ``active`` or ``archived``. Nothing is stored.
        """
        self._open_stages()
        return reasoning.check_block(content, status)

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
        """Find reasoning items by their claims, best first: an item counts as its best claim.

        ``scope`` is that of the items' SCOPE line. Each result's ``matched`` (and ``matched_claims``) are the claims
        that met the query, best first, with their status; archived items are never found. With ``run_id`` it is noted
        that this run saw them: `learn` weighs them, `get_run` shows them. Where the policy names an index outside the
        database it is asked for candidates; when it is away the database answers, and ``degraded`` says so.
        A ``cursor`` or ``offset`` is an InputError.
        """
        inputs.no_pages(cursor=cursor, offset=offset)
        scoped = {} if scope is None else {"label": storable(check_text(scope, field="scope"))}
        wanted = Wanted(kinds=[REASONING], attributes=scoped)
        count = inputs.limit(limit, most=MAX_LIMIT)
        text = storable(check_text(query, field="query"))
        asked = Query(text, make_scope(user_id=user_id, namespace=namespace), wanted, count)
        result = self._search_claims(asked)
        if run_id is not None:
            uses = [Use(match.parent_mem_id, match.claim_id, "mem_search", match.distance)
                    for one in result for match in one.matched_claims]  # fmt: skip
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
        """Give a reasoning item, whatever its status; NotFound when there is none of that id.

        With ``run_id`` it is noted that this run saw it; ``user_id`` or ``namespace`` say whose run, where it is not of
        the item's own lane.
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
        """Make the search documents of every reasoning item of the tenant anew from the items and their history.

        What was right stays as it is, vectors too. No entry is recorded: the index is no truth. An index outside the
        database is then made what these say: IndexUnavailable when it is not reached.
        """
        stages = self._open_stages()
        self._drain()
        done = stages.reindexer.run(self._tenant, REASONING, counted=CLAIM)
        self._wake(pending=False)
        outside = stages.mirror.repair(self._tenant) if stages.mirror is not None else None
        return ClaimIndexResult(done.items, done.counted, done.documents, done.repaired, outside)
