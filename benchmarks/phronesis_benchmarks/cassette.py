"""A cassette: a model's recorded answers, served again to the same requests by a server on this machine.

A request is the same when its messages are, whatever numbers stand in the tags around data. A request that is not on
the cassette goes to the real server, and is recorded; without one it is refused and counted as missed.
"""

import hashlib
import json
import re
import threading
import urllib.error
import urllib.request
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from phronesis.config import Policy
from phronesis.errors import InputError
from phronesis.models.token_counter import load_token_counter
from phronesis_benchmarks.records import read_text

_BOUNDARY: Final = re.compile(r"(?<=[</])(?:memory|turn)-\d{6,12}")
_TIMEOUT: Final = 3_600


class Cassette:
    """Recorded answers in a file of JSON lines, plain or compressed (``.xz``); a context manager that serves them."""

    def __init__(self, path: Path, *, upstream: str | None = None) -> None:
        """Read the recorded answers; ``upstream`` is the address of the real server, up to ``/v1``."""
        self.path, self.upstream = path, upstream
        self.missed = 0
        self.calls = 0
        self.data_tokens = 0
        self._counter = load_token_counter("o200k")
        self._lock = threading.Lock()
        self._answers = _load(path)
        self._used: set[str] = set()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler_of(self))

    @property
    def base_url(self) -> str:
        """The address of this server, up to ``/v1``."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    @property
    def unused(self) -> int:
        """The number of recorded answers that no request asked for."""
        return len(self._answers.keys() - self._used)

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True, name="cassette").start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, body: Mapping[str, Any], headers: Mapping[str, str]) -> tuple[int, Mapping[str, Any]]:
        """Return the status and the body of the response to a request."""
        key = request_key(body)
        tokens = self._counter.count("\n".join(one["content"] for one in body["messages"][1:]))
        with self._lock:
            self.calls += 1
            self.data_tokens += tokens
            known = self._answers.get(key)
            self._used.add(key)
        if known is None and self.upstream is not None:
            status, response = _forward(f"{self.upstream}/chat/completions", body, headers)
            if status != 200:  # noqa: PLR2004 - HTTP's OK
                return status, response
            known = {"key": key, "answer": response["choices"][0]["message"]["content"]}
            with self._lock:
                self._answers[key] = known
                if self.path.suffix != ".xz":
                    with self.path.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(known, ensure_ascii=False) + "\n")
        if known is None:
            with self._lock:
                self.missed += 1
            return 404, {"error": {"message": "this request is not on the cassette: the prompt or the data changed"}}
        message = {"role": "assistant", "content": known["answer"]}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        return 200, {"id": key, "object": "chat.completion", "model": body.get("model"), "choices": [choice]}


@contextmanager
def played(
    policy: Policy, roles: Collection[str], path: Path | None, *, record: bool
) -> Iterator[tuple[Policy, Cassette | None]]:
    """Yield the policy with the server of these roles replaced by a cassette's; itself where there is none to play.

    InputError: the roles are filled by several gateways.
    """
    chosen = [role for name in roles if (role := policy.role(name)) is not None]
    if path is None or not chosen:
        yield policy, None
        return
    if len({role.gateway for role in chosen}) > 1:
        raise InputError(
            f"a cassette holds the answers of one gateway; {', '.join(roles)} have several", field="policy"
        )
    name = chosen[0].gateway
    server = policy.gateways[name]
    with Cassette(path, upstream=server.base_url if record else None) as player:
        gateway = server.model_copy(update={"base_url": player.base_url, "tries": 1})
        yield policy.model_copy(update={"gateways": {**policy.gateways, name: gateway}}), player


def request_key(body: Mapping[str, Any]) -> str:
    """Return the key of a request: a hash of its messages, without the numbers of tags."""
    said = [[one["role"], _BOUNDARY.sub("data", one["content"])] for one in body["messages"]]
    return hashlib.sha256(json.dumps(said, ensure_ascii=False).encode()).hexdigest()[:20]


def _load(path: Path) -> dict[str, dict[str, str]]:
    if not path.exists():
        return {}
    try:
        rows = [json.loads(line) for line in read_text(path).splitlines() if line.strip()]
        return {row["key"]: row for row in rows}
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path.name} is no cassette: {error!r:.100}", field="cassette") from error


def _forward(url: str, body: Mapping[str, Any], headers: Mapping[str, str]) -> tuple[int, Any]:
    kept = {name: value for name, value in headers.items() if name.lower() in {"authorization", "content-type"}}
    request = urllib.request.Request(url, json.dumps(body).encode(), kept)  # noqa: S310 - the policy's own server
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT) as response:  # noqa: S310
            return response.status, json.loads(response.read())
    except urllib.error.HTTPError as error:
        return error.code, {"error": {"message": error.reason}}
    except OSError as error:
        return 502, {"error": {"message": str(error)}}


def _handler_of(cassette: Cassette) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, response = cassette.answer(body, dict(self.headers.items()))
            data = json.dumps(response).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_given: object) -> None:
            """Write nothing."""

    return Handler
