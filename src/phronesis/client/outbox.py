"""Outbox of a client: writes that could not reach the server, in a file, until they are sent in order."""

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from phronesis.client.requests import Call, Request
from phronesis.core.serialization import Record
from phronesis.errors import NotFound, PhronesisError
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
