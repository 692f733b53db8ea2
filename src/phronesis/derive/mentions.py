"""Entities and mentions of names, as rows."""

from phronesis.core.entities import Entity, Mention, normal_name
from phronesis.core.ids import derived_id


def entity_id(lane_id: int, kind: str, normal: str) -> str:
    """Give an entity's id: one for a kind and normal name in a lane."""
    return derived_id("entity", str(lane_id), kind, normal)


def make_entity(lane_id: int, name: str, kind: str, *, entry_id: str, canonical_id: str | None = None) -> Entity:
    """Give the entity of a name."""
    normal = normal_name(name)
    return Entity(
        id=entity_id(lane_id, kind, normal), name=name, normal=normal, kind=kind, entry_id=entry_id,
        canonical_id=canonical_id,
    )  # fmt: skip


def make_mention(entity: Entity, item_id: str, start: int, end: int) -> Mention:
    """Give a mention of an entity in an item, recorded by the entity's entry."""
    return Mention(entity_id=entity.id, item_id=item_id, start=start, end=end, entry_id=entity.entry_id)
