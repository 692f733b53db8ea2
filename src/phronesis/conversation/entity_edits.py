"""Handlers that merge and split entities.

A merge states aliases: each is an item of its own, joins the names as one that was said does, and ends when the entry
is rolled back. A split takes statements of aliases back, or gives items another subject.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, TypedDict

from phronesis.conversation.consolidation import consolidate_all
from phronesis.conversation.entity_resolution import ALIAS_KEY, NAMED, NAMING, NameFamilies, joined_by
from phronesis.conversation.typed_items import place_stated
from phronesis.core.changes import Changes, Patch
from phronesis.core.entries import Entry, payload_of
from phronesis.core.ids import item_id
from phronesis.core.items import DEFAULT_IMPORTANCE, MEMBER_PREFIX, Item, Trust
from phronesis.core.proposals import USER
from phronesis.core.relations import NAME, PERSON, Entity, normal_name
from phronesis.core.statements import STATED
from phronesis.engine.handler import Handler, Outcomes
from phronesis.store.lane_view import LaneView

MERGE: Final = "merge_entities"
SPLIT: Final = "split_entity"


class MergePayload(TypedDict, total=False):
    """The verb ``merge_entities``: the ids of the entities, and why."""

    ids: list[str]
    reason: str


class SplitPayload(TypedDict, total=False):
    """The verb ``split_entity``: the name that leaves, or the items that get another subject, and why."""

    entity_id: str
    alias: str
    item_ids: list[str]
    name: str
    reason: str


def canonical_order(entity: Entity) -> tuple[bool, int, str]:
    """Return the order of names in a merge: the user, then the fullest name."""
    return (entity.normal != USER, -len(entity.normal), entity.normal)


def apply_merge(view: LaneView, entry: Entry, _outcomes: Outcomes) -> Changes:
    """State the other names as aliases of the first, whatever order the ids came in."""
    payload = payload_of(entry, MergePayload)
    ids = payload["ids"]
    rows = [row for row in view.families(ids) if row.kind == NAME and row.id in ids]
    names = [row.name for row in sorted(rows, key=canonical_order)]
    aliases = [_alias(view, entry, names[0], other) for other in names[1:]]
    stated = [place_stated(entry, alias, {"cardinality": "many"}) for alias in aliases]
    changes = consolidate_all(view, entry, stated)
    reasons = [Patch(item.id, {}, payload.get("reason") or "merged") for item in changes.items]
    return replace(changes, patches=[*changes.patches, *reasons])


def _alias(view: LaneView, entry: Entry, name: str, other: str) -> Item:
    return Item(
        id=item_id(entry.id, "profile", f"{name}\n{ALIAS_KEY}\n{other}"),
        kind="profile",
        content=f"{other} = {name}",
        entry_id=entry.id,
        recorded_at=entry.recorded_at,
        updated_at=entry.recorded_at,
        subject=name,
        key=ALIAS_KEY,
        value=other,
        importance=DEFAULT_IMPORTANCE["profile"],
        confidence=1.0,
        trust=Trust.USER,
        source_type="manual",
        occurred_at=entry.recorded_at,
        valid_from=entry.recorded_at,
        **view.scope_fields(),
    )


def apply_split(view: LaneView, entry: Entry, _outcomes: Outcomes) -> Changes:
    """Take the statements back that give an entity a name, or give items of it another subject."""
    payload = payload_of(entry, SplitPayload)
    row = next((one for one in view.families([payload["entity_id"]]) if one.id == payload["entity_id"]), None)
    if row is None:
        return Changes()
    reason = payload.get("reason") or "split"
    if "alias" in payload:
        joining = joining_items(view, row.name, payload["alias"])
        over = {"ended": "retracted", "ended_by": entry.id, "valid_to": entry.recorded_at}
        return Changes(patches=[Patch(item.id, over, reason) for item in joining])
    names = NameFamilies(view, [row.name, payload["name"]], entry_id=entry.id)
    family = names.normals(row.name)
    target = names.entity(payload["name"])
    found = [item for item in view.items(payload["item_ids"]).values() if normal_name(item.subject or "") in family]
    patches = [Patch(item.id, _moved(item, target.name, view), reason) for item in found]
    return Changes(patches=patches, entities=names.changed if found else ())


def joining_items(view: LaneView, name: str, alias: str) -> list[Item]:
    """Return the items that state a name of an entity, with which the name leaves it."""
    spelled = {entity.name for entity in NameFamilies(view, [name], entry_id="").family(name)}
    wanted = normal_name(alias)
    return [
        item
        for item in view.stated(spelled, NAMING, STATED)
        if any(wanted in {normal_name(one), normal_name(other)} for one, other in joined_by(item))
    ]


def _moved(item: Item, subject: str, view: LaneView) -> Mapping[str, str | None]:
    """Return the fields of an item that is about another entity than was held."""
    fields: dict[str, str | None] = {"subject": subject}
    if NAMED in item.data:
        fields[MEMBER_PREFIX + NAMED] = subject
    related = any(row.related for row in view.entities([normal_name(subject)]))
    if related or PERSON in item.data:
        fields[MEMBER_PREFIX + PERSON] = subject if related else None
    return fields


def handlers() -> Sequence[Handler]:
    """Return the handlers of merges and splits."""
    return (
        Handler(verb=MERGE, apply=apply_merge, quick=True),
        Handler(verb=SPLIT, apply=apply_split, quick=True),
    )
