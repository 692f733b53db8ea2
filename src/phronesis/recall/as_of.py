"""Items, edges and evidence as of a time; listings and their cursors; lanes of a scope; history; external ids."""

import base64
import binascii
import hmac
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol, TypeVar

from phronesis.core.changes import Delta, as_of
from phronesis.core.ids import LaneName, Scope
from phronesis.core.items import Item
from phronesis.core.relations import Edge, EvidenceRow
from phronesis.core.reports import Page
from phronesis.core.results import HistoryEvent
from phronesis.core.serialization import as_json, encode
from phronesis.core.timestamps import to_micros
from phronesis.errors import InputError
from phronesis.log.payloads import keyed_hash
from phronesis.store.database import Database, Unit
from phronesis.store.deltas import deltas_of_items
from phronesis.store.eligible import ItemPosition, ReadConditions, items_before, newest_items
from phronesis.store.items import read_items, read_named
from phronesis.store.lanes import ActiveModel, Lane, active_model, find_lane, find_lanes, find_secret, list_lanes
from phronesis.store.log import find_entries, find_entry
from phronesis.store.named_items import EVERY, NamedRow, RowPage, heads_between, row_named, rows_between
from phronesis.store.relations import read_evidence
from phronesis.traits.laws.strength import RANKS


class EntryRecord(Protocol):
    """A record that an entry created."""

    @property
    def entry_id(self) -> str:
        """The id of the entry that created it."""
        ...


AnyEntryRecord = TypeVar("AnyEntryRecord", bound=EntryRecord)
T = TypeVar("T")


def known_at(unit: Unit, lane_id: int, items: Iterable[Item], moment: int) -> list[Item]:
    """Return the items as of ``moment`` (microseconds), without those that were not known yet."""
    present = [item for item in items if to_micros(item.recorded_at) <= moment]
    histories = deltas_of_items(unit, lane_id, [item.id for item in present if to_micros(item.updated_at) > moment])
    out: list[Item] = []
    for item in present:
        deltas = histories.get(item.id, ())
        later = [delta for delta in deltas if to_micros(delta.recorded_at) > moment]
        version = as_of(item, later[::-1])
        if later:  # bookkeeping is in no patch: the change before dates this version
            earlier = deltas[: len(deltas) - len(later)]
            version = replace(version, updated_at=earlier[-1].recorded_at if earlier else item.recorded_at)
        out.append(version)
    return out


def live_at(unit: Unit, lane: Lane, ids: Iterable[str], moment: int | None) -> dict[str, Item]:
    """Return the given items that ordinary reads show, or showed at ``moment``; None: now.

    An item that is in quarantine today is left out at every moment.
    """
    found = [item for item in read_items(unit, lane, sorted(set(ids))).values() if item.quarantine is None]
    if moment is not None:
        found = known_at(unit, lane.lane_id, found, moment)
    return {item.id: item for item in found if item.live}


def created_by_entry(
    unit: Unit, lane_id: int, edges: Sequence[AnyEntryRecord], moment: int | None
) -> list[AnyEntryRecord]:
    """Return the records created by an entry that was recorded by ``moment``; all for None.

    Records that were removed or replaced since are not restored.
    """
    if moment is None or not edges:
        return list(edges)
    rows = find_entries(unit, lane_id, sorted({edge.entry_id for edge in edges}))
    drawn = {row.entry_id for row in rows if row.recorded_at <= moment}
    return [edge for edge in edges if edge.entry_id in drawn]


def edges_at(unit: Unit, lane: Lane, edges: Sequence[Edge], moment: int | None) -> list[Edge]:
    """Return the edges that existed at ``moment`` between items known by then; all for None."""
    found = created_by_entry(unit, lane.lane_id, edges, moment)
    if moment is None or not found:
        return found
    ends = {(edge.from_kind, edge.from_id) for edge in found} | {(edge.to_kind, edge.to_id) for edge in found}
    items = read_items(unit, lane, sorted(identity for kind, identity in ends if kind == "item"))
    # A retried entry made its items later than it was recorded.
    later = {item.id for item in items.values() if to_micros(item.recorded_at) > moment}
    return [edge for edge in found if not {edge.from_id, edge.to_id} & later]


def was_valid_at(item: Item, moment: int) -> bool:
    """Return whether an item was valid at ``moment``."""
    starts = item.valid_from is None or to_micros(item.valid_from) <= moment
    ends = item.valid_to is not None and to_micros(item.valid_to) <= moment
    return starts and not ends and item.ended not in ("retracted", "dissolved")


def as_known(unit: Unit, lane_id: int, items: Iterable[Item], wanted: ReadConditions) -> list[Item]:
    """Return the items that were known and valid at the requested times, as they were then."""
    found = list(items) if wanted.as_of is None else known_at(unit, lane_id, items, wanted.as_of)
    return found if wanted.valid_at is None else [item for item in found if was_valid_at(item, wanted.valid_at)]


def evidence_at(unit: Unit, lane_id: int, item_ids: Sequence[str], moment: int | None) -> dict[str, list[EvidenceRow]]:
    """Return the evidence of items, by item, at ``moment`` (microseconds); the current evidence for None."""
    rows = read_evidence(unit, lane_id, item_ids)
    if moment is None:
        return rows
    histories = deltas_of_items(unit, lane_id, item_ids)
    out: dict[str, list[EvidenceRow]] = {}
    for item_id in item_ids:
        held = {row.identity: row for row in rows.get(item_id, ())}
        for delta in reversed(histories.get(item_id, ())):
            if to_micros(delta.recorded_at) <= moment:
                break
            for gone in map(EvidenceRow.from_row, delta.evidence_added):
                held.pop(gone.identity, None)
            held |= {row.identity: row for row in map(EvidenceRow.from_row, delta.evidence_removed)}
        out[item_id] = [held[identity] for identity in sorted(held)]
    return out


# Resolving a scope to lanes.


def visible_lanes(unit: Unit, scope: Scope) -> list[Lane]:
    """Return the lanes that a read sees: a user's own and the shared namespace, or every lane of the tenant."""
    return list_lanes(unit) if scope.across_tenant else find_lanes(unit, scope.read_lanes)


def searched_lanes(unit: Unit, scope: Scope) -> tuple[list[Lane], ActiveModel | None]:
    """Return the lanes that a read sees, and the model whose vectors searches use; None without a lane."""
    found = visible_lanes(unit, scope)
    return found, active_model(unit) if found else None


# Listings: items as known at the requested times, and pages with cursors.


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
    most = more if wanted.as_of is None else None
    found: list[Item] = []
    for lane in lanes:
        found += _items_as_known(unit, lane, items_before(unit, lane, wanted, before, limit=most), wanted)
    found.sort(key=ItemPosition.of, reverse=True)
    shown = tuple(found[: asked.limit])
    following = write_cursor(unit, ItemPosition.of(shown[-1]), asked.listing) if len(found) > asked.limit else None
    return Page(shown, following)


def _items_as_known(unit: Unit, lane: Lane, found: list[Item], wanted: ReadConditions) -> list[Item]:
    """Return a lane's items that were listed at the requested times, as they were then."""
    return found if wanted.as_of is None else [one for one in as_known(unit, lane.lane_id, found, wanted) if one.live]


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
        found = as_known(unit, lane.lane_id, found, wanted)
        out |= {item.id: item for item in found if item.live or (wanted.past and item.quarantine is None)}
    return out


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


# The name of a change in an item's history (requirement NM-14).

Fields = Mapping[str, Sequence[Any]]

_FOUND: Final = (("support", "reinforced"), ("contra", "contradicted"))


def change_name(
    op: str, fields: Fields, added: Iterable[Mapping[str, Any]], removed: Sequence[Mapping[str, Any]]
) -> str:
    """Return the name of a change; if it did several things, the most important one.

    ``created``; how it ended (``dissolved``, ``superseded``, ``retracted``, ``retired``) or ``revived``; ``archived``
    or ``restored``; ``quarantined`` or ``released``; ``modified``: its content changed; ``promoted`` or ``demoted``;
    ``reinforced`` or ``contradicted`` by new evidence; ``unsupported``: it lost evidence; else ``changed``.
    """
    if op == "create":
        return "created"
    for name, back in (("ended", "revived"), ("quarantine", "released")):
        if name in fields:
            after = fields[name][1]
            return back if after is None else str(after) if name == "ended" else "quarantined"
    if "status" in fields:
        return "archived" if fields["status"][1] == "archived" else "restored"
    if "content" in fields:
        return "modified"
    before, after = fields.get("stage", (None, None))
    if before in RANKS and after in RANKS:
        return "promoted" if RANKS.index(after) > RANKS.index(before) else "demoted"
    polarities = {row.get("polarity") for row in added}
    found = next((word for polarity, word in _FOUND if polarity in polarities), None)
    return found or ("unsupported" if removed else "changed")


def history_at(unit: Unit, lane: Lane, item: Item, moment: int | None) -> list[HistoryEvent]:
    """Return the events that led to ``item``, which is as it was at ``moment``."""
    deltas = deltas_of_items(unit, lane.lane_id, [item.id]).get(item.id, [])
    deltas = [delta for delta in deltas if moment is None or to_micros(delta.recorded_at) <= moment]
    return [_event(unit, item, delta, deltas[n + 1 :]) for n, delta in enumerate(deltas)]


def _event(unit: Unit, item: Item, delta: Delta, later: Sequence[Delta]) -> HistoryEvent:
    entry = find_entry(unit, delta.entry_id)
    fields: dict[str, Sequence[Any]] = {name: tuple(change) for name, change in delta.patch.items()}
    if delta.op == "create":
        first = as_of(item, later[::-1]).to_dict()
        fields = {name: (None, first[name]) for name in first if name in _CREATED and first[name] not in (None, {}, [])}
    return HistoryEvent(
        delta_id=delta.id,
        entry_id=delta.entry_id,
        verb=entry.verb if entry is not None else "",
        op=delta.op,
        event=change_name(delta.op, fields, delta.evidence_added, delta.evidence_removed),
        version=delta.version,
        at=delta.recorded_at,
        actor=delta.actor,
        reason=delta.reason,
        fields=fields,
        evidence_added=delta.evidence_added,
        evidence_removed=delta.evidence_removed,
        edges_added=delta.edges_added,
        edges_removed=delta.edges_removed,
    )


_CREATED = frozenset({"kind", "content", "subject", "key", "value", "metadata", "importance", "confidence", "label"})
"""Fields of a creation that history shows; the rest is bookkeeping."""


# Looking up a lane's items by external id.


@dataclass(frozen=True, slots=True)
class NamedItems:
    """The items of a lane that have an ``external_id``; empty if the lane does not exist yet."""

    database: Database
    tenant: str
    lane: LaneName

    def find(self, external_id: str) -> Item | None:
        """Return the item that has an external id, or None."""
        found: list[Item] = self._read(lambda unit, lane: read_named(unit, lane, external_id), [])
        return next((item for item in reversed(found) if item.keeps_name), None)

    def row(self, external_id: str) -> NamedRow | None:
        """Return the row of the item that has an external id, or None."""
        return self._read(lambda unit, lane: row_named(unit, lane, external_id), None)

    def heads(self, low: str, high: str, *, until: str) -> set[str]:
        """Return the parts before the first ``until`` of the external ids in [``low``, ``high``)."""
        return self._read(lambda unit, lane: heads_between(unit, lane, low, high, until=until), set())

    def rows(self, low: str, high: str, asked: RowPage = EVERY) -> list[NamedRow]:
        """Return the rows of the items in a range of external ids, most recently changed first."""
        return self._read(lambda unit, lane: rows_between(unit, lane, low, high, asked), [])

    def _read(self, ask: Callable[[Unit, Lane], T], without: T) -> T:
        with self.database.transaction(self.tenant, "read") as unit:
            lane = find_lane(unit, self.lane)
            return without if lane is None else ask(unit, lane)
