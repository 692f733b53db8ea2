"""Commands of runs: record them and their feedback, one by one or a file of them, and learn from them."""

import json
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, BinaryIO, Final, TextIO

import click

from phronesis.core.ids import short_id
from phronesis.errors import InputError
from phronesis.interfaces.cli.options import CURSOR, DRY_RUN, LIMIT, Options, Store, with_owner, with_store
from phronesis.interfaces.cli.output import (
    Progress,
    clean,
    cut,
    on_one_line,
    parse_objects,
    read_text,
    say,
    say_cut,
    say_undo,
    second,
    table,
)
from phronesis.interfaces.cli.render import say_edited, say_more
from phronesis.reasoning.laws.item_records import Judged, LearnResult, RunRecord
from phronesis.reasoning.laws.records import Review

if TYPE_CHECKING:
    from phronesis.batch import BatchSummary


@click.command()
@click.argument("file", type=click.File(encoding="utf-8"))
@with_owner
@with_store
def add(file: IO[str], *, scope: Options, store: Store) -> None:
    """Record the runs of a file.

    FILE ('-': standard input) is JSON, one run or a list of them, or one run a line: {run_id, output, raw, trace,
    memory_ids}; its member feedback, where there is one, is recorded too. A run that is known already is skipped.
    """
    given = parse_objects(read_text(file))
    made: list[str] = []
    with store.open() as memory, Progress() as progress:
        for n, one in enumerate(given):
            progress("recording runs", n, len(given))
            run = {name: value for name, value in one.items() if name != "feedback"}
            made.append(memory.runs.record(run, **scope, actor="user"))
            if one.get("feedback") is not None:
                memory.runs.feedback(made[-1], one["feedback"], **scope, actor="user")
    store.answer(made, lambda ids: say(*map(on_one_line, ids)))


@click.command()
@with_owner
@LIMIT
@CURSOR
@with_store
def list_runs(*, scope: Options, limit: int, cursor: str | None, store: Store) -> None:
    """List runs, newest first.

    Each with whether it has feedback and was learned from.
    """
    with store.open() as memory:
        page = memory.runs.list(**scope, limit=limit, cursor=cursor)
    store.answer(page.items, say_runs)
    say_more(page)


@click.command()
@click.argument("run_id", metavar="ID")
@with_owner
@with_store
def show(run_id: str, *, scope: Options, store: Store) -> None:
    """Show a run with its FACTS, what it read, its learns.

    FACTS are what the run and its feedback state, as the field writes them.
    """
    store.run(lambda memory: memory.runs.get(run_id, **scope), say_run)


@click.command()
@click.argument("run_id", metavar="ID")
@click.argument("file", type=click.File(encoding="utf-8"))
@with_owner
@with_store
def feedback(run_id: str, file: IO[str], *, scope: Options, store: Store) -> None:
    """Record the feedback on a run.

    FILE ('-': standard input) is JSON: {products: [{name, value, fraction}], pros, cons, other}. It replaces earlier
    feedback.
    """
    given = parse_objects(read_text(file))
    if len(given) != 1:
        raise InputError("feedback: the file must hold one object", field="feedback")
    store.run(lambda memory: memory.runs.feedback(run_id, given[0], **scope, actor="user"), say_edited)


@click.command()
@click.argument("run_id", metavar="ID")
@click.option("--refresh", is_flag=True, help="Ask PubChem again, even if its answer is cached.")
@with_owner
@with_store
def review(run_id: str, *, refresh: bool, scope: Options, store: Store) -> None:
    """Look a run's modifier up at PubChem.

    Shows the compound, whether it has a free carboxyl group –COOH, and what to suggest.
    """
    store.run(lambda memory: memory.runs.review(run_id, **scope, refresh=refresh), say_review, doing="asking PubChem")


@click.command()
@click.argument("run_id", metavar="RUN_ID")
@click.option("--model", metavar="NAME", help="Ask this model this time: gateway/model, or rules.")
@with_owner
@with_store
def learn(run_id: str, *, model: str | None, scope: Options, store: Store) -> None:
    """Weigh the bank's claims by a run and its feedback.

    The claims of the items that the run used or resembles; 'rollback' takes it back.
    """
    store.run(
        lambda memory: memory.learn(run_id, model=model, **scope, actor="user"),
        say_learned,
        doing="weighing claims",
        flush=True,
    )


def say_runs(found: Sequence[RunRecord]) -> None:
    """Print runs, one a line."""
    if not found:
        say("no run is recorded there")
        return
    rows = [(run.run_id, second(run.recorded_at), _state(run), _label(run)) for run in found]
    say_cut(*table(rows, head=("run", "recorded", "state", "output")))


def say_run(run: RunRecord) -> None:
    """Print all that is known of a run."""
    say(f"{on_one_line(run.run_id)}  {second(run.recorded_at)}  {_state(run)}  {short_id(run.item_id)}")
    for name, value in run.facts.items():
        say(f"    {on_one_line(name)}: {on_one_line(json.dumps(value, ensure_ascii=False))}")
    for use in run.trace.get("memories", ()):
        say(f"    read {short_id(use.item_id)} by {use.via}")
        say(*(f"        {claim.claim_id}: {on_one_line(claim.snippet)}" for claim in use.matched_claims))
    say(*(f"    learned in entry {short_id(entry_id)}" for entry_id in run.learned))
    if run.review is not None:
        say(f"    modifier: {_compound(run.review)}")
    if run.raw:
        say("", clean(run.raw))


def say_review(review: Review) -> None:
    """Print what a run's modifier is: the compound, its groups with their atoms, or why that is not known."""
    say(_compound(review))
    if review.cid is not None:
        shown = {"SMILES": review.smiles, "InChIKey": review.inchikey}
        say(*(f"    {name}: {on_one_line(value)}" for name, value in shown.items() if value is not None))
    groups = [(name, review.matched[name]) for name in ("acid", "carboxylate", "ester") if review.matched.get(name)]
    say(*(f"    {name}: atoms {'; '.join(','.join(map(str, atoms)) for atoms in found)}" for name, found in groups))
    if review.cid is None and review.candidates:
        rows = [
            (f"CID {one.cid}", _yes_no(one.has_cooh), on_one_line(one.name or ""), on_one_line(one.smiles or ""))
            for one in review.candidates
        ]
        say_cut(*table(rows, head=("candidate", "has_cooh", "name", "SMILES")))
    if review.asked_at is not None:
        say(f"    asked {second(review.asked_at)}")
    if review.suggestion:
        say(on_one_line(review.suggestion))


def _compound(review: Review) -> str:
    modifier = on_one_line(review.modifier or "no modifier")
    if review.cid is None:
        return f"{modifier}: {review.status} ({review.reason})"
    name = f" {on_one_line(review.name)}" if review.name else ""
    told = (
        f"has_cooh {_yes_no(review.has_cooh)}" if review.status == "resolved" else f"{review.status} ({review.reason})"
    )
    return f"{modifier} → CID {review.cid}{name}, {told}"


def _yes_no(value: bool | None) -> str:
    return "unknown" if value is None else "true" if value else "false"


def say_learned(result: LearnResult) -> None:
    """Print how the run bears on each claim that it bears on, and what was made or dropped."""
    if result.pending:
        say_undo(result.entry_id, pending=True)
        return
    bearing = [one for one in result.judged if one.verdict != "irrelevant"]
    rows = [
        (short_id(one.item_id), one.claim_id, one.verdict, one.by, f"{one.support}:{one.contra}", _status_change(one))
        for one in bearing
    ]
    asked = f"; {on_one_line(result.model)} was asked" if result.model is not None else ""
    say(f"{len(result.judged)} claims looked at, {len(bearing)} of them concerned{asked}")
    say(*(table(rows, head=("item", "claim", "verdict", "by", "for:against", "status")) if rows else ()))
    for told in bearing:
        shown = told.deleted or told.reason or told.quote
        say(*([f"{on_one_line(told.claim_id)}: {on_one_line(shown)}"] if shown else ()))
    for name, listed in (("added", result.added), ("updated", result.updated)):
        say(*(f"{name}: {short_id(item.id)}  {on_one_line(item.topic)}" for item in listed))
    for one in result.dropped:
        reasons = ", ".join(dict.fromkeys(str(violation["rule"]) for violation in one.violations))
        say(f"not taken ({reasons}): {cut(on_one_line(one.content), 80)}")
    say(*(f"does not count ({one.rule}): {one.said} of {on_one_line(one.claim_id)}" for one in result.refused))
    say(*(f"{one.instead_of} gave no answer ({one.reason}); {one.by} stood in" for one in result.degraded))
    say_undo(result.entry_id)


def _status_change(one: Judged) -> str:
    if one.deleted is not None:
        return "deleted"
    return one.after if one.before == one.after else f"{one.before} → {one.after}"


def _state(run: RunRecord) -> str:
    if run.status == "archived":
        return "archived"
    if run.learned:
        return "learned"
    return "no feedback" if run.feedback is None else "feedback"


def _label(run: RunRecord) -> str:
    told = " ".join(f"{name}={value}" for name, value in run.output.items() if isinstance(value, str | int | float))
    return on_one_line(told or run.raw)


_WORDS: Final = {"recorded": "recorded", "known": "known already", "missing": "would be recorded"}


@click.command()
@click.argument("file", type=click.File("rb"))
@with_owner
@DRY_RUN
@click.option(
    "--report",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the result of each row there, one JSON object a line.",
)
@with_store
@click.pass_context
def batch(
    ctx: click.Context, *, file: BinaryIO, scope: Options, dry_run: bool, report: Path | None, store: Store
) -> None:
    """Record the runs of a file, and learn from them.

    FILE ('-': standard input) holds one run a line, or a JSON list of them: {run_id, output, raw, trace, memory_ids,
    feedback, learn}. A row without output and raw is about a known run. The same file again does what is missing. A
    wrong row is reported and skipped; the exit code is then 1.
    """
    from phronesis.batch import Batch, BatchSummary  # noqa: PLC0415 - SQLAlchemy and numpy: not for --help

    if report is not None and _is_same(file, report):
        raise click.UsageError("--report names FILE itself; its rows would be lost")
    length, summary = _length(file), BatchSummary()
    with store.open() as memory, Progress() as progress, _open_report(report) as lines:
        working = Batch(memory, **scope, actor="user")
        if length:
            working.on_bytes = lambda done: progress("checking" if dry_run else "learning", done, length)
        for told in working.foresee(file) if dry_run else working.run(file):
            summary.add(told)
            if lines is not None:
                lines.write(json.dumps(told.to_dict(), ensure_ascii=False) + "\n")
        if not dry_run:
            memory.flush()
    store.answer(summary, lambda _: _print_summary(summary, report))
    if summary.failed:
        ctx.exit(1)


def _print_summary(summary: "BatchSummary", report: Path | None) -> None:
    """Print the counts, and on stderr the first rows that failed."""
    for name, counts in (("runs", summary.runs), ("feedback", summary.feedback), ("learns", summary.learns)):
        if counts:
            say(f"{name}: " + ", ".join(f"{count} {_WORDS[done]}" for done, count in sorted(counts.items())))
    learned = {
        "supports": summary.supports,
        "contras": summary.contras,
        "items added": summary.added,
        "items updated": summary.updated,
        "proposals not taken": summary.dropped,
    }
    if any(learned.values()):
        title = "proposed" if "missing" in summary.learns else "learned"
        say(f"{title}: " + ", ".join(f"{count} {name}" for name, count in learned.items() if count))
    say(f"{summary.rows} rows, {summary.failed} of them failed")
    for told in summary.errors:
        error = told.error or {}
        click.echo(on_one_line(f"line {told.line}: {error.get('message')} [{error.get('code')}]"), err=True)
    if summary.failed > len(summary.errors):
        where = "--report FILE lists them" if report is None else f"{report} lists them"
        click.echo(f"and {summary.failed - len(summary.errors)} more; {where}", err=True)


@contextmanager
def _open_report(report: Path | None) -> Iterator[TextIO | None]:
    if report is None:
        yield None
        return
    with report.open("w", encoding="utf-8", errors="backslashreplace") as lines:
        yield lines


def _length(file: BinaryIO) -> int:
    """Return how many bytes a file has; 0 for what is no file: nobody knows how much will come."""
    number = _number(file)
    if number is None:
        return 0
    status = os.fstat(number)
    return status.st_size if stat.S_ISREG(status.st_mode) else 0


def _is_same(file: BinaryIO, report: Path) -> bool:
    number = _number(file)
    return number is not None and report.exists() and os.path.samestat(os.fstat(number), report.stat())


def _number(file: BinaryIO) -> int | None:
    try:
        return file.fileno()
    except OSError:  # bytes in memory
        return None
