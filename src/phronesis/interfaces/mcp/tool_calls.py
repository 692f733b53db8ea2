"""Run a tool: its schemas, the check of arguments, the call of a verb, the budget, errors, the log of activity."""

import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.tools import Tool
from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase, FuncMetadata
from mcp.types import CallToolResult, TextContent, ToolAnnotations
from pydantic import BaseModel, ValidationError

from phronesis.core.serialization import as_json
from phronesis.core.timestamps import to_micros
from phronesis.errors import PhronesisError
from phronesis.interfaces.mcp.request_context import Caller, Options, RequestTracker
from phronesis.interfaces.mcp.result_budget import Count, ResultText, compose_within, record_within
from phronesis.interfaces.mcp.result_text import ROLLBACK
from phronesis.uuid7 import new_id

# Errors as a caller of a tool or resource sees them: code, field and remedy, never a traceback.

META: Final = "phronesis/error"
"""Member of ``_meta`` with ``{code, message, field, details}``: an error has no structured content, since that would
have to follow the tool's output schema.
"""


def wrong_arguments(error: ValidationError, arguments: Mapping[str, Any]) -> CallToolResult:
    """Return the result for invalid arguments; it names the first invalid one.

    For an argument of several types, it names the invalid member under the type that matches best.
    """
    faults = [(_path(fault, arguments), fault) for fault in error.errors(include_url=False, include_context=False)]
    first = faults[0][0][:1]
    path = max((path for path, _ in faults if path[:1] == first), key=len)
    told = dict.fromkeys(str(fault["msg"]).removeprefix("Value error, ") for at, fault in faults if at == path)
    field = ".".join(map(str, path)) or "arguments"
    message = f"{field}: {', or '.join(told)}; the tool's input schema says what it takes"
    return _refusal({"code": "input.invalid", "message": message, "field": field, "details": {}})


def _path(fault: Mapping[str, Any], arguments: Any) -> tuple[str | int, ...]:
    """Return the path of a validation error in the arguments, without the type names that unions add."""
    path: list[str | int] = []
    value, parts = arguments, fault["loc"]
    for n, part in enumerate(parts):
        inside = isinstance(value, Mapping) and part in value
        inside |= isinstance(value, list) and isinstance(part, int) and part < len(value)
        if inside:
            value = value[part]
            path.append(part)
        elif fault["type"] == "missing" and n == len(parts) - 1:
            path.append(part)
    return tuple(path)


def _refusal(error: Mapping[str, Any]) -> CallToolResult:
    field = f" (field {error['field']})" if error["field"] else ""
    text = f"{error['code']}: {error['message']}{field}"
    return CallToolResult(content=[TextContent(text=text)], is_error=True, _meta={META: dict(error)})


# JSON Schemas of tools, kept small: a client puts all of them into each prompt.


def output_schema(gives: Any) -> dict[str, Any]:
    """Return the JSON Schema of a tool's result, always an object's; records are reduced to their members' names."""
    if not isinstance(gives, Mapping):
        from phronesis.wire import schema_of  # noqa: PLC0415 - all records; the default tools need none

        return {
            **drop_schema_keywords(schema_of(gives), leaving_out=("title", "default", "description")),
            "type": "object",
        }
    return {"type": "object", "properties": {name: {"type": kind} for name, kind in gives.items()}}


def drop_schema_keywords(schema: Any, *, leaving_out: Collection[str]) -> Any:
    """Return a schema without some keywords: a client receives all schemas at once, and may put them in a prompt.

    Titles only repeat names, and an optional member does not list null, although null is accepted. A property's name is
    no keyword and stays: the members of ``properties`` and ``$defs`` are names chosen by the schema's author.
    """
    if isinstance(schema, list):
        return [drop_schema_keywords(one, leaving_out=leaving_out) for one in schema]
    if not isinstance(schema, dict):
        return schema
    plain = {
        name: {key: drop_schema_keywords(part, leaving_out=leaving_out) for key, part in one.items()}
        if name in {"properties", "$defs"}
        else drop_schema_keywords(one, leaving_out=leaving_out)
        for name, one in schema.items()
        if name not in leaving_out and (name, one) not in _SAYS_NOTHING
    }
    choices = [one for one in plain.pop("anyOf", ()) if one != {"type": "null"}]
    if len(choices) == 1:
        return {**choices[0], **plain}
    return {**plain, "anyOf": choices} if choices else plain


_SAYS_NOTHING: Final = (("default", None), ("additionalProperties", True))


FOR_PROGRAMS: Final = frozenset(
    {"wait", "idempotency_key", "explain", "namespace", "agent_id", "run_id", "session_metadata"}
)
"""Arguments that a tool accepts but hides from models."""

PARTS_FOR_PROGRAMS: Final = frozenset(
    {"metadata", "id", "external_id", "created_at", "additionalProperties", "description"}
)
"""Members of the parts of a turn, and schema keywords, hidden from models."""


def input_schema(takes: type[BaseModel], *, whole: bool) -> dict[str, Any]:
    """Return the JSON Schema of a tool's arguments; ``whole`` includes those for programs only."""
    schema: dict[str, Any] = drop_schema_keywords(takes.model_json_schema(), leaving_out=("title", "maxLength"))
    schema.pop("description", None)  # the class docstring; the tool has a description of its own
    if whole:
        return schema
    parts = schema.get("$defs", {}).values()
    for part in (schema, *parts):
        first = dict.fromkeys(part.get("required", ()))
        members = {name: part["properties"][name] for name in first | part["properties"]}
        part["properties"] = {name: one for name, one in members.items() if name not in FOR_PROGRAMS}
    for part in parts:
        for name in PARTS_FOR_PROGRAMS:
            part.pop(name, None)
            part["properties"].pop(name, None)
    return schema


CONTEXT_META: Final = "phronesis/context"
"""Member of ``_meta`` with what programs need of a context: id, tokens, and the targets of its citations."""


@dataclass(frozen=True, slots=True)
class Verb:
    """The definition of a tool.

    Attributes:
        name: the tool's name.
        takes: the model of its arguments; its docstring is a title for people, and tells a model when to call it.
        gives: the members of its record and their JSON types; or the type of a result returned whole.
        call: the function, of the caller and the given arguments.
        say: renders the result as lines for a model; a result returned whole, as text.
        budget: default token budget of its result.
        writes: whether it stores or changes anything.
        destructive: whether it may replace existing data; only for a tool that writes.
        idempotent: whether repeating the call changes nothing more.
        composes: whether its verb keeps the budget itself.
    """

    name: str
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
    def described(self) -> tuple[str, str]:
        """Return the title for people, and what tells a model when to call it."""
        title, _, description = (self.takes.__doc__ or "").partition("\n\n")
        return title.removesuffix("."), " ".join(description.split())

    @property
    def whole(self) -> bool:
        """Return whether the result is returned unchanged, under the schema of its type: the reference server's."""
        return not isinstance(self.gives, Mapping)


class LenientJson(FuncMetadata):
    """Parses an argument sent as JSON within a string, as some clients do, but only where the schema requires it.

    The SDK parses every such string, so that a text to remember that happens to be JSON would not arrive as text.
    """

    def pre_parse_json(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments to validate."""
        try:
            self.arg_model.model_validate(data)
        except ValidationError:
            return super().pre_parse_json(data)
        return data


class VerbTool(Tool):
    """A tool whose invalid arguments are refused with code and field, like all errors."""

    async def run(self, arguments: dict[str, Any], context: Context[Any, Any], convert_result: bool = False) -> Any:
        """Run the tool; our errors become results with ``isError``, and the SDK logs and hides unexpected ones."""
        try:
            self.fn_metadata.validate_arguments(arguments)
        except ValidationError as error:
            return wrong_arguments(error, arguments)
        return await super().run(arguments, context, convert_result)


def tool_of(verb: Verb, reception: RequestTracker) -> VerbTool:
    """Return the tool of a verb, with an output schema if it returns a record."""
    records = verb.whole or reception.options.records
    title, description = verb.described
    return VerbTool(
        fn=partial(_run_recorded, verb, reception),
        name=verb.name,
        title=title,
        description=description,
        parameters=input_schema(verb.takes, whole=records),
        context_kwarg=None,
        is_async=False,
        annotations=ToolAnnotations(
            read_only_hint=not verb.writes,
            destructive_hint=verb.destructive,
            idempotent_hint=verb.idempotent,
            open_world_hint=False,  # a memory is a closed world
        ),
        fn_metadata=LenientJson(arg_model=verb.takes, output_schema=output_schema(verb.gives) if records else None),
    )


def _run_verb(verb: Verb, reception: RequestTracker, **arguments: Any) -> CallToolResult:
    try:
        caller = reception.caller()
        if verb.writes and not caller.may("write"):
            message = "this needs the role write, which you do not have; ask the operator of this memory for it"
            refused = {"code": "access.role", "message": message, "field": None, "details": {"role": "write"}}
            return _refusal(refused)
        given = _plain_arguments(arguments, reception.options.defaults(arguments, caller.user_id, writes=verb.writes))
        if verb.whole:
            result = verb.call(caller, given)
            text = TextContent(text=str(verb.say(result)))
            return CallToolResult(content=[text], structured_content=dict(as_json(result)))
        return _fitted_result(verb, caller, given, reception.options)
    except PhronesisError as error:
        return _refusal(error.to_dict())


def _fitted_result(verb: Verb, caller: Caller, given: dict[str, Any], options: Options) -> CallToolResult:
    """Return a result whose text and record together fit the call's token budget."""
    budget, records = given.pop("token_budget", verb.budget), options.records
    if verb.composes:
        return _context(verb, caller, given, budget, records=records)
    started = time.perf_counter()
    result = verb.call(caller, given)
    count: Count = caller.memory.admin.components.count_tokens
    text, record, shown = _cut_result(verb, result, options, count, budget)
    if hasattr(result, "next_cursor") and shown < len(result):
        # A cursor continues after the whole page: what does not fit belongs to the next one.
        result = verb.call(caller, {**given, "limit": max(1, shown)})
        text, record, _ = _cut_result(verb, result, options, count, budget)
    if verb.name == SEARCH:
        _record_search(caller, given, result, text, budget=budget, milliseconds=_milliseconds_since(started))
    return CallToolResult(content=[TextContent(text=text)], structured_content=record)


def _cut_result(
    verb: Verb, result: Any, options: Options, count: Count, budget: int
) -> tuple[str, dict[str, Any] | None, int]:
    """Return a result as text, and as a record if requested, and the number of lines in both."""
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
    """Return a context; what programs need of it is in ``_meta``, which no model sees."""
    text, record = compose_within(
        partial(verb.call, caller), given, budget, caller.memory.admin.components, records=records
    )
    meta = {name: value for name, value in record.items() if name != "text"}
    return CallToolResult(
        content=[TextContent(text=text)], structured_content=record if records else None, _meta={CONTEXT_META: meta}
    )


def _plain_arguments(arguments: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given arguments as plain values, with the server's defaults for the others."""
    filled = {**arguments, **defaults}
    shared = ("user_id", "")  # an empty user means the shared memory
    return {name: _plain(value) for name, value in filled.items() if value is not None and (name, value) != shared}


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(exclude_unset=True, by_alias=True)
    return [_plain(one) for one in value] if isinstance(value, list) else value


# The log of activity (``store/activity_log``): every call, and what searches showed.

SEARCH: Final = "search_memories"
"""The tool whose result is recorded as a context."""


def _run_recorded(verb: Verb, reception: RequestTracker, **arguments: Any) -> CallToolResult:
    """Run a tool and record its call."""
    started = time.perf_counter()
    result = _run_verb(verb, reception, **arguments)
    milliseconds = _milliseconds_since(started)
    with suppress(PhronesisError):  # of a caller without a valid key; the log of HTTP requests has it
        from phronesis.store.activity_log import RequestRow, user_number  # noqa: PLC0415 - the store is open by now

        caller, user = reception.caller(), arguments.get("user_id")
        user = (reception.options.user_id if user is None else user) or caller.user_id
        components = caller.memory.admin.components
        text = "".join(part.text for part in result.content if isinstance(part, TextContent))
        row = RequestRow(
            request_id=new_id(),
            at=to_micros(components.clock()),
            interface="mcp",
            route=verb.name,
            status=text.partition(":")[0] if result.is_error else "ok",
            failed=bool(result.is_error),
            milliseconds=milliseconds,
            key_id=caller.key_id,
            owner=None if user is None else user_number(user),
        )
        components.activity.note_request(caller.memory.admin.tenant, row)
    return result


def _milliseconds_since(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 1)


def _record_search(
    caller: Caller, given: dict[str, Any], found: Any, text: str, *, budget: int, milliseconds: float
) -> None:
    """Record the items that a search's result shows."""
    from phronesis.core.ids import make_scope  # noqa: PLC0415 - as above
    from phronesis.memory.activity import context_row  # noqa: PLC0415 - as above

    components = caller.memory.admin.components
    shown = [one.item.id for one in found if one.item.id in text]  # what the budget left out was not shown
    row = context_row(
        "search",
        make_scope(**{name: given.get(name) for name in ("user_id", "namespace", "agent_id")}),
        {"evidence": shown} if shown else {},
        session_id=given.get("session_id"),
        context_id=new_id(),
        at=to_micros(components.clock()),
        token_count=components.count_tokens(text),
        token_budget=budget,
        milliseconds=milliseconds,
        abstained=found.abstained,
    )
    components.activity.note_context(caller.memory.admin.tenant, row)
