"""Reads by id and listings: items, pages and cursors, history, explanations, sessions and turns."""

import base64
import binascii
import hmac
import json
from collections.abc import Container, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from phronesis.core.changes import Delta
from phronesis.core.context_outcomes import CONTEXT_OUTCOME, UNUSED, ItemUse, uses_of
from phronesis.core.entries import Entry, MessageRow, Outcome, TurnPayload, TurnRow, payload_of
from phronesis.core.items import Item
from phronesis.core.lazy_loading import lazy_module
from phronesis.core.proposals import DUPLICATE, Gated, Refusal, refusals_in
from phronesis.core.relations import Edge, EvidenceRow
from phronesis.core.reports import Page
from phronesis.core.results import Explanation, HistoryEvent, SessionInfo, Turn
from phronesis.core.scope import Scope
from phronesis.core.serialization import as_json, decode, encode, round_stored
from phronesis.core.timestamps import to_micros
from phronesis.errors import InputError, NotFound
from phronesis.log.payloads import keyed_hash, load_listed
from phronesis.recall.as_of import edges_at, held_at, history_at, known_at, visible_lanes
from phronesis.recall.evidence import going_with, known_evidence, sources_of
from phronesis.store import conversations
from phronesis.store.database import Database, Unit
from phronesis.store.deltas import deltas_of_entry
from phronesis.store.eligible import ItemPosition, ReadConditions, items_before, items_in_quarantine, newest_items
from phronesis.store.items import lane_of_item, read_items
from phronesis.store.lane_view import LaneView
from phronesis.store.lanes import Lane, find_secret, get_lane
from phronesis.store.log import find_entry, read_outcomes
from phronesis.store.relations import read_edges
from phronesis.store.retention import count_uses

if TYPE_CHECKING:
    from phronesis.experience.laws import feedback_weights
else:
    feedback_weights = lazy_module("phronesis.experience.laws.feedback_weights")

# Cursors of listings: signed, and valid for one listing only.

_FORM: Final = 1
"""Version of the cursor's format."""

_SIGNED: Final = 16
"""Bytes of the signature: as many as a UUID has."""

_MOST: Final = 512
"""Maximum characters of a cursor; issued ones have about 200."""


def write_cursor(unit: Unit, place: ItemPosition, listing: Mapping[str, Any]) -> str:
    """Return the cursor of a page that ended at ``place``; ``listing`` holds all values that determine the listing."""
    secret = find_secret(unit) or b""  # a tenant that has an item has a secret
    body = encode([_FORM, place.recorded_at, place.position, place.id, _name(secret, listing)])
    return base64.urlsafe_b64encode(_signature(secret, body) + body).decode("ascii").rstrip("=")


def read_cursor(unit: Unit, cursor: str, listing: Mapping[str, Any]) -> ItemPosition:
    """Return the position in a cursor of this listing; InputError for any other text."""
    secret = find_secret(unit)
    signed = _decode_cursor(cursor) if secret is not None and len(cursor) <= _MOST else None
    if secret is None or signed is None or not hmac.compare_digest(signed[0], _signature(secret, signed[1])):
        raise InputError(
            "cursor is none that this memory gave to this tenant; give next_cursor as it came, or leave cursor out to"
            " begin with the newest",
            field="cursor",
        )
    form, recorded_at, position, item_id, name = json.loads(signed[1])
    if form != _FORM or name != _name(secret, listing):
        raise InputError(
            "cursor is of another listing; give the scope, kinds, filters and times of the page that it came with, or"
            " leave cursor out to begin with the newest",
            field="cursor",
        )
    return ItemPosition(recorded_at, position, item_id)


def _name(secret: bytes, listing: Mapping[str, Any]) -> str:
    return keyed_hash(secret, "listing", encode(as_json(listing)))[: 2 * _SIGNED]


def _signature(secret: bytes, body: bytes) -> bytes:
    return bytes.fromhex(keyed_hash(secret, "cursor", body))[:_SIGNED]


def _decode_cursor(cursor: str) -> tuple[bytes, bytes] | None:
    """Return signature and body; None for a malformed cursor or another encoding."""
    try:
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
    if base64.urlsafe_b64encode(raw).decode("ascii").rstrip("=") != cursor:
        return None
    return raw[:_SIGNED], raw[_SIGNED:]


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
            found = [
                item
                for lane in visible_lanes(unit, scope)
                for item in items_in_quarantine(unit, lane, scope.attributes, limit=limit)
            ]
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
            kept = [source for source in sources if find_entry(unit, source.entry_id) is not None]
            shown = count_uses(unit, lane.lane_id, item_id) if wanted.as_of is None else 0  # counts have no time
            return Explanation(
                item=item,
                sources=tuple(kept),
                evidence=tuple(row.to_dict() for row in rows),
                edges=tuple(edge.to_row() for edge in edges if edge not in outcomes),
                history=tuple(history_at(unit, lane, item, wanted.as_of)),
                needs_validation=not kept,
                use=_use_of(item, rows, outcomes, shown=shown),
            )

    def going_with(self, tenant: str, chosen: Sequence[Item], words: str | None = None) -> list[Item]:
        """Return the live items to forget together with the ``chosen`` ones (`evidence.going_with`)."""
        with self.database.transaction(tenant, "read") as unit:
            lanes: dict[int, tuple[Lane, list[Item]]] = {}
            for item in chosen:
                lane, found = find_item(unit, item.id)
                lanes.setdefault(lane.lane_id, (lane, []))[1].append(found)
            return [one for lane, named in lanes.values() for one in going_with(LaneView(unit, lane), named, words)]

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
            outcomes: dict[str, list[Outcome]] = {}
            for row in read_outcomes(unit, [entry.id])[entry.id]:
                outcome = Outcome(role=row["role"], made_by=row["made_by"], n=row["n"], body=decode(row["body"]))
                outcomes.setdefault(outcome.role, []).append(outcome)
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
        shown = [_without_repeats(one, repeats) for one in found] if repeats else found
        kept = [
            one
            for one, whole in zip(shown, found, strict=True)
            if one is whole or one.messages or one.tool_calls or one.refs
        ]
        return kept if last is None else kept[-last:]


@dataclass(frozen=True, slots=True)
class PageRequest:
    """The requested page of a listing; ``listing`` holds all values that determine what is listed."""

    listing: Mapping[str, Any]
    limit: int
    cursor: str | None = None


def page_of(unit: Unit, lanes: Sequence[Lane], wanted: ReadConditions, asked: PageRequest) -> Page[Item]:
    """Return a page of the lanes' items that match, newest first."""
    before = None if asked.cursor is None else read_cursor(unit, asked.cursor, asked.listing)
    more = asked.limit + 1
    found = [
        item
        for lane in lanes
        for item in _items_as_known(
            unit, lane, items_before(unit, lane, wanted, before, limit=more if wanted.as_of is None else None), wanted
        )
    ]
    found.sort(key=ItemPosition.of, reverse=True)
    shown = tuple(found[: asked.limit])
    following = write_cursor(unit, ItemPosition.of(shown[-1]), asked.listing) if len(found) > asked.limit else None
    return Page(shown, following)


def _items_as_known(unit: Unit, lane: Lane, found: list[Item], wanted: ReadConditions) -> list[Item]:
    """Return a lane's items that were known and valid at the requested times, as they were then."""
    if wanted.as_of is None:
        return found
    known = [item for item in known_at(unit, lane.lane_id, found, wanted.as_of) if item.live]
    return known if wanted.valid_at is None else [item for item in known if held_at(item, wanted.valid_at)]


def items_of(
    unit: Unit, lanes: Sequence[Lane], wanted: ReadConditions, *, limit: int, weightiest: bool = False
) -> list[Item]:
    """Return the lanes' items that match, newest first; with ``weightiest`` the most important first."""
    out: list[Item] = []
    for lane in lanes:
        most = None if wanted.as_of is not None else limit
        found = newest_items(unit, lane, wanted, limit=most, weightiest=weightiest)
        out += _items_as_known(unit, lane, found, wanted)
    out.sort(key=ItemPosition.of, reverse=True)
    if weightiest:
        out.sort(key=lambda item: -item.importance)
    return out[:limit]


def items_by_id(unit: Unit, lanes: Sequence[Lane], ids: Iterable[str], wanted: ReadConditions) -> dict[str, Item]:
    """Return the given items that the lanes hold and an ordinary read shows, as of the requested times."""
    listed = list(ids)
    out: dict[str, Item] = {}
    for lane in lanes if listed else ():
        found = [item for item in read_items(unit, lane, listed).values() if item.quarantine is None]
        if wanted.as_of is not None:
            found = known_at(unit, lane.lane_id, found, wanted.as_of)
        if wanted.valid_at is not None:
            found = [item for item in found if held_at(item, wanted.valid_at)]
        out |= {item.id: item for item in found if item.live or (wanted.past and item.quarantine is None)}
    return out


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
    repeated = [row for row in rows if row.item_id not in made]
    known = {row.n for row in repeated}
    again = [
        Gated(
            str(payload_of(entry, TurnPayload)["messages"][row.n].get("content")),
            DUPLICATE,
            f"the session holds message {row.message_id!r} with these words already, as mem:{row.item_id}",
        )
        for row in repeated
    ]
    return again + [Gated(one.text, one.rule, one.reason) for one in refusals if one.n not in known]


def _find_at(unit: Unit, item_id: str, wanted: ReadConditions) -> tuple[Lane, Item]:
    lane, item = find_item(unit, item_id)
    found = known_at(unit, lane.lane_id, [item], wanted.as_of) if wanted.as_of is not None else [item]
    if wanted.valid_at is not None:
        found = [version for version in found if held_at(version, wanted.valid_at)]
    if not found:
        raise NotFound(f"item {item_id} was not known or did not hold at the time asked for", field="id")
    return lane, found[0]


def _use_of(item: Item, rows: Iterable[EvidenceRow], outcomes: Iterable[Edge], *, shown: int) -> ItemUse:
    """Return how an item was used, with its usefulness by feedback and by outcomes in contexts."""
    use = uses_of(outcomes).get(item.id, UNUSED)
    voices = feedback_weights.heard(row for row in rows if not row.part)
    shown = max(shown, (item.data.get("use") or {}).get("count", 0))  # of the last `forget`
    return replace(use, shown=shown, usefulness=round_stored(feedback_weights.usefulness(voices, use)))


def _without_repeats(turn: Turn, repeats: Container[tuple[str, int]]) -> Turn:
    kept = tuple(message for n, message in enumerate(turn.messages) if (turn.entry_id, n) not in repeats)
    return turn if len(kept) == len(turn.messages) else replace(turn, messages=kept)


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
