"""Commands of runs: record them and their feedback, one by one or a file of them, and learn from them."""

import json
import os
import stat
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO, Final

import click

from phronesis.core.ids import short_id
from phronesis.errors import InputError
from phronesis.interfaces.cli.options import (
    CURSOR,
    DRY_RUN,
    LIMIT,
    OWNER,
    Options,
    Store,
    command,
    with_owner,
    with_store,
)
from phronesis.interfaces.cli.output import (
    Progress,
    clean,
    cut,
    on_one_line,
    parse_objects,
    print_cut,
    print_lines,
    print_undo,
    read_text,
    say_table,
    second,
    table,
)
from phronesis.interfaces.cli.render import print_edited
from phronesis.reasoning.laws.item_records import LearnResult, RunRecord
from phronesis.reasoning.laws.records import Review

if TYPE_CHECKING:
    from phronesis.batch import BatchSummary
    from phronesis.memory import Memory


_RUN = click.argument("run_id", metavar="ID")
_FILE = click.argument("file", type=click.File(encoding="utf-8"))


def _runs_of(file: IO[str], **scope: Any) -> Options:
    return {"given": parse_objects(read_text(file)), **scope}


@command(_FILE, *OWNER, show=lambda ids: print_lines(*map(on_one_line, ids)), doing="", checked=_runs_of)
def add(memory: "Memory", given: Sequence[dict[str, Any]], **scope: Any) -> list[str]:
    """Record the runs of a file.

    FILE ('-': standard input) is JSON, one run or a list of them, or one run a line: {run_id, output, raw, trace,
    memory_ids}; its member feedback, where there is one, is recorded too. A run that is known already is skipped.
    """
    made: list[str] = []
    with Progress() as progress:
        for n, one in enumerate(given):
            progress("recording runs", n, len(given))
            run = {name: value for name, value in one.items() if name != "feedback"}
            made.append(memory.runs.record(run, **scope, actor="user"))
            if one.get("feedback") is not None:
                memory.runs.feedback(made[-1], one["feedback"], **scope, actor="user")
    return made


def print_runs(found: Sequence[RunRecord]) -> None:
    """Print runs, one a line."""
    rows = []
    for run in found:
        output = [f"{name}={value}" for name, value in run.output.items() if isinstance(value, str | int | float)]
        rows.append((run.run_id, second(run.recorded_at), _state(run), " ".join(output) or run.raw))
    say_table(rows, head=("run", "recorded", "state", "output"), nothing="no run is recorded there")


@command(*OWNER, LIMIT, CURSOR, show=print_runs)
def list_runs(memory: "Memory", **given: Any) -> Any:
    """List runs, newest first.

    Each with whether it has feedback and was learned from.
    """
    return memory.runs.list(**given)


def print_run(run: RunRecord) -> None:
    """Print all that is known of a run."""
    print_lines(f"{on_one_line(run.run_id)}  {second(run.recorded_at)}  {_state(run)}  {short_id(run.item_id)}")
    for name, value in run.facts.items():
        print_lines(f"    {on_one_line(name)}: {on_one_line(json.dumps(value, ensure_ascii=False))}")
    for use in run.trace.get("memories", ()):
        print_lines(f"    read {short_id(use.item_id)} by {use.via}")
        print_lines(*(f"        {claim.claim_id}: {on_one_line(claim.snippet)}" for claim in use.matched_claims))
    print_lines(*(f"    learned in entry {short_id(entry_id)}" for entry_id in run.learned))
    if run.review is not None:
        print_lines(f"    modifier: {_compound(run.review)}")
    if run.raw:
        print_lines("", clean(run.raw))


@command(_RUN, *OWNER, show=print_run)
def show(memory: "Memory", run_id: str, **given: Any) -> Any:
    """Show a run with its FACTS, what it read, its learns.

    FACTS are what the run and its feedback state, as the field writes them.
    """
    return memory.runs.get(run_id, **given)


def _feedback_of(file: IO[str], **given: Any) -> Options:
    stated = parse_objects(read_text(file))
    if len(stated) != 1:
        raise InputError("feedback: the file must hold one object", field="feedback")
    return {"stated": stated[0], **given}


@command(_RUN, _FILE, *OWNER, show=print_edited, checked=_feedback_of)
def feedback(memory: "Memory", run_id: str, stated: dict[str, Any], **given: Any) -> Any:
    """Record the feedback on a run.

    FILE ('-': standard input) is JSON: {products: [{name, value, fraction}], pros, cons, other}. It replaces earlier
    feedback.
    """
    return memory.runs.feedback(run_id, stated, **given, actor="user")


def print_review(review: Review) -> None:
    """Print what a run's modifier is: the compound, its groups with their atoms, or why that is not known."""
    print_lines(_compound(review))
    if review.cid is not None:
        shown = {"SMILES": review.smiles, "InChIKey": review.inchikey}
        print_lines(*(f"    {name}: {on_one_line(value)}" for name, value in shown.items() if value is not None))
    groups = [(name, review.matched[name]) for name in ("acid", "carboxylate", "ester") if review.matched.get(name)]
    print_lines(
        *(f"    {name}: atoms {'; '.join(','.join(map(str, atoms)) for atoms in found)}" for name, found in groups)
    )
    if review.cid is None and review.candidates:
        rows = [(f"CID {one.cid}", _yes_no(one.has_cooh), one.name, one.smiles) for one in review.candidates]
        print_cut(*table(rows, head=("candidate", "has_cooh", "name", "SMILES")))
    if review.asked_at is not None:
        print_lines(f"    asked {second(review.asked_at)}")
    if review.suggestion:
        print_lines(on_one_line(review.suggestion))


@command(
    _RUN,
    click.option("--refresh", is_flag=True, help="Ask PubChem again, even if its answer is cached."),
    *OWNER,
    show=print_review,
    doing="asking PubChem",
)
def review(memory: "Memory", run_id: str, **given: Any) -> Any:
    """Look a run's modifier up at PubChem.

    Shows the compound, whether it has a free carboxyl group –COOH, and what to suggest.
    """
    return memory.runs.review(run_id, **given)


def print_learned(result: LearnResult) -> None:
    """Print how the run bears on each claim that it bears on, and what was made or dropped."""
    bearing = [one for one in result.judged if one.verdict != "irrelevant"]
    rows = []
    for claim in bearing:
        status = claim.after if claim.before == claim.after else f"{claim.before} → {claim.after}"
        status = status if claim.deleted is None else "deleted"
        about = (short_id(claim.item_id), claim.claim_id, claim.verdict, claim.by)
        rows.append((*about, f"{claim.support}:{claim.contra}", status))
    asked = f"; {on_one_line(result.model)} was asked" if result.model is not None else ""
    print_lines(f"{len(result.judged)} claims looked at, {len(bearing)} of them concerned{asked}")
    print_lines(*(table(rows, head=("item", "claim", "verdict", "by", "for:against", "status")) if rows else ()))
    for told in bearing:
        shown = told.deleted or told.reason or told.quote
        print_lines(*([f"{on_one_line(told.claim_id)}: {on_one_line(shown)}"] if shown else ()))
    for name, listed in (("added", result.added), ("updated", result.updated)):
        print_lines(*(f"{name}: {short_id(item.id)}  {on_one_line(item.topic)}" for item in listed))
    for one in result.dropped:
        reasons = ", ".join(dict.fromkeys(str(violation["rule"]) for violation in one.violations))
        print_lines(f"not taken ({reasons}): {cut(on_one_line(one.content), 80)}")
    print_lines(*(f"does not count ({one.rule}): {one.said} of {on_one_line(one.claim_id)}" for one in result.refused))
    print_lines(*(f"{one.instead_of} gave no answer ({one.reason}); {one.by} stood in" for one in result.degraded))
    print_undo(result.entry_id)


@command(
    click.argument("run_id", metavar="RUN_ID"),
    click.option("--model", metavar="NAME", help="Ask this model this time: gateway/model, or rules."),
    *OWNER,
    show=print_learned,
    doing="weighing claims",
    flush=True,
)
def learn(memory: "Memory", run_id: str, **given: Any) -> Any:
    """Weigh the bank's claims by a run and its feedback.

    The claims of the items that the run used or resembles; 'rollback' takes it back.
    """
    return memory.learn(run_id, **given, actor="user")


def _compound(review: Review) -> str:
    modifier = on_one_line(review.modifier or "no modifier")
    if review.cid is None:
        return f"{modifier}: {review.status} ({review.reason})"
    name = f" {on_one_line(review.name)}" if review.name else ""
    resolved = review.status == "resolved"
    found = f"has_cooh {_yes_no(review.has_cooh)}" if resolved else f"{review.status} ({review.reason})"
    return f"{modifier} → CID {review.cid}{name}, {found}"


def _yes_no(value: bool | None) -> str:
    return "unknown" if value is None else "true" if value else "false"


def _state(run: RunRecord) -> str:
    if run.status == "archived":
        return "archived"
    if run.learned:
        return "learned"
    return "no feedback" if run.feedback is None else "feedback"


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

    try:
        status = os.fstat(file.fileno())
    except OSError:  # bytes in memory
        status = None
    if status is not None and report is not None and report.exists() and os.path.samestat(status, report.stat()):
        raise click.UsageError("--report names FILE itself; its rows would be lost")
    length = status.st_size if status is not None and stat.S_ISREG(status.st_mode) else 0  # of a pipe nobody knows it
    summary = BatchSummary()
    with (
        store.open() as memory,
        Progress() as progress,
        nullcontext() if report is None else report.open("w", encoding="utf-8", errors="backslashreplace") as lines,
    ):
        working = Batch(memory, **scope, actor="user")
        if length:
            working.on_bytes = lambda done: progress("checking" if dry_run else "learning", done, length)
        for told in working.forecast(file) if dry_run else working.run(file):
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
            print_lines(f"{name}: " + ", ".join(f"{count} {_WORDS[done]}" for done, count in sorted(counts.items())))
    learned = {
        "supports": summary.supports,
        "contras": summary.contras,
        "items added": summary.added,
        "items updated": summary.updated,
        "proposals not taken": summary.dropped,
    }
    if any(learned.values()):
        title = "proposed" if "missing" in summary.learns else "learned"
        print_lines(f"{title}: " + ", ".join(f"{count} {name}" for name, count in learned.items() if count))
    print_lines(f"{summary.rows} rows, {summary.failed} of them failed")
    for told in summary.errors:
        error = told.error or {}
        click.echo(on_one_line(f"line {told.line}: {error.get('message')} [{error.get('code')}]"), err=True)
    if summary.failed > len(summary.errors):
        where = "--report FILE lists them" if report is None else f"{report} lists them"
        click.echo(f"and {summary.failed - len(summary.errors)} more; {where}", err=True)
