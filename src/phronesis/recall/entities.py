"""Entities of a scope, read from its names, mentions and items; which items are about the user; what is due."""

import dataclasses
from collections import defaultdict
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from phronesis.core.ids import Scope
from phronesis.core.items import PROSPECTIVE, Item, is_due_within, urgency
from phronesis.core.proposals import USER
from phronesis.core.relations import NAME, Entity, normal_name
from phronesis.core.reports import RELATIONS, EntityName, EntityRecord, entity_kind
from phronesis.core.results import Evidence
from phronesis.core.timestamps import from_micros, to_micros
from phronesis.errors import NotFound
from phronesis.recall.as_of import items_of, visible_lanes
from phronesis.recall.evidence import sources_of
from phronesis.recall.word_lists import UnitText, is_chinese, load_relatives
from phronesis.store.database import Database, Unit
from phronesis.store.eligible import ReadConditions
from phronesis.store.lane_view import LaneView
from phronesis.store.lanes import Lane, get_lane
from phronesis.store.relations import (
    MentionCount,
    StatedValue,
    lane_entities,
    lane_of_entity,
    stated_values,
    sums_by_entity,
    sums_by_subject,
)


@dataclass(frozen=True, slots=True)
class EntityReader:
    """Reads entities. It never writes."""

    database: Database

    def list_entities(self, tenant: str, scope: Scope) -> list[EntityRecord]:
        """Return the entities of a scope's lanes, the most mentioned first."""
        with self.database.transaction(tenant, "read") as unit:
            found = [one for lane in visible_lanes(unit, scope) for one in _LaneEntities(unit, lane).records()]
        return sorted(found, key=lambda one: (-one.mentions, one.name, one.id))

    def get(self, tenant: str, entity_id: str, *, owner: str | None = None) -> tuple[Lane, EntityRecord]:
        """Return an entity, also by the id of one of its names, with what is known of it.

        NotFound if there is none, or it is another user's than ``owner``.
        """
        with self.database.transaction(tenant, "read") as unit:
            lane_id = lane_of_entity(unit, entity_id)
            lane = None if lane_id is None else get_lane(unit, lane_id)
            if lane is None or lane.is_foreign_to(owner):
                raise NotFound(f"there is no entity {entity_id} in this tenant", field="id")
            held = _LaneEntities(unit, lane)
            record = held.record(entity_id)
            known = sorted(
                LaneView(unit, lane).about(held.subjects(entity_id)),
                key=lambda item: (item.occurred_at or item.recorded_at, item.id),
                reverse=True,
            )
            shown = [item for item in known if item.status == "active" and item.quarantine is None]
            sources = sources_of(unit, lane.lane_id, shown) if shown else {}
            evidence = tuple(Evidence(item, 1.0, sources=tuple(sources.get(item.id, ()))) for item in shown)
            return lane, replace(record, evidence=evidence)


class _LaneEntities:
    """The entities of one lane."""

    def __init__(self, unit: Unit, lane: Lane) -> None:
        rows = sorted(lane_entities(unit, lane.lane_id), key=lambda row: (row.canonical_id is not None, row.name))
        self._lane = lane
        self._rows = {row.id: row for row in rows if row.kind == NAME}
        self._families: dict[str, list[Entity]] = defaultdict(list)
        for row in self._rows.values():
            self._families[row.canonical_id or row.id].append(row)
        self._subjects: dict[str, list[MentionCount]] = defaultdict(list)
        for one in sums_by_subject(unit, lane.lane_id):
            self._subjects[normal_name(one.named)].append(one)
        named = {one.named: one for one in sums_by_entity(unit, lane.lane_id)}
        self._sums = {
            row.id: [*self._subjects.get(row.normal, ()), *([named[row.id]] if row.id in named else [])]
            for row in self._rows.values()
            if row.id in named or row.normal in self._subjects
        }
        self._about: dict[str, dict[str, object]] = defaultdict(dict)
        self._naming: dict[str, set[str]] = defaultdict(set)
        self._relations: dict[str, str] = {}
        self._persons: dict[str, set[str]] = defaultdict(set)
        for stated in stated_values(unit, lane.lane_id):
            self._note(stated)
        self._words: dict[str, str] = {}
        self._people: dict[str, list[Entity]] = defaultdict(list)
        self._bare: dict[str, Entity] = {}
        known = {row.normal: row for row in self._rows.values() if row.id in self._sums}
        for row in rows:
            if row.related and row.canonical_id in self._rows:
                self._link(row, self._rows[row.canonical_id], known.get(row.normal))

    def _link(self, person: Entity, bare: Entity, subject: Entity | None) -> None:
        """Note a person named with a relation, and the entity of that name, which there is once there are several."""
        self._words[person.name] = person.name.removesuffix(bare.name).strip()
        self._bare[person.normal] = bare
        if subject is not None:
            self._people[bare.id].append(subject)

    def _note(self, one: StatedValue) -> None:
        self._about[normal_name(one.subject)][one.key] = one.value
        if one.person is not None:
            self._persons[normal_name(one.subject)].add(one.person)
        if isinstance(one.value, str):
            named = normal_name(one.value)
            self._naming[named].add(one.key)
            if one.key in RELATIONS and one.subject == USER:
                self._relations[named] = one.key

    def records(self) -> list[EntityRecord]:
        """Return the records of all entities that an active item mentions, but the user of the lane."""
        return [
            self.record(root)
            for root, family in self._families.items()
            if any(row.id in self._sums for row in family) and all(row.normal != USER for row in family)
        ]

    def family(self, entity_id: str) -> list[Entity]:
        """Return the names of an entity, the canonical one first."""
        row = self._rows[entity_id]
        return self._families[row.canonical_id or row.id]

    def subjects(self, entity_id: str) -> set[str]:
        """Return the names of an entity as items spell them."""
        return {one.named for row in self.family(entity_id) for one in self._subjects.get(row.normal, ())}

    def record(self, entity_id: str) -> EntityRecord:
        """Return the record of an entity, by the id of any of its names."""
        family = self.family(entity_id)
        first, *others = family
        normals = [row.normal for row in family]
        sums = [one for row in family for one in self._sums.get(row.id, ())]
        about = {key: value for normal in normals for key, value in self._about.get(normal, {}).items()}
        naming = {key for normal in normals for key in self._naming.get(normal, ())}
        relation = self._relation(family)
        kind = entity_kind(about, naming)
        return EntityRecord(
            id=first.canonical_id or first.id,
            name=first.name,
            kind="person" if kind == "unknown" and relation is not None else kind,
            aliases=tuple(row.name for row in others),
            relation=relation,
            mentions=sum(one.number for one in sums),
            first_mentioned=from_micros(min(one.first for one in sums)) if sums else None,
            last_mentioned=from_micros(max(one.last for one in sums)) if sums else None,
            namesakes=self._namesakes(family),
            user_id=self._lane.user_id,
            namespace=self._lane.namespace,
        )

    def _relation(self, family: Sequence[Entity]) -> str | None:
        """Return an entity's relation to the user: the word said with its name, else the key that holds its name."""
        persons = sorted({person for row in family for person in self._persons.get(row.normal, ())})
        word = next((self._words[person] for person in persons if person in self._words), None)
        if word is not None or any(row.id in self._people for row in family):
            return word
        return next((self._relations[row.normal] for row in family if row.normal in self._relations), None)

    def _namesakes(self, family: Sequence[Entity]) -> tuple[EntityName, ...]:
        """Return the others that the bare name of a family may mean."""
        bare = [*family, *(self._bare[row.normal] for row in family if row.normal in self._bare)]
        others = [row for one in bare for row in self._people.get(one.id, ())]
        roots = {row.canonical_id or row.id for row in others} - {row.canonical_id or row.id for row in family}
        return tuple(EntityName(root, self._families[root][0].name) for root in sorted(roots))


NAMES: Final = ("name", "alias", "address_as")
"""Keys whose values are names of the user."""

_MAX_NAMES: Final = 60
_MAX_NEAR: Final = 200


def names_of_user(items: Iterable[Item], lanes: Sequence[Lane]) -> set[str]:
    """Return the normal names by which memories refer to the user; ``items`` may add further ones."""
    names = {USER, *(normal_name(lane.user_id) for lane in lanes if lane.user_id is not None)}
    told = [item for item in items if item.key in NAMES and is_about(item, names)]
    return names | {normal_name(item.value if isinstance(item.value, str) else item.content) for item in told}


def names_of_user_in_lanes(unit: Unit, lanes: Sequence[Lane], wanted: ReadConditions) -> set[str]:
    """Return the normal names by which the lanes' memories refer to the user, at the requested times.

    Names from all agents count: attributes narrow what is shown, not who the user is.
    """
    told = dataclasses.replace(
        wanted, filters={"key": {"in": list(NAMES)}}, kinds=("profile", "preference"), attributes={}
    )
    return names_of_user(items_of(unit, lanes, told, limit=_MAX_NAMES, weightiest=True), lanes)


def is_about(item: Item, names: AbstractSet[str]) -> bool:
    """Return whether an item is about a person with one of these names, or about nobody."""
    return item.subject is None or normal_name(item.subject) in names


def items_close_to_user(
    unit: Unit, lanes: Sequence[Lane], items: Sequence[Item], names: AbstractSet[str], wanted: ReadConditions
) -> set[str]:
    """Return the ids of the items whose subject is close to the user of ``names``.

    The subject is stored as a relative, friend, colleague or pet of the user, is named by the relation (``mother``,
    妈妈, ``sister Anna``), or the item's text states it ("my neighbour Tim"). Items that a caller stated explicitly
    with a subject count as well.
    """
    items = [item for item in items if not is_about(item, names)]
    if not items:
        return set()
    keys = sorted(set(load_relatives().keys.values()))
    told = dataclasses.replace(wanted, filters={"key": {"in": keys}}, kinds=("profile", "preference"), attributes={})
    held = [one for one in items_of(unit, lanes, told, limit=_MAX_NEAR, weightiest=True) if is_about(one, names)]
    near = {normal_name(one.value) for one in held if isinstance(one.value, str)}
    return {
        item.id
        for item in items
        if item.subject is not None
        and (item.source_type != "chat" or normal_name(item.subject) in near or _names_relation(item.subject, item))
    }


def _names_relation(subject: str, item: Item) -> bool:
    """Return whether a subject, or the text of its item before it, names a relation of the user."""
    relatives = load_relatives()
    if any(start == 0 for start, _ in UnitText(subject).places(relatives.words)):
        return True
    before = UnitText(item.content.casefold().partition(subject.casefold())[0])
    relations = before.places(relatives.words)
    if is_chinese(before.text):  # 我大儿子小明: it stands right before the name
        relations = [place for place in relations if place[1] == len(before.units)]
    return bool(relations) and any(start == 0 for start, _ in before.places(relatives.own))


MAX_OPEN: Final = 1_000
"""Maximum due items read of each lane, the most important first."""

_LAST: Final = datetime.max.replace(tzinfo=UTC) - timedelta(seconds=1)


def reference_time(wanted: ReadConditions, now: datetime) -> datetime:
    """Return the reference time of due items: the requested time, else ``now``."""
    moment = wanted.as_of if wanted.valid_at is None else wanted.valid_at
    return now if moment is None else from_micros(moment)


def due_items(
    unit: Unit, lanes: Sequence[Lane], wanted: ReadConditions, now: datetime, within: timedelta
) -> list[Item]:
    """Return the lanes' open intentions and tasks that are due by ``now`` plus ``within``, most urgent first.

    Only items about the user or about nobody, and none that are expired, ended, archived or in quarantine.
    """
    latest = max(now, now.replace(tzinfo=UTC))  # a day begins earlier in the east
    horizon = latest + min(within, _LAST - latest)
    asked = dataclasses.replace(wanted, kinds=PROSPECTIVE, due_by=to_micros(horizon))
    found = [
        item
        for item in items_of(unit, lanes, asked, limit=MAX_OPEN, weightiest=True)
        if is_due_within(item, now, within)
    ]
    names = names_of_user((), lanes)
    if not all(is_about(item, names) for item in found):  # about somebody else, or about the user under another name
        names = names_of_user_in_lanes(unit, lanes, wanted)
    return sorted((item for item in found if is_about(item, names)), key=urgency)
