"""The ``/docs`` page: all routes, rendered from the OpenAPI document. No script and no external resource."""

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any, Final

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

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
