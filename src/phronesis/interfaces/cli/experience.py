"""Commands of experience: what was tried is taken in, and grouped into patterns."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import click

from phronesis.errors import InputError, NotFound
from phronesis.interfaces.cli import render_reports
from phronesis.interfaces.cli.options import (
    AS_OF,
    LIMIT,
    OWNER,
    REASON,
    JsonValue,
    Options,
    ShortId,
    Store,
    command,
    complete_id,
    with_owner,
    with_store,
)
from phronesis.interfaces.cli.output import Progress, on_one_line, parse_objects, print_lines

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


_NARROWING = (
    click.option("--artifact", "artifacts", metavar="NAME", multiple=True, help="About this file, lemma or error."),
    click.option("--label", type=click.Choice(LABELS), help="Only these events."),
    click.option("--source", "source_type", metavar="TYPE", help="Only from this type of source."),
    click.option("--since", metavar="TIME", help="Only what happened from then on."),
    click.option("--until", metavar="TIME", help="Only what happened before."),
    AS_OF,
)


@command(
    click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.File("rb")),
    click.option(
        "--source",
        "source_type",
        type=click.Choice((*SOURCES, RECORDS)),
        default=RECORDS,
        show_default=True,
        help="What wrote the file; 'records': experiences as JSON, a list or one a line.",
    ),
    click.option("--ref", "source_ref", metavar="TEXT", help="Where FILE can be looked up; by default its path."),
    *OWNER,
    show=render_reports.print_ingested,
    doing="",
    flush=True,
)
def ingest(
    memory: "Memory", files: Sequence[BinaryIO], source_type: str, source_ref: str | None = None, **scope: Any
) -> Any:
    """Record attempts and their results.

    FILE ('-': standard input) may be a pytest or JUnit XML report, a build log, 'lake build' or 'lean --json' output, a
    proof, a chat, notes or runs. Each attempt in it becomes an event that names its lines. A record is
    {situation, goal, attempt, result, reflection, label, source_type, source_ref, observations, episode_id, seq}.
    The same records again change nothing.
    """
    told = []
    with Progress() as progress:
        for n, file in enumerate(files):
            if source_type == RECORDS:
                told += list(_records(memory, _text(file), scope, progress))
                continue
            progress("reading files", n, len(files))
            given: dict[str, Any] = {"path": _name(file)} if Path(_name(file)).is_file() else {"text": _text(file)}
            given |= {"source_type": source_type, "source_ref": source_ref, **scope}
            told.append(memory.resources.ingest_source(**given, actor="user"))
    return [one for ingested in told for one in ingested]


@command(
    click.option("--full", is_flag=True, help="Compare all events, not only the new ones."),
    *OWNER,
    show=render_reports.print_patterns,
    doing="comparing events",
    flush=True,
)
def aggregate(memory: "Memory", **given: Any) -> Any:
    """Group similar events into patterns.

    Failures and successes are grouped separately.
    """
    return memory.aggregate(actor="user", **given)


def _say_abstracted(result: Any) -> None:
    if isinstance(result, dict):
        print_lines(f"{len(result)} skills", *(f"    {on_one_line(path)}" for path in result.values()))
    else:
        render_reports.print_principles(result)


@command(
    click.option(
        "--as-skills",
        metavar="FOLDER",
        type=click.Path(path_type=Path, file_okay=False),
        help="Also write each principle there as a skill (SKILL.md), with its evidence.",
    ),
    *OWNER,
    show=_say_abstracted,
    doing="looking at patterns",
    flush=True,
)
def abstract(memory: "Memory", as_skills: Path | None = None, **scope: Any) -> Any:
    """Draw principles from patterns that agree.

    A principle says: if, then, because, watch out.
    """
    found = memory.abstract(actor="user", **scope)
    if as_skills is None:
        return found
    from phronesis.files.item_files import write_skills  # noqa: PLC0415 - SQLAlchemy and numpy: not for --help

    memory.flush()
    return write_skills(memory, as_skills, **scope)


@command(
    click.argument("situation", required=False, default=""),
    click.option("--goal", metavar="TEXT", default="", help="What is to be achieved."),
    click.option(
        "--constraint",
        "constraints",
        metavar="TEXT",
        multiple=True,
        help="What must not be done, such as 'no internet'; may be repeated.",
    ),
    click.option("--prefer", "preferences", metavar="TEXT", multiple=True, help="What is preferred; may be repeated."),
    click.option("--budget", "token_budget", type=int, metavar="TOKENS", help="Maximum size of the answer in JSON."),
    LIMIT,
    *_NARROWING,
    *OWNER,
    show=render_reports.print_answer,
    doing="searching",
)
def query(memory: "Memory", **asked: Any) -> Any:
    """Ask what worked, and what did not, in SITUATION.

    Every line names the file and the lines, or the record, that it comes from.
    """
    return memory.query(**asked)


@click.command()
@click.argument("event", metavar="EVENT")
@click.option("--whole", is_flag=True, help="The whole text, not only the event's lines.")
@with_owner
@with_store
def source(*, event: str, whole: bool, scope: Options, store: Store) -> None:
    """Show the lines or the record that an event was read from.

    EVENT is an event's id, or a reference such as 'build.log#L12-L15' or 'entry:ID#L3'. Of a text its lines are shown;
    of a record its payload, observations and hints.
    """
    with store.open() as memory:
        with suppress(NotFound):  # a reference that only looks like a part of an id stays as it is
            event = complete_id(memory, event)
        found = memory.resources.get_source(event, **scope)
    store.answer(found, lambda one: render_reports.print_source(one, whole=whole))


@command(
    click.argument("target_id", metavar="ID", type=ShortId()),
    click.argument("kind", type=click.Choice(FEEDBACKS)),
    click.option(
        "--value",
        metavar="JSON",
        type=JsonValue(text=True),
        help="Of label: success, failure or unknown; of merge: patterns; of split: lists of events.",
    ),
    REASON,
    show=render_reports.print_feedback,
    flush=True,
)
def feedback(memory: "Memory", target_id: str, kind: str, value: Any = None, **given: Any) -> Any:
    """Rate an event, a pattern or a principle.

    'merge' and 'split' are carried out by the next 'learn aggregate', and kept from then on.
    """
    return memory.feedback(target_id, kind, value=_complete_ids(memory, value, kind), actor="user", **given)


def _complete_ids(memory: "Memory", value: Any, kind: str) -> Any:
    """Return the value of a feedback with whole ids: those of patterns to merge, or of events to split."""
    if kind not in ("merge", "split"):
        return value
    if isinstance(value, list):
        return [_complete_ids(memory, one, kind) for one in value]
    return complete_id(memory, value) if isinstance(value, str) else value


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


def _records(memory: "Memory", body: str, scope: Options, progress: Progress) -> "Iterator[Ingested]":
    """Record a file's experiences, some at a time; the key of each call is made of what it says."""
    records = parse_objects(body, remedy="; give a list, or one a line, or say with --source what wrote it")
    for start in range(0, len(records), CHUNK):
        chunk = records[start : start + CHUNK]
        said = json.dumps([chunk, scope], ensure_ascii=True, sort_keys=True)
        key = "ingest:" + hashlib.sha256(said.encode()).hexdigest()
        yield memory.ingest(chunk, actor="user", idempotency_key=key, **scope)
        progress("recording", start + len(chunk), len(records))
