"""Verbs that read: search, get, get_all, history, explain and compose_context; and the sessions of a scope."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from phronesis.core.ids import Scope, make_scope
from phronesis.core.items import Item
from phronesis.core.lazy_loading import lazy_module
from phronesis.core.reports import Page
from phronesis.core.results import Explanation, HistoryEvent, SearchResult, SessionInfo, Turn
from phronesis.core.serialization import Records
from phronesis.core.text import check_id, check_text, replace_unstorable
from phronesis.core.timestamps import Moment, to_micros
from phronesis.errors import InputError
from phronesis.log import inputs
from phronesis.memory.runtime import Runtime, Verbs
from phronesis.telemetry import traced
from phronesis.traits.laws.strength import TRAIT

if TYPE_CHECKING:
    from phronesis.compose import assembly
    from phronesis.core import context, retrieval_plan
    from phronesis.log import payloads
    from phronesis.memory import activity, external_ids, runs
    from phronesis.reasoning.laws import item_records, records
    from phronesis.recall import entities, hits
    from phronesis.recall import query as searching
else:
    activity = lazy_module("phronesis.memory.activity")
    assembly = lazy_module("phronesis.compose.assembly")
    context = lazy_module("phronesis.core.context")
    external_ids = lazy_module("phronesis.memory.external_ids")
    hits = lazy_module("phronesis.recall.hits")
    item_records = lazy_module("phronesis.reasoning.laws.item_records")
    entities = lazy_module("phronesis.recall.entities")
    payloads = lazy_module("phronesis.log.payloads")
    records = lazy_module("phronesis.reasoning.laws.records")
    retrieval_plan = lazy_module("phronesis.core.retrieval_plan")
    runs = lazy_module("phronesis.memory.runs")
    searching = lazy_module("phronesis.recall.query")

MAX_LIMIT: Final = 10_000
"""Maximum results of one call. Use ``export`` for more."""
MAX_NUMBER: Final = 2**31 - 1
"""Maximum turn number in a request: the range of the database's integer."""
MAX_BUDGET: Final = 10_000_000
"""Maximum tokens of a context: beyond any model's window."""


class ReadVerbs(Verbs):
    """The verbs search, get, get_all, history, explain and compose_context."""

    @traced("search_memory", "evidence")
    def search(
        self,
        query: str,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        run_id: str | None = None,
        namespace: str | None = None,
        kinds: Sequence[str] | None = None,
        filters: Mapping[str, Any] | None = None,
        limit: int = 10,
        min_score: float | None = None,
        exclude_session: str | None = None,
        explain: bool = False,
        time_zone: str | None = None,
        across: str | None = None,
        as_of: Moment | None = None,
        valid_at: Moment | None = None,
        cursor: object = None,
        offset: object = None,
    ) -> SearchResult:
        """Return evidence for a question from what the scope sees, best first, each with its sources.

        ``filters`` are mem0's; ``as_of`` asks what was known then, ``valid_at`` what held then; ``explain`` adds each
        channel's share of the score. ``across="tenant"`` searches every lane of the tenant. With
        ``kinds=["reasoning"]`` alone it is `mem_search`: claims are searched, each item counts as its best one.
        Sections of documents are searched too if the scope has any and ``kinds`` allows them.

        Each ``score`` is from 0 to 1; below the result's ``threshold`` nothing supports an answer. ``min_score`` drops
        lower scores, ``exclude_session`` a session's messages and what was extracted from them. Days are those of
        ``time_zone``, the user's IANA time zone (default: the policy's).

        A search has no pages: a ``cursor`` or ``offset`` is an InputError.
        """
        inputs.no_pages(cursor=cursor, offset=offset)
        scope = make_scope(
            user_id=user_id, namespace=namespace, agent_id=agent_id, session_id=session_id, run_id=run_id, across=across
        )
        wanted = self._runtime.read_conditions(
            kinds=kinds, attributes=scope.attributes, filters=filters, scope=scope, as_of=as_of, valid_at=valid_at
        )
        text, count = replace_unstorable(check_text(query, field="query")), inputs.limit(limit, most=MAX_LIMIT)
        shares = inputs.flag(explain, field="explain")
        asked = searching.Query(text, scope, wanted, count, shares, zone=self._runtime.zone(time_zone))
        if exclude_session is not None:
            left_out = check_id(exclude_session, field="exclude_session")
            asked = replace(asked, wanted=replace(wanted, exclude_session=left_out))
        least = None if min_score is None else inputs.share(min_score, field="min_score")
        if wanted.kinds == [records.REASONING]:
            return hits.drop_below(runs.search_claims(self._runtime, asked), least)
        result = hits.drop_below(self._components.searcher.search(self._tenant, asked), least)
        note_found(self._runtime, scope, [one.item for one in result])
        return result

    @traced("search_memory", "evidence")
    def compose_context(
        self,
        session_id: str,
        user_message: str,
        agent_state: Mapping[str, Any] | None = None,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        namespace: str | None = None,
        token_budget: int | None = None,
        time_zone: str | None = None,
        plan: "retrieval_plan.RetrievalPlan | Mapping[str, Any] | None" = None,
        as_of: Moment | None = None,
        valid_at: Moment | None = None,
        dry_run: bool = False,
    ) -> "context.ContextPackage":
        """Return the smallest context that lets an agent answer ``user_message``, each memory in it cited.

        Load, plan, retrieve, fuse, compose: profile, preferences, pinned items and due items; a summary of the
        session's earlier turns; its recent turns; evidence; the message. No rendering exceeds ``token_budget``
        (default: the policy's). Days in it are those on which messages were said, else of ``time_zone``, the user's
        IANA time zone (default: the policy's). The text under ``goal``, ``task`` and ``topic`` of ``agent_state`` is
        added to the query. ``plan`` is executed instead of a new one: a plan from ``plan``, perhaps changed; scope and
        times are those of this call. With ``agent_id`` the context is limited to what that agent recorded, pinned items
        included; policies and the session's turns and summary are always in it.

        The call notes, beside memory, that the session was shown these items, so that repeating them is no new evidence
        (law 7), that they were used, and what ``admin.contexts`` lists. ``dry_run`` notes nothing: use it to inspect a
        context.
        """
        started = time.perf_counter()
        looked_at = inputs.flag(dry_run, field="dry_run")
        session = check_id(session_id, field="session_id")
        scope = make_scope(user_id=user_id, namespace=namespace, agent_id=agent_id)
        components = self._components
        budget = components.budget
        if token_budget is not None:
            budget = assembly.scale_budget(budget, inputs.limit(token_budget, most=MAX_BUDGET, field="token_budget"))
        wanted = self._runtime.read_conditions(attributes=scope.attributes, as_of=as_of, valid_at=valid_at)
        request = assembly.Request(
            session_id=session,
            message=check_text(user_message, field="user_message"),
            scope=scope,
            budget=budget,
            agent_state=payloads.fit(inputs.metadata(agent_state, field="agent_state")),
            wanted=wanted,
            now=entities.reference_time(wanted, components.clock()).astimezone(self._runtime.zone(time_zone)),
            plan=None if plan is None else retrieval_plan.plan_of(plan),
        )
        package, stood = components.assembler.assemble(self._tenant, request)
        if not looked_at:
            self._note_context(request, package, stood, started=started)
        return package

    def _note_context(
        self, request: "assembly.Request", package: "context.ContextPackage", seq: int, *, started: float
    ) -> None:
        """Note which items a session was shown; it is written asynchronously, while the agent replies."""
        shown, components = package.shown_ids(), self._components
        if shown:
            components.shown.note(
                self._tenant,
                request.scope.write_lane,
                session_id=request.session_id,
                context_id=package.context_id,
                item_ids=shown,
                seq=seq,
                aliases=package.aliases_by_section(),
            )
            self._runtime.wake_notes()
        row = activity.context_row(
            "compose_context",
            request.scope,
            package.ids_by_section(),
            session_id=request.session_id,
            context_id=package.context_id,
            at=to_micros(components.clock()),
            token_count=package.token_count,
            token_budget=package.token_budget,
            milliseconds=round((time.perf_counter() - started) * 1000, 1),
            abstained=bool(package.explain["retrieved"]["abstained"]),
        )
        components.activity.note_context(self._tenant, row)
        self._runtime.note_use(shown)

    def get(
        self,
        id: str | None = None,  # noqa: A002 - the contract's name
        *,
        external_id: str | None = None,
        user_id: str | None = None,
        namespace: str | None = None,
        as_of: Moment | None = None,
        valid_at: Moment | None = None,
    ) -> Item:
        """Return an item, whatever its status, as the record of its kind.

        That is a `Trait`, a `ReasoningItem`, an `L1Event`, a `Pattern` or a `Principle`, else an `Item`. With
        ``external_id`` instead of ``id`` it is the item to which ``add`` gave that id in the lane of ``user_id``, else
        in ``namespace``; archived and ended items no longer have theirs.

        NotFound if there is none, it was erased, or it is another user's than ``user_id``. Every verb that takes an id
        takes ``user_id`` so: a server that passes the id of its end user lets nobody reach another's item.
        """
        if (id is None) == (external_id is None):
            raise InputError("give either id or external_id", field="id")
        if id is not None and namespace is not None:
            raise InputError("namespace goes with external_id; an id needs none", field="namespace")
        wanted = self._runtime.read_conditions(as_of=as_of, valid_at=valid_at)
        if external_id is not None:
            lane = make_scope(user_id=user_id, namespace=namespace).write_lane
            name = check_id(external_id, field="external_id")
            item = external_ids.item_named(self._components, self._tenant, lane, name, wanted)
        else:
            item = self._components.browser.get(self._tenant, self._runtime.item_id(id, user_id), wanted)
        if item.kind == records.REASONING:
            return item_records.reasoning_item(item)
        if item.kind == TRAIT:
            return self._components.traits.as_trait(self._tenant, item, wanted.as_of)
        return self._components.experience.record(self._tenant, item, wanted.as_of)

    def get_all(
        self,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        run_id: str | None = None,
        namespace: str | None = None,
        kinds: Sequence[str] | None = None,
        filters: Mapping[str, Any] | None = None,
        limit: int = 100,
        cursor: str | None = None,
        across: str | None = None,
        as_of: Moment | None = None,
        valid_at: Moment | None = None,
    ) -> Page[Item]:
        """Return the items that the scope sees, newest first, a page of ``limit`` items.

        Pass the page's ``next_cursor`` as ``cursor``, with the same scope, kinds, filters and times, for the next page;
        None: this was the last. Items stored, archived or erased meanwhile cause neither repeats nor gaps. InputError
        for a cursor of another listing or of another memory.
        """
        scope = make_scope(
            user_id=user_id, namespace=namespace, agent_id=agent_id, session_id=session_id, run_id=run_id, across=across
        )
        wanted = self._runtime.read_conditions(
            kinds=kinds, attributes=scope.attributes, filters=filters, scope=scope, as_of=as_of, valid_at=valid_at
        )
        count, after = inputs.limit(limit, most=MAX_LIMIT), inputs.cursor(cursor)
        return self._components.browser.list_items(self._tenant, scope, wanted, limit=count, cursor=after)

    def history(
        self,
        id: str,  # noqa: A002 - the contract's name
        *,
        user_id: str | None = None,
        as_of: Moment | None = None,
        valid_at: Moment | None = None,
    ) -> list[HistoryEvent]:
        """Return an item's changes, oldest first; each ``delta_id`` can be rolled back."""
        wanted = self._runtime.read_conditions(as_of=as_of, valid_at=valid_at)
        item_id = self._runtime.item_id(id, user_id)
        return Records(self._components.browser.history(self._tenant, item_id, wanted))

    def explain(
        self,
        id: str,  # noqa: A002 - the contract's name
        *,
        user_id: str | None = None,
        as_of: Moment | None = None,
        valid_at: Moment | None = None,
    ) -> Explanation:
        """Return why an item is held, or was ``as_of`` a time. Accepts citations too.

        The answer has entry, source and quotation, evidence, edges and history, and how often the item was shown and
        used (`commit_turn`). An item without any source left has ``needs_validation``.
        """
        wanted = self._runtime.read_conditions(as_of=as_of, valid_at=valid_at)
        item_id = self._runtime.item_id(id, user_id)
        self._components.usage.settle(self._tenant, patient=False)
        return self._components.browser.explain(self._tenant, item_id, wanted)


def note_found(runtime: Runtime, scope: Scope, items: Sequence[Item]) -> None:
    """Note what a search found: recall counts as use and delays forgetting, and the next reflection counts traits."""
    traits = [item.id for item in items if item.kind == TRAIT]
    if traits and scope.user_id is not None:
        runtime.components.shown.note_search(runtime.tenant, scope.write_lane, item_ids=traits)
        runtime.wake_notes()
    runtime.note_use([item.id for item in items])


class Sessions(Verbs):
    """The group ``memory.sessions``: list and turns."""

    def turns(
        self,
        session_id: str,
        *,
        user_id: str | None = None,
        namespace: str | None = None,
        as_of: Moment | None = None,
        last: int | None = None,
        before: int | None = None,
    ) -> list[Turn]:
        """Return a session's turns as they were recorded, in order; ``as_of`` leaves out later ones.

        A message that was sent again under its id appears where it was first said. ``last`` is the maximum number, the
        newest; ``before`` leaves out the turn of that number and later ones. Together they page through a long session
        from its end.
        """
        scope = make_scope(user_id=user_id, namespace=namespace)
        session, wanted = check_id(session_id, field="session_id"), self._runtime.read_conditions(as_of=as_of)
        most = None if last is None else inputs.limit(last, most=MAX_LIMIT, field="last")
        end = None if before is None else inputs.limit(before, most=MAX_NUMBER, field="before")
        browser, tenant = self._components.browser, self._tenant
        return Records(browser.turns(tenant, scope, session, last=most, before=end, as_of=wanted.as_of))

    def list(
        self,
        *,
        user_id: str | None = None,
        namespace: str | None = None,
        across: str | None = None,
        as_of: Moment | None = None,
    ) -> list[SessionInfo]:
        """Return the sessions a scope sees, latest first; ``as_of`` leaves out those that began later."""
        scope = make_scope(user_id=user_id, namespace=namespace, across=across)
        browser, wanted = self._components.browser, self._runtime.read_conditions(as_of=as_of)
        return Records(browser.sessions(self._tenant, scope, wanted))
