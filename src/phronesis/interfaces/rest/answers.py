"""Results as JSON, sent as ``to_dict`` gives them: they were made here, and are not validated again."""

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import orjson
from fastapi import Request, Response

from phronesis.core.pages import Page
from phronesis.wire import as_json


def to_json(value: Any) -> bytes:
    """Give any result as JSON in UTF-8; a lone surrogate, which UTF-8 cannot hold, as its escape."""
    plain = as_json(value)
    try:
        return orjson.dumps(plain)
    except TypeError:
        return json.dumps(plain, separators=(",", ":")).encode()


def answer(value: Any, status: HTTPStatus = HTTPStatus.OK, headers: Mapping[str, str] | None = None) -> Response:
    """Give the response that carries a result."""
    return Response(to_json(value), status, headers, media_type="application/json")


def listed(request: Request, page: Page[Any]) -> Response:
    """Give the response that carries a page, with the address of the next one (RFC 8288)."""
    headers = {}
    if page.next_cursor is not None:
        url = request.url.include_query_params(cursor=page.next_cursor)
        headers["Link"] = f'<{url.path}?{url.query}>; rel="next"'
    return answer(page, headers=headers)
