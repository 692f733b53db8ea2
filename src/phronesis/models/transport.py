"""HTTP requests to a model server: bounded, without redirects, and without content in the log."""

import email.utils
import json
import logging
import math
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from phronesis.errors import (
    AnswerRejected,
    Closed,
    MissingExtra,
    ModelError,
    ModelRefused,
    ModelUnavailable,
)
from phronesis.models.call_policy import Limits

if TYPE_CHECKING:
    from phronesis.models.network import BoundedPool

# The address and key of a model server.


@dataclass(frozen=True, slots=True)
class Gateway:
    """The address and credentials of a server, as the configuration has checked them.

    ``base_url`` is the root that OpenAI's paths are appended to, ``http://127.0.0.1:11434/v1`` for a local Ollama.
    ``api_key`` is sent to that server only and never shown.
    """

    name: str
    base_url: str
    api_key: str | None = field(default=None, repr=False)


# Errors for a server's refusals, failures and unreadable responses. They never quote the server.

_PASSING: Final = frozenset({408, 409, 425, 429})
"""Statuses below 500 after which the same call may succeed (RFC 9110, 8470 and 6585; 409 as OpenAI's clients do)."""
_NEVER_THERE: Final = frozenset({501, 505})
"""Statuses of a server that permanently lacks what was requested (RFC 9110)."""
_REDIRECTS: Final = range(300, 400)
"""Redirects (RFC 9110). They are not followed: the texts were meant for the configured server."""
_KEY: Final = frozenset({401, 403, 407})
"""Statuses of authentication and authorisation (RFC 9110)."""
_MISSING: Final = frozenset({404, 405, 410})
"""Statuses of a missing path or method (RFC 9110). Servers also return 404 for an unknown model."""


def error_of_status(gateway: str, status: int, headers: Mapping[str, str]) -> ModelError:
    """Return the error of an unsuccessful HTTP status; ``headers`` with names in lower case.

    ``details`` has ``status``, and ``retry_after`` in seconds if the server sends it.
    """
    details: dict[str, Any] = {"status": status}
    waiting = retry_after(headers)
    if waiting is not None:
        details["retry_after"] = waiting
    if status in _PASSING or (status >= HTTPStatus.INTERNAL_SERVER_ERROR and status not in _NEVER_THERE):
        return ModelUnavailable(
            f"gateway {gateway}: the server is overloaded or failing (HTTP {status}); try again later, or read its log",
            details=details,
        )
    field, problem = _refusal(status)
    return ModelRefused(f"gateway {gateway}: {problem} (HTTP {status})", field=field, details=details)


def _refusal(status: int) -> tuple[str, str]:
    if status in _KEY:
        return "api_key", "the server refuses the key; correct the variable that api_key_env names"
    if status in _MISSING:
        return "model", "the server knows no such model, or no such path; correct the model's name or base_url"
    if status in _REDIRECTS:
        return "base_url", "the server points to another address, which is not followed; give that one as base_url"
    return "parameters", "the server refuses the parameters: one that it does not know, or so long a text"


def retry_after(headers: Mapping[str, str], *, now: Callable[[], float] = time.time) -> float | None:
    """Return the seconds that a server asks to wait, at least 0; None if missing or unreadable.

    ``retry-after-ms`` (OpenAI's, Azure's) has priority over ``retry-after``, which is in seconds or a date (RFC 9110).
    A date is relative to the server's own ``date``, since clocks differ.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000.0
    said = headers.get("retry-after")
    seconds = _number(said)
    if seconds is not None:
        return seconds
    until = _moment(said)
    if until is None:
        return None
    asked = _moment(headers.get("date"))
    return max(0.0, until - (now() if asked is None else asked))


def _number(said: str | None) -> float | None:
    try:
        value = float(said or "")
    except ValueError:
        return None
    return max(0.0, value) if math.isfinite(value) else None


def _moment(said: str | None) -> float | None:
    parts = email.utils.parsedate_tz(said or "")
    try:
        return None if parts is None else float(email.utils.mktime_tz(parts))
    except (ValueError, OverflowError):
        return None


def unreachable(gateway: str, cause: str) -> ModelUnavailable:
    """Return the error of a server that was unreachable or hung up; ``cause`` is the name of the exception's class."""
    return ModelUnavailable(
        f"gateway {gateway}: the server cannot be reached, or it ended the connection ({cause});"
        " start it, or correct base_url"
    )


def unreadable(gateway: str, problem: str) -> AnswerRejected:
    """Return the error of an invalid response; ``problem`` completes "the answer …"."""
    return AnswerRejected(f"gateway {gateway}: the answer {problem}; is base_url that of a server of this kind?")


def parsed(gateway: str, body: bytes) -> Any:
    """Return the JSON value of a body; AnswerRejected if it is not JSON."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):  # the parser's own error contains the body
        raise unreadable(gateway, "is not JSON") from None


REMEDY: Final = 'pip install "phronesis[models]"'
"""The remedy if the HTTP packages are missing."""
_LOGGERS: Final = ("httpcore2.connection", "httpcore2.http11", "httpcore2.http2", "httpcore2.proxy")
"""The libraries' loggers. A filter applies to its own logger only, not to those below it."""
_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Reply:
    """A server's response, whatever its status; header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class ModelHttp:
    """The connections to one gateway. Thread-safe; close it when done.

    Redirects are not followed and the environment's proxies not used, so that texts go nowhere else. Responses are read
    whole, within the limits of the call.
    """

    def __init__(self, gateway: Gateway) -> None:
        self.gateway = gateway
        self._calls = threading.local()
        self._closed = False
        self._pool = self._opened()
        self._silence = _Silence(self._calls)
        for name in _LOGGERS:
            logging.getLogger(name).addFilter(self._silence)

    def _opened(self) -> "BoundedPool":
        try:
            from phronesis.models.network import BoundedPool  # noqa: PLC0415 - httpx2 comes with the extra
        except ImportError as error:
            raise MissingExtra(f"gateway {self.gateway.name}: a server is asked with httpx2; {REMEDY}") from error
        secure = self.gateway.base_url.lower().startswith("https:")
        return BoundedPool(self.gateway.name, secure=secure, api_key=self.gateway.api_key, limits=self._current)

    def _current(self) -> Limits:
        limits: Limits = self._calls.limits
        return limits

    def post(self, path: str, body: Mapping[str, Any], *, limits: Limits) -> Any:
        """Send ``body`` as JSON and return the JSON response, unvalidated; ModelError on failure.

        ``path`` is relative to ``base_url``: ``/rerank``.
        """
        content = json.dumps(replace_unsendable(body), ensure_ascii=False, allow_nan=False).encode()
        return parsed(self.gateway.name, self._exchange(path, content, "application/json", limits).body)

    def exchange(self, path: str, form: Mapping[str, str] | None, *, limits: Limits) -> Reply:
        """Post a form below ``base_url``, or get the path without one, and return the response of any status.

        ModelUnavailable: the server was unreachable or too slow. AnswerRejected: longer than the limits, or compressed.
        """
        content = None if form is None else urlencode(replace_unsendable(form)).encode("ascii")
        return self._exchange(path, content, "application/x-www-form-urlencoded", limits, any_status=True)

    def _exchange(
        self, path: str, content: bytes | None, kind: str, limits: Limits, *, any_status: bool = False
    ) -> Reply:
        """Exchange a request within limits, which this thread's connections see, and keep it out of the log; Closed."""
        if self._closed:
            raise Closed(f"gateway {self.gateway.name}: its connections were closed")
        limits.check()
        self._calls.limits = limits
        try:
            url = self.gateway.base_url.rstrip("/") + path
            return self._pool.exchange(url, content, kind, any_status=any_status)
        finally:
            del self._calls.limits

    def close(self) -> None:
        """Close every connection; a running call ends with ModelUnavailable. Closing twice is allowed."""
        self._closed = True
        self._pool.close()
        for name in _LOGGERS:
            logging.getLogger(name).removeFilter(self._silence)


class _Silence(logging.Filter):
    """Drops what libraries log during a call on this thread: URLs, headers, in some versions bodies.

    Other threads, and other uses of the same libraries on this one, log as usual.
    """

    def __init__(self, calls: threading.local) -> None:
        super().__init__()
        self._calls = calls

    def filter(self, record: logging.LogRecord) -> bool:  # noqa: ARG002 - every record of such a call
        return not hasattr(self._calls, "limits")


def replace_unsendable(value: Any) -> Any:
    """Return a JSON value whose texts every server accepts: NUL a space, lone surrogates U+FFFD."""
    if isinstance(value, str):
        return _LONE_SURROGATE.sub("\ufffd", value.replace("\0", " "))
    if isinstance(value, Mapping):
        return {replace_unsendable(name): replace_unsendable(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [replace_unsendable(one) for one in value]
    return value
