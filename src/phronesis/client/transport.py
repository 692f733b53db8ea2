"""One request and its answer: what is sent as JSON, and what a problem becomes."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from types import ModuleType
from typing import Any, Final
from urllib.parse import urlsplit

from phronesis import errors
from phronesis.core.instants import isoformat
from phronesis.errors import InputError, MissingExtra, PhronesisError, ServerUnavailable
from phronesis.wire import as_json

PREFIX: Final = "/api/v1"
PROBLEM: Final = "application/problem+json"
_NO_ROUTE: Final = "http."
"""What the codes of refusals begin with that no verb of the server raised."""


class Transport:
    """Speaks to one server. Thread-safe; its connections are kept until it is closed."""

    def __init__(self, url: str, *, api_key: str | None, timeout: float) -> None:
        self._httpx = _library()
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.netloc:
            raise InputError("url must be a server's address, such as http://127.0.0.1:8765", field="url")
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._client = self._httpx.Client(base_url=url.rstrip("/") + PREFIX, headers=headers, timeout=timeout)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def send(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        files: Mapping[str, Any] | None = None,
    ) -> Any:
        """Give the answer's JSON.

        Raises:
            PhronesisError: of the class that the server names, with its message, field and details.
            ServerUnavailable: no server, or nothing of ours, answered in time; a write may have been done all the same.
        """
        given = {"json": body} if files is None else {"data": body, "files": files}
        try:
            response = self._client.request(
                method, path, params=query, headers=headers, **(given if body is not None or files else {})
            )
            return _read(response)
        except (self._httpx.HTTPError, ValueError) as error:
            if isinstance(error, PhronesisError):
                raise
            raise ServerUnavailable(
                f"{method} {path} at {self._client.base_url}: {error or type(error).__name__}; start it (phronesis"
                " serve), or give another url or a longer timeout",
                field="url",
            ) from error


def plain(value: Any) -> Any:
    """Give an argument as JSON: records as they go out, times as ISO 8601, spans of time in hours."""
    if isinstance(value, datetime):
        return isoformat(value) if value.tzinfo is not None else value.isoformat()
    if isinstance(value, timedelta):
        return value / timedelta(hours=1)
    return as_json(value)


def error_of(problem: Mapping[str, Any]) -> PhronesisError:
    """Give the error that a problem tells of, of the class that has its code, else of the nearest above it."""
    code = str(problem.get("code", ""))
    kinds = _by_code()
    while code and code not in kinds:
        code = code.rpartition(".")[0]
    kind = kinds.get(code, PhronesisError)
    details = problem.get("details")
    return kind(
        str(problem.get("detail", "the server refused the call and said no more")),
        field=problem.get("field"),
        details=details if isinstance(details, dict) else {},
    )


def _read(response: Any) -> Any:
    kind = response.headers.get("content-type", "").partition(";")[0]
    if response.is_success:
        return response.json()
    told = response.json() if kind == PROBLEM else {}
    if told.get("code", _NO_ROUTE).startswith(_NO_ROUTE):
        raise ServerUnavailable(
            f"status {response.status_code}: what answered is no Phronesis, or one of another version", field="url"
        )
    raise error_of(told)


def _by_code() -> dict[str, type[PhronesisError]]:
    found = [one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, PhronesisError)]
    return {one.code: one for one in found}


def _library() -> ModuleType:
    try:
        import httpx2  # noqa: PLC0415 - comes with the extra
    except ImportError as error:
        raise MissingExtra("the client needs an HTTP library: pip install 'phronesis[client]'", field="url") from error
    return httpx2
