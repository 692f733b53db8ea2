"""Reads by id and listings: items, history, explanations, sessions and turns, and texts that became no memory."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from phronesis.core.changes import Delta
from phronesis.core.context import NOTHING_PROPOSED, UNRECOGNISED, UnlearnedText
from phronesis.core.entries import Entry, MessageRow, Outcome, TurnPayload, TurnRow, payload_of
from phronesis.core.ids import Scope, is_id, item_id
from phronesis.core.items import Item
from phronesis.core.lazy_loading import lazy_module
from phronesis.core.proposals import DUPLICATE, GATED, Gated, Refusal, proposals_in, refusals_in
from phronesis.core.relations import CONTEXT_OUTCOME, UNUSED, uses_of
from phronesis.core.reports import Page
from phronesis.core.results import Explanation, HistoryEvent, SessionInfo, Turn
from phronesis.core.serialization import decode, round_stored
from phronesis.core.timestamps import to_micros
from phronesis.errors import InputError, NotFound
from phronesis.log.payloads import entry_of, fit, load_listed, texts_of
from phronesis.recall.as_of import PageRequest, as_known, edges_at, history_at, known_at, page_of, visible_lanes
from phronesis.recall.evidence import items_with_same_content, known_evidence, sources_of
from phronesis.store import conversations
from phronesis.store.database import Database, Unit
from phronesis.store.deltas import deltas_of_entry
from phronesis.store.eligible import ItemPosition, ReadConditions, items_in_quarantine
from phronesis.store.items import lane_of_item, read_items
from phronesis.store.lane_view import LaneView
from phronesis.store.lanes import Lane, get_lane
from phronesis.store.log import EntryRow, entries_back, failures_of, find_entry, read_outcomes, read_parts
from phronesis.store.relations import read_edges
from phronesis.store.retention import count_uses

if TYPE_CHECKING:
    from phronesis.experience.laws import evidence_fold
else:
    evidence_fold = lazy_module("phronesis.experience.laws.evidence_fold")


@dataclass(frozen=True, slots=True)
class Browser:
    """Reads items, history, sessions and turns. It never writes."""

    database: Database

    def get(self, tenant: str, item_id: str, wanted: ReadConditions) -> Item:
        """Return an item whatever its status; NotFound if there is none, or none at the requested times."""
        with self.database.transaction(tenant, "read") as unit:
            return _find_at(unit, item_id, wanted)[1]

    def list_items(
        self, tenant: str, scope: Scope, wanted: ReadConditions, *, limit: int, cursor: str | None = None
    ) -> Page[Item]:
        """Return the items that a scope sees, newest first: the page after ``cursor``, or the first."""
        kinds = None if wanted.kinds is None else sorted(wanted.kinds)
        listing = {"list": "items", "scope": asdict(scope), "wanted": asdict(replace(wanted, kinds=kinds, now=None))}
        with self.database.transaction(tenant, "read") as unit:
            return page_of(unit, visible_lanes(unit, scope), wanted, PageRequest(listing, limit, cursor))

    def in_quarantine(self, tenant: str, scope: Scope, *, limit: int) -> list[Item]:
        """Return the quarantined items of a scope's lanes, newest first."""
        with self.database.transaction(tenant, "read") as unit:
            lanes = visible_lanes(unit, scope)
            found = [item for lane in lanes for item in items_in_quarantine(unit, lane, scope.attributes, limit=limit)]
        return sorted(found, key=ItemPosition.of, reverse=True)[:limit]

    def history(self, tenant: str, item_id: str, wanted: ReadConditions) -> list[HistoryEvent]:
        """Return an item's changes up to ``as_of``, oldest first."""
        with self.database.transaction(tenant, "read") as unit:
            lane, item = _find_at(unit, item_id, wanted)
            return history_at(unit, lane, item, wanted.as_of)

    def explain(self, tenant: str, item_id: str, wanted: ReadConditions) -> Explanation:
        """Return why an item is held, or was, down to the log."""
        with self.database.transaction(tenant, "read") as unit:
            lane, item = _find_at(unit, item_id, wanted)
            rows = known_evidence(unit, lane.lane_id, [item_id], as_of=wanted.as_of).get(item_id, [])
            edges = read_edges(unit, lane.lane_id, [item_id]) + read_edges(unit, lane.lane_id, [item_id], incoming=True)
            edges = edges_at(unit, lane, edges, wanted.as_of)
            outcomes = [edge for edge in edges if edge.type == CONTEXT_OUTCOME and edge.to_id == item_id]
            sources = sources_of(unit, lane.lane_id, [item], as_of=wanted.as_of)[item_id]
            sources = [source for source in sources if find_entry(unit, source.entry_id) is not None]
            shown = count_uses(unit, lane.lane_id, item_id) if wanted.as_of is None else 0  # counts have no time
            use = uses_of(outcomes).get(item.id, UNUSED)
            voices = evidence_fold.sum_judgements(row for row in rows if not row.part)
            return Explanation(
                item=item,
                sources=tuple(sources),
                evidence=tuple(row.to_dict() for row in rows),
                edges=tuple(edge.to_row() for edge in edges if edge not in outcomes),
                history=tuple(history_at(unit, lane, item, wanted.as_of)),
                needs_validation=not sources,
                use=replace(
                    use,
                    shown=max(shown, (item.data.get("use") or {}).get("count", 0)),  # of the last `forget`
                    usefulness=round_stored(evidence_fold.usefulness(voices, use)),
                ),
            )

    def items_with_same_content(self, tenant: str, chosen: Sequence[Item], words: str | None = None) -> list[Item]:
        """Return the live items to forget together with the ``chosen`` ones (`evidence.items_with_same_content`)."""
        with self.database.transaction(tenant, "read") as unit:
            lanes: dict[int, tuple[Lane, list[Item]]] = {}
            for item in chosen:
                lane, found = find_item(unit, item.id)
                lanes.setdefault(lane.lane_id, (lane, []))[1].append(found)
            return [
                one
                for lane, named in lanes.values()
                for one in items_with_same_content(LaneView(unit, lane), named, words)
            ]

    def made_by(self, tenant: str, entry: Entry) -> Sequence[Item]:
        """Return the items that an entry made or changed, as it left them, in order."""
        return [item for _, item in self.changed_by(tenant, entry)]

    def changed_by(self, tenant: str, entry: Entry) -> list[tuple[Delta, Item]]:
        """Return an entry's changes in order, each with its item as the entry left it."""
        with self.database.transaction(tenant, "read") as unit:
            lane = get_lane(unit, entry.lane_id)
            deltas = {delta.item_id: delta for delta in deltas_of_entry(unit, entry.lane_id, entry.id)}
            found = read_items(unit, lane, deltas)
            present = [found[item_id] for item_id in deltas if item_id in found]
            known = known_at(unit, lane.lane_id, present, to_micros(entry.recorded_at))
            return [(deltas[item.id], item) for item in known]

    def gated_by(self, tenant: str, entry: Entry) -> list[Gated]:
        """Return the parts of an entry that made no item, with reasons: repeated messages and refused proposals."""
        with self.database.transaction(tenant, "read") as unit:
            rows = conversations.repeats_of_entries(unit, [entry.id])
            made = {delta.item_id for delta in deltas_of_entry(unit, entry.lane_id, entry.id) if delta.op == "create"}
            outcomes = outcomes_by_role(read_outcomes(unit, [entry.id])[entry.id])
        return gated_in(entry, rows, made, refusals_in(entry, outcomes))

    def sessions(self, tenant: str, scope: Scope, wanted: ReadConditions) -> list[SessionInfo]:
        """Return the sessions that a scope sees, latest first; with ``as_of`` those begun by then, as they are now."""
        with self.database.transaction(tenant, "read") as unit:
            lanes = {lane.lane_id: lane for lane in visible_lanes(unit, scope)}
            # A tenant-wide listing needs no lane filter, which would exceed the parameter limit.
            found = conversations.list_sessions(unit, None if scope.across_tenant else list(lanes))
            return [
                SessionInfo(
                    session_id=row.session_id,
                    user_id=lanes[lane_id].user_id,
                    namespace=lanes[lane_id].namespace,
                    created_at=row.created_at,
                    updated_at=row.updated_at,
                    turn_count=row.turn_count,
                    message_count=row.message_count,
                    metadata=row.metadata,
                )
                for lane_id, row in found
                if wanted.as_of is None or to_micros(row.created_at) <= wanted.as_of
            ]

    def turns(
        self,
        tenant: str,
        scope: Scope,
        session_id: str,
        *,
        last: int | None = None,
        before: int | None = None,
        as_of: int | None = None,
    ) -> list[Turn]:
        """Return a session's turns as recorded, in order, each message once; see ``turns_of``.

        Repeated messages are left out, and so are turns that contain nothing else.
        """
        with self.database.transaction(tenant, "read") as unit:
            found = turns_of(unit, visible_lanes(unit, scope), session_id, last=last, before=before, as_of=as_of)
            named = [one.entry_id for one in found if any("id" in message for message in one.messages)]
            repeats = {(row.entry_id, row.n) for row in conversations.repeats_of_entries(unit, named)} if named else ()
        kept: list[Turn] = []
        for one in found:
            own = tuple(message for n, message in enumerate(one.messages) if (one.entry_id, n) not in repeats)
            if len(own) == len(one.messages):
                kept.append(one)
            elif own or one.tool_calls or one.refs:
                kept.append(replace(one, messages=own))
        return kept if last is None else kept[-last:]


def turns_of(
    unit: Unit,
    lanes: Sequence[Lane],
    session_id: str,
    *,
    last: int | None = None,
    before: int | None = None,
    as_of: int | None = None,
) -> list[Turn]:
    """Return a session's turns in these lanes, in order.

    Limited to turns before number ``before``, to the ``last`` of each lane, and to ``as_of``.
    """
    out: list[Turn] = []
    for lane in lanes:
        rows = conversations.list_turns(unit, lane.lane_id, session_id, last=last, before=before, as_of=as_of)
        entries = load_listed(unit, lane, [row.entry_id for row in rows]) if rows else {}
        out += [_turn(row, entries[row.entry_id]) for row in rows]
    return out


def find_lane_of_item(unit: Unit, item_id: str, *, owner: str | None = None) -> Lane:
    """Return the lane of an item; NotFound if this tenant has none of that id, or it is another user's than ``owner``.

    Both errors are the same, so that nobody learns which ids exist.
    """
    lane_id = lane_of_item(unit, item_id)
    lane = None if lane_id is None else get_lane(unit, lane_id)
    if lane is None or lane.is_foreign_to(owner):
        raise NotFound(f"there is no item {item_id} in this tenant; it may have been erased", field="id")
    return lane


def find_item(unit: Unit, item_id: str) -> tuple[Lane, Item]:
    """Return an item with its lane; NotFound if this tenant has none of that id."""
    lane = find_lane_of_item(unit, item_id)
    return lane, read_items(unit, lane, [item_id])[item_id]


def gated_in(
    entry: Entry, rows: Iterable[MessageRow], made: AbstractSet[str], refusals: Iterable[Refusal]
) -> list[Gated]:
    """Return the parts of an entry that made no item, with reasons.

    A message whose row points to an item of another entry is a repetition; nothing else is reported of it.
    """
    out, known = list[Gated](), set[int]()
    for row in rows:
        if row.item_id not in made:
            known.add(row.n)
            words = str(payload_of(entry, TurnPayload)["messages"][row.n].get("content"))
            why = f"the session holds message {row.message_id!r} with these words already, as mem:{row.item_id}"
            out.append(Gated(words, DUPLICATE, why))
    return out + [Gated(one.text, one.rule, one.reason) for one in refusals if one.n not in known]


def outcomes_by_role(rows: Iterable[Mapping[str, Any]]) -> dict[str, list[Outcome]]:
    """Return the recorded outcomes of an entry, by role."""
    out: dict[str, list[Outcome]] = {}
    for row in rows:
        made = Outcome(role=row["role"], made_by=row["made_by"], n=row["n"], body=decode(row["body"]))
        out.setdefault(made.role, []).append(made)
    return out


def _find_at(unit: Unit, item_id: str, wanted: ReadConditions) -> tuple[Lane, Item]:
    lane, item = find_item(unit, item_id)
    found = as_known(unit, lane.lane_id, [item], wanted)
    if not found:
        raise NotFound(f"item {item_id} was not known or did not hold at the time asked for", field="id")
    return lane, found[0]


def _turn(row: TurnRow, entry: Entry) -> Turn:
    payload = payload_of(entry, TurnPayload)
    return Turn(
        entry_id=entry.id,
        session_id=row.session_id,
        number=row.number,
        recorded_at=entry.recorded_at,
        messages=tuple(payload.get("messages", ())),
        tool_calls=tuple(payload.get("tool_calls", ())),
        refs=tuple(payload.get("refs", ())),
        session_metadata=payload.get("session_metadata") or {},
        metadata=payload.get("metadata") or {},
    )


# Texts that became no memory, from the outcomes beside the entries, latest first, a bounded number for each page.

SCANNED: Final = 400
"""Maximum entries read for one page: what a rule or a role selects may be rare."""

BATCH: Final = 50
"""Entries read at a time."""

VERBS: Final = ("turn", "add", "item")
"""Verbs whose entries say something to remember."""

_DIGITS: Final = 6
"""Maximum digits of the number in a cursor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnlearnedQuery:
    """Which texts: of a rule, said in a role, recorded from ``since`` and before ``until`` (microseconds)."""

    rule: str | None = None
    role: str | None = None
    since: int | None = None
    until: int | None = None

    def takes(self, one: UnlearnedText) -> bool:
        """Return whether a text is of the rule and the role."""
        return self.rule in (None, one.rule) and self.role in (None, one.role)


def unlearned_page(
    unit: Unit, lanes: Sequence[Lane], wanted: UnlearnedQuery, *, everywhere: bool, limit: int, cursor: str | None
) -> Page[UnlearnedText]:
    """Return what was not learned in these lanes, latest first.

    ``everywhere``: the lanes are all of the tenant's. A page has at most ``limit`` texts. It may have fewer, or none,
    and a cursor all the same, where many entries had to be read.
    """
    at, start = _read_cursor(cursor)
    by_id, found, read = {lane.lane_id: lane for lane in lanes}, list[UnlearnedText](), 0
    while by_id and read < SCANNED:
        chosen, times = None if everywhere else list(by_id), (wanted.since, wanted.until)
        rows = entries_back(unit, chosen, VERBS, upto=at, times=times, limit=BATCH)
        for entry_id, texts in _texts_of_entries(unit, by_id, rows):
            first = start if entry_id == at else 0
            for n, one in enumerate(texts[first:], first):
                if wanted.takes(one) and len(found) == limit:
                    return Page(tuple(found), f"{entry_id}.{n}")
                if wanted.takes(one):
                    found.append(one)
            at, start = entry_id, len(texts)
        if len(rows) < BATCH:
            return Page(tuple(found))
        read += len(rows)
    return Page(tuple(found), f"{at}.{start}" if by_id else None)


def _read_cursor(cursor: str | None) -> tuple[str | None, int]:
    """Return the entry that a page begins with, and the number of its first text."""
    if cursor is None:
        return None, 0
    entry_id, _, number = cursor.partition(".")
    if not is_id(entry_id) or not number.isdecimal() or len(number) > _DIGITS:
        raise InputError(
            "cursor is none of this listing; give next_cursor as it came, or leave cursor out to begin with the latest",
            field="cursor",
        )
    return entry_id, int(number)


def _texts_of_entries(
    unit: Unit, lanes: Mapping[int, Lane], rows: Sequence[EntryRow]
) -> Iterator[tuple[str, list[UnlearnedText]]]:
    """Yield each entry with what was not learned of it; nothing of entries that wait for their interpretation."""
    ids = [row.entry_id for row in rows]
    parts, outcomes, failed = read_parts(unit, ids), read_outcomes(unit, ids), failures_of(unit, ids)
    repeats: dict[str, dict[int, str]] = defaultdict(dict)
    for repeat in conversations.repeats_of_entries(unit, ids):
        repeats[repeat.entry_id].setdefault(repeat.n, repeat.item_id)
    for row in rows:
        lane = lanes.get(row.lane_id)
        if lane is None or row.seq > lane.applied_seq:
            yield row.entry_id, []
            continue
        entry, roles = entry_of(unit, row, parts[row.entry_id], lane), outcomes_by_role(outcomes[row.entry_id])
        yield row.entry_id, _unlearned(entry, roles, repeats[row.entry_id], is_failed=row.entry_id in failed)


def _unlearned(
    entry: Entry, outcomes: Mapping[str, Sequence[Outcome]], repeats: Mapping[int, str], *, is_failed: bool
) -> list[UnlearnedText]:
    """Return what was refused, then the messages that were not recognised, in order.

    ``repeats`` gives for messages that repeat held ones the item held.
    """
    payload, texts = entry.payload, texts_of(entry)
    messages, repeated = payload.get("messages", ()), repeats.keys()
    made_by = [one.made_by for one in outcomes.get(GATED, ()) for _ in one.body["refusals"]]
    refused = [(one, made_by[n] if n < len(made_by) else None) for n, one in enumerate(refusals_in(entry, outcomes))]
    out = [(one, by) for one, by in refused if one.n not in repeated and (one.n in texts or one.n >= len(messages))]
    told = {one.n for one, _ in out} | {one.n for one in proposals_in(outcomes) if not one.doubtful}
    why = "the session holds this message already"
    out += [(Refusal(n=n, text=texts[n], rule=DUPLICATE, reason=why), None) for n in repeated & texts.keys()]
    if not is_failed and payload.get("infer") is not False:
        quiet = (n for n in texts if n not in told | repeated and messages[n].get("role") == "user")
        rows = (Refusal(n=n, text=texts[n], rule=UNRECOGNISED, reason=NOTHING_PROPOSED) for n in quiet)
        out += [(one, None) for one in rows if one.text.strip()]
    return [
        UnlearnedText(
            id=f"{entry.id}.{place}",
            entry_id=entry.id,
            recorded_at=entry.recorded_at,
            text=fit(one.text),
            rule=one.rule,
            reason=one.reason,
            role=messages[one.n].get("role") if one.n < len(messages) else "tool" if messages else None,
            message=texts.get(one.n) or fit(payload.get("content")),
            item_id=repeats.get(one.n) or (item_id(entry.id, "message", str(one.n)) if one.n < len(messages) else None),
            session_id=payload.get("session_id"),
            user_id=entry.user_id,
            namespace=entry.namespace,
            extractor=by,
        )
        for place, (one, by) in enumerate(sorted(out, key=lambda pair: pair[0].n))
    ]
