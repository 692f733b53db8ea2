"""What a tenant's memory still has to do: entries that wait or failed, and reflections that are due."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, overload

from phronesis.core.plain import Record

JobState = Literal["pending", "failed", "due"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job(Record):
    """One piece of work.

    ``pending``: an entry that waits for its interpretation; ``flush`` or a worker does it. ``failed``: one that was set
    aside after ``attempts`` tries, for ``code`` and ``message``; ``retry(entry_id)`` takes it up (a failed rederive or
    erase is called again). ``due``: a reflection on a user, for the reason in ``message``; a worker or ``reflect`` does
    it. ``work`` is the entry's verb.
    """

    state: JobState
    work: str
    entry_id: str | None = None
    user_id: str | None = None
    namespace: str | None = None
    since: datetime | None = None
    attempts: int = 0
    code: str | None = None
    message: str | None = None


@dataclass(frozen=True, slots=True)
class Jobs(Sequence[Job], Record):
    """The jobs: failed ones first, then what waits, then what is due, each in the order of its lane.

    ``pending`` and ``failed`` count all there are, ``without_vector`` the documents that have no vector yet.
    """

    jobs: tuple[Job, ...] = ()
    pending: int = 0
    failed: int = 0
    without_vector: int = 0

    @overload
    def __getitem__(self, index: int) -> Job: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Job]: ...
    def __getitem__(self, index: int | slice) -> Job | Sequence[Job]:
        return self.jobs[index]

    def __len__(self) -> int:
        return len(self.jobs)

    def __iter__(self) -> Iterator[Job]:
        return iter(self.jobs)

    def to_dict(self) -> dict[str, Any]:
        """Give plain JSON values."""
        return Record.to_dict(self)
