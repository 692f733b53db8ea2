"""Render templates, with the frame of every page and the formatting of times, numbers and kinds in a language."""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final
from urllib.parse import quote, urlencode

from fastapi import Response
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from phronesis import __version__
from phronesis.core.ids import short_id
from phronesis.core.items import Item
from phronesis.core.serialization import as_json
from phronesis.interfaces.web.notices import notice_of, take_notice
from phronesis.interfaces.web.session import FORM_TOKEN, Visitor, set_cookie
from phronesis.interfaces.web.words import LANGUAGES, Words
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
        "notice": None if visitor.partial else notice_of(visitor.request),
        "status": status,
    }
    response = _html(template, status, shared | values)
    if not visitor.partial:
        take_notice(visitor.request, response)
    if visitor.new_token:
        set_cookie(response, FORM_TOKEN, visitor.form_token, secure=visitor.secure)
    return response


def bare_page(words: Words, theme: str, template: str, *, status: int, **values: Any) -> HTMLResponse:
    """Return a page for an unauthenticated visitor: no side bar, nothing from the store."""
    shared = {"words": words, "theme": theme, "visitor": None, "navigation": (), "status": status}
    return _html(template, status, shared | values)


def _html(template: str, status: int, values: Mapping[str, Any]) -> HTMLResponse:
    """Return a rendered page. A lone surrogate, which an entry may hold and UTF-8 cannot, becomes a question mark."""
    return HTMLResponse(_environment().get_template(template).render(**values).encode("utf-8", "replace"), status)


def address(path: str, **query: Any) -> str:
    """Return a path with a query of those values that are not None or empty."""
    given = {name: value for name, value in query.items() if value not in (None, "")}
    return f"{path}?{urlencode(given)}" if given else path


def ago(moment: datetime | None, words: Words, *, now: datetime | None = None) -> str:
    """Return the distance of a time from now in words, "in …" for the future; empty for None."""
    if moment is None:
        return ""
    seconds = ((now or datetime.now(UTC)) - moment).total_seconds()
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


def embed_json(value: Any) -> Markup:
    """Return JSON safe to embed in a script element: data for a chart or a graph."""
    text = json.dumps(as_json(value), ensure_ascii=False)
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)  # noqa: S704 - escaped: cannot close the element


def item_text(item: Item) -> str:
    """Return an item's text for people.

    For claims it is the topic and the first claim, not the block.
    """
    if item.kind != REASONING:
        return item.content or item.subject or item.id
    block = current_block(item)
    return ": ".join(part for part in (block.topic, block.claims[0].inference if block.claims else "") if part)


def item_address(item_id: str) -> str:
    """Return the address of an item's page."""
    return f"/memories/{quote(item_id, safe='')}"


def split_fences(text: str) -> Iterator[tuple[bool, str]]:
    """Yield the pieces of a composed context in order, each with whether it is a fence's tag."""
    return ((n % 2 == 1, piece) for n, piece in enumerate(_FENCE.split(text)) if piece)


def split_citations(text: str) -> Iterator[tuple[bool, str]]:
    """Yield the pieces of a text in order, each with whether it is a citation."""
    return ((n % 2 == 1, piece) for n, piece in enumerate(_CITATION.split(text)) if piece)


def split_matches(text: str, words: str) -> Iterator[tuple[bool, str]]:
    """Yield the pieces of a text in order, each with whether it is ``words``; if it has none, they come first."""
    if words and words not in text:
        yield True, words
        words = ""
    before, found, after = text.partition(words) if words else (text, "", "")
    for is_marked, piece in ((False, before), (True, found), (False, after)):
        if piece:
            yield is_marked, piece


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
    "ago": ago,
    "moment": moment_text,
    "value": value_text,
    "embedded": embed_json,
    "item_address": item_address,
    "short_id": short_id,
    "said": item_text,
    "citing": split_citations,
    "fenced": split_fences,
    "marked": split_matches,
    "percent": lambda share: f"{share:.0%}",
}
