"""The JSON Schemas of tools: a client puts them all into each prompt, so they say what a model needs and no more."""

from collections.abc import Collection, Mapping
from typing import Any, Final

from pydantic import BaseModel


def output_schema(gives: Any) -> dict[str, Any]:
    """Give the JSON Schema of what a tool gives; it is always that of an object. Of records only the members' names."""
    if not isinstance(gives, Mapping):
        from phronesis.wire import schema_of  # noqa: PLC0415 - all records: not for the tools that everybody has

        return {**brief(schema_of(gives), leaving_out=("title", "default")), "type": "object"}
    return {"type": "object", "properties": {name: {"type": kind} for name, kind in gives.items()}}


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


FOR_PROGRAMS: Final = frozenset(
    {"wait", "idempotency_key", "explain", "namespace", "agent_id", "run_id", "session_metadata"}
)
"""Arguments that a tool takes, and that a model is not told of."""

PARTS_FOR_PROGRAMS: Final = frozenset(
    {"metadata", "id", "external_id", "created_at", "additionalProperties", "description"}
)
"""Members of the parts of a turn, and keywords of their schemas, of which a model is not told."""


def input_schema(takes: type[BaseModel], *, whole: bool) -> dict[str, Any]:
    """Give the JSON Schema of a tool's arguments; ``whole``: also of those that only programs give."""
    schema: dict[str, Any] = _optional(brief(takes.model_json_schema(), leaving_out=("title", "maxLength")))
    schema.pop("description", None)  # of the model's class: what the tool does, its own description says
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


def _optional(schema: Any) -> Any:
    """Give a schema in which what may be left out does not say that it may be null too: that is taken, and no news."""
    if isinstance(schema, list):
        return [_optional(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    plain = {name: _optional(one) for name, one in schema.items()}
    if plain.get("additionalProperties") is True:
        del plain["additionalProperties"]
    if "default" in plain and plain["default"] is None:
        del plain["default"]
    choices = [one for one in plain.get("anyOf", ()) if one != {"type": "null"}]
    if len(choices) == 1:
        del plain["anyOf"]
        plain = {**choices[0], **plain}
    elif choices:
        plain["anyOf"] = choices
    return plain
