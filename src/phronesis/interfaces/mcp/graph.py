"""The knowledge graph of the reference memory server, stored as ordinary memories, and its nine tools.

An entity, an observation and a relation are each a verbatim message whose ``metadata`` says which of them it is. They
are searched, composed, explained, exported and erased like all other memories, and one call is one entry, so that one
rollback undoes all of it. The graph is read from them oldest first: of two entities of one name the first counts, and
duplicates are merged, so that concurrent servers do no harm.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, Final

from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase
from pydantic import BaseModel, Field, create_model

from phronesis.core.items import Item
from phronesis.core.serialization import Record, as_json
from phronesis.errors import NotFound
from phronesis.interfaces.mcp.request_context import Caller, Options
from phronesis.interfaces.mcp.tool_calls import Verb

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

    @property
    def message(self) -> dict[str, Any]:
        """The message that stores it, without its observations."""
        said = {PART: ENTITY, "name": self.name, "entity_type": self.entityType}
        return {"content": f"{self.name} ({self.entityType})", "metadata": said}


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

    @property
    def message(self) -> dict[str, Any]:
        """The message that stores it."""
        said = {PART: RELATION, "source": self.source, "relation_type": self.relation_type, "target": self.target}
        return {"content": f"{self.source} {self.relation_type} {self.target}", "metadata": said}


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
        self._keep(message for one in made for message in (one.message, *_observed(one.name, one.observations)))
        return made

    def create_relations(self, relations: Sequence[Mapping[str, str]]) -> list[Relation]:
        """Add the new relations; return those. Their ends need not be entities."""
        known = self._load_graph().relations
        made = [one for one in dict.fromkeys(map(Relation.of, relations)) if one not in known]
        self._keep(one.message for one in made)
        return made

    def add_observations(self, observations: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Add the new observations and return them by entity; NotFound, and nothing added, if one is missing."""
        kept, out, messages = self._load_graph(), list[dict[str, Any]](), list[dict[str, Any]]()
        known = {name: set(kept.observations.get(name, ())) for name in kept.types}
        for given in observations:
            name = given["entityName"]
            if name not in known:
                raise NotFound(f"Entity with name {name} not found; create_entities makes it", field="entityName")
            new = [one for one in dict.fromkeys(given["contents"]) if one not in known[name]]
            known[name].update(new)
            messages += _observed(name, new)
            out.append({"entityName": name, "addedObservations": new})
        self._keep(messages)
        return out

    def delete_entities(self, names: Sequence[str]) -> None:
        """Archive entities with their observations and relations; missing ones are ignored, as in all deletions."""
        kept, gone = self._load_graph(), set(names)
        items = [item for name in gone for item in kept.nodes.get(name, ())]
        items += [item for name in gone for said in kept.observations.get(name, {}).values() for item in said]
        items += [item for edge, held in kept.relations.items() if {edge.source, edge.target} & gone for item in held]
        self._archive(items)

    def delete_observations(self, deletions: Sequence[Mapping[str, Any]]) -> None:
        """Archive observations."""
        kept = self._load_graph().observations
        self._archive(
            item
            for given in deletions
            for text in given["observations"]
            for item in kept.get(given["entityName"], {}).get(text, ())
        )

    def delete_relations(self, relations: Sequence[Mapping[str, str]]) -> None:
        """Archive relations."""
        kept = self._load_graph().relations
        self._archive(item for one in map(Relation.of, relations) for item in kept.get(one, ()))

    def read(self) -> Graph:
        """Return the whole graph; observations without an entity are left out."""
        kept = self._load_graph()
        entities = (Entity(name, kind, tuple(kept.observations.get(name, ()))) for name, kind in kept.types.items())
        return Graph(tuple(entities), tuple(kept.relations))

    def search(self, query: str) -> Graph:
        """Return entities whose name, type or observations contain the text, ignoring case, with their relations."""
        graph, sought = self.read(), query.lower()
        texts = {one.name: (one.name, one.entityType, *one.observations) for one in graph.entities}
        return graph.around({name for name, own in texts.items() if any(sought in text.lower() for text in own)})

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
            said = item.metadata
            if said[PART] == ENTITY:
                kept.types.setdefault(said["name"], said["entity_type"])
                kept.nodes.setdefault(said["name"], []).append(item)
            elif said[PART] == OBSERVATION:
                kept.observations.setdefault(said["entity"], {}).setdefault(item.content, []).append(item)
            else:
                edge = Relation(said["source"], said["relation_type"], said["target"])
                kept.relations.setdefault(edge, []).append(item)
        return kept

    def _keep(self, messages: Iterable[dict[str, Any]]) -> None:
        """Store messages, in one entry."""
        rows = [{**one, "metadata": {**one["metadata"], PLACE: place}} for place, one in enumerate(messages)]
        if rows:
            self._caller.memory.add(rows, infer=False, **self._scope, agent_id=self._agent_id, actor=self._caller.actor)

    def _archive(self, items: Iterable[Item]) -> None:
        for item_id in dict.fromkeys(item.id for item in items):
            self._caller.memory.delete(item_id, reason="removed from the knowledge graph", actor=self._caller.actor)


def _observed(name: str, observations: Iterable[str]) -> list[dict[str, Any]]:
    return [{"content": text, "metadata": {PART: OBSERVATION, "entity": name}} for text in observations]


# The tools, with the reference server's names, input and output: what goes in is described, what goes out is named.


class EntityInput(BaseModel):
    """An entity."""

    name: str = Field(description="The name of the entity", min_length=1)
    entityType: str = Field(description="The type of the entity")  # noqa: N815
    observations: list[str] = Field(description="An array of observation contents associated with the entity")


class RelationInput(BaseModel):
    """A relation."""

    source: str = Field(alias="from", description="The name of the entity where the relation starts")
    target: str = Field(alias="to", description="The name of the entity where the relation ends")
    relationType: str = Field(description="The type of the relation")  # noqa: N815


class ObservationsInput(BaseModel):
    """What is new of an entity."""

    entityName: str = Field(description="The name of the entity to add the observations to")  # noqa: N815
    contents: list[str] = Field(description="An array of observation contents to add")


class DeletionInput(BaseModel):
    """What is no more to be held of an entity."""

    entityName: str = Field(description="The name of the entity containing the observations")  # noqa: N815
    observations: list[str] = Field(description="An array of observations to delete")


class EntityShape(BaseModel):
    """An entity, as it goes out."""

    name: str
    entityType: str  # noqa: N815
    observations: list[str]


class RelationShape(BaseModel):
    """A relation, as it goes out."""

    source: str = Field(alias="from")
    target: str = Field(alias="to")
    relationType: str  # noqa: N815


class AddedShape(BaseModel):
    """What was new of one entity."""

    entityName: str  # noqa: N815
    addedObservations: list[str]  # noqa: N815


class GraphShape(BaseModel):
    """What the reading tools give."""

    entities: list[EntityShape]
    relations: list[RelationShape]


@dataclass(frozen=True, slots=True)
class DeletionResult(Record):
    """What the deleting tools give."""

    success: bool
    message: str


def _result_text(result: Any) -> str:
    """Return the text that the reference server adds: the message, or the JSON of the result."""
    if isinstance(result, DeletionResult):
        return result.message
    told = as_json(result)
    inner = next(iter(told.values())) if len(told) == 1 else told
    return json.dumps(inner, ensure_ascii=False, indent=2)


def _named(field: str, add: Callable[..., Any], graph: KnowledgeGraph, given: Any) -> dict[str, Any]:
    return {field: add(graph, given)}


def _deletion(what: str, delete: Callable[..., None], graph: KnowledgeGraph, given: Any) -> DeletionResult:
    """Delete, and report success whether or not anything existed, as the reference server does."""
    delete(graph, given)
    return DeletionResult(success=True, message=f"{what} deleted successfully")


def _list_of(what: str) -> Any:
    return Annotated[list[str], Field(description=f"An array of entity names to {what}")]


_SOUGHT: Final = "The search query to match against entity names, types, and observation content"
_ADDS: Final = {"writes": True, "idempotent": True}
_DELETES: Final = {"writes": True, "destructive": True, "idempotent": True}

# Name, description, fields of the arguments, result, the operation on the argument's value, and hints.
_Row = tuple[str, str, Mapping[str, Any], Any, Callable[..., Any], Mapping[str, bool]]
_TOOLS: Final[Sequence[_Row]] = (
    (
        "create_entities",
        "Create multiple new entities in the knowledge graph; names that exist are ignored.",
        {"entities": list[EntityInput]},
        create_model("Entities", __doc__="What ``create_entities`` gives.", entities=list[EntityShape]),
        partial(_named, "entities", KnowledgeGraph.create_entities),
        _ADDS,
    ),
    (
        "create_relations",
        (
            "Create multiple new relations between entities in the knowledge graph, in active voice; relations that"
            " exist are ignored."
        ),
        {"relations": list[RelationInput]},
        create_model("Relations", __doc__="What ``create_relations`` gives.", relations=list[RelationShape]),
        partial(_named, "relations", KnowledgeGraph.create_relations),
        _ADDS,
    ),
    (
        "add_observations",
        "Add new observations to existing entities in the knowledge graph.",
        {"observations": list[ObservationsInput]},
        create_model("Results", __doc__="What ``add_observations`` gives.", results=list[AddedShape]),
        partial(_named, "results", KnowledgeGraph.add_observations),
        _ADDS,
    ),
    (
        "delete_entities",
        "Delete multiple entities and their relations from the knowledge graph.",
        {"entityNames": _list_of("delete")},
        DeletionResult,
        partial(_deletion, "Entities", KnowledgeGraph.delete_entities),
        _DELETES,
    ),
    (
        "delete_observations",
        "Delete specific observations from entities in the knowledge graph.",
        {"deletions": list[DeletionInput]},
        DeletionResult,
        partial(_deletion, "Observations", KnowledgeGraph.delete_observations),
        _DELETES,
    ),
    (
        "delete_relations",
        "Delete multiple relations from the knowledge graph.",
        {"relations": list[RelationInput]},
        DeletionResult,
        partial(_deletion, "Relations", KnowledgeGraph.delete_relations),
        _DELETES,
    ),
    ("read_graph", "Read the entire knowledge graph.", {}, GraphShape, KnowledgeGraph.read, {}),
    (
        "search_nodes",
        "Search for nodes in the knowledge graph whose name, type or observations hold a text.",
        {"query": Annotated[str, Field(max_length=2_048, description=_SOUGHT)]},  # as the reference server
        GraphShape,
        KnowledgeGraph.search,
        {},
    ),
    (
        "open_nodes",
        "Open specific nodes in the knowledge graph by their names.",
        {"names": _list_of("retrieve")},
        GraphShape,
        lambda graph, names: graph.read().around(set(names)),
        {},
    ),
)


def graph_verbs(options: Options) -> Sequence[Verb]:
    """Return the nine tools over the graph of the default scope."""

    def verb(row: _Row) -> Verb:
        name, said, takes, gives, act, hints = row

        def call(caller: Caller, given: dict[str, Any]) -> Any:
            return act(KnowledgeGraph(caller, options), *given.values())

        model = create_model(name, __base__=ArgModelBase, **takes)
        return Verb(name, name.replace("_", " ").title(), said, model, gives, call, _result_text, **hints)

    return [verb(row) for row in _TOOLS]
