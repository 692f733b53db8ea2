"""Verbs of runs and of claims learned from them: learn, mem_search, the groups memory.runs and memory.reasoning."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from phronesis.core.ids import LaneName, make_scope
from phronesis.core.lazy_loading import lazy_module
from phronesis.core.reports import Page
from phronesis.core.results import ClaimIndexResult, ClaimMatch, EditResult, Evidence, SearchResult
from phronesis.core.text import check_id, check_text, replace_unstorable
from phronesis.errors import Conflict, IdempotencyConflict, MissingExtra, NotFound, Violation
from phronesis.log import inputs
from phronesis.log.inputs import flag
from phronesis.memory.reading import MAX_LIMIT
from phronesis.memory.runtime import Runtime, Verbs
from phronesis.store.eligible import ReadConditions

if TYPE_CHECKING:
    from phronesis.engine import edits, writer
    from phronesis.reasoning import handlers, learning
    from phronesis.reasoning.laws import claim_status, item_records, records
    from phronesis.recall import query as searching
    from phronesis.store import impressions
else:
    claim_status = lazy_module("phronesis.reasoning.laws.claim_status")
    handlers = lazy_module("phronesis.reasoning.handlers")
    item_records = lazy_module("phronesis.reasoning.laws.item_records")
    learning = lazy_module("phronesis.reasoning.learning")
    records = lazy_module("phronesis.reasoning.laws.records")
    searching = lazy_module("phronesis.recall.query")
    impressions = lazy_module("phronesis.store.impressions")


class _RunVerbs(Verbs):
    """What learn and the group share: finding a run."""

    def _identify_run(
        self, run_id: str, user_id: str | None, namespace: str | None, call: "edits.Call"
    ) -> "tuple[LaneName, edits.Call, dict[str, Any]]":
        """Return the lane of a run, the call, and the payload members that identify the run."""
        lane = make_scope(user_id=user_id, namespace=namespace).write_lane
        components = self._components
        name = check_id(run_id, field="run_id")
        self._catch_up(lane)  # the run itself may be pending there
        item = components.runs.require_run(self._tenant, lane, name)
        return lane, call, {"run_id": name, "item_id": item.id}


class LearnVerbs(_RunVerbs):
    """The verb learn."""

    def learn(
        self,
        run_id: str,
        *,
        model: str | None = None,
        user_id: str | None = None,
        namespace: str | None = None,
        actor: str = "agent",
        idempotency_key: str | None = None,
        wait: bool = True,
    ) -> "item_records.LearnResult":
        """Learn from a run: evaluate every claim of the items that it used or resembles, and add new claims.

        Each claim that the run's FACTS support or contradict counts it once; hypotheses become conclusions and can fall
        back. It is one entry, which ``rollback(result.entry_id)`` reverts. Learning again changes nothing; a run
        without feedback has no effect, and can be learned again when it has some. NotFound: no such run.

        ``model`` replaces the model of the role ``learn`` for this call: ``gateway/model``, a model at the role's own
        gateway, or ``rules``. It judges claims that no test decides, and proposes; without an answer the rules do both.
        """
        lane, call, payload = self._identify_run(
            run_id, user_id, namespace, self._runtime.call(actor, idempotency_key, wait)
        )
        components = self._components
        components.used.settle(self._tenant)
        read = components.runs.read_by(self._tenant, lane, payload["run_id"])
        if model is not None:
            payload["model"] = components.model_registry.reference("learn", check_id(model, field="model"))
        try:
            written = self._runtime.write(call, lane, learning.LEARN, {**payload, "read": read})
        except IdempotencyConflict as conflict:
            return self._same_learn(conflict, payload)
        return self._learn_result(written, payload["run_id"])

    def _learn_result(self, written: "writer.WriteResult", run_id: str) -> "item_records.LearnResult":
        if written.pending:
            return item_records.LearnResult(entry_id=written.entry.id, run_id=run_id, pending=True)
        return self._components.runs.learned(self._tenant, written.entry.id)

    def _same_learn(self, conflict: IdempotencyConflict, payload: Mapping[str, Any]) -> "item_records.LearnResult":
        """Return the learn recorded under a key, if it was of this run.

        What the run had read by then is not part of the call.
        """
        known = self._components.runs.entry(self._tenant, str(conflict.details["entry_id"]))
        same = all(known.payload.get(name) == payload.get(name) for name in ("item_id", "model"))
        if known.verb != learning.LEARN or not same:
            raise conflict
        return self._components.runs.learned(self._tenant, known.id)


class Runs(_RunVerbs):
    """The group ``memory.runs``: record, feedback, list, get and review."""

    def record(
        self,
        run: Mapping[str, Any],
        *,
        user_id: str | None = None,
        namespace: str | None = None,
        actor: str = "agent",
        idempotency_key: str | None = None,
        wait: bool = True,
    ) -> str:
        """Record an agent's run: ``{run_id?, output: {M1, M2, atomic_ratio, modifier …}, raw, trace, memory_ids}``.

        Returns the run's id, generated if none is given. The same run again changes nothing; Conflict if the lane has
        another run of that id. ``memory_ids`` are the memories that the run used. With ``reasoning.review: background``
        in the policy its modifier is looked up in the background.
        """
        lane = make_scope(user_id=user_id, namespace=namespace).write_lane
        call = self._runtime.call(actor, idempotency_key, wait)
        payload = self._components.writer.redactor.cleaned(handlers.run_payload(run))
        given = payload.get("run_id")
        if given is not None and idempotency_key is None and self._has_run(lane, given, payload):
            return str(given)
        written = self._runtime.write(call, lane, handlers.RUN, payload)
        if given is not None and not written.pending:
            self._has_run(lane, given, payload)
        run_id = handlers.run_id_of(written.entry)
        told = {name: payload[name] for name in ("output", "raw", "trace") if name in payload}
        reviews = self._components.reviews
        if reviews is not None:
            reviews.recorded(self._tenant, lane, records.Run(run_id=run_id, **told))
        return run_id

    def feedback(
        self,
        run_id: str,
        feedback: Mapping[str, Any],
        *,
        user_id: str | None = None,
        namespace: str | None = None,
        actor: str = "agent",
        idempotency_key: str | None = None,
        wait: bool = True,
    ) -> EditResult:
        """Record the result of a run: ``{products: [{name, value, fraction}], pros, cons, other}``.

        Later feedback replaces earlier feedback, which stays in the history. What was learned from the run stays: roll
        the learn back and learn again. NotFound if there is no such run.
        """
        given = handlers.feedback_payload(feedback)
        lane, call, payload = self._identify_run(
            run_id, user_id, namespace, self._runtime.call(actor, idempotency_key, wait)
        )
        written = self._runtime.write(call, lane, handlers.FEEDBACK, {**payload, "feedback": given})
        return self._edit_result(written)

    def get(self, run_id: str, *, user_id: str | None = None, namespace: str | None = None) -> "item_records.RunRecord":
        """Return a run with its feedback, FACTS, what it read, and its learns; NotFound if there is none.

        ``review`` is what is already known of its modifier: no server is asked.
        """
        lane = make_scope(user_id=user_id, namespace=namespace).write_lane
        components = self._components
        record = components.runs.get(self._tenant, lane, check_id(run_id, field="run_id"))
        reviews = components.reviews
        run = records.Run(run_id=record.run_id, output=record.output, raw=record.raw, trace=record.trace)
        known = None if reviews is None else reviews.known(self._tenant, run)
        return replace(record, review=known)

    def review(
        self,
        run_id: str,
        *,
        user_id: str | None = None,
        namespace: str | None = None,
        refresh: bool = False,
        wait: bool = True,
    ) -> "records.Review":
        """Return the small molecule that a run names as its modifier, and whether it has a free –COOH.

        The modifier's name is looked up at PubChem (`PHRONESIS_PUBCHEM_URL`), unless it was within the last 30 days, or
        seven if it was not found; ``refresh`` asks again. With ``wait`` the call waits half a minute at most; without
        it a missing review is ``pending`` and made in the background. Nothing is recorded in the log, and a failure
        does not affect the run: the review is ``unresolved``, with the reason. NotFound: no such run.
        """
        lane = make_scope(user_id=user_id, namespace=namespace).write_lane
        components = self._components
        name = check_id(run_id, field="run_id")
        fresh, waiting = flag(refresh, field="refresh"), flag(wait, field="wait")
        self._catch_up(lane)  # the run itself may be pending there
        run = handlers.run_of(components.runs.require_run(self._tenant, lane, name))
        if components.reviews is None:
            raise MissingExtra("no installed package reviews runs: install one that brings them")
        return components.reviews.review(self._tenant, lane, run, refresh=fresh, wait=waiting)

    def _has_run(self, lane: LaneName, run_id: str, payload: Mapping[str, Any]) -> bool:
        """Return whether the lane has this run; Conflict if it has another of the same id."""
        held = self._components.runs.find(self._tenant, lane, run_id)
        if held is not None and not handlers.same_run(held, payload):
            raise Conflict(
                f"run {run_id!r:.80} was recorded before with another content; a run is recorded once, so give this one"
                " another run_id",
                field="run_id",
                details={"run_id": run_id, "item_id": held.id},
            )
        return held is not None

    def list(
        self, *, user_id: str | None = None, namespace: str | None = None, limit: int = 20, cursor: str | None = None
    ) -> "Page[item_records.RunRecord]":
        """Return the runs of a user, or of a namespace, newest first, without archived ones.

        Pass the page's ``next_cursor`` as ``cursor`` for the next page (`get_all`).
        """
        lane = make_scope(user_id=user_id, namespace=namespace).write_lane
        count, after = inputs.limit(limit, most=MAX_LIMIT), inputs.cursor(cursor)
        return self._components.runs.listed(self._tenant, lane, limit=count, cursor=after)


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
        scoped = {} if scope is None else {"label": replace_unstorable(check_text(scope, field="scope"))}
        wanted = ReadConditions(kinds=[records.REASONING], attributes=scoped)
        count = inputs.limit(limit, most=MAX_LIMIT)
        text = replace_unstorable(check_text(query, field="query"))
        asked = searching.Query(text, make_scope(user_id=user_id, namespace=namespace), wanted, count)
        result = search_claims(self._runtime, asked)
        if run_id is not None:
            uses = [
                impressions.Use(match.parent_mem_id, match.claim_id, "mem_search", match.distance)
                for one in result
                for match in one.matched_claims
            ]
            self._components.used.note(self._tenant, asked.scope.write_lane, check_id(run_id, field="run_id"), uses)
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
        made = handlers.created_item_id(written.entry)
        if not written.pending:
            return item_records.reasoning_item(self._components.browser.get(self._tenant, made, ReadConditions()))
        block = claim_status.written_block(payload)
        return item_records.pending_item(made, block, entry_id=written.entry.id, at=written.entry.recorded_at)

    def check(self, content: str, status: str = "active") -> list[Violation]:
        """Return every rule that a block of claims breaks: ``rule message line key claim_id``; empty if it is valid.

        ``status`` is the item's, ``active`` or ``archived``. Nothing is stored.
        """
        _ = self._components  # raises if the memory was closed
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
        item = self._components.browser.get(self._tenant, item_id, ReadConditions())
        if item.kind != records.REASONING:
            raise NotFound(f"item {item.id} is of kind {item.kind}, not reasoning; get shows it", field="id")
        if run_id is not None:
            own = user_id is None and namespace is None
            lane = make_scope(
                user_id=item.user_id if own else user_id, namespace=item.namespace if own else namespace
            ).write_lane
            self._components.used.note(
                self._tenant,
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
        components = self._components
        self._runtime.drain()
        done = components.reindexer.run(self._tenant, records.REASONING, counted=records.CLAIM)
        self._runtime.wake(pending=False)
        outside = components.mirror.repair(self._tenant) if components.mirror is not None else None
        return ClaimIndexResult(done.items, done.counted, done.documents, done.repaired, outside)


def search_claims(runtime: Runtime, asked: "searching.Query") -> SearchResult:
    """Search reasoning items by their claims, the only search over them alone (RB-11, RB-12)."""
    narrowed = replace(asked, wanted=replace(asked.wanted, parts=records.CLAIM))
    found = runtime.components.searcher.search(runtime.tenant, narrowed)
    return replace(found, evidence=tuple(_by_claims(one) for one in found.evidence))


def _by_claims(found: Evidence) -> Evidence:
    item, claims = found.item, []
    for match in found.matched:
        claim_id = match.part.partition(":")[2]
        status = claim_status.status_of(item, claim_id)
        claims.append(ClaimMatch(match.id, match.part, match.snippet, match.distance, item.id, claim_id, status))
    return replace(found, matched=tuple(claims))
