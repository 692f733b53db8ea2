"""JSON responses, and the OpenAPI document: schemas of results, problems, names, descriptions, and its page /docs."""

import json
import re
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

_PROBLEM_CONTENT: Final = {MEDIA_TYPE: {"schema": {"$ref": _REF.format(model="Problem")}}}

EVERYWHERE: Final = (400, 401, 403, 413, 422, 429, 500, 501, 503)
"""Statuses that any route may return; see docs/reference/errors.md."""


def problems(*statuses: int) -> Responses:
    """Return the documentation of problems with these statuses."""
    return {int(one): {"description": HTTPStatus(one).phrase, "content": _PROBLEM_CONTENT} for one in statuses}


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


# The document as a whole. FastAPI writes it when it is first asked for, and `describe` completes it.

OPEN: Final[dict[str, Any]] = {"security": []}
"""For ``openapi_extra`` of a route that takes no key."""

INFORMATION: Final[dict[str, Any]] = {
    "contact": {"name": "The authors of Phronesis"},
    "license_info": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
    "servers": [{"url": "/", "description": "The server that gave this document."}],
    "openapi_tags": [
        {"name": "health", "description": "Whether the server answers, and its metrics."},
        {"name": "memories", "description": "What is remembered: add, search, change, archive, explain, roll back."},
        {"name": "conversations", "description": "Turns of sessions, and the context for the next answer."},
        {"name": "entities", "description": "People, places and things, and which names are one."},
        {"name": "experience", "description": "What was tried, what became of it, and what follows."},
        {"name": "users", "description": "Traits of users, their correction, and erasure."},
        {"name": "runs", "description": "Runs of agents, and claims that are learned from them."},
        {"name": "resources", "description": "Documents, query plans and their execution."},
        {"name": "activity", "description": "Contexts composed, requests answered, and what was not learned."},
        {"name": "upkeep", "description": "Jobs, quarantine, users and export."},
        {"name": "chat", "description": "Chat completions with memory, where the server has an upstream."},
    ],
}
"""Arguments of the application that describe its API."""

_MEANINGS: Final = {
    "id": "An id, as results give it.",
    "edit": "What to do with the memory.",
    "user_id": "Whose memory: this user's.",
    "trait_id": "The id of a trait.",
    "run_id": "The id of a run.",
    "entry_id": "The id of an entry of the log.",
    "context_id": "The id of a context, as composing it gave it.",
    "outcomes": "What became of the context's items, by alias or id: used, ignored, contradicted; else citations tell.",
    "namespace": "Whose memory: that of this shared namespace.",
    "agent_id": "The agent that it belongs to.",
    "session_id": "The session that it belongs to.",
    "across": "`tenant`: every user's memory; needs an admin's key.",
    "as_of": "As it was known at this time.",
    "valid_at": "What held at this time.",
    "time_zone": "The user's IANA time zone, which days are those of.",
    "limit": "At most so many.",
    "cursor": "`next_cursor` of the page before.",
    "reason": "Why; kept in the history.",
    "external_id": "Your own name for the item.",
}
"""Descriptions of parameters and of fields of bodies that have none of their own."""

_PAGE: Final = re.compile(r"Page_(\w+)_")


def operation_id(route: APIRoute) -> str:
    """Return the id of a route's operation: the name of its function, which names a verb and an object."""
    return route.name


def describe(app: FastAPI, routers: Sequence[APIRouter]) -> None:
    """Make the application's document hold each record's schema once, under ``components``, and describe its parts."""
    plain = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            for told in _response_docs(routers):
                told.complete()
            app.openapi_schema = _completed(plain())
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def _completed(document: dict[str, Any]) -> dict[str, Any]:
    """Return FastAPI's document with what it does not write."""
    used = {operation["tags"][0] for operation in _operations(document)}
    document["tags"] = [tag for tag in document["tags"] if tag["name"] in used]
    forms: dict[str, Any] = document.setdefault("components", {}).setdefault("schemas", {})
    for form in forms.values():
        _complete_form(form)
    for operation in _operations(document):
        for parameter in operation.get("parameters", ()):
            if parameter["name"] in _MEANINGS:
                parameter.setdefault("description", _MEANINGS[parameter["name"]])
    results: dict[str, Any] = {}
    for content in _contents(document):
        schema = content.get("schema", {})
        results.update(schema.pop("$defs", {}))
        if schema.get("type") == "object" and "title" in schema:
            results[schema["title"]] = schema
            content["schema"] = {"$ref": _REF.format(model=schema["title"])}
    for schema in results.values():
        if "properties" in schema:
            schema["required"] = list(schema["properties"])  # ``to_dict`` leaves no field out
    forms |= {"Problem": PROBLEM, **results}
    document["components"]["responses"] = _shared_problems(document)
    return {**document, "paths": _simplified(document["paths"]), "components": _simplified(document["components"])}


def _complete_form(form: dict[str, Any]) -> None:
    """Describe the fields of a body, and their defaults in words: generators of clients make a default required."""
    for name, field in form.get("properties", {}).items():
        meaning = [field.get("description") or _MEANINGS.get(name, "")]
        if field.get("default") is not None:
            meaning.append(f"Default: {json.dumps(field['default'])}.")
        field.pop("default", None)
        if any(meaning):
            field["description"] = " ".join(filter(None, meaning))


def _shared_problems(document: Mapping[str, Any]) -> dict[str, Any]:
    """Replace the problem responses of all operations by references; return one response of each status."""
    shared: dict[str, Any] = {}
    for operation in _operations(document):
        for status, response in operation["responses"].items():
            if MEDIA_TYPE in response.get("content", {}):
                name = HTTPStatus(int(status)).phrase.title().replace(" ", "")
                shared[name] = response
                operation["responses"][status] = {"$ref": f"#/components/responses/{name}"}
    return dict(sorted(shared.items()))


def _simplified(node: Any) -> Any:
    """Return a part of the document with pages named as others are, and without titles, which repeat names.

    The schema of a tuple gets ``items``, which some tools ask of every array.
    """
    if isinstance(node, list):
        return [_simplified(one) for one in node]
    if not isinstance(node, dict):
        return _PAGE.sub(r"PageOf\1", node) if isinstance(node, str) else node
    out = {
        _PAGE.sub(r"PageOf\1", name): _simplified(value)
        for name, value in node.items()
        if name != "title" or not isinstance(value, str)  # a field may have this name
    }
    return {**out, "items": {}} if "prefixItems" in out and "items" not in out else out


def _response_docs(routers: Sequence[APIRouter]) -> Iterator[ResponseDoc]:
    for router in routers:
        for route in router.routes:
            if isinstance(route, APIRoute):
                yield from (one for one in route.responses.values() if isinstance(one, ResponseDoc))


def _operations(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for path in document["paths"].values():
        yield from path.values()


def _contents(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for operation in _operations(document):
        for response in operation.get("responses", {}).values():
            yield from response.get("content", {}).values()


docs_router = APIRouter(include_in_schema=False)

_STYLE: Final = """
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}
code,th{font-family:ui-monospace,monospace}table{border-collapse:collapse;width:100%;overflow-wrap:anywhere}
td,th{text-align:left;vertical-align:top;padding:.3rem .6rem;border-top:1px solid #8884}th{white-space:nowrap}
"""
DOCS_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"


@docs_router.get("/docs", response_class=HTMLResponse)
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
    return HTMLResponse(page, headers={"Content-Security-Policy": DOCS_POLICY})


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
