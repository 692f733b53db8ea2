"""JSON responses, their schemas and problems in the OpenAPI document, and the ``/docs`` page drawn from it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from http import HTTPStatus
from typing import Any, Final, get_args, get_origin

import orjson
from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.responses import HTMLResponse
from fastapi.routing import APIRoute

from phronesis.core.reports import Page
from phronesis.interfaces.http.problems import MEDIA_TYPE
from phronesis.wire import as_json, schema_of

# Results are sent as ``to_dict`` gives them; they were made here and are not validated again.


def to_json(value: Any) -> bytes:
    """Return a result as JSON in UTF-8; a lone surrogate, which UTF-8 cannot hold, is escaped."""
    plain = as_json(value)
    try:
        return orjson.dumps(plain)
    except TypeError:
        return json.dumps(plain, separators=(",", ":")).encode()


def answer(value: Any, status: HTTPStatus = HTTPStatus.OK, headers: Mapping[str, str] | None = None) -> Response:
    """Return the response with a result."""
    return Response(to_json(value), status, headers, media_type="application/json")


def page_response(request: Request, page: Page[Any]) -> Response:
    """Return the response with a page, and a link to the next one (RFC 8288)."""
    headers = {}
    if page.next_cursor is not None:
        url = request.url.include_query_params(cursor=page.next_cursor)
        headers["Link"] = f'<{url.path}?{url.query}>; rel="next"'
    return answer(page, headers=headers)


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
"""Statuses that any route may return; see docs/reference/errors.md."""


def problems(*statuses: int) -> Responses:
    """Return the documentation of problems with these statuses."""
    content = {MEDIA_TYPE: {"schema": {"$ref": _REF.format(model="Problem")}}}
    return {int(one): {"description": HTTPStatus(one).phrase, "content": content} for one in statuses}


class ResponseDoc(dict[str, Any]):
    """The documentation of a response; its schema is built with the document, since that is slow."""

    def __init__(self, record: Any, said: str, headers: Mapping[str, str]) -> None:
        super().__init__(description=said)
        self._record = record
        if headers:
            self["headers"] = {
                name: {"description": text, "schema": {"type": "string"}} for name, text in headers.items()
            }

    def complete(self) -> None:
        """Add the schema."""
        schema = schema_of(self._record, ref_template=_REF)
        of = [one.__name__ for one in get_args(self._record) if isinstance(one, type)]
        if of and schema.get("title") == getattr(get_origin(self._record), "__name__", None):
            schema["title"] += "Of" + "And".join(of)  # pydantic gives all pages one title
        self["content"] = {"application/json": {"schema": schema}}


def gives(
    record: Any, *also: int, status: int = 200, said: str = "The result.", headers: Mapping[str, str] | None = None
) -> Responses:
    """Return the documentation of a route's response: a record, and the route's own problems."""
    return {status: ResponseDoc(record, said, headers or {}), **problems(*also)}


def describe(app: FastAPI, routers: Sequence[APIRouter]) -> None:
    """Make the application's document hold each record's schema once, under ``components``."""
    plain = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            for told in _response_docs(routers):
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


def _response_docs(routers: Sequence[APIRouter]) -> Iterator[ResponseDoc]:
    for router in routers:
        for route in router.routes:
            if isinstance(route, APIRoute):
                yield from (one for one in route.responses.values() if isinstance(one, ResponseDoc))


def _contents(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for path in document["paths"].values():
        for operation in path.values():
            for response in operation.get("responses", {}).values():
                yield from response.get("content", {}).values()


# The ``/docs`` page: all routes, rendered from the OpenAPI document. No script and no external resource.

router = APIRouter(include_in_schema=False)

_STYLE: Final = """
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}
code,th{font-family:ui-monospace,monospace}table{border-collapse:collapse;width:100%;overflow-wrap:anywhere}
td,th{text-align:left;vertical-align:top;padding:.3rem .6rem;border-top:1px solid #8884}th{white-space:nowrap}
"""
POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"


@router.get("/docs", response_class=HTMLResponse)
def docs(request: Request) -> HTMLResponse:
    """List every route with what it does, takes and answers."""
    document = request.app.openapi()
    sections = "".join(_section(tag, rows) for tag, rows in _by_tag(document).items())
    page = (
        f"<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
        f"<title>Phronesis: HTTP</title><style>{_STYLE}</style><h1>Phronesis {escape(document['info']['version'])}</h1>"
        f"<p>{escape(document['info']['description'])}</p>"
        f"<p>Programs read <a href=/openapi.json>openapi.json</a>. Give an API key as <code>Authorization: Bearer"
        f" phr_…</code>; errors are <code>application/problem+json</code>.</p>{sections}</html>"
    )
    return HTMLResponse(page, headers={"Content-Security-Policy": POLICY})


def _by_tag(document: Mapping[str, Any]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            found.setdefault(operation["tags"][0], []).append(_row(path, method, operation))
    return found


def _section(tag: str, rows: list[str]) -> str:
    return f"<h2 id={escape(tag)}>{escape(tag.title())}</h2><table>{''.join(rows)}</table>"


def _row(path: str, method: str, operation: Mapping[str, Any]) -> str:
    taken = ", ".join(f"<code>{escape(name)}</code>" for name in _parameter_names(operation))
    takes = f"<br><small>takes {taken}</small>" if taken else ""
    said = escape(operation.get("description", ""))
    return f"<tr><th scope=row>{method.upper()} {escape(path)}</th><td>{said}{takes}</td></tr>"


def _parameter_names(operation: Mapping[str, Any]) -> Iterator[str]:
    for parameter in operation.get("parameters", ()):
        yield parameter["name"]
    for content in operation.get("requestBody", {}).get("content", {}).values():
        reference = content.get("schema", {}).get("$ref", "")
        yield reference.rpartition("/")[2] or "a body"
