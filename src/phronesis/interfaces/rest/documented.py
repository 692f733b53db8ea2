"""What the OpenAPI document says of answers: the schemas of records, and of problems, in one place each."""

from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final, get_args, get_origin

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute

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


class Told(dict[str, Any]):
    """The documentation of an answer; its schema is made when the document is: that takes longer than the start."""

    def __init__(self, record: Any, said: str, headers: Mapping[str, str]) -> None:
        super().__init__(description=said)
        self._record = record
        if headers:
            self["headers"] = {
                name: {"description": text, "schema": {"type": "string"}} for name, text in headers.items()
            }

    def complete(self) -> None:
        """Put the schema in."""
        schema = schema_of(self._record, ref_template=_REF)
        of = [one.__name__ for one in get_args(self._record) if isinstance(one, type)]
        if of and schema.get("title") == getattr(get_origin(self._record), "__name__", None):
            schema["title"] += "Of" + "And".join(of)  # pydantic names a page alike whatever it lists
        self["content"] = {"application/json": {"schema": schema}}


def gives(
    record: Any, *also: int, status: int = 200, said: str = "The result.", headers: Mapping[str, str] | None = None
) -> Responses:
    """Give the documentation of a route's answer: a record, and the problems that are its own."""
    return {status: Told(record, said, headers or {}), **problems(*also)}


def describe(app: FastAPI, routers: Sequence[APIRouter]) -> None:
    """Have the application's document hold each record's schema once, under ``components``."""
    plain = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            for told in _told(routers):
                told.complete()
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


def _told(routers: Sequence[APIRouter]) -> Iterator[Told]:
    for router in routers:
        for route in router.routes:
            if isinstance(route, APIRoute):
                yield from (one for one in route.responses.values() if isinstance(one, Told))


def _contents(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for path in document["paths"].values():
        for operation in path.values():
            for response in operation.get("responses", {}).values():
                yield from response.get("content", {}).values()
