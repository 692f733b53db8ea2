"""A file cut into its rows: one a line, or the members of one JSON list. It is read as it comes, never held whole."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, Final

from phronesis.truth.recorder import MAX_PAYLOAD_BYTES

MAX_ROW_BYTES: Final = MAX_PAYLOAD_BYTES
"""Bytes of one row: more than this the log takes in no call."""

_CHUNK: Final = 1 << 16
_BOM: Final = b"\xef\xbb\xbf"
_OUTSIDE: Final = re.compile(rb'["\[\]{},\n]')
_QUOTED: Final = re.compile(rb'["\\\n]')


@dataclass(frozen=True, slots=True)
class Piece:
    """The bytes of one row, the line that it begins on (from 1), and how many bytes of the file end with it.

    ``fault`` says why there is nothing to be read of it.
    """

    line: int
    body: bytes
    end: int
    fault: str | None = None


def read_pieces(stream: BinaryIO, *, most: int = MAX_ROW_BYTES) -> Iterator[Piece]:
    """Give a file's rows as they stand there; blank lines and a byte order mark are passed over.

    A file whose first character is ``[`` holds a list. A row of more than ``most`` bytes is not kept, and is a fault.
    """
    line, end = 1, 0
    head = stream.readline(most + 1)
    while head:
        end += len(head)
        body = head.removeprefix(_BOM) if line == 1 else head
        if body.strip():
            break
        line += head.endswith(b"\n")
        head = stream.readline(most + 1)
    else:
        return
    if not body.lstrip().startswith(b"["):
        yield from _lines(stream, body, Piece(line, b"", end), most)
        return
    cutter = _Cutter(most, line, end - len(body))
    yield from cutter.feed(body)
    while chunk := stream.read(_CHUNK):
        yield from cutter.feed(chunk)
    yield from cutter.rest()


def _lines(stream: BinaryIO, head: bytes, at: Piece, most: int) -> Iterator[Piece]:
    line, end = at.line, at.end
    while head:
        whole = len(head) <= most or head.endswith(b"\n")
        body, tail = head, head
        while tail and not tail.endswith(b"\n"):
            tail = b"" if whole else stream.readline(_CHUNK)
            end += 0 if whole else len(tail)
        if not whole:
            yield Piece(line, b"", end, _too_long(most))
        elif body.strip():
            yield Piece(line, body, end)
        line += 1
        head = stream.readline(most + 1)
        end += len(head)


@dataclass(slots=True)
class _Cutter:
    """Cuts a JSON list into its members, without reading them: only strings and brackets are told apart."""

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

    def feed(self, chunk: bytes) -> Iterator[Piece]:
        """Take the next bytes; gives the members that end among them."""
        start, at = 0, self._skip  # what a backslash at the end of the last chunk escapes
        while not self._closed and (found := self._marks().search(chunk, at)) is not None:
            mark, at = found[0], found.end()
            if mark == b"\n":
                self.line += 1
            elif mark == b"\\":
                at += 1
            elif mark == b'"':
                self._quoted = not self._quoted
            elif mark in b"[{":
                self._depth += 1
                if self._depth == 1:  # the list itself: what stands before it is blank
                    start, self._began = at, self.line
            else:
                self._depth -= mark in b"]}"
                self._closed = self._depth == 0
                if self._closed or (mark == b"," and self._depth == 1):
                    yield from self._cut(chunk[start : found.start()], self.end + at)
                    start = at
        self._skip = max(0, at - len(chunk))
        if self._closed:
            self._behind = self._behind or bool(chunk[start:].strip())
        else:
            self._keep(chunk[start:])
        self.end += len(chunk)

    def rest(self) -> Iterator[Piece]:
        """Give what stands behind the list's end, or behind its last whole member, as a fault."""
        if not self._closed:
            yield Piece(self._place(), b"", self.end, "the list is not closed: nothing behind this place was read")
        elif self._behind:
            yield Piece(self.line, b"", self.end, "something stands behind the list's end; it was not read")

    def _marks(self) -> re.Pattern[bytes]:
        return _QUOTED if self._quoted else _OUTSIDE

    def _keep(self, more: bytes) -> None:
        if self._long:
            return
        if len(self._body) + len(more) > self.most:
            self._body += more
            self._began, self._long = self._place(), True
            self._body.clear()
        else:
            self._body += more

    def _cut(self, last: bytes, end: int) -> Iterator[Piece]:
        self._keep(last)
        if self._long:
            yield Piece(self._began, b"", end, _too_long(self.most))
        elif self._body.strip():
            yield Piece(self._place(), bytes(self._body), end)
        self._body.clear()
        self._long, self._began = False, self.line

    def _place(self) -> int:
        """Give the line on which what is kept begins."""
        return self._began + self._body[: len(self._body) - len(self._body.lstrip())].count(b"\n")


def _too_long(most: int) -> str:
    return f"a row has at most {most:,} bytes; this one was not read"
