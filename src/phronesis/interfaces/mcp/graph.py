"""The knowledge graph of the reference memory server, stored as ordinary memories.

An entity, an observation and a relation are each a verbatim message whose ``metadata`` says which of them it is. They
are searched, composed, explained, exported and erased like all other memories, and one call is one entry, so that one
rollback undoes all of it. The graph is read from them oldest first: of two entities of one name the first counts, and
duplicates are merged, so that concurrent servers do no harm.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from phronesis.core.items import Item
from phronesis.core.serialization import Record
from phronesis.errors import NotFound
from phronesis.interfaces.mcp.request_context import Caller, Options

PART: Final = "graph"
"""Member of ``metadata`` with the part of the graph that a memory represents."""
ENTITY: Final = "entity"
OBSERVATION: Final = "observation"
RELATION: Final = "relation"
PLACE: Final = "graph_place"
"""Position within its call: all memories of a call have one time."""

PAGE: Final = 1_000
"""Memories per read; the whole graph is read, as in the reference server."""


@dataclass(frozen=True, slots=True)
class Entity(Record):
    """A node, with the field names of the reference server."""

    name: str
    entityType: str  # noqa: N815
    observations: Sequence[str]


@dataclass(frozen=True, slots=True)
class Relation:
    """An edge, in active voice: source, type, target."""

    source: str
    relation_type: str
    target: str

    @classmethod
    def of(cls, given: Mapping[str, str]) -> "Relation":
        """Return the relation in a tool's argument."""
        return cls(given["from"], given["relationType"], given["to"])

    def to_dict(self) -> dict[str, str]:
        """Return the form of the tools: ``from`` is a reserved word in Python."""
        return {"from": self.source, "to": self.target, "relationType": self.relation_type}


@dataclass(frozen=True, slots=True)
class Graph(Record):
    """A graph, or part of one."""

    entities: Sequence[Entity]
    relations: Sequence[Relation]

    def around(self, names: set[str]) -> "Graph":
        """Return the entities with these names, and all their relations."""
        return Graph(
            tuple(one for one in self.entities if one.name in names),
            tuple(one for one in self.relations if {one.source, one.target} & names),
        )


@dataclass(slots=True)
class GraphItems:
    """The memories that represent the graph."""

    types: dict[str, str] = field(default_factory=dict)
    nodes: dict[str, list[Item]] = field(default_factory=dict)
    observations: dict[str, dict[str, list[Item]]] = field(default_factory=dict)
    relations: dict[Relation, list[Item]] = field(default_factory=dict)

    def graph(self) -> Graph:
        """Return the graph; observations without an entity are left out."""
        return Graph(
            tuple(Entity(name, kind, tuple(self.observations.get(name, ()))) for name, kind in self.types.items()),
            tuple(self.relations),
        )

    def take(self, item: Item) -> None:
        """Add one memory."""
        said = item.metadata
        if said[PART] == ENTITY:
            self.types.setdefault(said["name"], said["entity_type"])
            self.nodes.setdefault(said["name"], []).append(item)
        elif said[PART] == OBSERVATION:
            self.observations.setdefault(said["entity"], {}).setdefault(item.content, []).append(item)
        elif said[PART] == RELATION:
            edge = Relation(said["source"], said["relation_type"], said["target"])
            self.relations.setdefault(edge, []).append(item)


class KnowledgeGraph:
    """The graph of one caller, with the operations of the reference server's nine tools."""

    def __init__(self, caller: Caller, options: Options) -> None:
        self._caller = caller
        self._scope = options.lane()
        self._agent_id = options.agent_id

    def create_entities(self, entities: Sequence[Mapping[str, Any]]) -> list[Entity]:
        """Add the entities with new names, with their observations; return those."""
        known, made = set(self._load_graph().types), list[Entity]()
        for given in entities:
            if given["name"] not in known:
                known.add(given["name"])
                made.append(Entity(given["name"], given["entityType"], tuple(dict.fromkeys(given["observations"]))))
        self._keep(message for one in made for message in (_node(one), *_observation_items(one.name, one.observations)))
        return made

    def create_relations(self, relations: Sequence[Mapping[str, str]]) -> list[Relation]:
        """Add the new relations; return those. Their ends need not be entities."""
        known = self._load_graph().relations
        made = [one for one in dict.fromkeys(map(Relation.of, relations)) if one not in known]
        self._keep(map(_edge, made))
        return made

    def add_observations(self, observations: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Add the new observations and return them by entity.

        NotFound if one entity is missing, and nothing is added.
        """
        kept, out, messages = self._load_graph(), list[dict[str, Any]](), list[dict[str, Any]]()
        known = {name: set(kept.observations.get(name, ())) for name in kept.types}
        for given in observations:
            name = given["entityName"]
            if name not in known:
                raise NotFound(f"Entity with name {name} not found; create_entities makes it", field="entityName")
            new = [one for one in dict.fromkeys(given["contents"]) if one not in known[name]]
            known[name].update(new)
            messages += _observation_items(name, new)
            out.append({"entityName": name, "addedObservations": new})
        self._keep(messages)
        return out

    def delete_entities(self, names: Sequence[str]) -> int:
        """Archive entities with their observations and relations; return the number of memories.

        Missing ones are ignored, as in the other deletions.
        """
        kept, gone = self._load_graph(), set(names)
        items = [item for name in gone for item in kept.nodes.get(name, ())]
        items += [item for name in gone for said in kept.observations.get(name, {}).values() for item in said]
        items += [item for edge, held in kept.relations.items() if {edge.source, edge.target} & gone for item in held]
        return self._archive(items)

    def delete_observations(self, deletions: Sequence[Mapping[str, Any]]) -> int:
        """Archive observations; return the number of memories."""
        kept = self._load_graph().observations
        return self._archive(
            item
            for given in deletions
            for text in given["observations"]
            for item in kept.get(given["entityName"], {}).get(text, ())
        )

    def delete_relations(self, relations: Sequence[Mapping[str, str]]) -> int:
        """Archive relations; return the number of memories."""
        kept = self._load_graph().relations
        return self._archive(item for one in map(Relation.of, relations) for item in kept.get(one, ()))

    def read(self) -> Graph:
        """Return the whole graph."""
        return self._load_graph().graph()

    def search(self, query: str) -> Graph:
        """Return entities whose name, type or observations contain the text, ignoring case, with their relations."""
        graph, sought = self.read(), query.lower()
        return graph.around(
            {
                one.name
                for one in graph.entities
                if any(sought in text.lower() for text in (one.name, one.entityType, *one.observations))
            }
        )

    def open(self, names: Sequence[str]) -> Graph:
        """Return the entities with these names and their relations."""
        return self.read().around(set(names))

    def _load_graph(self) -> GraphItems:
        items, cursor = list[Item](), None
        filters = {f"metadata.{PART}": {"in": [ENTITY, OBSERVATION, RELATION]}}
        while True:
            page = self._caller.memory.get_all(**self._scope, filters=filters, limit=PAGE, cursor=cursor)
            items += page
            cursor = page.next_cursor
            if cursor is None:
                break
        kept = GraphItems()
        for item in sorted(items, key=lambda one: (one.recorded_at, one.metadata[PLACE], one.id)):
            kept.take(item)
        return kept

    def _keep(self, messages: Iterable[dict[str, Any]]) -> None:
        """Store messages, in one entry."""
        rows = [
            {**message, "metadata": {**message["metadata"], PLACE: place}} for place, message in enumerate(messages)
        ]
        if rows:
            self._caller.memory.add(rows, infer=False, **self._scope, agent_id=self._agent_id, actor=self._caller.actor)

    def _archive(self, items: Iterable[Item]) -> int:
        gone = {item.id: item for item in items}
        for item in gone.values():
            self._caller.memory.delete(item.id, reason="removed from the knowledge graph", actor=self._caller.actor)
        return len(gone)


def _node(one: Entity) -> dict[str, Any]:
    said = {PART: ENTITY, "name": one.name, "entity_type": one.entityType}
    return {"content": f"{one.name} ({one.entityType})", "metadata": said}


def _observation_items(name: str, observations: Iterable[str]) -> list[dict[str, Any]]:
    said = {PART: OBSERVATION, "entity": name}
    return [{"content": text, "metadata": said} for text in observations]


def _edge(one: Relation) -> dict[str, Any]:
    said = {PART: RELATION, "source": one.source, "relation_type": one.relation_type, "target": one.target}
    return {"content": f"{one.source} {one.relation_type} {one.target}", "metadata": said}
