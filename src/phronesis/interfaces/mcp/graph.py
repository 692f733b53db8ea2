"""The knowledge graph of the reference memory server, stored as ordinary memories, and its nine tools.

An entity, an observation and a relation are each a verbatim message whose ``metadata`` says which of them it is. They
are searched, composed, explained, exported and erased like all other memories, and one call is one entry, so that one
rollback undoes all of it. The graph is read from them oldest first: of two entities of one name the first counts, and
duplicates are merged, so that concurrent servers do no harm.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, Final

from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase
from pydantic import BaseModel, Field, create_model

from phronesis.core.items import Item
from phronesis.core.reports import read_pages
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

Json = dict[str, Any]
Edge = tuple[str, str, str]
"""A relation in active voice: source, type, target."""


class KnowledgeGraph:
    """The graph of one caller as it was when this was made, and the operations of the reference server's nine tools.

    Entities and relations have the forms of the tools, `Entity` and `Relation`.
    """

    def __init__(self, caller: Caller, options: Options) -> None:
        """Read the graph."""
        self._caller = caller
        self._scope = options.lane()
        self._agent_id = options.agent_id
        self._types: dict[str, str] = {}
        self._nodes: dict[str, list[Item]] = {}
        self._observations: dict[str, dict[str, list[Item]]] = {}
        self._edges: dict[Edge, list[Item]] = {}
        filters = {f"metadata.{PART}": {"in": [ENTITY, OBSERVATION, RELATION]}}
        items = read_pages(caller.memory.get_all, **self._scope, filters=filters, limit=PAGE)
        for item in sorted(items, key=lambda one: (one.recorded_at, one.metadata[PLACE], one.id)):
            said = item.metadata
            if said[PART] == ENTITY:
                self._types.setdefault(said["name"], said["entity_type"])
                self._nodes.setdefault(said["name"], []).append(item)
            elif said[PART] == OBSERVATION:
                self._observations.setdefault(said["entity"], {}).setdefault(item.content, []).append(item)
            else:
                edge = said["source"], said["relation_type"], said["target"]
                self._edges.setdefault(edge, []).append(item)

    def create_entities(self, entities: Sequence[Json]) -> Json:
        """Add the entities with new names, with their observations; return those."""
        made: dict[str, Json] = {}
        for given in entities:
            if given["name"] not in self._types:
                made.setdefault(given["name"], {**given, "observations": list(dict.fromkeys(given["observations"]))})
        messages = []
        for name, one in made.items():
            said = {PART: ENTITY, "name": name, "entity_type": one["entityType"]}
            messages.append({"content": f"{name} ({one['entityType']})", "metadata": said})
            messages += _observed(name, one["observations"])
        self._keep(messages)
        return {"entities": list(made.values())}

    def create_relations(self, relations: Sequence[Json]) -> Json:
        """Add the new relations; return those. Their ends need not be entities."""
        made = [edge for edge in dict.fromkeys(map(_edge, relations)) if edge not in self._edges]
        self._keep(
            {
                "content": " ".join(edge),
                "metadata": {PART: RELATION, "source": edge[0], "relation_type": edge[1], "target": edge[2]},
            }
            for edge in made
        )
        return {"relations": list(map(_relation, made))}

    def add_observations(self, observations: Sequence[Json]) -> Json:
        """Add the new observations and return them by entity; NotFound, and nothing added, if one is missing."""
        added, messages = list[Json](), list[Json]()
        known = {name: set(self._observations.get(name, ())) for name in self._types}
        for given in observations:
            name = given["entityName"]
            if name not in known:
                raise NotFound(f"Entity with name {name} not found; create_entities makes it", field="entityName")
            new = [one for one in dict.fromkeys(given["contents"]) if one not in known[name]]
            known[name].update(new)
            messages += _observed(name, new)
            added.append({"entityName": name, "addedObservations": new})
        self._keep(messages)
        return {"results": added}

    def delete_entities(self, names: Sequence[str]) -> Json:
        """Archive entities with their observations and relations; missing ones are ignored, as in all deletions."""
        gone = set(names)
        items = [item for name in gone for item in self._nodes.get(name, ())]
        items += [item for name in gone for held in self._observations.get(name, {}).values() for item in held]
        items += [item for edge, held in self._edges.items() if {edge[0], edge[2]} & gone for item in held]
        return self._archive("Entities", items)

    def delete_observations(self, deletions: Sequence[Json]) -> Json:
        """Archive observations."""
        held = [
            self._observations.get(given["entityName"], {}).get(text, ())
            for given in deletions
            for text in given["observations"]
        ]
        return self._archive("Observations", [item for items in held for item in items])

    def delete_relations(self, relations: Sequence[Json]) -> Json:
        """Archive relations."""
        return self._archive("Relations", [item for one in relations for item in self._edges.get(_edge(one), ())])

    def read(self) -> Json:
        """Return the whole graph; observations without an entity are left out."""
        entities = [
            {"name": name, "entityType": kind, "observations": list(self._observations.get(name, ()))}
            for name, kind in self._types.items()
        ]
        return {"entities": entities, "relations": list(map(_relation, self._edges))}

    def search(self, query: str) -> Json:
        """Return entities whose name, type or observations contain the text, ignoring case, with their relations."""
        sought = query.lower()
        texts = {one["name"]: (one["name"], one["entityType"], *one["observations"]) for one in self.read()["entities"]}
        return self.open([name for name, own in texts.items() if any(sought in text.lower() for text in own)])

    def open(self, names: Sequence[str]) -> Json:
        """Return the entities with these names, and all their relations."""
        graph, chosen = self.read(), set(names)
        return {
            "entities": [one for one in graph["entities"] if one["name"] in chosen],
            "relations": [one for one in graph["relations"] if {one["from"], one["to"]} & chosen],
        }

    def _keep(self, messages: Iterable[Json]) -> None:
        """Store messages, in one entry."""
        rows = [{**one, "metadata": {**one["metadata"], PLACE: place}} for place, one in enumerate(messages)]
        if rows:
            self._caller.memory.add(rows, infer=False, **self._scope, agent_id=self._agent_id, actor=self._caller.actor)

    def _archive(self, what: str, items: Iterable[Item]) -> Json:
        """Archive items, and report success whether or not anything existed, as the reference server does."""
        for item_id in dict.fromkeys(item.id for item in items):
            self._caller.memory.delete(item_id, reason="removed from the knowledge graph", actor=self._caller.actor)
        return {"success": True, "message": f"{what} deleted successfully"}


def _observed(name: str, observations: Iterable[str]) -> list[Json]:
    return [{"content": text, "metadata": {PART: OBSERVATION, "entity": name}} for text in observations]


def _edge(relation: Mapping[str, str]) -> Edge:
    return relation["from"], relation["relationType"], relation["to"]


def _relation(edge: Edge) -> Json:
    return {"from": edge[0], "to": edge[2], "relationType": edge[1]}


# The tools, with the reference server's names, input and output.


class Entity(BaseModel):
    """An entity."""

    name: str = Field(description="The name of the entity", min_length=1)
    entityType: str = Field(description="The type of the entity")  # noqa: N815
    observations: list[str] = Field(description="An array of observation contents associated with the entity")


class Relation(BaseModel):
    """A relation."""

    source: str = Field(alias="from", description="The name of the entity where the relation starts")
    target: str = Field(alias="to", description="The name of the entity where the relation ends")
    relationType: str = Field(description="The type of the relation")  # noqa: N815


class NewObservations(BaseModel):
    """What is new of an entity."""

    entityName: str = Field(description="The name of the entity to add the observations to")  # noqa: N815
    contents: list[str] = Field(description="An array of observation contents to add")


class OldObservations(BaseModel):
    """What is no more to be held of an entity."""

    entityName: str = Field(description="The name of the entity containing the observations")  # noqa: N815
    observations: list[str] = Field(description="An array of observations to delete")


class AddedObservations(BaseModel):
    """What was new of one entity."""

    entityName: str  # noqa: N815
    addedObservations: list[str]  # noqa: N815


class Graph(BaseModel):
    """What the reading tools give."""

    entities: list[Entity]
    relations: list[Relation]


class Deletion(BaseModel):
    """What the deleting tools give."""

    success: bool
    message: str


def _list_of(what: str) -> Any:
    return Annotated[list[str], Field(description=f"An array of entity names to {what}")]


_SOUGHT: Final = "The search query to match against entity names, types, and observation content"
_ADDS: Final = {"writes": True, "idempotent": True}
_DELETES: Final = {"writes": True, "destructive": True, "idempotent": True}

# Name, description, fields of the arguments, result, the operation on the argument's value, and hints.
_Row = tuple[str, str, Mapping[str, Any], Any, Callable[..., Json], Mapping[str, bool]]
_TOOLS: Final[Sequence[_Row]] = (
    (
        "create_entities",
        "Create multiple new entities in the knowledge graph; names that exist are ignored.",
        {"entities": list[Entity]},
        create_model("Entities", __doc__="What ``create_entities`` gives.", entities=list[Entity]),
        KnowledgeGraph.create_entities,
        _ADDS,
    ),
    (
        "create_relations",
        (
            "Create multiple new relations between entities in the knowledge graph, in active voice; relations that"
            " exist are ignored."
        ),
        {"relations": list[Relation]},
        create_model("Relations", __doc__="What ``create_relations`` gives.", relations=list[Relation]),
        KnowledgeGraph.create_relations,
        _ADDS,
    ),
    (
        "add_observations",
        "Add new observations to existing entities in the knowledge graph.",
        {"observations": list[NewObservations]},
        create_model("Results", __doc__="What ``add_observations`` gives.", results=list[AddedObservations]),
        KnowledgeGraph.add_observations,
        _ADDS,
    ),
    (
        "delete_entities",
        "Delete multiple entities and their relations from the knowledge graph.",
        {"entityNames": _list_of("delete")},
        Deletion,
        KnowledgeGraph.delete_entities,
        _DELETES,
    ),
    (
        "delete_observations",
        "Delete specific observations from entities in the knowledge graph.",
        {"deletions": list[OldObservations]},
        Deletion,
        KnowledgeGraph.delete_observations,
        _DELETES,
    ),
    (
        "delete_relations",
        "Delete multiple relations from the knowledge graph.",
        {"relations": list[Relation]},
        Deletion,
        KnowledgeGraph.delete_relations,
        _DELETES,
    ),
    ("read_graph", "Read the entire knowledge graph.", {}, Graph, KnowledgeGraph.read, {}),
    (
        "search_nodes",
        "Search for nodes in the knowledge graph whose name, type or observations hold a text.",
        {"query": Annotated[str, Field(max_length=2_048, description=_SOUGHT)]},  # as the reference server
        Graph,
        KnowledgeGraph.search,
        {},
    ),
    (
        "open_nodes",
        "Open specific nodes in the knowledge graph by their names.",
        {"names": _list_of("retrieve")},
        Graph,
        KnowledgeGraph.open,
        {},
    ),
)


def _result_text(result: Json) -> str:
    """Return the text that the reference server adds: the message, or the JSON of the result."""
    if "message" in result:
        return str(result["message"])
    inner = next(iter(result.values())) if len(result) == 1 else result
    return json.dumps(inner, ensure_ascii=False, indent=2)


def graph_verbs(options: Options) -> Sequence[Verb]:
    """Return the nine tools over the graph of the default scope."""

    def verb(row: _Row) -> Verb:
        name, said, takes, gives, act, hints = row

        def call(caller: Caller, given: dict[str, Any]) -> Any:
            return act(KnowledgeGraph(caller, options), *given.values())

        title = name.replace("_", " ").title()
        model = create_model(name, __base__=ArgModelBase, __doc__=f"{title}.\n\n{said}", **takes)
        return Verb(name, model, gives, call, _result_text, **hints)

    return [verb(row) for row in _TOOLS]
