"""The record of an entity: a person, a place, an organisation or a thing, as the items of a lane tell of it."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, get_args

from phronesis.core.results import Evidence
from phronesis.core.serialization import Record

EntityKind = Literal["person", "place", "organisation", "project", "thing", "unknown"]

ENTITY_KINDS: Final[tuple[EntityKind, ...]] = get_args(EntityKind)

RELATIONS: Final = ("partner", "child", "parent", "sibling", "friend", "colleague", "pet")
"""Keys of the user whose values are names of those who stand in that relation."""

_VALUES: Final[Mapping[str, EntityKind]] = {
    **dict.fromkeys(("partner", "child", "parent", "sibling", "relative", "friend", "colleague"), "person"),
    **dict.fromkeys(("employer", "school"), "organisation"),
    **dict.fromkeys(("home_city", "hometown", "located_in"), "place"),
}
_OF_PEOPLE: Final = frozenset(
    """
    name age birthday gender nationality home_city hometown address timezone email phone employer job school
    field_of_study language skill hobby relationship_status partner child parent sibling relative friend colleague pet
    allergy diet health medication habit role likes dislikes prefers reply_language reply_style address_as
    """.split()
)
_OF_PROJECTS: Final = frozenset({"attribute.deadline", "attribute.milestone", "attribute.截止日期"})
_OF_THINGS: Final = ("located_in", "attribute.")

STATED_KIND: Final = "attribute.kind"
"""A key whose value, if it is a kind, says what its subject is."""


def entity_kind(about: Mapping[str, Any], naming: AbstractSet[str]) -> EntityKind:
    """Return what an entity is.

    Args:
        about: the values of the items about it, by key.
        naming: the keys whose value is its name.
    """
    stated = about.get(STATED_KIND)
    known = next((kind for kind in ENTITY_KINDS if kind == stated), None)
    if known is not None:
        return known
    named = next((kind for key, kind in _VALUES.items() if key in naming), None)
    if named is not None:
        return named
    if not _OF_PEOPLE.isdisjoint(about):
        return "person"
    if not _OF_PROJECTS.isdisjoint(about):
        return "project"
    return "thing" if any(key.startswith(_OF_THINGS) for key in about) else "unknown"


@dataclass(frozen=True, slots=True)
class EntityName(Record):
    """The id and name of an entity."""

    id: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityRecord(Record):
    """An entity: its names, what it is, and where it is spoken of.

    ``relation`` is that to the user, where it was stated ("sister"). ``mentions`` counts the items that are about it
    or name it. ``namesakes`` are others that its bare name may mean. ``evidence`` is what is known of it, the newest
    first, ended items too: ``entities.get`` gives it, lists leave it out.
    """

    id: str
    name: str
    kind: EntityKind
    aliases: Sequence[str] = ()
    relation: str | None = None
    mentions: int = 0
    first_mentioned: datetime | None = None
    last_mentioned: datetime | None = None
    namesakes: Sequence[EntityName] = ()
    user_id: str | None = None
    namespace: str | None = None
    evidence: Sequence[Evidence] = ()
