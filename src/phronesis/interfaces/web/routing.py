"""Routing of pages: security headers, error pages, and the redirect to the login page."""

import json
from collections.abc import Callable, Coroutine, Iterable
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote, urlsplit

from fastapi import APIRouter, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import RedirectResponse, StreamingResponse
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from phronesis.errors import AccessRefused, InputError, PhronesisError
from phronesis.interfaces.http.problems import retry_after_header, status_of
from phronesis.interfaces.web.notices import Notice, leave_notice
from phronesis.interfaces.web.rendering import address, bare_page, page
from phronesis.interfaces.web.session import Visitor, VisitorFactory, is_stranger

HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'self'; img-src 'self' data:; style-src 'self'; style-src-attr 'unsafe-inline'; "
        "frame-ancestors 'none'; base-uri 'none'; form-action 'self'; object-src 'none'"
    ),
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
"""Security headers: no external sources, no inline code. Charts and drawings of molecules set styles on elements."""


def json_lines_file(name: str, rows: Iterable[Any]) -> Response:
    """Return rows as a file of JSON lines to download."""
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    named = f"attachment; filename*=utf-8''{quote(name, safe='')}.jsonl"
    return StreamingResponse(lines, media_type="application/x-ndjson", headers={"Content-Disposition": named})


_UNFRAMED: Final = frozenset({HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.TOO_MANY_REQUESTS})
"""Errors for which no key is looked up."""


class PageRoute(APIRoute):
    """A route whose errors are pages, and whose responses carry the security headers."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the framework's handler wrapped in ours."""
        answer = super().get_route_handler()

        async def handle(request: Request) -> Response:
            try:
                response = await answer(request)
            except PhronesisError as error:
                response = _answer_error(request, error)
            except RequestValidationError as error:
                first = error.errors()[0]
                field = str(first["loc"][-1])
                response = error_page(request, 400, InputError.code, f"{field}: {first['msg']}")
            except HTTPException as error:  # raised by the framework, for example for a part that is too large
                response = error_page(request, error.status_code, f"http.{error.status_code}", str(error.detail))
            for name, value in HEADERS.items():
                response.headers.setdefault(name, value)
            return response

        return handle


def make_router() -> APIRouter:
    """Return a router of pages."""
    return APIRouter(route_class=PageRoute)


def back(path: str, **query: Any) -> RedirectResponse:
    """Return the response to a form: a redirect to ``path`` on this server."""
    return RedirectResponse(address(own_path(path), **query), status_code=303)


def back_with_notice(visitor: Visitor, path: str, notice: Notice) -> Response:
    """Return the response to a form: a redirect to ``path``, whose page shows a notice."""
    response = back(path)
    leave_notice(response, notice, secure=visitor.secure)
    return response


def own_path(path: str) -> str:
    """Return a path on this server; the home page where an address leads elsewhere."""
    parts = urlsplit(path)
    safe = path.startswith("/") and not path.startswith(("//", "/\\")) and not parts.netloc and not parts.scheme
    return path if safe else "/"


def _answer_error(request: Request, error: PhronesisError) -> Response:
    if is_stranger(error):
        here = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        login = address("/login", next=here if request.method == "GET" and here != "/" else None)
        if "hx-request" in request.headers:
            return Response(status_code=204, headers={"HX-Redirect": login})
        return RedirectResponse(login, status_code=303)
    response = error_page(request, status_of(error), error.code, str(error))
    response.headers.update(retry_after_header(error))
    return response


def error_page(request: Request, status: int, code: str, message: str) -> Response:
    """Return the page of an error: within the frame for a visitor, as a notice where htmx sent the request."""
    reception: VisitorFactory = request.app.state.reception
    visitor = None if status in _UNFRAMED or code == AccessRefused.code else reception.known_visitor(request)
    shown: dict[str, Any] = {"status": status, "code": code, "message": message}
    if visitor is None:
        words, theme = reception.words_and_theme(request)
        response: Response = bare_page(words, theme, "error.html", **shown)
    else:
        response = page(visitor, "error_notice.html" if visitor.partial else "error.html", **shown)
    response.headers.update(HEADERS)
    return response
