"""Calls that importers produce, and a streaming reader of JSON files and zip archives of any size."""

import codecs
import json
import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Final, Literal

from phronesis.batch.rows import read_pieces
from phronesis.core.text import check_id
from phronesis.core.timestamps import isoformat
from phronesis.errors import InputError
from phronesis.log.inputs import EXTERNAL_ID
from phronesis.reasoning.laws.block_rules import UnreadableBlock, read_json

# The output of a format's reader: calls to make, and skipped objects.

Verb = Literal["commit_turn", "add", "ingest", "resource"]
"""``resource`` is `Resources.ingest`, the others are verbs of `Memory`."""


@dataclass(frozen=True, slots=True)
class ImportCall:
    """One call: a verb of Memory, its arguments, and ``ref``, the object's name in the source program.

    ``owner`` is the user that the export names, ``namespace`` where an experience of a project belongs. ``done`` is
    the reader's progress, in the units of its total (`mark_progress`).
    ``identity`` holds metadata members, such as ``{"mem0": {"id": …}}``, that identify this object's item.

    An item, message or experience that has an id in the source program has it as ``external_id`` in its arguments.
    """

    verb: Verb
    ref: str
    arguments: Mapping[str, Any]
    owner: str | None = None
    done: int = 0
    identity: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    namespace: str | None = None


@dataclass(frozen=True, slots=True)
class SkippedObject:
    """An object that is not imported: its position, and the reason."""

    ref: str
    reason: str
    done: int = 0


Step = ImportCall | SkippedObject
Reader = Callable[[Path], Iterator[Step]]


def mark_progress(steps: Iterable[Step], done: int) -> Iterator[Step]:
    """Yield steps with the amount that was read when they were made."""
    for step in steps:
        yield replace(step, done=done)


@dataclass(frozen=True, slots=True)
class Format:
    """A format: its reader, a function for the total amount to read (bytes, or commits), and how it is recognised.

    ``expects`` says what is in such a file; ``fits`` tells whether an object of a JSON file is of the format, ``holds``
    whether a folder or another file is.
    """

    read: Reader
    total: Callable[[Path], int]
    expects: str
    fits: Callable[[Mapping[str, Any]], bool] = lambda _object: False
    holds: Callable[[Path], bool] = lambda _path: False


def name_of(value: object) -> str | None:
    """Return an exported id as an ``external_id``; None if it is missing or not valid as one."""
    try:
        return None if value is None else check_id(str(value), field="id")
    except InputError:
        return None


def mapping_or_empty(value: Any) -> Mapping[str, Any]:
    """Return an object of an export; an empty one if the value is not an object."""
    return value if isinstance(value, Mapping) else {}


def present_fields(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call that an export gives: those that are not None."""
    return {name: value for name, value in given.items() if value is not None}


def text_or_empty(value: Any) -> str:
    """Return a text of an export, stripped; an empty one if the value is no text."""
    return value.strip() if isinstance(value, str) else ""


def objects(value: Any) -> list[Mapping[str, Any]]:
    """Return the objects of a list of an export; an empty list if the value is not a list."""
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def json_or_none(value: Any) -> Any:
    """Return the value of a text that is JSON; None for other values."""
    try:
        return json.loads(value) if isinstance(value, str | bytes) else None
    except (ValueError, RecursionError):
        return None


LATEST: Final = 253_402_300_800
"""The first second of the year 10000, in seconds since 1970: an upper bound on valid times."""


def time_of(seconds: Any) -> str | None:
    """Return seconds since 1970 as a time; None if the value is no such number."""
    valid = isinstance(seconds, int | float) and 0 <= seconds < LATEST
    return isoformat(datetime.fromtimestamp(seconds, UTC)) if valid else None


MAX_MEMBER_BYTES: Final = 256 << 20
"""Maximum bytes of one conversation or memory, which is held in memory while it is read."""

_WRAPPED: Final = re.compile(
    rb'(?:\xef\xbb\xbf)?\s*\{\s*(?:"(?:count|next|previous|total)"\s*:\s*(?:null|\d+|"[^"\\]*")\s*,\s*)*'
    rb'"(?:results|memories|items|conversations)"\s*:\s*(?=\[)'
)
"""The start of a file that wraps its list in an object, ``{"results": [ … ]}``, or in a page of a list."""

_BEHIND: Final = "stands behind the list's end"
"""The error for text after the list; ignored for the closing brace of the wrapping object."""

_HEAD: Final = 1 << 12
_BLOCK: Final = 1 << 20

INSIDE: Final = r".*\.jsonl?"
"""The files of an archive that are read by default."""


@dataclass(frozen=True, slots=True)
class Member:
    """A member of the list: its value, or why it could not be read; ``done`` counts the bytes up to its end."""

    place: str
    value: Any
    done: int
    fault: str | None = None


def read_members(path: Path, *, inside: str) -> Iterator[Member]:
    """Yield the members of a file's list or its JSON lines, or its one object over several lines.

    Of a zip archive, those of every file whose name, or folder and name, match the pattern ``inside``. One member is
    held at a time. InputError: no such file, or no match in the archive.
    """
    done = 0
    with _damage_refused(path):
        for name, size, stream in _streams(path, inside):
            with stream:
                yield from _members(name, stream, done)
            done += size


def _members(name: str, stream: BinaryIO, done: int) -> Iterator[Member]:
    """Yield the members of one file; ``done`` bytes were read before."""
    head = stream.read(_HEAD)
    wrapped = _WRAPPED.match(head)
    stream.seek(0 if wrapped is None else wrapped.end())  # to the list, if the file is an object that contains it
    first, ends, _ = head.removeprefix(codecs.BOM_UTF8).lstrip().partition(b"\n")
    if ends and first.startswith(b"{") and not first.rstrip().endswith(b"}") and wrapped is None:
        body = stream.read(MAX_MEMBER_BYTES + 1)  # one object over several lines
        fault = f"more than {MAX_MEMBER_BYTES:,} bytes" if len(body) > MAX_MEMBER_BYTES else None
        yield _member(name, body.removeprefix(codecs.BOM_UTF8), done + len(body), fault)
        return
    for piece in read_pieces(stream, most=MAX_MEMBER_BYTES):
        if piece.fault is None or _BEHIND not in piece.fault:
            yield _member(f"{name}, line {piece.line}", piece.body, done + piece.end, piece.fault)


Fits = Callable[[Mapping[str, Any]], bool]
Parse = Callable[[Mapping[str, Any], str], Iterator[Step]]
"""Yields what an object, which is given with its place in the file, is imported as."""


def read_objects(path: Path, *, inside: str, fits: Fits, lacks: str, parse: Parse) -> Iterator[Step]:
    """Yield what is made of each object that ``fits``; the others are skipped for what the file ``lacks``."""
    for member in read_members(path, inside=inside):
        is_ours = isinstance(member.value, Mapping) and fits(member.value)
        skipped = SkippedObject(member.place, member.fault or lacks)
        yield from mark_progress(parse(member.value, member.place) if is_ours else [skipped], member.done)


def json_format(expects: str, *, inside: str, fits: Fits, lacks: str, parse: Parse) -> Format:
    """Return the format of files whose objects are read one by one."""
    read = partial(read_objects, inside=inside, fits=fits, lacks=lacks, parse=parse)
    return Format(read, partial(bytes_of, inside=inside), expects, fits=fits)


def bytes_of(path: Path, *, inside: str) -> int:
    """Return the number of bytes that `read_members` will read.

    InputError: an archive is damaged; its files are read through, so that nothing of them is imported.
    """
    if not zipfile.is_zipfile(path):
        return path.stat().st_size if path.is_file() else 0
    total = 0
    with _damage_refused(path), zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            if _is_inside(info.filename, inside):
                total += info.file_size
                with archive.open(info) as stream:  # the last read compares the checksum
                    while stream.read(_BLOCK):
                        pass
    return total


@contextmanager
def _damage_refused(path: Path) -> Iterator[None]:
    """Raise InputError for an archive that is damaged or encrypted."""
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise InputError(
            f"path: the archive {path.name} cannot be read ({error}); download it again", field="path"
        ) from error


def _is_inside(name: str, pattern: str) -> bool:
    """Return whether a file of an archive matches by its name, or by its folder's and its own."""
    *folders, own = name.split("/")
    return any(re.fullmatch(pattern, one) for one in (own, "/".join([*folders[-1:], own])))


def _streams(path: Path, inside: str) -> Iterator[tuple[str, int, BinaryIO]]:
    if path.is_dir():
        name = "conversations.json" if "conversations" in inside else "the .json file"
        raise InputError(f"path: {path} is a folder; give the zip archive, or {name} in it", field="path")
    if not path.is_file():
        raise InputError(f"path: there is no file {path}", field="path")
    if not path.stat().st_size:
        raise InputError(f"path: the file {path} is empty", field="path")
    if not zipfile.is_zipfile(path):
        yield path.name, path.stat().st_size, path.open("rb")
        return
    with zipfile.ZipFile(path) as archive:
        found = [info for info in archive.infolist() if _is_inside(info.filename, inside)]
        if not found:
            raise InputError(
                f"{path.name} holds no file named {inside}; is it the export that --format says?", field="path"
            )
        for info in found:
            yield info.filename, info.file_size, archive.open(info)  # type: ignore[misc]  # it reads bytes


def _member(place: str, body: bytes, done: int, fault: str | None) -> Member:
    if fault is not None:
        return Member(place, None, done, fault)
    try:
        value = read_json(body.decode().strip())
        if isinstance(value, str) and value.lstrip().startswith("{"):  # an API's text, saved as JSON once more
            value = read_json(value)
        return Member(place, value, done)
    except UnicodeDecodeError as error:
        return Member(place, None, done, f"not UTF-8 ({error.reason})")
    except UnreadableBlock as error:
        return Member(place, None, done, f"not JSON ({error})")


def with_external_id(message: Mapping[str, Any], identity: object) -> Mapping[str, Any]:
    """Return a message with its id in the program, if any, as its ``external_id``."""
    name = name_of(identity or None)
    return message if name is None else {**message, EXTERNAL_ID: name}


def turns_of(
    session_id: str, messages: Sequence[Mapping[str, Any]], *, agent_id: str | None = None, **about: Any
) -> Iterator[ImportCall]:
    """Yield a conversation's turns: a user message with all replies up to the next user message.

    ``session_id`` is prefixed with the program's name; ``about`` is the session's metadata.
    """
    turn: list[Mapping[str, Any]] = []
    for message in messages:
        if message["role"] == "user" and any(one["role"] != "user" for one in turn):
            yield turn_of(session_id, turn, agent_id=agent_id, about=about)
            turn = []
        turn.append(message)
    if turn:
        yield turn_of(session_id, turn, agent_id=agent_id, about=about)


def turn_of(
    session_id: str,
    messages: Sequence[Mapping[str, Any]],
    *,
    agent_id: str | None,
    about: Mapping[str, Any],
    tool_calls: Sequence[Mapping[str, Any]] = (),
) -> ImportCall:
    """Return the call that commits a turn."""
    metadata = {name: value for name, value in about.items() if value}
    events = {"messages": list(messages), "tool_calls": list(tool_calls) or None, "session_metadata": metadata or None}
    arguments = {"session_id": session_id, "turn_events": present_fields(events), "agent_id": agent_id}
    return ImportCall("commit_turn", f"{session_id}#{messages[0]['id']}", present_fields(arguments))
