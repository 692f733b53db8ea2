"""Verbs on activity, part of memory.admin: contexts composed, requests answered, and what was not learned."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Final

from phronesis.core.ids import REMOTE_PREFIX, LaneName, Scope, is_id, make_scope, parse_id
from phronesis.core.lazy_loading import lazy_module
from phronesis.core.reports import Page
from phronesis.core.text import check_id
from phronesis.core.timestamps import Moment, from_micros, parse_moment, to_micros
from phronesis.errors import InputError, NotFound
from phronesis.log import inputs
from phronesis.memory.runtime import Verbs
from phronesis.recall.as_of import known_at, visible_lanes
from phronesis.store.items import read_items
from phronesis.store.lanes import get_lane
from phronesis.store.relations import read_edges

if TYPE_CHECKING:
    from phronesis.core import context as records
    from phronesis.core import relations
    from phronesis.core.items import Item
    from phronesis.recall import browse
    from phronesis.store import activity_log, credentials, impressions
    from phronesis.store.database import Unit
else:
    records = lazy_module("phronesis.core.context")
    relations = lazy_module("phronesis.core.relations")
    activity_log = lazy_module("phronesis.store.activity_log")
    credentials = lazy_module("phronesis.store.credentials")
    impressions = lazy_module("phronesis.store.impressions")
    browse = lazy_module("phronesis.recall.browse")

MAX_ROWS: Final = 1_000
"""Maximum rows of one page."""


class ActivityVerbs(Verbs):
    """The verbs contexts, context, requests, latencies and unlearned."""

    def contexts(
        self,
        *,
        user_id: str | None = None,
        namespace: str | None = None,
        session_id: str | None = None,
        agent_id: str | None = None,
        item_id: str | None = None,
        verb: str | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
        limit: int = 50,
        cursor: str | None = None,
        across: str | None = None,
    ) -> "Page[records.ContextRecord]":
        """Return the contexts composed for a user or namespace, newest first, a page of ``limit``.

        Each has its tokens, its latency and the ids of the items that it showed; ``context`` reads one with its items.
        Recorded are ``compose_context`` without ``dry_run``, and searches over MCP (``verb="search"``). ``item_id``
        selects those that showed an item. A record is written in the background a moment later, and kept as long as
        the policy's ``activity`` says; ``erase`` of a user or session deletes theirs.
        """
        scope = make_scope(user_id=user_id, namespace=namespace, across=across)
        session = None if session_id is None else check_id(session_id, field="session_id")
        count, before = inputs.limit(limit, most=MAX_ROWS), _position(cursor)
        owner = None if scope.across_tenant else impressions.owner_of(scope.write_lane)
        if session is not None and owner is None:
            raise InputError(
                "give the user_id or namespace of session_id: others may have that name too", field="across"
            )
        wanted = activity_log.ContextQuery(
            owner=owner,
            session=None if session is None else impressions.session_of(scope.write_lane, session),
            verb=verb,
            agent_id=None if agent_id is None else check_id(agent_id, field="agent_id"),
            item_id=None if item_id is None else parse_id(item_id, field="item_id"),
            **_times(since, until),
        )
        self._settle_activity()
        with self._runtime.components.database.transaction(self._runtime.tenant, "read") as unit:
            rows = activity_log.list_contexts(unit, wanted, before=before, limit=count + 1)
            shown = _context_records(unit, rows[:count])
        return Page(tuple(shown), rows[count - 1].context_id if len(rows) > count else None)

    def context(self, context_id: str) -> "records.ContextDetail":
        """Return a context of the log with the items that it showed, as they are now.

        ``state`` of each says whether it changed or ended since, ``before`` how it read then, ``outcome`` whether the
        reply used, ignored or contradicted it (`commit_turn`). NotFound if the log has
        no such context (any longer).
        """
        asked = parse_id(context_id, field="context_id")
        self._settle_activity()
        with self._runtime.components.database.transaction(self._runtime.tenant, "read") as unit:
            row = activity_log.find_context(unit, asked)
            if row is None:
                raise NotFound(
                    f"the log has no context {asked}; the policy's activity says how many it keeps", field="context_id"
                )
            (record,) = _context_records(unit, [row])
            return records.ContextDetail(context=record, items=_shown_items(unit, row))

    def requests(
        self,
        *,
        user_id: str | None = None,
        interface: str | None = None,
        route: str | None = None,
        failed: bool | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> "Page[records.RequestRecord]":
        """Return the requests that a server answered for the tenant, newest first, a page of ``limit``.

        Those of the HTTP API (``interface="http"``) and calls of MCP tools (``"mcp"``). They are recorded as contexts
        are (`contexts`).
        """
        count, before = inputs.limit(limit, most=MAX_ROWS), _position(cursor)
        wanted = _request_query(user_id, interface, route, failed, _times(since, until))
        self._settle_activity()
        with self._runtime.components.database.transaction(self._runtime.tenant, "read") as unit:
            rows = activity_log.list_requests(unit, wanted, before=before, limit=count + 1)
            shown = _request_records(unit, rows[:count])
        return Page(tuple(shown), rows[count - 1].request_id if len(rows) > count else None)

    def latencies(
        self,
        *,
        user_id: str | None = None,
        interface: str | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
    ) -> "list[records.RouteLatency]":
        """Return the median and 95th percentile of the recorded requests' times by route, the most frequent first."""
        wanted = _request_query(user_id, interface, None, None, _times(since, until))
        self._settle_activity()
        with self._runtime.components.database.transaction(self._runtime.tenant, "read") as unit:
            return records.route_latencies(activity_log.list_timings(unit, wanted))

    def unlearned(
        self,
        *,
        user_id: str | None = None,
        namespace: str | None = None,
        across: str | None = None,
        rule: str | None = None,
        role: str | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> "Page[records.UnlearnedText]":
        """Return the texts from which nothing was learned, latest first, each with the rule and the reason.

        Those that a gate refused (``gated`` of ``add`` and ``commit_turn``), messages that repeat held ones
        (``duplicate_message``), and what a user said of which the extractor made nothing (``unrecognised``). ``role``
        is that of the message: user, assistant, tool. ``add`` with a ``kind`` remembers such a text anyway. A page has
        at most ``limit`` texts; it may have fewer and a ``next_cursor`` all the same, since a call reads a bounded
        number of entries.
        """
        scope = make_scope(user_id=user_id, namespace=namespace, across=across)
        wanted = browse.UnlearnedQuery(rule=rule, role=role, **_times(since, until))
        count, after = inputs.limit(limit, most=MAX_ROWS), inputs.cursor(cursor)
        with self._runtime.components.database.transaction(self._runtime.tenant, "read") as unit:
            lanes = visible_lanes(unit, scope)
            return browse.unlearned_page(unit, lanes, wanted, everywhere=scope.across_tenant, limit=count, cursor=after)

    def _settle_activity(self) -> None:
        """Write what this process has queued, so that a reader sees it."""
        self._runtime.components.activity.settle(self._runtime.tenant)


def context_row(
    verb: str, scope: Scope, shown: "dict[str, list[str]]", *, session_id: str | None = None, **figures: Any
) -> "activity_log.ContextRow":
    """Return the row of a context composed in a scope; ``figures`` are its id, time, tokens and latency."""
    lane = scope.write_lane
    return activity_log.ContextRow(
        verb=verb,
        owner=impressions.owner_of(lane),
        session=None if session_id is None else impressions.session_of(lane, session_id),
        namespace=scope.namespace,
        agent_id=scope.agent_id,
        shown=shown,
        **figures,
    )


def _position(cursor: str | None) -> str | None:
    """Return the id after which a page begins."""
    given = inputs.cursor(cursor)
    if given is not None and not is_id(given):
        raise InputError("cursor is none of this listing; give next_cursor as it came", field="cursor")
    return given


def _times(since: Moment | None, until: Moment | None) -> dict[str, int | None]:
    return {
        "since": None if since is None else to_micros(parse_moment(since, field="since")),
        "until": None if until is None else to_micros(parse_moment(until, field="until")),
    }


def _request_query(
    user_id: str | None, interface: str | None, route: str | None, failed: bool | None, times: dict[str, int | None]
) -> "activity_log.RequestQuery":
    user = None if user_id is None else activity_log.user_number(check_id(user_id, field="user_id"))
    only = None if failed is None else inputs.flag(failed, field="failed")
    return activity_log.RequestQuery(owner=user, interface=interface, route=route, failed=only, **times)


def _context_records(unit: "Unit", rows: "Sequence[activity_log.ContextRow]") -> "list[records.ContextRecord]":
    """Return rows with the names of their users and sessions."""
    lanes = activity_log.lanes_by_number(unit, {row.owner for row in rows})
    names = activity_log.sessions_by_number(unit, set(lanes.values()), {row.session for row in rows if row.session})
    return [_context_record(row, lanes.get(row.owner, (0, None))[1], names) for row in rows]


def _context_record(
    row: "activity_log.ContextRow", lane: LaneName | None, names: dict[str, str]
) -> "records.ContextRecord":
    own = {name: value for name, value in asdict(row).items() if name not in {"owner", "session", "at"}}
    shared = LaneName("shared", row.namespace or "")
    return records.ContextRecord(
        **own,
        at=from_micros(row.at),
        user_id=lane.name if lane is not None and lane.kind == "user" else None,
        unknown_user=lane is None and row.owner != impressions.owner_of(shared),
        session_id=names.get(row.session or ""),
    )


def _request_records(unit: "Unit", rows: "Sequence[activity_log.RequestRow]") -> "list[records.RequestRecord]":
    """Return rows with the names of their users and the labels of their keys."""
    lanes = activity_log.lanes_by_number(unit, {row.owner for row in rows if row.owner is not None})
    labels = {key.id: key.label for key in credentials.list_keys(unit)} if any(row.key_id for row in rows) else {}
    return [
        records.RequestRecord(
            **{name: value for name, value in asdict(row).items() if name not in {"owner", "at"}},
            at=from_micros(row.at),
            key_label=labels.get(row.key_id or ""),
            user_id=lanes[row.owner][1].name if row.owner in lanes else None,
        )
        for row in rows
    ]


def _shown_items(unit: "Unit", row: "activity_log.ContextRow") -> "list[records.ShownItem]":
    """Return the items of a context as they are now, in the order of its sections."""
    sections = [name for name in records.SHOWN_SECTIONS if name in row.shown]
    sections += sorted(row.shown.keys() - set(sections))
    ids = {one for held in row.shown.values() for one in held}
    now, then = _items_now_and_then(unit, ids, row.at)
    outcomes = _outcomes_of(unit, row, ids)
    return [
        replace(_shown_item(name, one, now.get(one), then.get(one)), outcome=outcomes.get(one))
        for name in sections
        for one in row.shown[name]
    ]


def _outcomes_of(
    unit: "Unit", row: "activity_log.ContextRow", ids: Iterable[str]
) -> "dict[str, relations.ItemOutcome]":
    """Return what became of the items of a context."""
    found = [
        edge
        for lane_id, _ in activity_log.lanes_by_number(unit, {row.owner}).values()
        for edge in read_edges(unit, lane_id, ids, incoming=True, types=(relations.CONTEXT_OUTCOME,))
    ]
    return relations.outcomes_in(row.context_id, found)


def _items_now_and_then(unit: "Unit", ids: Iterable[str], at: int) -> "tuple[dict[str, Item], dict[str, Item]]":
    now: dict[str, Item] = {}
    then: dict[str, Item] = {}
    for lane_id, held in activity_log.lanes_of_items(unit, sorted(one for one in ids if is_id(one))).items():
        found = read_items(unit, get_lane(unit, lane_id), held)
        now |= found
        then |= {item.id: item for item in known_at(unit, lane_id, found.values(), at)}
    return now, then


def _shown_item(section: str, item_id: str, now: "Item | None", then: "Item | None") -> "records.ShownItem":
    state: records.ShownState = "same"
    changed = now is not None and then is not None and (now.content, now.value) != (then.content, then.value)
    if now is None:
        state = "remote" if item_id.startswith(REMOTE_PREFIX) else "gone"
    elif now.quarantine is not None:
        state = "quarantined"
    elif now.ended is not None:
        state = "ended"
    elif now.status == "archived":
        state = "archived"
    elif changed:
        state = "changed"
    before = then.content if changed and then is not None else None
    return records.ShownItem(section=section, item_id=item_id, state=state, item=now, before=before)
