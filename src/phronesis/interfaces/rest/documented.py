"""What the OpenAPI document says of answers: the schemas of records, and of problems, in one place each."""

from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any, Final, get_args, get_origin

from fastapi import FastAPI

from phronesis.interfaces.rest.problems import MEDIA_TYPE
from phronesis.wire import schema_of

Responses = dict[int | str, dict[str, Any]]

_REF: Final = "#/components/schemas/{model}"

PROBLEM: Final = {
    "title": "Problem",
    "type": "object",
    "description": "What is wrong, and how to mend it (RFC 9457).",
    "required": ["type", "title", "status", "detail", "code", "field", "instance", "request_id", "details"],
    "properties": {
        "type": {"type": "string", "description": "urn:phronesis:error: and the code."},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "Names the field and the remedy."},
        "code": {"type": "string", "description": "For programs; it never changes."},
        "field": {"type": ["string", "null"]},
        "instance": {"type": "string"},
        "request_id": {"type": ["string", "null"]},
        "details": {"type": "object", "additionalProperties": True},
    },
}

EVERYWHERE: Final = (400, 401, 403, 413, 422, 429, 500, 501, 503)
"""What any route may answer: see docs/http.md."""


def problems(*statuses: int) -> Responses:
    """Give the documentation of problems with these statuses."""
    content = {MEDIA_TYPE: {"schema": {"$ref": _REF.format(model="Problem")}}}
    return {int(one): {"description": HTTPStatus(one).phrase, "content": content} for one in statuses}


def gives(
    record: Any, *also: int, status: int = 200, said: str = "The result.", headers: Mapping[str, str] | None = None
) -> Responses:
    """Give the documentation of a route's answer: a record, and the problems that are its own."""
    schema = schema_of(record, ref_template=_REF)
    of = [one.__name__ for one in get_args(record) if isinstance(one, type)]
    if of and schema.get("title") == getattr(get_origin(record), "__name__", None):
        schema["title"] += "Of" + "And".join(of)  # pydantic names a page alike whatever it lists
    told: dict[str, Any] = {"description": said, "content": {"application/json": {"schema": schema}}}
    if headers:
        told["headers"] = {name: {"description": text, "schema": {"type": "string"}} for name, text in headers.items()}
    return {status: told, **problems(*also)}


def describe(app: FastAPI) -> None:
    """Have the application's document hold each record's schema once, under ``components``."""
    plain = app.openapi

    def openapi() -> dict[str, Any]:
        document = plain()
        parts: dict[str, Any] = document.setdefault("components", {}).setdefault("schemas", {})
        if "Problem" in parts:
            return document
        parts["Problem"] = PROBLEM
        for content in _contents(document):
            schema = content.get("schema", {})
            parts.update(schema.pop("$defs", {}))
            if schema.get("type") == "object" and "title" in schema:
                parts[schema["title"]] = schema
                content["schema"] = {"$ref": _REF.format(model=schema["title"])}
        return document

    app.openapi = openapi  # type: ignore[method-assign]


def _contents(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for path in document["paths"].values():
        for operation in path.values():
            for response in operation.get("responses", {}).values():
                yield from response.get("content", {}).values()
