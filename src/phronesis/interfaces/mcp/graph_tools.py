"""The nine tools of the reference memory server, with its names, input and output."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, NamedTuple

from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase
from pydantic import BaseModel, Field

from phronesis.core.serialization import Record, as_json
from phronesis.interfaces.mcp.graph import KnowledgeGraph
from phronesis.interfaces.mcp.request_context import Caller, Options
from phronesis.interfaces.mcp.tool_calls import Verb

QUERY_MOST: Final = 2_048
"""Maximum characters of a query (source: the reference server's schema)."""


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


class CreateEntities(ArgModelBase):
    """``create_entities``."""

    entities: list[EntityInput]


class RelationsArguments(ArgModelBase):
    """``create_relations`` and ``delete_relations``."""

    relations: list[RelationInput]


class AddObservations(ArgModelBase):
    """``add_observations``."""

    observations: list[ObservationsInput]


class DeleteEntities(ArgModelBase):
    """``delete_entities``."""

    entityNames: list[str] = Field(description="An array of entity names to delete")  # noqa: N815


class DeleteObservations(ArgModelBase):
    """``delete_observations``."""

    deletions: list[DeletionInput]


class ReadGraph(ArgModelBase):
    """``read_graph``."""


class SearchNodes(ArgModelBase):
    """``search_nodes``."""

    query: Annotated[str, Field(max_length=QUERY_MOST)] = Field(
        description="The search query to match against entity names, types, and observation content"
    )


class OpenNodes(ArgModelBase):
    """``open_nodes``."""

    names: list[str] = Field(description="An array of entity names to retrieve")


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


class EntitiesShape(BaseModel):
    """What ``create_entities`` gives."""

    entities: list[EntityShape]


class RelationsShape(BaseModel):
    """What ``create_relations`` gives."""

    relations: list[RelationShape]


class AddedShape(BaseModel):
    """What was new of one entity."""

    entityName: str  # noqa: N815
    addedObservations: list[str]  # noqa: N815


class ResultsShape(BaseModel):
    """What ``add_observations`` gives."""

    results: list[AddedShape]


class GraphShape(BaseModel):
    """What the reading tools give."""

    entities: list[EntityShape]
    relations: list[RelationShape]


@dataclass(frozen=True, slots=True)
class DeletionResult(Record):
    """What the deleting tools give."""

    success: bool
    message: str


Act = Callable[[KnowledgeGraph, dict[str, Any]], Any]


_READS: Final[Mapping[str, bool]] = {}
_ADDS: Final = {"writes": True, "idempotent": True}
_DELETES: Final = {"writes": True, "destructive": True, "idempotent": True}


class _Tool(NamedTuple):
    """A tool over the graph: its act takes the graph and the given arguments."""

    name: str
    description: str
    takes: type[ArgModelBase]
    gives: Any
    act: Act
    hints: Mapping[str, bool] = _READS

    def verb(self, options: Options) -> Verb:
        """Return the tool over the graph of the default scope."""

        def call(caller: Caller, given: dict[str, Any]) -> Any:
            return self.act(KnowledgeGraph(caller, options), given)

        title = self.name.replace("_", " ").title()
        return Verb(self.name, title, self.description, self.takes, self.gives, call, _result_text, **self.hints)


def _report_deletion(what: str, _memories: int) -> DeletionResult:
    """Report success whether or not anything existed, as the reference server does."""
    return DeletionResult(success=True, message=f"{what} deleted successfully")


def _result_text(result: Any) -> str:
    """Return the text that the reference server adds: the message, or the JSON of the result."""
    if isinstance(result, DeletionResult):
        return result.message
    told = as_json(result)
    inner = next(iter(told.values())) if len(told) == 1 else told
    return json.dumps(inner, ensure_ascii=False, indent=2)


_TOOLS: Final = (
    _Tool(
        "create_entities",
        "Create multiple new entities in the knowledge graph; names that exist are ignored.",
        CreateEntities,
        EntitiesShape,
        lambda graph, given: {"entities": graph.create_entities(given["entities"])},
        hints=_ADDS,
    ),
    _Tool(
        "create_relations",
        "Create multiple new relations between entities in the knowledge graph, in active"
        " voice; relations that exist are ignored.",
        RelationsArguments,
        RelationsShape,
        lambda graph, given: {"relations": graph.create_relations(given["relations"])},
        hints=_ADDS,
    ),
    _Tool(
        "add_observations",
        "Add new observations to existing entities in the knowledge graph.",
        AddObservations,
        ResultsShape,
        lambda graph, given: {"results": graph.add_observations(given["observations"])},
        hints=_ADDS,
    ),
    _Tool(
        "delete_entities",
        "Delete multiple entities and their relations from the knowledge graph.",
        DeleteEntities,
        DeletionResult,
        lambda graph, given: _report_deletion("Entities", graph.delete_entities(given["entityNames"])),
        hints=_DELETES,
    ),
    _Tool(
        "delete_observations",
        "Delete specific observations from entities in the knowledge graph.",
        DeleteObservations,
        DeletionResult,
        lambda graph, given: _report_deletion("Observations", graph.delete_observations(given["deletions"])),
        hints=_DELETES,
    ),
    _Tool(
        "delete_relations",
        "Delete multiple relations from the knowledge graph.",
        RelationsArguments,
        DeletionResult,
        lambda graph, given: _report_deletion("Relations", graph.delete_relations(given["relations"])),
        hints=_DELETES,
    ),
    _Tool("read_graph", "Read the entire knowledge graph.", ReadGraph, GraphShape, lambda graph, _given: graph.read()),
    _Tool(
        "search_nodes",
        "Search for nodes in the knowledge graph whose name, type or observations hold a text.",
        SearchNodes,
        GraphShape,
        lambda graph, given: graph.search(given["query"]),
    ),
    _Tool(
        "open_nodes",
        "Open specific nodes in the knowledge graph by their names.",
        OpenNodes,
        GraphShape,
        lambda graph, given: graph.open(given["names"]),
    ),
)


def graph_verbs(options: Options) -> Sequence[Verb]:
    """Return the nine tools over the graph of the default scope."""
    return [tool.verb(options) for tool in _TOOLS]
