"""Namesakes: which person a statement is about, where several have one name.

"My sister Anna" and "my colleague Anna" are two people: relation and name together say who is meant. As long as one
relation is known of a name, its items are those of the name. When a second is stated, each person gets a subject of
their own ("sister Anna", "colleague Anna"), and the items that are known to be of one move there. A bare "Anna" then
is whom the session spoke of last; where that does not tell, the name stays alone and belongs to neither.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from phronesis.conversation.consolidation_apply import PlacedProposal
from phronesis.conversation.entity_resolution import entity_id, make_entity, make_mention
from phronesis.core.changes import Patch
from phronesis.core.entries import Entry
from phronesis.core.items import Item
from phronesis.core.proposals import USER
from phronesis.core.relations import NAME, PERSON, Entity, Mention, normal_name, relation_kind
from phronesis.models.text_features import has_han
from phronesis.store.lane_view import LaneView


def name_with(relation: str, name: str) -> str:
    """Return a relation and a name together, as a language writes them: "sister Anna", 妹妹小芳."""
    return relation + name if has_han(relation) else f"{relation} {name}"


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
        name = name_with(str(one.proposal.tie), self.bare.name)
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
