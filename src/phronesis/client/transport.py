"""HTTP transport of the client: JSON encoding, retries, conversion of problems to errors, and the table of routes."""

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from http import HTTPStatus
from types import ModuleType
from typing import Any, Final
from urllib.parse import urlsplit

from phronesis import errors
from phronesis.core.timestamps import isoformat
from phronesis.errors import Closed, InputError, MissingExtra, PhronesisError, ServerUnavailable
from phronesis.memory import Memory
from phronesis.memory.admin import Admin
from phronesis.memory.entities import Entities
from phronesis.memory.items import Items
from phronesis.memory.quarantine import Quarantine
from phronesis.memory.reading import Sessions
from phronesis.memory.reasoning import Reasoning
from phronesis.memory.resources import Resources
from phronesis.memory.runs import Runs
from phronesis.memory.traits import Traits
from phronesis.wire import as_json

PREFIX: Final = "/api/v1"
PROBLEM: Final = "application/problem+json"
_NO_ROUTE: Final = "http."
"""Prefix of error codes that no verb of the server raised."""

FIRST_WAIT_SECONDS: Final = 0.2
"""Seconds before the first retry; each later wait doubles, with random jitter of up to the same again."""

LONGEST_WAIT_SECONDS: Final = 60.0
"""Longest wait in seconds that a server may ask for."""

_AWAY: Final = frozenset({502, 503, 504})
"""Statuses of a proxy whose server is unavailable; the request may have reached the server."""


class Transport:
    """Sends requests to one server. Thread-safe; connections are kept until it is closed."""

    def __init__(self, url: str, *, api_key: str | None, timeout: float, retries: int) -> None:
        self._httpx = _library()
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.netloc:
            raise InputError("url must be a server's address, such as http://127.0.0.1:8765", field="url")
        if isinstance(retries, bool) or retries < 0:
            raise InputError(f"retries must be an integer from 0, not {retries!r:.40}", field="retries")
        self._retries = retries
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._client = self._httpx.Client(base_url=url.rstrip("/") + PREFIX, headers=headers, timeout=timeout)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def send(self, method: str, path: str, *, repeatable: bool = True, **sent: Any) -> Any:
        """Return the response's JSON.

        Args:
            method: the HTTP method.
            path: relative to the API's root.
            repeatable: whether the request is idempotent. If not, it is repeated only if the server was not reached or
                reports that it did nothing.
            **sent: ``query``, ``body``, ``headers``, ``files``.

        Raises:
            PhronesisError: of the class that the server names, with its message, field and details.
            ServerUnavailable: no valid response in time; a write may have been done.
        """
        for left in range(self._retries, -1, -1):
            pause = FIRST_WAIT_SECONDS * 2 ** (self._retries - left)
            try:
                response = self._send_once(method, path, **sent)
            except self._httpx.HTTPError as error:
                if not left or not self._may_retry(error, repeatable=repeatable):
                    raise self._unavailable(method, path, error) from error
            else:
                wanted = _retry_pause(response, repeatable=repeatable)
                if wanted is None or not left:
                    return self._answer(method, path, response)
                pause = max(pause, wanted)
            time.sleep(pause * random.uniform(1, 2))  # noqa: S311 - no secret
        raise AssertionError  # pragma: no cover - the last try returns or raises

    def _send_once(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        files: Mapping[str, Any] | None = None,
    ) -> Any:
        if self._client.is_closed:
            raise Closed("this Client was closed; make another")
        given = {"json": body} if files is None else {"data": body, "files": files}
        return self._client.request(
            method, path, params=query, headers=headers, **(given if body is not None or files else {})
        )

    def _may_retry(self, error: Exception, *, repeatable: bool) -> bool:
        """Return whether the same request may be repeated after a connection error."""
        if isinstance(error, self._httpx.ConnectError | self._httpx.ConnectTimeout):
            return True  # nothing was sent
        broken = self._httpx.NetworkError | self._httpx.RemoteProtocolError
        return repeatable and isinstance(error, broken)

    def _answer(self, method: str, path: str, response: Any) -> Any:
        try:
            return _read(response)
        except ValueError as error:
            if isinstance(error, PhronesisError):
                raise
            raise self._unavailable(method, path, error) from error

    def _unavailable(self, method: str, path: str, error: Exception) -> ServerUnavailable:
        return ServerUnavailable(
            f"{method} {path} at {self._client.base_url}: {str(error) or type(error).__name__}; start it (phronesis"
            " serve), or give another url or a longer timeout",
            field="url",
        )


def _retry_pause(response: Any, *, repeatable: bool) -> float | None:
    """Return the seconds to wait before repeating the request; None if it must not be repeated."""
    ours = response.headers.get("content-type", "").partition(";")[0] == PROBLEM
    told = response.headers.get("retry-after", "")
    if response.status_code == HTTPStatus.TOO_MANY_REQUESTS or (ours and told):
        pause = float(told) if told.isdecimal() else 0.0  # nothing was done
        return pause if pause <= LONGEST_WAIT_SECONDS else None
    return 0.0 if repeatable and not ours and response.status_code in _AWAY else None


def plain(value: Any) -> Any:
    """Return an argument as JSON: records as plain values, times as ISO 8601, durations in hours."""
    if isinstance(value, datetime):
        return isoformat(value) if value.tzinfo is not None else value.isoformat()
    if isinstance(value, timedelta):
        return value / timedelta(hours=1)
    return as_json(value)


def error_of(problem: Mapping[str, Any]) -> PhronesisError:
    """Return the error described by a problem response: the class with its code, else the nearest base class."""
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


# Routes: method, path and argument encoding of each verb. The server uses the verbs' own argument names.

BODY: Final = frozenset({"POST", "PATCH"})
"""Methods whose arguments are sent as a JSON body; the others use a query."""


@dataclass(frozen=True, slots=True)
class Route:
    """The route of a verb.

    ``path`` names arguments in braces, each one segment. ``renamed`` gives an argument another name; ``fixed`` is sent
    in addition to the arguments; ``whole`` is the argument that is the whole body; ``member`` is the member of the
    response that holds the result.
    """

    method: str
    path: str
    renamed: Mapping[str, str] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    whole: str | None = None
    member: str | None = None


_KINDS: Final = {"kinds": "kind"}

ROUTES: Final[Mapping[Callable[..., Any], Route]] = {
    Memory.add: Route("POST", "/memories"),
    Memory.get_all: Route("GET", "/memories", renamed=_KINDS),
    Memory.search: Route("GET", "/memories", renamed=_KINDS),
    Memory.get: Route("GET", "/memories/{id}"),
    Memory.update: Route("PATCH", "/memories/{id}"),
    Memory.delete: Route("DELETE", "/memories/{id}"),
    Items.archive: Route("POST", "/memories/{id}/archive"),
    Items.unarchive: Route("POST", "/memories/{id}/unarchive"),
    Items.pin: Route("POST", "/memories/{id}/pin"),
    Items.unpin: Route("POST", "/memories/{id}/unpin"),
    Items.retract: Route("POST", "/memories/{id}/retract"),
    Items.delete_all: Route("DELETE", "/memories"),
    Items.due: Route("GET", "/due"),
    Items.preview: Route("POST", "/preview"),
    Memory.history: Route("GET", "/memories/{id}/history"),
    Memory.explain: Route("GET", "/memories/{id}/explain"),
    Memory.rollback: Route("POST", "/rollback"),
    Memory.commit_turn: Route("POST", "/turns"),
    Sessions.turns: Route("GET", "/turns"),
    Sessions.list: Route("GET", "/sessions"),
    Memory.compose_context: Route("POST", "/context", fixed={"explain": True}),
    Memory.ingest: Route("POST", "/experiences"),
    Resources.ingest_source: Route("POST", "/experiences"),
    Resources.get_source: Route("GET", "/experiences/source"),
    Resources.get_episode: Route("GET", "/experiences/episode"),
    Resources.get: Route("GET", "/resources/{id}"),
    Memory.aggregate: Route("POST", "/aggregate"),
    Memory.abstract: Route("POST", "/abstract"),
    Memory.query: Route("POST", "/query"),
    Memory.feedback: Route("POST", "/feedback"),
    Memory.forget: Route("POST", "/forget"),
    Memory.get_user_traits: Route("GET", "/users/{user_id}/traits"),
    Memory.should_reflect: Route("GET", "/users/{user_id}/should-reflect"),
    Memory.reflect: Route("POST", "/users/{user_id}/reflect"),
    Traits.evidence: Route("GET", "/traits/{id}/evidence"),
    Traits.correct: Route("PATCH", "/traits/{id}"),
    Traits.delete: Route("DELETE", "/traits/{id}"),
    Traits.reflections: Route("GET", "/users/{user_id}/reflections"),
    Memory.mem_search: Route("GET", "/reasoning"),
    Reasoning.add: Route("POST", "/reasoning"),
    Reasoning.check: Route("POST", "/reasoning/check"),
    Reasoning.get: Route("GET", "/reasoning/{id}"),
    Reasoning.rebuild_index: Route("POST", "/reasoning/index"),
    Runs.record: Route("POST", "/runs", member="run_id"),
    Runs.list: Route("GET", "/runs"),
    Runs.get: Route("GET", "/runs/{run_id}"),
    Runs.feedback: Route("POST", "/runs/{run_id}/feedback"),
    Memory.learn: Route("POST", "/runs/{run_id}/learn"),
    Runs.review: Route("GET", "/runs/{run_id}/review"),
    Resources.ingest: Route("POST", "/resources"),
    Memory.plan: Route("POST", "/plan"),
    Memory.retrieve: Route("POST", "/retrieve", whole="plan"),
    Admin.jobs: Route("GET", "/jobs"),
    Admin.retry: Route("POST", "/jobs/{entry_id}/retry"),
    Admin.overview: Route("GET", "/overview"),
    Admin.users: Route("GET", "/users"),
    Admin.contexts: Route("GET", "/contexts"),
    Admin.context: Route("GET", "/contexts/{context_id}"),
    Admin.requests: Route("GET", "/requests"),
    Admin.latencies: Route("GET", "/requests/latencies"),
    Admin.unlearned: Route("GET", "/unlearned"),
    Entities.list: Route("GET", "/entities"),
    Entities.get: Route("GET", "/entities/{id}"),
    Entities.merge: Route("POST", "/entities/merge"),
    Entities.split: Route("POST", "/entities/{id}/split"),
    Quarantine.list: Route("GET", "/quarantine"),
    Quarantine.release: Route("POST", "/quarantine", fixed={"action": "release"}),
    Quarantine.reject: Route("POST", "/quarantine", fixed={"action": "reject"}),
}
"""The verbs that the server offers. Verbs that need the store's machine (rebuild, import, keys …) are missing."""
