"""Commands of experience: what was tried is taken in, and grouped into patterns."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import click

from phronesis.errors import InputError
from phronesis.interfaces.cli import render_experience as render
from phronesis.interfaces.cli.options import Scope, Store, with_owner, with_store
from phronesis.interfaces.cli.progress import Progress, waiting

if TYPE_CHECKING:
    from phronesis.core.experience.results import Ingested
    from phronesis.memory import Memory

RECORDS: Final = "records"
SOURCES: Final = ("chat", "lean", "log", "manual", "math_proof", "run")
"""The types of `phronesis.derive.sources.shelf`, which is not imported for ``--help``; a test holds them together."""

CHUNK: Final = 200
"""Records of one call: each call is one entry, all or nothing."""


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.File("rb"))
@click.option("--source", "source_type", type=click.Choice((*SOURCES, RECORDS)), default=RECORDS, show_default=True,
              help="What wrote the file; 'records': experiences as JSON, a list or one a line.")  # fmt: skip
@click.option("--ref", "source_ref", metavar="TEXT", help="Where FILE can be looked up; by default its path.")
@with_owner
@with_store
def ingest(*, files: Sequence[BinaryIO], source_type: str, source_ref: str | None, scope: Scope, store: Store) -> None:
    """Take in what was tried: logs, Lean output, proofs, chats, notes, runs, or records.

    FILE ('-': standard input) may be a pytest or JUnit XML report, a build log, 'lake build' or 'lean --json' output,
    and so on. Each attempt in it becomes an event that says in which lines it stands. A record is
    {situation, goal, attempt, result, reflection, label, source_type, source_ref, observations, episode_id, seq}.
    The same records again change nothing.
    """
    told = []
    with store.open() as memory, Progress() as progress:
        for file in files:
            if source_type == RECORDS:
                told += list(_records(memory, _text(file), scope, progress))
                continue
            given: dict[str, Any] = {"source_type": source_type, "source_ref": source_ref, **scope.named()}
            given |= {"text": _text(file)} if file.name == "<stdin>" else {"path": file.name}
            told.append(memory.ingest_source(**given, actor="user"))
        memory.flush()
    store.answer([one for ingested in told for one in ingested], render.say_ingested)


@click.command()
@click.option("--full", is_flag=True, help="Look at all events, not only at what is new.")
@with_owner
@with_store
def aggregate(*, full: bool, scope: Scope, store: Store) -> None:
    """Group events that belong together into patterns, failures apart from successes."""
    with store.open() as memory:
        with waiting("comparing events"):
            found = memory.aggregate(full=full, actor="user", **scope.named())
        memory.flush()
    store.answer(found, render.say_patterns)


def _text(file: BinaryIO) -> str:
    try:
        return file.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{file.name} is no UTF-8 text ({error.reason}); convert it first", field="file") from error


def _records(memory: "Memory", body: str, scope: Scope, progress: Progress) -> "Iterator[Ingested]":
    """Record a file's experiences, some at a time; the key of each call is made of what it says."""
    records = _parsed(body)
    done = 0
    rows = iter(records)
    while chunk := list(islice(rows, CHUNK)):
        said = json.dumps([chunk, scope.named()], ensure_ascii=True, sort_keys=True)
        key = "ingest:" + hashlib.sha256(said.encode()).hexdigest()
        yield memory.ingest(chunk, actor="user", idempotency_key=key, **scope.named())
        done += len(chunk)
        progress("recording", done, len(records))


def _parsed(body: str) -> list[Any]:
    text = body.strip()
    try:
        if text.startswith("["):
            return list(json.loads(text))
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    except ValueError as error:
        raise InputError(
            f"the file holds no experiences as JSON ({error}); give a list, or one a line, or say with --source what"
            " wrote it", field="file",
        ) from error  # fmt: skip
