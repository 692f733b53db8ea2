"""Answer with pages: templates and their filters, security headers, redirects, and errors as pages."""

import json
import re
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import cache, partial
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote, urlencode, urlsplit

from fastapi import APIRouter, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, RedirectResponse, StreamingResponse
from fastapi.routing import APIRoute
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from jinja2.utils import htmlsafe_json_dumps
from starlette.exceptions import HTTPException

from phronesis import __version__
from phronesis.core.ids import short_id
from phronesis.core.items import Item
from phronesis.core.serialization import as_json
from phronesis.core.statements import DENIES
from phronesis.errors import AccessRefused, InputError, PhronesisError, Unauthenticated
from phronesis.interfaces.http.problems import retry_after_header, status_of
from phronesis.interfaces.web.session import (
    FORM_TOKEN,
    LANGUAGES,
    NOTICE,
    Notice,
    Visitor,
    Words,
    known_visitor,
    set_cookie,
    words_and_theme,
)
from phronesis.reasoning.laws.claim_status import current_block
from phronesis.reasoning.laws.records import REASONING
from phronesis.wiring import find_engines

NAVIGATION: Final = (
    ("home", "/"),
    ("memories", "/memories"),
    ("sessions", "/sessions"),
    ("composer", "/composer"),
    ("people", "/people"),
    ("entities", "/entities"),
    ("experience", "/experience"),
    ("runs", "/runs"),
    ("resources", "/resources"),
    ("activity", "/activity"),
    ("quarantine", "/quarantine"),
    ("jobs", "/jobs"),
    ("keys", "/keys"),
    ("health", "/health"),
)
"""Pages of the side bar in order; each has a text ``nav.<name>`` and an icon of that name."""

_STEPS: Final = ((60, "seconds"), (60, "minutes"), (24, "hours"), (30, "days"), (12, "months"))
"""Number of a unit in the next one, from seconds to months; the remainder counts years."""

_CITATION: Final = re.compile(r"(mem:[0-9a-f-]{36})")
_FENCE: Final = re.compile(r"(</?(?:memory|turn)-\d{9}[^>\n]*>)")
"""A tag of ``core.data_delimiters`` in a composed context."""


def page(visitor: Visitor, template: str, *, status: int = 200, **values: Any) -> Response:
    """Return a page, or a fragment if the template is one, as an HTML response to a visitor."""
    shared = {
        "visitor": visitor,
        "words": visitor.words,
        "theme": visitor.theme,
        "path": visitor.request.url.path,
        "looking": visitor.looking,
        "navigation": NAVIGATION,
        "engine_pages": find_engines().pages,
        "notice": None if visitor.partial else Notice.parse(visitor.request.cookies.get(NOTICE, "")),
        "status": status,
    }
    response = _html(template, status, shared | values)
    if not visitor.partial and NOTICE in visitor.request.cookies:  # this page shows it
        response.delete_cookie(NOTICE, path="/")
    if visitor.new_token:
        set_cookie(visitor.request, response, FORM_TOKEN, visitor.form_token)
    return response


def bare_page(request: Request, template: str, *, status: int, **values: Any) -> HTMLResponse:
    """Return a page for an unauthenticated visitor: no side bar, nothing from the store."""
    words, theme = words_and_theme(request)
    shared = {"words": words, "theme": theme, "visitor": None, "navigation": (), "status": status}
    return _html(template, status, shared | values)


def _html(template: str, status: int, values: Mapping[str, Any]) -> HTMLResponse:
    """Return a rendered page. A lone surrogate, which an entry may hold and UTF-8 cannot, becomes a question mark."""
    return HTMLResponse(_environment().get_template(template).render(**values).encode("utf-8", "replace"), status)


def address(path: str, **query: Any) -> str:
    """Return a path with a query of those values that are not None or empty."""
    given = {name: value for name, value in query.items() if value not in (None, "")}
    return f"{path}?{urlencode(given)}" if given else path


def relative_time(moment: datetime | None, words: Words) -> str:
    """Return the distance of a time from now in words, "in …" for the future; empty for None."""
    if moment is None:
        return ""
    seconds = (datetime.now(UTC) - moment).total_seconds()
    count, unit = abs(seconds), "years"
    for step, name in _STEPS:
        if count < step:
            unit = name
            break
        count /= step
    if unit == "seconds":
        return words("time.now")
    return words(f"time.{unit}_{'ago' if seconds >= 0 else 'ahead'}", n=int(count))


def moment_text(moment: datetime | None) -> str:
    """Return a time in UTC, to the minute."""
    return "" if moment is None else moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M")


def value_text(value: Any) -> str:
    """Return a value of a record as text: strings as they are, everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(as_json(value), ensure_ascii=False, indent=1)


def item_text(item: Item) -> str:
    """Return an item's text for people: of claims the topic and the first one, not the block."""
    if item.kind != REASONING:
        return item.content or item.subject or item.id
    block = current_block(item)
    return ": ".join(part for part in (block.topic, block.claims[0].inference if block.claims else "") if part)


def key_text(item: Item, words: Words) -> str:
    """Return what a fact is called: by its key ("Allergy", "Favourite color"), else by its kind."""
    return _key_text(item.key, words) if item.key else words.of("kind", item.kind).capitalize()


def _key_text(key: str, words: Words) -> str:
    """Return what a key is called; a custom key in its own words."""
    if key.startswith(DENIES):
        return words("key_of.not", name=_key_text(key.removeprefix(DENIES), words))
    family, _, name = key.partition(".")
    own = f"key_of.{family}"
    if name and own in words.table:
        return words(own, name=name.replace("_", " "))
    return words.table.get(f"key.{key}") or key.replace("_", " ").replace(".", ": ")


def item_address(item_id: str) -> str:
    """Return the address of an item's page."""
    return f"/memories/{quote(item_id, safe='')}"


def split_at(pattern: re.Pattern[str], text: str) -> Iterator[tuple[bool, str]]:
    """Yield the pieces of a text in order, each with whether it matches a pattern, which is one group."""
    return ((n % 2 == 1, piece) for n, piece in enumerate(pattern.split(text)) if piece)


def split_matches(text: str, words: str) -> Iterator[tuple[bool, str]]:
    """Yield the pieces of a text in order, each with whether it is ``words``; if it has none, they come first."""
    if words and words not in text:
        yield True, words
        words = ""
    before, found, after = text.partition(words) if words else (text, "", "")
    yield from ((marked, piece) for marked, piece in ((False, before), (True, found), (False, after)) if piece)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("phronesis.interfaces.web"),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {"address": address, "languages": LANGUAGES, "version": __version__}
    environment.filters |= _FILTERS
    return environment


_FILTERS: Final[Mapping[str, Any]] = {
    "ago": relative_time,
    "moment": moment_text,
    "value": value_text,
    "embedded": lambda value: htmlsafe_json_dumps(as_json(value)),
    "item_address": item_address,
    "short_id": short_id,
    "said": item_text,
    "key_text": key_text,
    "citing": partial(split_at, _CITATION),
    "fenced": partial(split_at, _FENCE),
    "marked": split_matches,
    "percent": lambda share: f"{share:.0%}",
}


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


def download(name: str, lines: Iterable[str], media_type: str = "application/x-ndjson") -> Response:
    """Return lines as a file to download. A lone surrogate becomes a question mark, as on the pages."""
    return StreamingResponse(
        (line.encode("utf-8", "replace") for line in lines),
        media_type=f"{media_type}; charset=utf-8",
        headers={"Content-Disposition": f"attachment; filename*=utf-8''{quote(name, safe='')}"},
    )


def json_lines(rows: Iterable[Any]) -> Iterator[str]:
    """Yield rows as JSON, each on a line."""
    return (f"{json.dumps(as_json(row), ensure_ascii=False)}\n" for row in rows)


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
                response = error_page(request, 400, InputError.code, f"{first['loc'][-1]}: {first['msg']}")
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
    set_cookie(visitor.request, response, NOTICE, str(notice), age=60)  # seconds, if no page shows it
    return response


def own_path(path: str) -> str:
    """Return a path on this server; the home page where an address leads elsewhere."""
    parts = urlsplit(path)
    safe = path.startswith("/") and not path.startswith(("//", "/\\")) and not parts.netloc and not parts.scheme
    return path if safe else "/"


def _answer_error(request: Request, error: PhronesisError) -> Response:
    if isinstance(error, Unauthenticated):
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
    visitor = None if status in _UNFRAMED or code == AccessRefused.code else known_visitor(request)
    shown: dict[str, Any] = {"status": status, "code": code, "message": message}
    if visitor is None:
        response: Response = bare_page(request, "error.html", **shown)
    else:
        response = page(visitor, "error_notice.html" if visitor.partial else "error.html", **shown)
    response.headers.update(HEADERS)
    return response
