"""A server of models on this machine that says what a test tells it to, and misbehaves on request.

::

    with ModelServer(chat("hello"), status(429, {"Retry-After": "3"})) as server:
        ...  # the first request gets an answer, the second and all later ones the refusal
        assert server.requests[0].body["model"] == "m"
"""

import json
import math
import socket
import socketserver
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qsl

JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Received:
    """A request: header names in lower case; ``body`` None when it is not JSON."""

    path: str
    headers: Mapping[str, str]
    body: Any
    peer: tuple[str, int]
    """The client's end: the same for two requests on one connection."""
    form: Mapping[str, str] = field(default_factory=dict)
    """The fields of a form that was posted."""
    method: str = "POST"


class Reply:
    """What a behaviour writes its answer with."""

    def __init__(self, handler: BaseHTTPRequestHandler, closing: threading.Event, asked: Received) -> None:
        self._handler = handler
        self._closing = closing
        self.asked = asked

    def head(self, code: int, headers: Mapping[str, str]) -> None:
        self._handler.send_response_only(code)
        for name, value in headers.items():
            self._handler.send_header(name, value)
        self._handler.end_headers()
        self._handler.wfile.flush()

    def send(self, body: bytes, *, code: int = 200, kind: str = JSON, headers: Mapping[str, str] | None = None) -> None:
        self.head(code, {"Content-Type": kind, "Content-Length": str(len(body)), **(headers or {})})
        self.write(body)

    def write(self, part: bytes) -> None:
        self._handler.wfile.write(part)
        self._handler.wfile.flush()

    def hang_up(self) -> None:
        self._handler.close_connection = True

    def wait(self, seconds: float) -> bool:
        """Sleep; tell whether the server is still wanted."""
        return not self._closing.wait(seconds)


Behaviour = Callable[[Reply], None]


# Answers as they should be.


def reply_json(value: Any, *, code: int = 200, headers: Mapping[str, str] | None = None) -> Behaviour:
    return lambda reply: reply.send(json.dumps(value).encode(), code=code, headers=headers)


def chat(
    content: Any, *, finish_reason: Any = "stop", usage: Any = None, refusal: str | None = None, **message: Any
) -> Behaviour:
    said = {"role": "assistant", "content": content, "refusal": refusal, **message}
    choice = {"index": 0, "message": said, "finish_reason": finish_reason}
    body: dict[str, Any] = {"id": "c1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    if usage is not None:
        body["usage"] = usage
    return reply_json(body)


def letter(said: Any, odds: Mapping[str, float] | None = None) -> Behaviour:
    """Answer with one token; ``odds`` are how probable it and others were, where the server says so."""
    choice: dict[str, Any] = {"index": 0, "message": {"role": "assistant", "content": said}, "finish_reason": "stop"}
    if odds is not None:
        beside = [{"token": token, "logprob": math.log(value)} for token, value in odds.items()]
        choice["logprobs"] = {"content": [{"token": said, "logprob": 0.0, "top_logprobs": beside}]}
    return reply_json({"choices": [choice]})


def embeddings(vectors: Sequence[Any], *, order: Sequence[int] | None = None, index: bool = True) -> Behaviour:
    """Give these vectors; ``order`` says in which order the entries stand."""
    entries = [
        {"object": "embedding", "embedding": vector, **({"index": place} if index else {})}
        for place, vector in enumerate(vectors)
    ]
    return reply_json({"object": "list", "data": [entries[place] for place in order or range(len(entries))]})


def embed_each(embed: Callable[[str], Any]) -> Behaviour:
    """Give each text that is asked about the vector that ``embed`` says."""
    return lambda reply: embeddings([embed(text) for text in reply.asked.body["input"]])(reply)


def reranked(scores: Mapping[int, Any], *, shape: str) -> Behaviour:
    """Give scores by index as a server of this kind does: vllm, llama.cpp, jina, cohere, tei."""
    best = sorted(scores.items(), key=lambda entry: -entry[1])
    if shape == "tei":
        return reply_json([{"index": index, "score": score} for index, score in best])
    more: dict[str, Any] = {"document": {"text": "t"} if shape == "vllm" else "t"} if shape in {"vllm", "jina"} else {}
    listed = scores.items() if shape == "llama.cpp" else best
    return reply_json({"id": "1", "results": [{"index": n, "relevance_score": score, **more} for n, score in listed]})


# Servers that are slow, or without end.


def slow(seconds: float, then: Behaviour) -> Behaviour:
    def behave(reply: Reply) -> None:
        if reply.wait(seconds):
            then(reply)

    return behave


def trickle(*, part: bytes = b" ", seconds: float = 0.005) -> Behaviour:
    """Give the headers at once, and then a byte now and then, for ever."""

    def behave(reply: Reply) -> None:
        reply.head(200, {"Content-Type": JSON, "Connection": "close"})
        reply.hang_up()
        while reply.wait(seconds):
            reply.write(part)

    return behave


def trickle_headers(*, seconds: float = 0.005) -> Behaviour:
    """Give a status line, and then a header that never ends."""

    def behave(reply: Reply) -> None:
        reply.hang_up()
        reply.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
        while reply.wait(seconds):
            reply.write(b"x")

    return behave


def endless(*, sse: bool = False) -> Behaviour:
    """Give as much as goes through, and more: a JSON text, or server-sent events."""

    def behave(reply: Reply) -> None:
        part = b'data: {"choices":[]}\n\n' if sse else b'{"choices":[],"filler":"' + b"x" * 40
        reply.head(200, {"Content-Type": "text/event-stream" if sse else JSON, "Connection": "close"})
        reply.hang_up()
        while reply.wait(0.0):
            reply.write(part * 1000)

    return behave


# Answers that are broken.


def truncated(body: bytes = b'{"choices": [{"message"') -> Behaviour:
    """Promise more than comes."""

    def behave(reply: Reply) -> None:
        reply.head(200, {"Content-Type": JSON, "Content-Length": str(len(body) + 100)})
        reply.hang_up()
        reply.write(body)

    return behave


def cut() -> Behaviour:
    """Hang up without a byte."""
    return lambda reply: reply.hang_up()


def not_http(line: bytes = b"220 mail.example ESMTP\r\n\r\n") -> Behaviour:
    def behave(reply: Reply) -> None:
        reply.hang_up()
        reply.write(line)

    return behave


def garbage(body: bytes = b"\xff\x00{]}\xc3(", *, kind: str = JSON) -> Behaviour:
    return lambda reply: reply.send(body, kind=kind)


# Refusals and failures.


def status(code: int, headers: Mapping[str, str] | None = None, *, message: str = "no") -> Behaviour:
    return reply_json({"error": {"message": message, "type": "error", "code": code}}, code=code, headers=headers)


def redirect(url: str, code: int = 307) -> Behaviour:
    return status(code, {"Location": url})


def shown(error: BaseException) -> str:
    """Give all that a log with a traceback, or a program that asks the error, may show of it."""
    told = [*traceback.format_exception(error), repr(error), *map(str, vars(error).values())]
    cause = error.__cause__
    while cause is not None:
        told.append(repr(cause))
        cause = cause.__cause__
    return "\n".join(told)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: clients that hang up are what is tested."""


class ModelServer:
    """The server. Each request takes the next behaviour; the last one is repeated."""

    def __init__(self, *behaviours: Behaviour) -> None:
        self.queue: list[Behaviour] = list(behaviours)
        self.requests: list[Received] = []
        self._closing = threading.Event()
        self._lock = threading.Lock()
        self._sockets: set[socket.socket] = set()
        self._server = _Server(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    @property
    def base_url(self) -> str:
        """``http://127.0.0.1:PORT/v1``."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def answers(self, *behaviours: Behaviour) -> None:
        """Behave so from the next request on."""
        with self._lock:
            self.queue[:] = behaviours

    def _next(self, asked: Received) -> Behaviour:
        with self._lock:
            self.requests.append(asked)
            return self.queue.pop(0) if len(self.queue) > 1 else self.queue[0]

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True
            wbufsize = -1

            def __init__(self, request: socket.socket, client_address: Any, server: socketserver.BaseServer) -> None:
                with owner._lock:
                    owner._sockets.add(request)
                try:
                    super().__init__(request, client_address, server)
                except OSError:  # the client hung up, or the server was closed
                    self.close_connection = True
                finally:
                    with owner._lock:
                        owner._sockets.discard(request)

            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers.get("Content-Length", "0")))
                try:
                    body = json.loads(raw)
                except ValueError:
                    body = None
                headers = {name.lower(): value for name, value in self.headers.items()}
                is_form = headers.get("content-type") == "application/x-www-form-urlencoded"
                form = dict(parse_qsl(raw.decode("ascii"), strict_parsing=True)) if is_form else {}
                asked = Received(self.path, headers, body, self.client_address, form, self.command)
                owner._next(asked)(Reply(self, owner._closing, asked))

            def do_GET(self) -> None:
                self.do_POST()

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the parent's name
                """Say nothing."""

        return Handler

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        with self._lock:
            for connection in self._sockets:
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:  # it is gone already
                    continue
        self._thread.join()
