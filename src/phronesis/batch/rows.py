"""Rows of a batch file: streaming reader, validation, idempotency keys, and the result of each row.

A file holds one row per line or one JSON list; it is never held whole.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Final, Literal

from phronesis.core.ids import LaneName, derived_id
from phronesis.core.serialization import Record, digest
from phronesis.core.text import check_id
from phronesis.errors import Conflict, InputError, PhronesisError
from phronesis.log.inputs import flag
from phronesis.log.recorder import MAX_PAYLOAD_BYTES
from phronesis.reasoning.handlers import feedback_payload, run_payload
from phronesis.reasoning.laws.block_rules import UnreadableBlock, read_json
from phronesis.reasoning.laws.records import Run

# Results of rows, and their summary.

Done = Literal["recorded", "known", "missing"]
"""Recorded by this batch, already known, or, in a dry run, missing: it would be recorded."""

MAX_ERRORS: Final = 20
"""Maximum number of failed rows in a summary; the report holds all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowResult(Record):
    """The result of one row: for each part what was done (None: the row lacks it), or the error.

    The error is ``{code, field, message}``. ``supports`` and ``contras`` count the claims for and against which the run
    counts, ``added`` and ``updated`` the items that the learn created or rewrote, ``dropped`` the proposals that it
    rejected. A dry run evaluates no claims: ``added`` and ``dropped`` count the rules' proposals, and ``added``
    excludes those that the bank holds already.
    """

    line: int
    run_id: str | None = None
    run: Done | None = None
    feedback: Done | None = None
    learn: Done | None = None
    supports: int = 0
    contras: int = 0
    added: int = 0
    updated: int = 0
    dropped: int = 0
    error: Mapping[str, Any] | None = None


def failed_row(line: int, run_id: str | None, error: PhronesisError) -> RowResult:
    """Return the result of a row that failed."""
    said = {"code": error.code, "field": error.field, "message": error.message}
    return RowResult(line=line, run_id=run_id, error=said)


@dataclass(slots=True)
class BatchSummary:
    """Counts over the rows of a batch (of learns, those not already known), and the first failed rows in full."""

    rows: int = 0
    failed: int = 0
    runs: dict[str, int] = field(default_factory=dict)
    feedback: dict[str, int] = field(default_factory=dict)
    learns: dict[str, int] = field(default_factory=dict)
    supports: int = 0
    contras: int = 0
    added: int = 0
    updated: int = 0
    dropped: int = 0
    errors: list[RowResult] = field(default_factory=list)

    def add(self, told: RowResult) -> None:
        """Count one more row."""
        self.rows += 1
        if told.error is not None:
            self.failed += 1
            if len(self.errors) < MAX_ERRORS:
                self.errors.append(told)
            return
        for counts, done in ((self.runs, told.run), (self.feedback, told.feedback), (self.learns, told.learn)):
            if done is not None:
                counts[done] = counts.get(done, 0) + 1
        if told.learn == "known":
            return  # counted when it was learned
        for name in ("supports", "contras", "added", "updated", "dropped"):
            setattr(self, name, getattr(self, name) + getattr(told, name))


_CHUNK: Final = 1 << 16
_BOM: Final = b"\xef\xbb\xbf"
_OUTSIDE: Final = re.compile(rb'["\[\]{},\n]')
_QUOTED: Final = re.compile(rb'["\\\n]')


@dataclass(frozen=True, slots=True)
class RowSource:
    """The bytes of one row, its first line (from 1), and the number of bytes of the file up to its end.

    ``fault`` says why it cannot be read.
    """

    line: int
    body: bytes
    end: int
    fault: str | None = None


def read_pieces(stream: BinaryIO, *, most: int = MAX_PAYLOAD_BYTES) -> Iterator[RowSource]:
    """Yield a file's rows unparsed; blank lines and a byte order mark are skipped.

    A file whose first character is ``[`` holds a list. A row of more than ``most`` bytes is discarded and reported as a
    fault.
    """
    line, end = 1, 0
    first = min(_CHUNK, most + 1)  # a list may be one line, of any length
    head = stream.readline(first)
    while head:
        end += len(head)
        body = head.removeprefix(_BOM) if line == 1 else head
        if body.strip():
            break
        line += head.endswith(b"\n")
        head = stream.readline(first)
    else:
        return
    if not body.lstrip().startswith(b"["):
        rest = b"" if head.endswith(b"\n") else stream.readline(most + 1 - len(head))
        body, end = body + rest, end + len(rest)
        yield from _lines(stream, body, RowSource(line, b"", end), most)
        return
    cutter = _ListSplitter(most, line, end - len(body))
    yield from cutter.feed(body)
    while chunk := stream.read(_CHUNK):
        yield from cutter.feed(chunk)
    yield from cutter.rest()


def _lines(stream: BinaryIO, head: bytes, at: RowSource, most: int) -> Iterator[RowSource]:
    line, end = at.line, at.end
    while head:
        whole = len(head) <= most or head.endswith(b"\n")
        body, tail = head, head
        while tail and not tail.endswith(b"\n"):
            tail = b"" if whole else stream.readline(_CHUNK)
            end += 0 if whole else len(tail)
        if not whole:
            yield RowSource(line, b"", end, _size_problem(most))
        elif body.strip():
            yield RowSource(line, body, end)
        line += 1
        head = stream.readline(most + 1)
        end += len(head)


@dataclass(slots=True)
class _ListSplitter:
    """Splits a JSON list into its members without parsing them: it tracks strings and brackets only."""

    most: int
    line: int
    end: int
    _began: int = 0
    _depth: int = 0
    _quoted: bool = False
    _skip: int = 0
    _body: bytearray = field(default_factory=bytearray)
    _long: bool = False
    _closed: bool = False
    _behind: bool = False

    def feed(self, chunk: bytes) -> Iterator[RowSource]:
        """Consume bytes and yield the members that end in them."""
        start, at = 0, self._skip  # skip the character escaped by a backslash at the end of the last chunk
        while not self._closed and (found := (_QUOTED if self._quoted else _OUTSIDE).search(chunk, at)) is not None:
            mark, at = found[0], found.end()
            if mark == b"\n":
                self.line += 1
            elif mark == b"\\":
                at += 1
            elif mark == b'"':
                self._quoted = not self._quoted
            elif mark in b"[{":
                self._depth += 1
                if self._depth == 1:  # the list itself, preceded by blanks only
                    start, self._began = at, self.line
            else:
                self._depth -= mark in b"]}"
                self._closed = self._depth == 0
                if self._closed or (mark == b"," and self._depth == 1):
                    yield from self._split_line(chunk[start : found.start()], self.end + at)
                    start = at
        self._skip = max(0, at - len(chunk))
        if self._closed:
            self._behind = self._behind or bool(chunk[start:].strip())
        else:
            self._keep(chunk[start:])
        self.end += len(chunk)

    def rest(self) -> Iterator[RowSource]:
        """Yield text after the list's end, or after its last complete member, as a fault."""
        if not self._closed:
            yield RowSource(self._place(), b"", self.end, "the list is not closed: nothing behind this place was read")
        elif self._behind:
            yield RowSource(self.line, b"", self.end, "something stands behind the list's end; it was not read")

    def _keep(self, more: bytes) -> None:
        if self._long:
            return
        self._body += more
        if len(self._body) > self.most:
            self._began, self._long = self._place(), True
            self._body.clear()

    def _split_line(self, last: bytes, end: int) -> Iterator[RowSource]:
        self._keep(last)
        if self._long:
            yield RowSource(self._began, b"", end, _size_problem(self.most))
        elif self._body.strip():
            yield RowSource(self._place(), bytes(self._body), end)
        self._body.clear()
        self._long, self._began = False, self.line

    def _place(self) -> int:
        """Return the line on which the buffered text begins."""
        return self._began + self._body[: len(self._body) - len(self._body.lstrip())].count(b"\n")


def _size_problem(most: int) -> str:
    return f"a row has at most {most:,} bytes; this one was not read"


# Parsing a row: a run, its feedback, and whether to learn from it.

_ABOUT: Final = frozenset({"run_id", "feedback", "learn"})
"""The members of a row about a run that is in the store or in an earlier row."""


@dataclass(frozen=True, slots=True)
class BatchRow:
    """A validated row: the payload of its run (None for a known run) and of its feedback."""

    line: int
    run_id: str
    run: Mapping[str, Any] | None
    feedback: Mapping[str, Any] | None
    learn: bool


def read_row(piece: RowSource) -> BatchRow:
    """Parse a row; InputError names the wrong field.

    ``{run_id?, output, raw, trace, memory_ids, feedback?, learn?}``; without output and raw it is about a known run.
    ``learn`` defaults to true if there is feedback. A run without an id gets one derived from the row's content,
    feedback included: the same row is the same run.
    """
    members = _members(piece)
    given = members.get("feedback")
    feedback = None if given is None else feedback_payload(given)
    learn = feedback is not None if members.get("learn") is None else flag(members["learn"], field="learn")
    if all(name in _ABOUT for name, value in members.items() if value is not None):
        if feedback is None and not learn:
            raise InputError("the row names no run, no feedback and no learn; there is nothing to do", field="row")
        run_id = check_id(members.get("run_id"), field="run_id")
        return BatchRow(piece.line, run_id, None, feedback, learn)
    run = run_payload({name: value for name, value in members.items() if name not in _ABOUT or name == "run_id"})
    if "run_id" not in run:
        run = {"run_id": derived_id("batch", "run", digest([run, feedback])), **run}
    return BatchRow(piece.line, run["run_id"], run, feedback, learn)


def named_in(piece: RowSource) -> str | None:
    """Return the run id of a row that may be otherwise invalid; None if it cannot be read."""
    try:
        return check_id(_members(piece).get("run_id"), field="run_id")
    except InputError:
        return None


def _members(piece: RowSource) -> Mapping[str, Any]:
    if piece.fault is not None:
        raise InputError(piece.fault, field="row")
    try:
        value = read_json(piece.body.decode().strip())
    except UnicodeDecodeError as error:
        raise InputError(f"the row is not UTF-8: byte {error.start + 1} of it", field="row") from error
    except UnreadableBlock as error:
        raise InputError(f"the row cannot be read: {error}", field="row") from error
    if not isinstance(value, dict):
        raise InputError(f"a row must be a JSON object, not {type(value).__name__}", field="row")
    return value


# Idempotency keys of entries, and comparison of runs.


def key_of(lane: LaneName, verb: str, about: str, content: Any) -> str:
    """Return the idempotency key of an entry recorded for a row.

    ``about`` is the run's id for a run, so that another run of the same id is a conflict; else its item, so that
    feedback on a removed run is not taken for feedback on a new one. ``content`` is the feedback: the same feedback has
    the same key however often its row occurs.
    """
    return derived_id("batch", lane.kind, lane.name, verb, about, digest(content))


def said_of(run: Run) -> str:
    """Return the digest of a run's content: two runs of one id are the same if their digests are equal."""
    return digest({**run.to_json(), "extra": dict(run.extra)})


def other_run_error(run_id: str) -> Conflict:
    """Return the error of a row whose run id belongs to a different run."""
    return Conflict(
        f"run {run_id!r:.80} was recorded before with another content; a run is recorded once, so give this one another"
        " run_id",
        field="run_id",
    )


def rolled_back_error(run_id: str) -> Conflict:
    """Return the error of a row whose run was recorded by a batch and rolled back."""
    return Conflict(
        f"run {run_id!r:.80} was recorded by a batch and taken back; it stays so. Give it another run_id, or record it"
        " by itself",
        field="run_id",
    )
