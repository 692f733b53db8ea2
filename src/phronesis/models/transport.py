"""The one way to a server: bounded, to that server alone, and with nothing said in the log."""

import json
import logging
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from phronesis.errors import Closed, InputError, MissingExtra
from phronesis.models.calls import Limits
from phronesis.models.gateway import Gateway
from phronesis.models.http_faults import parsed

if TYPE_CHECKING:
    import httpx2

REMEDY: Final = 'pip install "phronesis[models]"'
"""What to do when a package for asking servers is missing."""

_LOGGERS: Final = ("httpx2", "httpcore2.connection", "httpcore2.http11", "httpcore2.http2", "httpcore2.proxy")
"""Where the libraries log. A filter holds for the very logger that a record is made by, not for those below it."""
_FORM: Final = "application/x-www-form-urlencoded"
_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Reply:
    """What a server answered, whatever the status; names of headers in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class ModelHttp:
    """The connections to one gateway. Thread-safe; close it when done.

    Redirects are not followed and the environment's proxies not used, so that texts go nowhere else. Answers are read
    whole, within the limits of the call.
    """

    def __init__(self, gateway: Gateway) -> None:
        self.gateway = gateway
        self._calls = threading.local()
        self._closed = False
        self.client = self._opened(_checked_key(gateway))
        self._silence = _Silence(self._calls)
        for name in _LOGGERS:
            logging.getLogger(name).addFilter(self._silence)

    def _opened(self, api_key: str | None) -> "httpx2.Client":
        try:
            import httpx2  # noqa: PLC0415 - comes with the extra

            from phronesis.models.network import BoundedTransport  # noqa: PLC0415 - needs it
        except ImportError as error:
            raise MissingExtra(f"gateway {self.gateway.name}: a server is asked with httpx2; {REMEDY}") from error
        try:
            scheme = httpx2.URL(self.gateway.base_url).scheme
        except httpx2.InvalidURL:  # its message shows the URL
            scheme = ""
        if scheme not in {"http", "https"}:
            raise InputError(f"gateway {self.gateway.name}: base_url must be a URL of http or https", field="base_url")
        transport = BoundedTransport(self.gateway.name, secure=scheme == "https", api_key=api_key, limits=self._current)
        return httpx2.Client(transport=transport, trust_env=False, follow_redirects=False)

    def _current(self) -> Limits:
        limits: Limits = self._calls.limits
        return limits

    @contextmanager
    def within(self, limits: Limits) -> Iterator[None]:
        """Bound what this thread does with ``client`` inside the block, and keep it out of the log; Closed."""
        if self._closed:
            raise Closed(f"gateway {self.gateway.name}: its connections were closed")
        limits.check()
        self._calls.limits = limits
        try:
            yield
        finally:
            del self._calls.limits

    def post(self, path: str, body: Mapping[str, Any], *, limits: Limits) -> Any:
        """Send ``body`` as JSON and give the JSON that comes back, of whatever form; ModelError when none does.

        ``path`` is below ``base_url``: ``/rerank``.
        """
        content = json.dumps(sendable(body), ensure_ascii=False, allow_nan=False).encode()
        url = self.gateway.base_url.rstrip("/") + path
        with self.within(limits):
            response = self.client.post(url, content=content, headers={"content-type": "application/json"})
        return parsed(self.gateway.name, response.content)

    def exchange(self, path: str, form: Mapping[str, str] | None, *, limits: Limits) -> Reply:
        """Post a form below ``base_url``, or get the path when there is none, and give what comes back: refusals too.

        ModelUnavailable: nobody was reached, or not in time. AnswerRejected: longer than the limits, or compressed.
        """
        from phronesis.models.network import ANY_STATUS  # noqa: PLC0415 - as above

        url = self.gateway.base_url.rstrip("/") + path
        more: dict[str, Any] = {"extensions": {ANY_STATUS: True}}
        if form is not None:
            more |= {"content": urlencode(sendable(form)).encode("ascii"), "headers": {"content-type": _FORM}}
        with self.within(limits):
            response = self.client.request("GET" if form is None else "POST", url, **more)
        return Reply(response.status_code, dict(response.headers.items()), response.content)

    def close(self) -> None:
        """Close every connection; a call under way ends with ModelUnavailable. Twice does no harm."""
        self._closed = True
        self.client.close()
        for name in _LOGGERS:
            logging.getLogger(name).removeFilter(self._silence)


class _Silence(logging.Filter):
    """Drops what libraries log while this thread makes one of our calls: URLs, headers, in some versions bodies.

    Other threads, and other uses of the same libraries in this one, log as ever.
    """

    def __init__(self, calls: threading.local) -> None:
        super().__init__()
        self._calls = calls

    def filter(self, record: logging.LogRecord) -> bool:  # noqa: ARG002 - every record of such a call
        return not hasattr(self._calls, "limits")


def _checked_key(gateway: Gateway) -> str | None:
    """Give the key as a header can hold it. Libraries that meet another show it in their errors."""
    key = (gateway.api_key or "").strip()
    if not key.isascii() or not key.isprintable():
        raise InputError(
            f"gateway {gateway.name}: the key holds characters that no key has; correct the variable that api_key_env"
            " names",
            field="api_key",
        )
    return key or None


def sendable(value: Any) -> Any:
    """Give a JSON value whose texts every server can take: NUL a space, lone surrogates U+FFFD."""
    if isinstance(value, str):
        return _LONE_SURROGATE.sub("\ufffd", value.replace("\0", " "))
    if isinstance(value, Mapping):
        return {sendable(name): sendable(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [sendable(one) for one in value]
    return value
