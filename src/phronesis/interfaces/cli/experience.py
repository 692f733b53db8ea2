"""Commands of experience: what was tried is taken in, and grouped into patterns."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import click

from phronesis.errors import InputError
from phronesis.interfaces.cli import render_reports
from phronesis.interfaces.cli.options import LIMIT, JsonValue, Scope, Store, gather_options, with_owner, with_store
from phronesis.interfaces.cli.output import Progress, show_waiting

if TYPE_CHECKING:
    from phronesis.experience.laws.records import Ingested
    from phronesis.memory import Memory


RECORDS: Final = "records"
SOURCES: Final = ("chat", "lean", "log", "manual", "math_proof", "run")
"""The types of `phronesis.experience.sources.port`, which is not imported for ``--help``."""

FEEDBACKS: Final = ("useful", "not_useful", "correct", "incorrect", "label", "merge", "split")
LABELS: Final = ("success", "failure", "unknown")

CHUNK: Final = 200
"""Records of one call: each call is one entry, all or nothing."""


@dataclass(frozen=True, slots=True)
class EventFilters:
    """Which events are meant: the names of the verb's own arguments."""

    artifacts: tuple[str, ...]
    label: str | None
    source_type: str | None
    since: str | None
    until: str | None
    as_of: str | None

    def named(self) -> dict[str, Any]:
        """Return what was named, as arguments of the verb."""
        pairs = ((f.name, getattr(self, f.name)) for f in fields(self))
        return {name: list(value) if isinstance(value, tuple) else value for name, value in pairs if value}


_narrowing = gather_options(
    "narrowing",
    EventFilters,
    click.option("--artifact", "artifacts", metavar="NAME", multiple=True, help="About this file, lemma or error."),
    click.option("--label", type=click.Choice(LABELS), help="Only these events."),
    click.option("--source", "source_type", metavar="TYPE", help="Only from this type of source."),
    click.option("--since", metavar="TIME", help="Only what happened from then on."),
    click.option("--until", metavar="TIME", help="Only what happened before."),
    click.option("--as-of", metavar="TIME", help="What was known then."),
)


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.File("rb"))
@click.option(
    "--source",
    "source_type",
    type=click.Choice((*SOURCES, RECORDS)),
    default=RECORDS,
    show_default=True,
    help="What wrote the file; 'records': experiences as JSON, a list or one a line.",
)
@click.option("--ref", "source_ref", metavar="TEXT", help="Where FILE can be looked up; by default its path.")
@with_owner
@with_store
def ingest(*, files: Sequence[BinaryIO], source_type: str, source_ref: str | None, scope: Scope, store: Store) -> None:
    """Take in what was tried, and what came of it.

    That is logs, Lean output, proofs, chats, notes, runs, or records.

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
            given |= {"path": _name(file)} if Path(_name(file)).is_file() else {"text": _text(file)}
            told.append(memory.resources.ingest_source(**given, actor="user"))
        memory.flush()
    store.answer([one for ingested in told for one in ingested], render_reports.say_ingested)


@click.command()
@click.option("--full", is_flag=True, help="Look at all events, not only at what is new.")
@with_owner
@with_store
def aggregate(*, full: bool, scope: Scope, store: Store) -> None:
    """Group events that belong together into patterns.

    Failures are apart from successes.
    """
    with store.open() as memory:
        with show_waiting("comparing events"):
            found = memory.aggregate(full=full, actor="user", **scope.named())
        memory.flush()
    store.answer(found, render_reports.say_patterns)


@click.command()
@with_owner
@with_store
def abstract(*, scope: Scope, store: Store) -> None:
    """Make principles of patterns that agree.

    If, then, because, watch out.
    """
    with store.open() as memory:
        with show_waiting("looking at patterns"):
            found = memory.abstract(actor="user", **scope.named())
        memory.flush()
    store.answer(found, render_reports.say_principles)


@click.command()
@click.argument("situation", required=False, default="")
@click.option("--goal", metavar="TEXT", default="", help="What is to be reached.")
@click.option(
    "--constraint",
    "constraints",
    metavar="TEXT",
    multiple=True,
    help="What must not be done, such as 'no internet'; may be repeated.",
)
@click.option("--prefer", "preferences", metavar="TEXT", multiple=True, help="What is liked better; may be repeated.")
@click.option("--budget", "token_budget", type=int, metavar="TOKENS", help="Of the answer in JSON, at most.")
@LIMIT
@_narrowing
@with_owner
@with_store
def query(*, narrowing: EventFilters, scope: Scope, store: Store, **asked: Any) -> None:
    """Ask what worked, and what did not, in SITUATION.

    Every line names the file and the lines, or the record, that it comes from.
    """
    with store.open() as memory:
        answer = memory.query(**asked, **narrowing.named(), **scope.named())
    store.answer(answer, render_reports.say_answer)


@click.command()
@click.argument("event", metavar="EVENT")
@click.option("--whole", is_flag=True, help="The whole text, not only the event's lines.")
@with_owner
@with_store
def source(*, event: str, whole: bool, scope: Scope, store: Store) -> None:
    """Show what an event was taken from, as it was handed in.

    EVENT is an event's id, or a reference such as 'build.log#L12-L15' or 'entry:ID#L3'. Of a text its lines are shown,
    of an experience that was told the payload, observations and hints that came with it.
    """
    with store.open() as memory:
        found = memory.resources.get_source(event, **scope.named())
    store.answer(found, lambda one: render_reports.say_source(one, whole=whole))


@click.command()
@click.argument("target_id", metavar="ID")
@click.argument("kind", type=click.Choice(FEEDBACKS))
@click.option(
    "--value",
    metavar="JSON",
    type=JsonValue(text=True),
    help="Of label: success, failure or unknown; of merge: patterns; of split: lists of events.",
)
@click.option("--reason", metavar="TEXT", help="Kept in the history.")
@with_store
def feedback(*, target_id: str, kind: str, value: Any, reason: str | None, store: Store) -> None:
    """Say of an event, a pattern or a principle what it is worth.

    'merge' and 'split' are carried out by the next 'aggregate', and kept from then on.
    """
    with store.open() as memory:
        result = memory.feedback(target_id, kind, value=value, reason=reason, actor="user")
        memory.flush()
    store.answer(result, render_reports.say_feedback)


def _name(file: BinaryIO) -> str:
    """Return a file's name; standard input may have none."""
    return str(getattr(file, "name", "<stdin>"))


def _text(file: BinaryIO) -> str:
    """Return a file's text, in any encoding that can be told; InputError for what is no text, and for nothing."""
    from phronesis.memory.resources import text_of_bytes  # noqa: PLC0415 - not for --help

    body = file.read()
    if not body.strip():
        raise InputError(f"the file {_name(file)} is empty; there is nothing to read", field="file")
    return text_of_bytes(body, name=_name(file), field="file")


def _records(memory: "Memory", body: str, scope: Scope, progress: Progress) -> "Iterator[Ingested]":
    """Record a file's experiences, some at a time; the key of each call is made of what it says."""
    records = _parse_events(body)
    done = 0
    rows = iter(records)
    while chunk := list(islice(rows, CHUNK)):
        said = json.dumps([chunk, scope.named()], ensure_ascii=True, sort_keys=True)
        key = "ingest:" + hashlib.sha256(said.encode()).hexdigest()
        yield memory.ingest(chunk, actor="user", idempotency_key=key, **scope.named())
        done += len(chunk)
        progress("recording", done, len(records))


def _parse_events(body: str) -> list[Any]:
    text = body.strip()
    try:
        if text.startswith("["):
            return list(json.loads(text))
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    except ValueError as error:
        raise InputError(
            f"the file holds no experiences as JSON ({error}); give a list, or one a line, or say with --source what"
            " wrote it",
            field="file",
        ) from error
