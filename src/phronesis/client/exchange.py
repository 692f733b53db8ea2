"""Exchanges with a server, without I/O: when a request is repeated, what its response means, and what may wait."""

import itertools
import random
import time
import uuid
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from phronesis import errors
from phronesis.client.requests import Call, Request
from phronesis.core.serialization import Record
from phronesis.errors import (
    AccessRefused,
    Conflict,
    NotFound,
    PhronesisError,
    RateLimited,
    ServerUnavailable,
    StorageBusy,
    StorageError,
    StorageFull,
    StorageReadOnly,
    TooLarge,
)
from phronesis.store.sqlite_files import OutboxFile, OutboxRow

FIRST_PAUSE_SECONDS: Final = 1.0
LONGEST_PAUSE_SECONDS: Final = 60.0
"""Seconds after a failure in which calls do not try to send what waits; each failure doubles them up to the longest."""

_TURN_SECONDS: Final = 10.0
"""Seconds beyond the timeout of a request that a sender has for it; after them another one may send."""


@dataclass(frozen=True, slots=True)
class Delivery(Record):
    """What became of an outbox: writes sent, refused and still waiting; ``reason`` says why no more were sent."""

    sent: int = 0
    refused: int = 0
    waiting: int = 0
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class RefusedWrite(Record):
    """A write that the server refused: its route and body, and the error's code and message."""

    id: int
    at: datetime
    route: str
    body: Any
    code: str
    message: str


class Outbox:
    """The outbox of a client, ``client.outbox``; its length is the number of writes that wait. Thread-safe."""

    def __init__(self, path: str | Path, address: str, *, timeout: float) -> None:
        self._file = OutboxFile(path, address)
        self._turn = timeout + _TURN_SECONDS
        self._pause = FIRST_PAUSE_SECONDS
        self._paused_until = 0.0

    def __len__(self) -> int:
        return self._file.count_waiting()

    def failed(self) -> list[RefusedWrite]:
        """Return the writes that the server refused, oldest first."""
        return [_refused(row) for row in self._file.list_refused()]

    def retry(self, id: int) -> None:  # noqa: A002 - the field's name
        """Let a refused write wait again, behind the others; NotFound if none of this id was refused."""
        if not self._file.requeue(id):
            raise NotFound(f"the outbox has no refused write {id}", field="id")

    def discard(self, id: int) -> None:  # noqa: A002 - the field's name
        """Remove a refused write; NotFound if none of this id was refused."""
        if id not in {row.id for row in self._file.list_refused()}:
            raise NotFound(f"the outbox has no refused write {id}", field="id")
        self._file.remove(id)

    def put(self, call: Call) -> Any:
        """Keep a call's write and return the result that says so; StorageFull if the file is full."""
        request = call.request
        key = (request.headers or {})["Idempotency-Key"]
        self._file.put(at=datetime.now(UTC).isoformat(), key=key, request=request.to_json())
        return call.queued_result()

    def is_due(self) -> bool:
        """Return whether something waits, and the server is not known to be away."""
        return time.monotonic() >= self._paused_until and len(self) > 0

    def postpone(self) -> None:
        """Note that the server is away: for a while, calls do not try to send what waits."""
        self._paused_until = time.monotonic() + self._pause
        self._pause = min(2 * self._pause, LONGEST_PAUSE_SECONDS)

    def note_answer(self) -> None:
        """Note that the server answers again."""
        self._paused_until, self._pause = 0.0, FIRST_PAUSE_SECONDS

    def take(self, sender: str) -> OutboxRow | None:
        """Return the next write to send; None if there is none, or another sender has its turn.

        A sender that takes too long loses its turn. What two of them send is done once, by the idempotency key.
        """
        now = time.time()
        return self._file.take(sender, now=now, until=now + self._turn)

    def settle(self, row: OutboxRow, error: PhronesisError | None = None) -> None:
        """Remove a write that was sent; keep one that the server refused, with its error."""
        if error is None:
            self._file.remove(row.id)
        else:
            self._file.set_aside(row.id, code=error.code, message=error.message)

    def release(self, sender: str) -> None:
        """End a sender's turn."""
        self._file.release(sender)


def _refused(row: OutboxRow) -> RefusedWrite:
    request = Request.from_json(row.request)
    return RefusedWrite(
        row.id,
        datetime.fromisoformat(row.at),
        f"{request.method} {request.path}",
        request.body,
        row.code or "",
        row.message or "",
    )


PROBLEM: Final = "application/problem+json"
_NO_ROUTE: Final = "http."
"""Prefix of error codes that no verb of the server raised."""

FIRST_WAIT_SECONDS: Final = 0.2
"""Seconds before the first retry; each later wait doubles, with random jitter of up to the same again."""

LONGEST_WAIT_SECONDS: Final = 60.0
"""Longest wait in seconds that a server may ask for."""

_AWAY: Final = frozenset({502, 503, 504})
"""Statuses of a proxy whose server is unavailable; the request may have reached the server."""

_LATER: Final = (ServerUnavailable, RateLimited, StorageBusy, StorageFull, StorageReadOnly)
"""Errors that say nothing about a write: the same may succeed later. So does `StorageError` itself, no subclass."""

_OF_EVERY_CALL: Final = frozenset({"Authorization", "Host", "Origin"})
"""Headers for which a server refuses every call of a client: the key, its role, and where it calls."""

Steps = Generator[Request | float, Any, Any]
"""Steps of an exchange: a request to send, answered by its response or the HTTP library's error; or seconds to wait."""


@dataclass(frozen=True, slots=True)
class Result:
    """The value at the end of an exchange."""

    value: Any


def advance(steps: Steps, outcome: Any = None) -> Request | float | Result:
    """Return the next step after the outcome of the one before; PhronesisError as the exchange ends with."""
    try:
        return steps.send(outcome)
    except StopIteration as end:
        return Result(end.value)


@dataclass(frozen=True, slots=True)
class Exchanges:
    """The exchanges of a client, for any transport."""

    httpx: ModuleType
    address: str
    retries: int
    outbox: Outbox | None = None

    def call(self, call: Call) -> Steps:
        """Return the steps that give a call's result; with an outbox, what waits there is sent first.

        Raises:
            PhronesisError: of the class that the server names, with its message, field and details.
            ServerUnavailable: no valid response in time; a write may have been done.
        """
        outbox = self.outbox
        if outbox is None:
            return call.decode((yield from self._answer(call.request, self.retries)))
        if self.has_due():
            yield from self.deliver()
        if call.alone and len(outbox):
            raise Conflict("writes wait in the outbox, which would come after this; call flush() first", field="outbox")
        if call.queueable and len(outbox):
            return outbox.put(call.dated(datetime.now(UTC)))
        try:
            answer = yield from self._answer(call.request, self.retries)
        except PhronesisError as error:
            if (
                not _may_pass(error)
                or not call.queueable
                or error.details.get("status", HTTPStatus.BAD_GATEWAY) not in _AWAY
            ):
                raise
            outbox.postpone()
            return outbox.put(call if error.details.get("sent", True) else call.dated(datetime.now(UTC)))
        outbox.note_answer()
        return call.decode(answer)

    def has_due(self) -> bool:
        """Return whether writes wait that may be sent now."""
        return self.outbox is not None and self.outbox.is_due()

    def deliver(self) -> Steps:
        """Return the steps that send what waits in the outbox, in order, until the server is away; gives a Delivery.

        What the server refuses is set aside with its error; but if it refuses the key or its role, all waits, and
        AccessRefused is raised.
        """
        outbox, sent, refused, reason = self.outbox, 0, 0, None
        if outbox is None:
            return Delivery()
        sender = uuid.uuid4().hex
        try:
            while (row := outbox.take(sender)) is not None:
                try:
                    yield from self._answer(Request.from_json(row.request), 0)
                except PhronesisError as error:
                    if _may_pass(error):
                        outbox.postpone()
                        reason = error.message
                        break
                    if isinstance(error, AccessRefused) and error.field in _OF_EVERY_CALL:
                        raise
                    outbox.settle(row, error)
                    refused += 1
                else:
                    outbox.note_answer()
                    outbox.settle(row)
                    sent += 1
        finally:
            outbox.release(sender)
        return Delivery(sent, refused, len(outbox), reason)

    def _answer(self, request: Request, retries: int) -> Steps:
        """Return the steps that give the JSON of a response."""
        sent = False
        for tried in itertools.count():
            outcome = yield request
            sent = sent or not self._is_unsent(outcome)
            pause = self._pause(request, outcome) if tried < retries else None
            if pause is None:
                return self._read(request, outcome, sent=sent)
            yield max(pause, FIRST_WAIT_SECONDS * 2**tried) * random.uniform(1, 2)  # noqa: S311 - no secret
        raise AssertionError  # pragma: no cover - the last try returns or raises

    def _pause(self, request: Request, outcome: Any) -> float | None:
        """Return the seconds that the server asks to wait before a request is repeated; None if it must not be."""
        if isinstance(outcome, Exception):
            broken = isinstance(outcome, (self.httpx.NetworkError, self.httpx.RemoteProtocolError))
            return 0.0 if self._is_unsent(outcome) or (request.repeatable and broken) else None
        ours = _media_type(outcome) == PROBLEM
        told = outcome.headers.get("retry-after", "")
        nothing_done = outcome.status_code == HTTPStatus.TOO_MANY_REQUESTS or (ours and told)
        if not nothing_done and (ours or not request.repeatable or outcome.status_code not in _AWAY):
            return None
        pause = _seconds(told)
        return pause if pause <= LONGEST_WAIT_SECONDS else None

    def _is_unsent(self, outcome: Any) -> bool:
        return isinstance(outcome, (self.httpx.ConnectError, self.httpx.ConnectTimeout))

    def _read(self, request: Request, outcome: Any, *, sent: bool) -> Any:
        """Return the JSON of a response, or raise the error that it or the HTTP library says.

        ``sent``: this request, or one that it repeats, may have reached the server.
        """
        if isinstance(outcome, Exception):
            raise self._unavailable(request, outcome, sent=sent) from outcome
        try:
            if outcome.is_success:
                return outcome.json()
            told = outcome.json() if _media_type(outcome) == PROBLEM else {}
        except ValueError as error:
            raise self._unavailable(request, error, sent=sent) from error
        status = outcome.status_code
        if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE and not told:
            raise TooLarge(
                "status 413: a proxy before the server takes no body this large; raise its limit", field="body"
            )
        if told.get("code", _NO_ROUTE).startswith(_NO_ROUTE):
            raise ServerUnavailable(
                f"status {status}: what answered is no Phronesis, or one of another version",
                field="url",
                details={"status": status},
            )
        raise error_of(told)

    def _unavailable(self, request: Request, error: Exception, *, sent: bool) -> ServerUnavailable:
        return ServerUnavailable(
            f"{request.method} {request.path} at {self.address}: {str(error) or type(error).__name__}; start it"
            " (phronesis serve), or give another url or a longer timeout",
            field="url",
            details={"sent": sent},
        )


def _may_pass(error: PhronesisError) -> bool:
    """Return whether the same write may succeed later."""
    return isinstance(error, _LATER) or type(error) is StorageError


def _media_type(response: Any) -> str:
    kind: str = response.headers.get("content-type", "")
    return kind.partition(";")[0]


def _seconds(told: str) -> float:
    """Return the seconds of a Retry-After header, which may be a date; 0 if there is none."""
    if told.isdecimal():
        return float(told)
    try:
        at = parsedate_to_datetime(told)
    except ValueError:
        return 0.0
    return max(0.0, (at - datetime.now(at.tzinfo)).total_seconds())


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


def _by_code() -> dict[str, type[PhronesisError]]:
    found = [one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, PhronesisError)]
    return {one.code: one for one in found}
