"""Reports, experience and plans as a person reads them. Their records are imported by those who have one."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import click

from phronesis.core.ids import short_id
from phronesis.core.reports import Jobs
from phronesis.core.results import ClaimIndexResult, DoctorReport, ErasureCertificate, RebuildResult, RederiveResult
from phronesis.interfaces.cli.output import (
    count_of,
    cut,
    day,
    on_one_line,
    print_cut,
    print_json,
    print_lines,
    print_undo,
    second,
    table,
)

if TYPE_CHECKING:
    from phronesis.core.results import Evidence
    from phronesis.core.retrieval_plan import RetrievalPlan
    from phronesis.experience.laws.answers import Advice, Answer, LearnedEvidence, Reference
    from phronesis.experience.laws.records import (
        Aggregation,
        EventSource,
        FeedbackResult,
        IngestMeta,
        L1Event,
        Pattern,
        Principle,
    )
    from phronesis.importers import ImportSummary


# A retrieval plan.


def print_plan(plan: "RetrievalPlan") -> None:
    """Print a plan: what it is after, when, of whom, and what each retriever is asked."""
    print_cut(f"{plan.intent}, {'resources are needed' if plan.resources_needed else 'no resources'}  ({plan.made_by})")
    if plan.time is not None:
        print_cut(f"time: from {day(plan.time.since)} until {day(plan.time.until)} ({on_one_line(plan.time.words)})")
    if plan.entities:
        print_cut(f"names: {', '.join(map(on_one_line, plan.entities))}")
    print_cut(f"why: {'; '.join(map(on_one_line, plan.reasons))}")
    print_cut(*(f"{role.by} instead of {role.instead_of}: {role.reason}" for role in plan.degraded))
    for sub in (plan.memory, plan.resources):
        if sub is not None:
            queries = (f"    {one.weight:.1f} {one.origin}: {on_one_line(one.text)}" for one in sub.queries)
            print_cut("", f"{sub.store}, up to {sub.limit}:", *queries)


# Results of the commands that keep a store in order.


def print_rebuilt(result: RebuildResult) -> None:
    """Print whether the log gives the live state."""
    verdict = "equal to the live state" if result.equal else "NOT equal to the live state"
    print_lines(f"{result.entries} entries replayed: {verdict}" + (", now in its place" if result.applied else ""))
    print_lines(f"    live      {result.live_hash}", f"    replayed  {result.replayed_hash}")
    print_lines(*(f"    differs: {on_one_line(difference)}" for difference in result.differences))


def print_rederived(result: RederiveResult) -> None:
    """Print which items changed."""
    for name in ("added", "changed", "vanished"):
        ids = getattr(result, name)
        print_lines(f"{name}: {len(ids)}", *(f"    {short_id(identity)}" for identity in ids))
    print_undo(result.entry_id)


def print_erased(certificate: ErasureCertificate) -> None:
    """Print what was erased, and what the scan for it found."""
    print_lines(
        f"erased: {certificate.parts_erased} texts of {certificate.entries_touched} entries,"
        f" {certificate.items_erased} memories made of them",
        f"scanned: {certificate.rows_scanned} rows, {certificate.files_scanned} files: "
        + ("TRACES LEFT" if certificate.residue else "no trace"),
    )
    print_lines(*(f"    trace: {on_one_line(place)}" for place in certificate.residue))
    print_lines(*(f"    STILL TO GO: {on_one_line(place)}" for place in certificate.outstanding))
    print_lines(*(f"    not scanned: {on_one_line(place)}" for place in certificate.not_scanned))


def print_import(summary: "ImportSummary") -> None:
    """Print the counts, and why what was skipped was."""
    told = "would be imported" if summary.dry_run else "imported"
    count = summary.missing if summary.dry_run else summary.recorded
    print_lines(
        f"{count} {told}, {summary.known} known already, {sum(summary.skipped.values())} skipped,"
        f" {summary.failed} failed"
    )
    print_lines(*(f"    skipped: {count} × {on_one_line(reason)}" for reason, count in sorted(summary.skipped.items())))
    for error in summary.errors:
        click.echo(on_one_line(f"    {error['ref']}: {error['message']} [{error['code']}]"), err=True)


def print_reindexed(result: ClaimIndexResult) -> None:
    """Print how much there is, and how much was wrong."""
    print_lines(
        f"{result.items} items with {result.claims} claims, {result.documents} search documents:"
        + (f" {result.repaired} repaired" if result.repaired else " nothing was wrong")
    )
    if result.repaired_outside is not None:
        print_lines(f"in the external index {result.repaired_outside} were repaired")


def print_report(report: DoctorReport, *, fields: bool = False) -> None:
    """Print every check with what to do where it failed, with ``fields`` the policy, and at last the verdict."""
    if fields:
        policy = [(one.path, one.source, json.dumps(one.value, ensure_ascii=False)) for one in report.policy]
        print_lines(*table(policy, head=("field", "from", "value")), "")
    rows = [
        ("ok" if one.ok else (one.level or "error").upper(), one.code or one.name, one.detail) for one in report.checks
    ]
    for check, line in zip(report.checks, table(rows), strict=True):
        print_lines(line)
        if check.remedy is not None:
            print_lines(f"         {on_one_line(check.remedy)}")
        if check.command is not None:
            print_lines(f"         $ {on_one_line(check.command)}")
    wrong = [check.code or check.name for check in report.checks if not check.ok]
    print_lines("", f"{count_of(len(wrong), 'problem')}: {', '.join(wrong)}." if wrong else "Healthy.")


def print_worked(result: Mapping[str, Any]) -> None:
    """Print what a worker did, and which lanes it could not bring up to date."""
    print_lines(f"{result['done']} entries and vectors done")
    print_lines(*(f"    lane {lane} cannot be brought up to date: {code}" for lane, code in result["faults"].items()))


def print_jobs(found: Jobs) -> None:
    """Print what is still to be done, a job a line, and what there is of each sort."""
    rows = []
    for job in found:
        since = job.since and second(job.since)
        entry = short_id(job.entry_id or "")
        rows.append((job.state, job.work, job.user_id or job.namespace, since, entry, job.message))
    if rows:
        print_lines(*table(rows, head=("state", "work", "of", "since", "entry", "why")))
    print_lines(
        f"{found.pending} entries wait, {found.failed} failed, {found.without_vector} documents have no vector yet"
    )


def print_ingested(told: "Sequence[tuple[L1Event, IngestMeta]]") -> None:
    """Print the events of some sources: label, what decided it, what was tried, and where it stands."""
    if not told:
        print_lines("no attempt was found there")
        return
    rows = [
        tuple(map(_short, (event.label or "", event.family or "", event.attempt, meta.source_ref, short_id(event.id))))
        for event, meta in told
    ]
    print_cut(*table(rows, head=("label", "family", "attempt", "source", "")))
    counts = Counter(event.label or "unknown" for event, _ in told)
    print_lines("", f"{len(told)} events: " + ", ".join(f"{count} {label}" for label, count in sorted(counts.items())))


def print_patterns(found: "Aggregation") -> None:
    """Print what an aggregation changed, the largest patterns first."""
    _print_groups(found, "nothing new to group", _pattern, "members")


def print_principles(found: "Aggregation") -> None:
    """Print what an abstraction changed."""
    _print_groups(found, "no principle is new, and none changed", _principle, "patterns")


def _print_groups(
    found: "Aggregation", nothing: str, lines_of: Callable[[str, Any], Iterator[str]], parts: str
) -> None:
    groups = (("new", found.new), ("changed", found.changed), ("retired", found.retired))
    if not any(items for _, items in groups):
        print_lines(nothing)
        return
    for title, items in groups:
        for one in sorted(items, key=lambda one: (-len(getattr(one, parts)), one.id)):
            print_cut(*lines_of(title, one))
    print_undo(found.entry_id)


def _pattern(title: str, pattern: "Pattern") -> Iterator[str]:
    alike = f"{len(pattern.members)} events, alike in {pattern.view}{_success_rate(pattern, '  ')}"
    yield f"{title}: {pattern.outcome}, {alike}  {short_id(pattern.id)}"
    yield f"    {on_one_line(pattern.summary)}"
    yield from (f"    {on_one_line(line)}" for line in pattern.recommendation.splitlines())
    for one in pattern.counterexamples:
        yield f"    against it: {_short(one['attempt'])}  {one['source_ref']}"


def _principle(title: str, one: "Principle") -> Iterator[str]:
    yield f"{title}: confidence {one.confidence:.2f}, from {len(one.patterns)} patterns  {short_id(one.id)}"
    yield from (f"    {line}" for line in _principle_lines(one))


def _principle_lines(one: "Principle") -> Iterator[str]:
    """Return what a principle says, a part a line."""
    parts = (
        ("if", one.condition),
        ("then", one.action),
        ("because", one.because),
        ("watch out", one.watch_out),
        ("cost", one.cost),
        ("risk", one.risk),
    )
    yield from (f"{name}: {on_one_line(text)}" for name, text in parts if text)


def print_answer(answer: "Answer") -> None:
    """Print an answer: events first, then what was learned of them, what to do and not, and what says otherwise."""
    if answer.abstained:
        print_lines(
            "nothing known is about that; what came nearest:" if answer.l1_evidence else "nothing known is about that"
        )
    _section("events", [_event(one) for one in answer.l1_evidence])
    learned = (("patterns", answer.l2_patterns, _pattern_lines), ("principles", answer.l3_principles, _principle_lines))
    for title, found, lines_of in learned:
        _section(title, [line for one in found for line in _learned_lines(one, *lines_of(cast("Any", one.item)))])
    _section("try", [line for one in answer.recommended_attempts for line in _advice(one)])
    _section("avoid", [line for one in answer.avoid for line in _advice(one)])
    _section("left out", [f"{_short(one.attempt)}: {on_one_line(one.reason)}" for one in answer.excluded])
    _section(
        "in conflict",
        [f"{on_one_line(one.about)}: {_refs(one.side)} against {_refs(one.against)}" for one in answer.conflicts],
    )


def _section(title: str, lines: Sequence[str]) -> None:
    if lines:
        print_cut("", title, *(f"    {line}" for line in lines))


def _event(found: "Evidence") -> str:
    source = found.sources[0].source_ref if found.sources else ""
    return f"{found.score:.2f}  {found.item.label}  {source}  {_short(found.item.content)}  {short_id(found.item.id)}"


def _learned_lines(found: "LearnedEvidence", first: str, *others: str) -> Iterator[str]:
    mark = "  needs validation" if found.needs_validation else ""
    yield f"{found.score:.2f}  {on_one_line(first)}  {short_id(found.item.id)}{mark}"
    yield from (f"      {line}" for line in others)
    yield from (f"      from {source.source_ref}" for source in found.sources[:3] if source.source_ref)


def _pattern_lines(pattern: "Pattern") -> Iterator[str]:
    yield f"{pattern.outcome}: {pattern.summary} ({len(pattern.members)} events{_success_rate(pattern, ', ')})"
    yield from map(on_one_line, pattern.recommendation.splitlines())


def _advice(one: "Advice") -> Iterator[str]:
    yield f"{_short(one.attempt)}  ({on_one_line(one.why)})"
    if one.lesson:
        yield f"      lesson: {on_one_line(one.lesson)}"
    if one.evidence:
        yield f"      from {_refs(one.evidence)}"


def _refs(found: "Sequence[Reference]") -> str:
    shown = ", ".join(one.source_ref or short_id(one.id) for one in found[:3])
    return shown + (f" and {len(found) - 3} more" if len(found) > 3 else "")  # noqa: PLR2004 - as many as a line holds


def print_source(found: "EventSource", *, whole: bool = False) -> None:
    """Print what an event was taken from: where it stands, the words of its lines, and what came with it."""
    print_lines(f"{found.source_ref}  {found.source_type}  {second(found.recorded_at)} by {found.actor}")
    if found.erased:
        print_lines("its words were erased")
    elif found.text:
        first = 1 if whole or found.lines is None else found.lines[0]
        words = found.text if whole or found.lines is None else found.excerpt
        print_lines(*(f"{n:>6}  {line}" for n, line in enumerate(words.split("\n"), first)))
    for name, value in (("payload", found.payload), ("observations", found.observations), ("hints", found.hints)):
        if value not in (None, {}):
            print_lines("", name)
            print_json(value)


def print_feedback(result: "FeedbackResult") -> None:
    """Print what feedback changed, and what waits."""
    for one in result.items:
        print_lines(f"{one.kind} {short_id(one.id)}: confidence {one.confidence:.2f}, {one.label or 'no label'}")
    if result.scheduled:
        print_lines("the next 'learn aggregate' carries it out")
    print_undo(result.entry_id)


def _short(text: str) -> str:
    return cut(on_one_line(text), 80)


def _success_rate(pattern: "Pattern", separator: str) -> str:
    """Return how often what a pattern tells of worked, with its interval, behind a separator; empty if unknown."""
    rate = pattern.success_rate
    if not rate or rate["rate"] is None:
        return ""
    return f"{separator}{rate['successes']} of {rate['trials']} worked ({rate['low']:.0%} to {rate['high']:.0%})"
