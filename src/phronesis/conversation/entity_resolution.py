"""Entity resolution: the entities of a lane, and the families of names for one entity ("Bob = Robert = 老王").

Every name points to the canonical entity of its family, never to another alias. The user whose memory it is is the
entity ``user``; the lane's user id is one of their names, and any name they give themselves becomes one.

"My sister Anna" and "my colleague Anna" are two people: relation and name together say who is meant. As long as one
relation is known of a name, its items are those of the name. When a second is stated, each person gets a subject of
their own ("sister Anna", "colleague Anna"), and the items that are known to be of one move there. A bare "Anna" then
is whom the session spoke of last; where that does not tell, the name stays alone and belongs to neither.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from phronesis.conversation.consolidation_apply import PlacedProposal
from phronesis.core.changes import Changes, Patch
from phronesis.core.entries import Entry
from phronesis.core.ids import derived_id
from phronesis.core.items import Item
from phronesis.core.proposals import USER
from phronesis.core.relations import NAME, PERSON, Entity, Mention, normal_name, relation_kind
from phronesis.core.statements import STATED
from phronesis.core.text import MAX_ID_LENGTH
from phronesis.models.text_features import has_han
from phronesis.store.lane_view import LaneView


def entity_id(lane_id: int, kind: str, normal: str) -> str:
    """Return an entity's id, unique per kind and normalised name in a lane."""
    return derived_id("entity", str(lane_id), kind, normal)


def make_entity(lane_id: int, name: str, kind: str, *, entry_id: str, canonical_id: str | None = None) -> Entity:
    """Return the entity of a name."""
    normal = normal_name(name)
    id_ = entity_id(lane_id, kind, normal)
    return Entity(id=id_, name=name, normal=normal, kind=kind, entry_id=entry_id, canonical_id=canonical_id)


def make_mention(entity: Entity, item_id: str, start: int, end: int) -> Mention:
    """Return a mention of an entity in an item, recorded by the entity's entry."""
    return Mention(entity_id=entity.id, item_id=item_id, start=start, end=end, entry_id=entity.entry_id)


ALIAS_KEY: Final = "alias"
"""Key of an item that gives its subject another name."""

NAMING: Final = frozenset({ALIAS_KEY, "name"})
"""Keys whose value is a name of their subject."""

NAMED: Final = "named"
"""Member of an item's ``data`` with the name as said, where the item is stored under another of the family."""


class NameFamilies:
    """The families of some names, with an entry's changes."""

    def __init__(self, view: LaneView, names: Iterable[str], *, entry_id: str) -> None:
        """Read the families of ``names``, and that of the user."""
        self._lane = view.lane_id
        self._entry_id = entry_id
        own = view.lane.user_id
        self._user_id = normal_name(own) if own is not None else None
        wanted = {normal_name(name) for name in names} | {USER}
        wanted |= {self._user_id} if self._user_id is not None else set()
        found = [entity for entity in view.entities(sorted(wanted)) if entity.kind == NAME]
        roots = sorted({entity.canonical_id or entity.id for entity in found})
        # Names that are new to the lane have no family to read.
        family = [entity for entity in view.families(roots) if entity.kind == NAME] if roots else []
        self._known = {entity.id: entity for entity in (*found, *family)}
        self._changed: dict[str, Entity] = {}
        self._user = entity_id(self._lane, NAME, USER)

    @property
    def known(self) -> list[Entity]:
        """The entities of all families read."""
        return list(self._known.values())

    @property
    def changed(self) -> list[Entity]:
        """The entities that are new or joined another family, in order of first use."""
        return list(self._changed.values())

    def entity(self, name: str) -> Entity:
        """Return the entity of a name; a new one if the lane has none."""
        made = make_entity(self._lane, name, NAME, entry_id=self._entry_id)
        known = self._known.get(made.id) or self._noted(made)
        if known.normal == self._user_id and known.id != self._user and self._root(known) != self._user:
            self._unite(self.entity(USER).id, known.id)
        return self._known[made.id]

    def root(self, name: str) -> Entity:
        """Return the canonical entity of a name: the first of its family, or the user."""
        return self._known[self._root(self.entity(name))]

    def family(self, name: str) -> list[Entity]:
        """Return all entities that a name refers to."""
        root = self._root(self.entity(name))
        return [entity for entity in self._known.values() if self._root(entity) == root]

    def normals(self, name: str) -> frozenset[str]:
        """Return all names, in normal form, that refer to the same entity as ``name``."""
        return frozenset(entity.normal for entity in self.family(name))

    def join(self, subject: str, alias: str) -> None:
        """Join two names. The canonical one is the user's, else the subject's; but a single name joins a family."""
        if len(alias) > MAX_ID_LENGTH or not normal_name(alias):
            return
        one, other = self._root(self.entity(subject)), self._root(self.entity(alias))
        if one == other:
            return
        joins = len(self.family(subject)) == 1 < len(self.family(alias)) and one != self._user
        self._unite(*((other, one) if other == self._user or joins else (one, other)))

    def regroup(self, joined: Iterable[tuple[str, str]]) -> None:
        """Split all names read, then join again the pairs that are still stated, in this order."""
        before = dict(self._known)
        self._known = {known.id: replace(known, canonical_id=None) for known in before.values()}
        for known in before.values():
            if known.normal == self._user_id:
                self.entity(known.name)
        for subject, alias in joined:
            self.join(subject, alias)
        self._changed = {known.id: known for known in self._known.values() if before.get(known.id) != known}

    def _unite(self, root: str, joined: str) -> None:
        for entity in [entity for entity in self._known.values() if self._root(entity) == joined]:
            self._noted(replace(entity, canonical_id=root))

    def _noted(self, entity: Entity) -> Entity:
        self._known[entity.id] = self._changed[entity.id] = entity
        return entity

    @staticmethod
    def _root(entity: Entity) -> str:
        return entity.canonical_id or entity.id


def names_stated(subject: str, key: str | None, value: object, content: str) -> Sequence[str]:
    """Return the names that a statement gives its subject; empty unless its key is a naming one."""
    if key not in NAMING:
        return ()
    stated = value if isinstance(value, str) and value.strip() else content
    return () if normal_name(stated) == normal_name(subject) else (stated,)


def recorded_subject_name(item: Item) -> str:
    """Return the name by which an item's subject was referred to, or an empty text."""
    return str(item.data.get(NAMED) or item.subject or "")


def names_joined_by_item(item: Item) -> list[tuple[str, str]]:
    """Return the pairs of names that a naming item joins, until it is retracted or archived.

    A superseded one still joins them: whoever took a new name was called by the old one.
    """
    counts = item.status == "active" and item.quarantine is None and item.ended in {None, "superseded"}
    if item.subject is None or not counts:
        return []
    return [
        (recorded_subject_name(item), name) for name in names_stated(item.subject, item.key, item.value, item.content)
    ]


def add_entities(view: LaneView, entry: Entry, changes: Changes, held: Mapping[str, Item]) -> Changes:
    """Return the changes extended by entities that join others, and by items that move between them.

    Families split when the statement that joined them ends, and join again when it is restored. ``held`` are the items
    that the changes touch, in their current state.
    """
    after: dict[str, Item] = {}
    for patch in changes.patches:
        item = after.get(patch.item_id) or held.get(patch.item_id)
        if item is not None and item.key in NAMING:
            after[item.id] = item.with_fields(patch.fields)
    moved = {
        item_id for item_id, item in after.items() if names_joined_by_item(item) != names_joined_by_item(held[item_id])
    }
    if not moved:
        return changes
    made = {item.id: item for item in changes.items if item.key in NAMING}
    naming = [*made.values(), *(item for item_id in moved for item in (held[item_id], after[item_id]))]
    names = NameFamilies(
        view, [name for item in naming for pair in names_joined_by_item(item) for name in pair], entry_id=entry.id
    )
    spelled = {entity.name for entity in names.known}
    known = {item.id: item for item in view.stated(spelled, NAMING, STATED)}
    joining = sorted(({**known, **made, **after}).values(), key=lambda item: (item.recorded_at, item.id))
    names.regroup(pair for item in joining for pair in names_joined_by_item(item))
    patches = list(_moved(view.about(spelled), names, changes))
    told = {entity.id: entity for entity in (*changes.entities, *names.changed)}
    # Upserting an entity never removes an alias: an orphaned alias is deleted and written again.
    alone = [entity.id for entity in names.changed if entity.canonical_id is None]
    return replace(
        changes,
        entities=tuple(told.values()),
        patches=(*changes.patches, *patches),
        dropped_entities=tuple(dict.fromkeys((*changes.dropped_entities, *alone))),
    )


def _moved(about: Iterable[Item], names: NameFamilies, changes: Changes) -> Iterable[Patch]:
    """Yield patches that move items to the canonical name of their subject's present family."""
    taken = {patch.item_id for patch in changes.patches if "subject" in patch.fields}
    for item in about:
        said = item.data.get(NAMED)
        if said is not None and item.id not in taken and (now := names.root(str(said)).name) != item.subject:
            yield Patch(item.id, {"subject": now}, f"{said} is {now} now")


@dataclass(frozen=True, slots=True)
class ResolvedStatements:
    """An entry's statements with the subjects they are about, and what that changes.

    ``moved`` are new subjects of held items, by id; ``names`` the bare names of the people, as spelled in items.
    """

    stated: Sequence[PlacedProposal]
    moved: Mapping[str, str] = field(default_factory=dict)
    names: Collection[str] = ()
    entities: Sequence[Entity] = ()
    people: Mapping[str, Entity] = field(default_factory=dict)

    def patches(self) -> list[Patch]:
        """Return the patches of the held items that move."""
        return [Patch(one, {"subject": subject}, "there are two of this name") for one, subject in self.moved.items()]

    def with_subject(self, item: Item) -> Item:
        """Return a held item with its new subject."""
        return item.with_fields({"subject": self.moved[item.id]}) if item.id in self.moved else item

    def mention(self, item: Item, entry: Entry) -> list[Mention]:
        """Return the mention of a person named with a relation in an item of the entry."""
        person = self.people.get(str(item.data.get(PERSON)))
        return [] if person is None else [make_mention(replace(person, entry_id=entry.id), item.id, 0, 0)]


def resolve_subjects(view: LaneView, entry: Entry, stated: Sequence[PlacedProposal]) -> ResolvedStatements:
    """Return the statements with the people they are about. What a caller states is about the subject given."""
    named = {
        normal_name(one.proposal.subject): one.proposal.subject
        for one in stated
        if one.source is not None and one.proposal.subject != USER
    }
    if not named:
        return ResolvedStatements(stated)
    rows = [row for row in view.entities(sorted(named)) if row.related or row.kind == NAME]
    family = view.families(sorted({str(row.canonical_id) if row.related else row.id for row in rows})) if rows else []
    known = [row for row in family if row.related]
    if not known and all(one.proposal.tie is None for one in stated):
        return ResolvedStatements(stated)
    people = {row.normal: row for row in known}
    bare = {row.normal: row for row in family if row.kind == NAME and row.normal not in people}
    bare |= {
        normal: make_entity(view.lane_id, name, NAME, entry_id=entry.id)
        for normal, name in named.items()
        if normal not in bare and normal not in people
    }
    groups = {
        normal: _Namesakes(view, entry, row, [one for one in known if one.canonical_id == row.id])
        for normal, row in bare.items()
    }
    by_id = {group.bare.id: group for group in groups.values()}
    groups |= {normal: by_id[str(row.canonical_id)] for normal, row in people.items() if row.canonical_id in by_id}
    out: list[PlacedProposal] = []
    for one in stated:
        group = groups.get(normal_name(one.proposal.subject)) if one.source is not None else None
        out.append(one if group is None else group.resolve(one))
    told = [group for group in by_id.values() if group.people]
    return ResolvedStatements(
        out,
        moved={item_id: subject for group in told for item_id, subject in group.moved().items()},
        names=[group.bare.name for group in told],
        entities=[row for group in told for row in group.rows()],
        people={row.name: row for group in told for row in group.people.values()},
    )


class _Namesakes:
    """The people of one bare name, while an entry's statements are taken in order."""

    def __init__(self, view: LaneView, entry: Entry, bare: Entity, known: Iterable[Entity]) -> None:
        self._view, self._entry = view, entry
        self.bare = bare
        self.people = {row.id: row for row in known}
        self._added: list[Entity] = []
        self._items = view.about({bare.name, *(row.name for row in self.people.values())}) if self.people else []
        self._live = {row.id for row in self.people.values() if any(self._is_of(item, row) for item in self._items)}
        self._last: str | None = None

    def resolve(self, one: PlacedProposal) -> PlacedProposal:
        """Return a statement with the person that it is about, if that is told.

        A doubtful one tells of no further person, and parts nobody.
        """
        person = self._stated(one) if one.proposal.tie is not None else self._meant(one)
        if person is None:
            return one
        subject = person.name if self._apart(person) else self.bare.name
        proposal = replace(one.proposal, subject=subject)
        if proposal.doubtful:
            return replace(one, proposal=proposal)
        self._live.add(person.id)
        self._last = person.id
        if person.id not in self.people:
            self.people[person.id] = person
            self._added.append(person)
        data = {**one.item.data, PERSON: person.name}
        return replace(one, proposal=proposal, item=replace(one.item, subject=subject, data=data))

    def moved(self) -> dict[str, str]:
        """Return the new subjects of the held items that are known to be of one of several people."""
        if not self._apart():
            return {}
        names = {row.name for row in self.people.values()}
        return {
            item.id: str(item.data[PERSON])
            for item in self._items
            if item.subject == self.bare.name and item.data.get(PERSON) in names
        }

    def rows(self) -> list[Entity]:
        """Return the entities of the bare name, of new people, and of the subjects to which items move."""
        named = dict.fromkeys(self.moved().values())
        moved = [make_entity(self._view.lane_id, name, NAME, entry_id=self._entry.id) for name in named]
        return [self.bare, *self._added, *moved]

    def _apart(self, person: Entity | None = None) -> bool:
        """Return whether these people, and another one, have subjects of their own."""
        live = self._live if person is None else self._live | {person.id}
        names = {self.people[one].name for one in self._live}
        return len(live) > 1 or any(item.subject in names for item in self._items)

    def _stated(self, one: PlacedProposal) -> Entity:
        """Return the person of the bare name in the stated relation, who may be new."""
        kind = relation_kind(str(one.proposal.tie_key))
        key = entity_id(self._view.lane_id, kind, self.bare.normal)
        tie = str(one.proposal.tie)
        name = tie + self.bare.name if has_han(tie) else f"{tie} {self.bare.name}"
        made = make_entity(self._view.lane_id, name, kind, entry_id=self._entry.id, canonical_id=self.bare.id)
        return self.people.get(key, replace(made, id=key))

    def _meant(self, one: PlacedProposal) -> Entity | None:
        """Return whom a name means: the one so called, that of a named item, the only one, or the last spoken of."""
        named = {*one.proposal.held, *(() if one.judgement is None else [one.judgement.target])}
        persons = [item.data.get(PERSON) for item in self._items if item.id in named]
        for row in self.people.values():
            if row.normal == normal_name(one.proposal.subject) or row.name in persons:
                return row
        if len(self._live) == 1 or (self._live and self._merged()):
            return self.people[min(self._live)]
        if self._last is not None:
            return self.people[self._last]
        session = one.item.session_id
        spoken = [item for item in self._items if session is not None and item.session_id == session]
        spoken = [item for item in spoken if any(self._is_of(item, self.people[live]) for live in self._live)]
        last = max((item.recorded_at for item in spoken), default=None)
        names = {item.data.get(PERSON) for item in spoken if item.recorded_at == last}
        found = [row for row in self.people.values() if names == {row.name}]
        return found[0] if found else None

    def _merged(self) -> bool:
        """Return whether all these people were merged into one."""
        rows = self._view.entities({self.people[one].normal for one in self._live})
        roots = {row.normal: row.canonical_id or row.id for row in rows if row.kind == NAME}
        return len({roots.get(self.people[one].normal, one) for one in self._live}) == 1

    @staticmethod
    def _is_of(item: Item, person: Entity) -> bool:
        counts = item.status == "active" and item.quarantine is None and item.ended != "retracted"
        return counts and person.name in {item.data.get(PERSON), item.subject}
