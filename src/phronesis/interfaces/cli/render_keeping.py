"""Results of the commands that keep a store in order, as a person reads them."""

import json
from collections.abc import Mapping
from typing import Any

from phronesis.core.jobs import Jobs
from phronesis.core.results import (
    DoctorReport,
    ErasureCertificate,
    ExportResult,
    ImportResult,
    RebuildResult,
    RederiveResult,
    ReembedResult,
)
from phronesis.interfaces.cli.printing import say, second
from phronesis.interfaces.cli.text import on_one_line, table


def say_rebuilt(result: RebuildResult) -> None:
    """Print whether the log gives the live state."""
    verdict = "equal to the live state" if result.equal else "NOT equal to the live state"
    say(f"{result.entries} entries replayed: {verdict}" + (", now in its place" if result.applied else ""))
    say(f"    live      {result.live_hash}", f"    replayed  {result.replayed_hash}")
    say(*(f"    differs: {on_one_line(difference)}" for difference in result.differences))


def say_rederived(result: RederiveResult) -> None:
    """Print which items changed."""
    for name in ("added", "changed", "vanished"):
        ids = getattr(result, name)
        say(f"{name}: {len(ids)}", *(f"    mem:{identity}" for identity in ids))
    say(f"to take it back: phronesis rollback {result.entry_id}")


def say_erased(certificate: ErasureCertificate) -> None:
    """Print what was erased, and what the scan for it found."""
    say(
        f"erased: {certificate.parts_erased} texts of {certificate.entries_touched} entries,"
        f" {certificate.items_erased} memories made of them",
        f"scanned: {certificate.rows_scanned} rows, {certificate.files_scanned} files: "
        + ("TRACES LEFT" if certificate.residue else "no trace"),
    )
    say(*(f"    trace: {on_one_line(place)}" for place in certificate.residue))
    say(*(f"    STILL TO GO: {on_one_line(place)}" for place in certificate.outstanding))
    say(*(f"    not scanned: {on_one_line(place)}" for place in certificate.not_scanned))


def say_exported(result: ExportResult) -> None:
    """Print where the log is now."""
    say(f"{result.entries} entries of {result.lanes} lanes are in {on_one_line(result.path)}")


def say_imported(result: ImportResult) -> None:
    """Print how much was new."""
    say(f"{result.entries_added} entries taken in, {result.entries_known} known already, {result.lanes} lanes")


def say_report(report: DoctorReport) -> None:
    """Print every check, and under each that failed what to do; then the policy, a field a line."""
    for check, line in zip(
        report.checks,
        table(
            [
                ("ok" if check.ok else (check.level or "error").upper(), check.code or check.name, check.detail)
                for check in report.checks
            ]
        ),
        strict=True,
    ):
        say(line)
        if check.remedy is not None:
            say(f"         {on_one_line(check.remedy)}")
        if check.command is not None:
            say(f"         $ {on_one_line(check.command)}")
    if report.policy:
        say("", "The policy in force:")
        rows = [(one.path, one.source, json.dumps(one.value, ensure_ascii=False)) for one in report.policy]
        say(*table(rows, head=("field", "from", "value")))


def say_reembedded(result: ReembedResult) -> None:
    """Print what searches use now."""
    say(f"{result.vectors} vectors made; searches use {result.model}, {result.dimension} dimensions")


def say_worked(result: Mapping[str, Any]) -> None:
    """Print what a worker did, and which lanes it could not bring up to date."""
    say(f"{result['done']} entries and vectors done")
    say(*(f"    lane {lane} cannot be brought up to date: {code}" for lane, code in result["faults"].items()))


def say_jobs(found: Jobs) -> None:
    """Print what is still to be done, a job a line, and what there is of each sort."""
    rows = [
        (job.state, job.work, job.user_id or job.namespace or "", "" if job.since is None else second(job.since),
         job.entry_id or "", job.message or "")
        for job in found
    ]  # fmt: skip
    if rows:
        say(*table(rows, head=("state", "work", "of", "since", "entry", "why")))
    say(f"{found.pending} entries wait, {found.failed} failed, {found.without_vector} documents have no vector yet")


def say_upgraded(result: Mapping[str, Any]) -> None:
    """Print the schema."""
    before = "no schema" if result["before"] is None else f"schema {result['before']}"
    say(f"{before} before, schema {result['after']} now")
