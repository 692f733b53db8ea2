"""A tool of ours as the SDK runs it: arguments checked, a verb called in a worker thread, its record given twice."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Final

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.tools import Tool
from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase, FuncMetadata
from mcp.types import CallToolResult, TextContent, ToolAnnotations
from pydantic import BaseModel, ValidationError

from phronesis.errors import PhronesisError
from phronesis.interfaces.mcp.access import Caller
from phronesis.interfaces.mcp.reception import Reception
from phronesis.interfaces.mcp.refusals import not_allowed, refused, wrong_arguments
from phronesis.wire import as_json, schema_of


@dataclass(frozen=True, slots=True)
class Verb:
    """A tool as the tables say it.

    Attributes:
        name: the tool's name.
        title: what people see.
        description: tells a model when to use it.
        takes: the model of its arguments.
        gives: the type of its result, for the output schema; a list goes out as ``{"result": [...]}``.
        call: what does it: gets the caller and the arguments that were given.
        say: puts the result into a few lines that a model reads well.
        writes: whether it stores or changes anything.
        destructive: whether it may take the place of what is there; only of one that writes.
        idempotent: whether the same call again changes nothing more.
    """

    name: str
    title: str
    description: str
    takes: type[ArgModelBase]
    gives: Any
    call: Callable[[Caller, dict[str, Any]], Any]
    say: Callable[[Any], str]
    writes: bool = False
    destructive: bool = False
    idempotent: bool = True

    def hints(self) -> ToolAnnotations:
        """Give the annotations: a memory is a closed world."""
        return ToolAnnotations(
            title=self.title, read_only_hint=not self.writes, destructive_hint=self.destructive,
            idempotent_hint=self.idempotent, open_world_hint=False,
        )  # fmt: skip


class LenientJson(FuncMetadata):
    """Reads an argument that came as JSON within a string, as some clients send it, but only where it must be.

    The SDK reads every such string; then a text to remember that happens to be JSON would not arrive as a text.
    """

    def pre_parse_json(self, data: dict[str, Any]) -> dict[str, Any]:
        """Give the arguments as they are to be checked."""
        try:
            self.arg_model.model_validate(data)
        except ValidationError:
            return super().pre_parse_json(data)
        return data


class VerbTool(Tool):
    """A tool whose wrong arguments are refused with code and field, as all else is."""

    async def run(self, arguments: dict[str, Any], context: Context[Any, Any], convert_result: bool = False) -> Any:
        """Run it; our errors are results with ``isError``, and what nobody foresaw is the SDK's to log and hide."""
        try:
            self.fn_metadata.validate_arguments(arguments)
        except ValidationError as error:
            return wrong_arguments(error)
        return await super().run(arguments, context, convert_result)


def tool_of(verb: Verb, reception: Reception) -> VerbTool:
    """Give the tool of a verb."""
    schema = output_schema(verb.gives)
    return VerbTool(
        fn=partial(_carried_out, verb, reception), name=verb.name, title=verb.title, description=verb.description,
        parameters=_input_schema(verb.takes), context_kwarg=None, is_async=False, annotations=verb.hints(),
        fn_metadata=LenientJson(arg_model=verb.takes, output_schema=schema),
    )  # fmt: skip


@cache
def output_schema(gives: Any) -> dict[str, Any]:
    """Give the JSON Schema of what a tool gives; it is always that of an object."""
    schema: dict[str, Any] = brief(schema_of(gives), leaving_out=("title", "default"))
    if schema.get("type") == "array":
        parts = {"$defs": schema.pop("$defs")} if "$defs" in schema else {}
        return {**parts, "type": "object", "properties": {"result": schema}, "required": ["result"]}
    return {**schema, "type": "object"}


def brief(schema: Any, *, leaving_out: Collection[str]) -> Any:
    """Give a schema without some of its keywords: a client is sent all schemas at once, and may put them in a prompt.

    Titles only repeat names; what a member is by default says nothing where each is always there. A property's name is
    no keyword and stays.
    """
    if isinstance(schema, list):
        return [brief(one, leaving_out=leaving_out) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: {key: brief(part, leaving_out=leaving_out) for key, part in one.items()}
        if name in _NAMED and isinstance(one, dict)
        else brief(one, leaving_out=leaving_out)
        for name, one in schema.items()
        if name not in leaving_out
    }


_NAMED: Final = frozenset({"properties", "$defs"})
"""Keywords whose members are named by whoever wrote the schema."""


def _input_schema(takes: type[BaseModel]) -> dict[str, Any]:
    schema: dict[str, Any] = brief(takes.model_json_schema(), leaving_out=("title",))
    schema.pop("description", None)  # of the model's class: what the tool does, its own description says
    return schema


def _carried_out(verb: Verb, reception: Reception, **arguments: Any) -> CallToolResult:
    try:
        caller = reception.caller()
        if verb.writes and not caller.may("write"):
            return not_allowed("write")
        result = verb.call(caller, _given(arguments, reception.options.defaults(arguments, writes=verb.writes)))
    except PhronesisError as error:
        return refused(error)
    told = as_json(result)
    structured = told if isinstance(told, Mapping) else {"result": told}
    return CallToolResult(content=[TextContent(text=verb.say(result))], structured_content=dict(structured))


def _given(arguments: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Give the arguments that were given, as plain values, and the server's defaults for those that were not."""
    filled = {**arguments, **defaults}
    return {name: _plain(value) for name, value in filled.items() if value is not None and not _shared(name, value)}


def _shared(name: str, value: Any) -> bool:
    """Tell whether an empty user is meant: nobody's own, but what is shared."""
    return name == "user_id" and value == ""


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(exclude_unset=True, by_alias=True)
    return [_plain(one) for one in value] if isinstance(value, list) else value
