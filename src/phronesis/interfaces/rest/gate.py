"""What every request passes before a route sees it: a request id, and the refusals that need no route."""

import re
from typing import Final
from urllib.parse import urlsplit

import uuid_utils
from fastapi import Request
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from phronesis.config.serving import Serving
from phronesis.errors import AccessRefused, PhronesisError
from phronesis.interfaces.rest import problems

REQUEST_ID: Final = "X-Request-ID"
_GIVEN_ID: Final = re.compile(r"[A-Za-z0-9._:-]{1,128}")
"""A caller's own request id; any other text is not taken over: it stands in logs and in a header."""

_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})


class Gate:
    """ASGI middleware. Any exception of what is within becomes a problem, as long as nothing was sent."""

    def __init__(self, app: ASGIApp, serving: Serving) -> None:
        self.app = app
        self._hosts = frozenset(serving.answers_to)
        self._origins = frozenset(serving.cors_origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        request_id = _request_id(headers)
        scope.setdefault("state", {})["request_id"] = request_id
        started = False

        async def sending(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                MutableHeaders(scope=message)[REQUEST_ID] = request_id
            await send(message)

        request = Request(scope, receive)
        try:
            self._check(scope, headers)
            await self.app(scope, receive, sending)
        except PhronesisError as error:
            await problems.of_error(request, error)(scope, receive, sending)
        except Exception as error:
            if started:
                raise
            await problems.of_surprise(request, error)(scope, receive, sending)

    def _check(self, scope: Scope, headers: Headers) -> None:
        """Refuse a name that is not this server's (DNS rebinding), and writes that another site's page sends."""
        host = _name(headers.get("host", ""))
        if self._hosts and host not in self._hosts:
            raise AccessRefused(
                "this server does not go by the name in the header Host; name it in server.allowed_hosts, or"
                " phronesis serve --allow-host",
                field="Host",
            )
        if scope["method"] in _SAFE or "authorization" in headers:
            return  # nothing is changed, or the page had to know a key: the browser adds none by itself
        origin = headers.get("origin")
        foreign = origin is not None and origin.lower() not in self._origins and not _same(origin, headers)
        if foreign or (origin is None and headers.get("sec-fetch-site") in {"cross-site", "same-site"}):
            raise AccessRefused("a page of another site may not send this; call the server itself", field="Origin")


def _request_id(headers: Headers) -> str:
    given = headers.get(REQUEST_ID, "")
    return given if _GIVEN_ID.fullmatch(given) else str(uuid_utils.uuid7())


def _name(host: str) -> str:
    """Give a Host header's name without its port, and an IPv6 address without brackets."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _same(origin: str, headers: Headers) -> bool:
    return origin.partition("://")[2].lower() == headers.get("host", "").lower()
