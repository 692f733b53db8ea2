"""A tool of ours as the SDK runs it: arguments checked, a verb called in a worker thread, its result in a budget."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.tools import Tool
from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase, FuncMetadata
from mcp.types import CallToolResult, TextContent, ToolAnnotations
from pydantic import BaseModel, ValidationError

from phronesis.core.plain import as_json
from phronesis.errors import PhronesisError
from phronesis.interfaces.mcp.access import Caller, Options
from phronesis.interfaces.mcp.composing import compose_within
from phronesis.interfaces.mcp.reception import Reception
from phronesis.interfaces.mcp.refusals import not_allowed, refused, wrong_arguments
from phronesis.interfaces.mcp.result_budget import Count, ResultText, record_within
from phronesis.interfaces.mcp.result_text import ROLLBACK
from phronesis.interfaces.mcp.tool_schemas import input_schema, output_schema

BUDGET: Final = "token_budget"

CONTEXT_META: Final = "phronesis/context"
"""The member of ``_meta`` that holds what programs need of a context: id, tokens, and what its citations name."""


@dataclass(frozen=True, slots=True)
class Verb:
    """A tool as the tables say it.

    Attributes:
        name: the tool's name.
        title: what people see.
        description: tells a model when to call it.
        takes: the model of its arguments.
        gives: the members of its record and their JSON types; or the type of a result that goes out whole.
        call: what does it: gets the caller and the arguments that were given.
        say: puts the result into lines for a model; of a result that goes out whole, into a text.
        budget: tokens of its result where the call names none.
        writes: whether it stores or changes anything.
        destructive: whether it may take the place of what is there; only of one that writes.
        idempotent: whether the same call again changes nothing more.
        composes: whether its verb keeps the budget itself.
    """

    name: str
    title: str
    description: str
    takes: type[ArgModelBase]
    gives: Any
    call: Callable[[Caller, dict[str, Any]], Any]
    say: Callable[[Any], ResultText | str]
    budget: int = 0
    writes: bool = False
    destructive: bool = False
    idempotent: bool = True
    composes: bool = False

    @property
    def whole(self) -> bool:
        """Whether the result goes out as it is, under the schema of its type: the reference server's tools."""
        return not isinstance(self.gives, Mapping)

    def hints(self) -> ToolAnnotations:
        """Give the annotations: a memory is a closed world."""
        return ToolAnnotations(
            read_only_hint=not self.writes, destructive_hint=self.destructive, idempotent_hint=self.idempotent,
            open_world_hint=False,
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
            return wrong_arguments(error, arguments)
        return await super().run(arguments, context, convert_result)


def tool_of(verb: Verb, reception: Reception) -> VerbTool:
    """Give the tool of a verb; an output schema stands where it gives a record."""
    records = verb.whole or reception.options.records
    return VerbTool(
        fn=partial(_carried_out, verb, reception), name=verb.name, title=verb.title, description=verb.description,
        parameters=input_schema(verb.takes, whole=records), context_kwarg=None, is_async=False,
        annotations=verb.hints(),
        fn_metadata=LenientJson(arg_model=verb.takes, output_schema=output_schema(verb.gives) if records else None),
    )  # fmt: skip


def _carried_out(verb: Verb, reception: Reception, **arguments: Any) -> CallToolResult:
    try:
        caller = reception.caller()
        if verb.writes and not caller.may("write"):
            return not_allowed("write")
        given = _given(arguments, reception.options.defaults(arguments, writes=verb.writes))
        if verb.whole:
            return _whole(verb, verb.call(caller, given))
        return _within(verb, caller, given, reception.options)
    except PhronesisError as error:
        return refused(error)


def _whole(verb: Verb, result: Any) -> CallToolResult:
    """Give a result as it is, text and record."""
    return CallToolResult(content=[TextContent(text=str(verb.say(result)))], structured_content=dict(as_json(result)))


def _within(verb: Verb, caller: Caller, given: dict[str, Any], options: Options) -> CallToolResult:
    """Give a result whose text, and record where one is given, are no more tokens together than the call's budget."""
    budget, records = given.pop(BUDGET, verb.budget), options.records
    if verb.composes:
        return _context(verb, caller, given, budget, records=records)
    result = verb.call(caller, given)
    count: Count = caller.memory.stages.count_tokens
    text, record, shown = _cut(verb, result, options, count, budget)
    if hasattr(result, "next_cursor") and shown < len(result):
        # A cursor goes on after the whole page: what does not fit in belongs to the next one.
        result = verb.call(caller, {**given, "limit": max(1, shown)})
        text, record, _ = _cut(verb, result, options, count, budget)
    return CallToolResult(content=[TextContent(text=text)], structured_content=record)


def _cut(
    verb: Verb, result: Any, options: Options, count: Count, budget: int
) -> tuple[str, dict[str, Any] | None, int]:
    """Give a result as a text, and as a record where one is asked for, and how many of its lines are in both."""
    said = verb.say(result)
    if isinstance(said, str):
        said = ResultText(said)
    if ROLLBACK in said.tail and ROLLBACK not in options.offered():
        said = replace(said, tail="")
    text, shown = said.within(budget // 2 if options.records else budget, count)
    if not options.records:
        return text, None, shown
    told = as_json(result)
    lists = [name for name, kind in verb.gives.items() if kind == "array"]
    record = record_within(
        told if isinstance(told, Mapping) else {"result": told}, budget - count(text), count, lists=lists
    )
    return text, record, min([shown, *(len(record.get(name, ())) for name in lists)])


def _context(verb: Verb, caller: Caller, given: dict[str, Any], budget: int, *, records: bool) -> CallToolResult:
    """Give a context; what programs need of it stands in ``_meta``, which no model is shown."""
    text, record = compose_within(partial(verb.call, caller), given, budget, caller.memory.stages, records=records)
    meta = {name: value for name, value in record.items() if name != "text"}
    return CallToolResult(
        content=[TextContent(text=text)], structured_content=record if records else None, _meta={CONTEXT_META: meta}
    )


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
