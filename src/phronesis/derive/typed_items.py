"""Items that a caller states outright: a fact, a preference, a task … with subject, key and value."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from phronesis.core.changes import Changes
from phronesis.core.entities import Entity, normal_name
from phronesis.core.entries import Entry, Outcome, is_erased
from phronesis.core.ids import item_id
from phronesis.core.instants import parse_moment
from phronesis.core.items import DEFAULT_IMPORTANCE, Item, Trust
from phronesis.core.text import MAX_ID_LENGTH
from phronesis.derive.guarding import suspected, suspicions
from phronesis.derive.handler import Bench, Handler, Outcomes
from phronesis.derive.mentions import make_entity, make_mention
from phronesis.storage.lane_view import LaneView

ALIAS_KEY: Final = "alias"
"""The key under which an item says that its subject has another name."""


def prepare(_bench: Bench, entry: Entry) -> Sequence[Outcome]:
    """Look for orders to a model in what is trusted less than the user."""
    below = _trust(entry.payload) < Trust.USER
    return suspicions({0: entry.payload["content"]} if below else {})


def apply(view: LaneView, entry: Entry, outcomes: Outcomes) -> Changes:
    """Make the one item of an entry; its subject becomes an entity, and an alias joins two."""
    payload = entry.payload
    if is_erased(payload):
        return Changes()
    item = suspected(outcomes).held(0, _item(view, entry))
    entities, canonical = _entities(view, entry, item)
    mentions = [make_mention(canonical, item.id, 0, 0)] if canonical is not None else []
    return Changes(items=[item], entities=entities, mentions=mentions)


def natural_key(payload: Any) -> str:
    """Give what makes an item itself within its entry: subject and key, or its words."""
    named = [str(payload.get(name) or "") for name in ("subject", "key")]
    return "\n".join(named) if any(named) else str(payload["content"])


def _trust(payload: Any) -> Trust:
    return Trust[payload.get("trust", "USER").upper()]


def _item(view: LaneView, entry: Entry) -> Item:
    payload = entry.payload
    given = payload.get("occurred_at")
    at = entry.recorded_at if given is None else parse_moment(given, field="occurred_at")
    kind = payload["kind"]
    return Item(
        id=item_id(entry.id, kind, natural_key(payload)),
        kind=kind,
        content=payload["content"],
        entry_id=entry.id,
        recorded_at=entry.recorded_at,
        updated_at=entry.recorded_at,
        subject=payload.get("subject"),
        key=payload.get("key"),
        value=payload.get("value"),
        metadata=payload.get("metadata") or {},
        importance=payload.get("importance") or DEFAULT_IMPORTANCE[kind],
        confidence=1.0,
        trust=_trust(payload),
        source_type="manual",
        agent_id=payload.get("agent_id"),
        session_id=payload.get("session_id"),
        run_id=payload.get("run_id"),
        occurred_at=at,
        valid_from=at,
        **view.scope_fields(),
    )


def _entities(view: LaneView, entry: Entry, item: Item) -> tuple[list[Entity], Entity | None]:
    if item.subject is None:
        return [], None
    subject = make_entity(view.lane_id, item.subject, "name", entry_id=entry.id)
    if item.key != ALIAS_KEY:
        return [subject], subject
    alias = str(item.value if isinstance(item.value, str) and item.value.strip() else item.content)
    if normal_name(alias) == subject.normal or len(alias) > MAX_ID_LENGTH:
        return [subject], subject
    other = make_entity(view.lane_id, alias, "name", entry_id=entry.id)
    known = {entity.id: entity for entity in view.entities([subject.normal, other.normal])}
    # The subject may be an alias itself: every name points to the one canonical entity, never to another alias.
    root, joined = (
        (known[entity.id].canonical_id if entity.id in known else None) or entity.id for entity in (subject, other)
    )
    if joined == root:
        return [subject], subject
    family = {entity.id: entity for entity in (other, *view.family(joined))}
    return [subject, *(replace(entity, canonical_id=root) for entity in family.values())], subject


HANDLERS: Final = (Handler(verb="item", apply=apply, prepare=prepare, quick=True),)
"""``session_id`` on such an item says where it was learned; the item is no turn of that session."""
