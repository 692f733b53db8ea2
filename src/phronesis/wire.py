"""JSON Schemas of the records, and records parsed from the JSON of their ``to_dict``.

HTTP's documentation, the client and the MCP tools share them. Pydantic reads the annotations of the dataclasses, so the
records need no dependency on it.
"""

import types
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from phronesis.core.items import Item, Trust
from phronesis.core.serialization import as_json
from phronesis.errors import InputError
from phronesis.experience.laws.records import L1, PATTERN, PRINCIPLE, L1Event, Pattern, Principle
from phronesis.reasoning.laws.item_records import ReasoningItem
from phronesis.reasoning.laws.records import REASONING
from phronesis.traits.laws.records import Trait
from phronesis.traits.laws.strength import TRAIT

__all__ = ["RECORD_OF_KIND", "as_json", "decode_record", "decoded_item", "schema_of"]
RECORD_OF_KIND: Final[Mapping[str, type[Item]]] = types.MappingProxyType(
    {TRAIT: Trait, L1: L1Event, PATTERN: Pattern, PRINCIPLE: Principle, REASONING: ReasoningItem}
)
"""Kinds whose items are records of their own (``Memory.get``); an item of another kind is an ``Item``."""
_TRUST: Final = {"type": "string", "enum": [one.name.lower() for one in Trust], "description": Trust.__doc__}


def schema_of(record: Any, *, ref_template: str = "#/$defs/{model}") -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of what ``to_dict`` gives of a record, or of a type such as ``list[Item]``.

    Args:
        record: a record's class, or a type made of them.
        ref_template: how a part is referred to, for documents that keep all parts in one place.
    """
    schema = _adapter(record).json_schema(mode="serialization", ref_template=ref_template)
    parts = schema.get("$defs", {})
    if Trust.__name__ in parts:
        parts[Trust.__name__] = dict(_TRUST)
    for one in (schema, *parts.values()):
        trust = one.get("properties", {}).get("trust")
        if trust and "default" in trust:  # Item's default is a number, and goes out by its name
            trust["default"] = Trust(trust["default"]).name.lower()
    return schema


def decode_record(record: Any, value: Any) -> Any:
    """Return the record of plain JSON values. Members that are no field are passed over: a newer server may say more.

    Raises:
        InputError: a field is missing or of another type; it names the field.
    """
    try:
        return _adapter(record).validate_python(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(str(part) for part in first["loc"]) or "answer"
        raise InputError(f"{field}: {first['msg']}", field=field) from error


def decoded_item(value: Mapping[str, Any]) -> Item:
    """Return the item of plain JSON values, as the record of its kind."""
    return decode_record(RECORD_OF_KIND.get(value.get("kind", ""), Item), value)  # type: ignore[no-any-return]


@cache
def _adapter(record: Any) -> TypeAdapter[Any]:
    return TypeAdapter(record)
