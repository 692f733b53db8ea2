"""Commands of traits: reflect on what was learned of a user, and read and correct what came of it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, cast

import click

from phronesis.core.ids import short_id
from phronesis.core.timestamps import parse_moment
from phronesis.errors import NotFound
from phronesis.interfaces.cli.options import AS_OF, LIMIT, REASON, ShortId, Store, command, complete_id, with_store
from phronesis.interfaces.cli.output import (
    count_of,
    cut,
    day,
    on_one_line,
    print_cut,
    print_lines,
    print_undo,
    say_table,
    second,
    show_waiting,
    table,
)
from phronesis.interfaces.cli.render import print_edited

if TYPE_CHECKING:
    from phronesis.memory import Memory
    from phronesis.traits.laws.records import ReflectionCycle, Trait, TraitEvidence
    from phronesis.traits.laws.strength import ReflectionTrigger

STAGES: Final = ("trend", "candidate", "emerging", "established", "core")
SUBTYPES: Final = ("behavior", "preference", "core")
CONTEXTS: Final = ("work", "personal", "social", "learning", "general")
FACETS: Final = ("personality", "value")
"""The words of `phronesis.traits.laws`, which is not imported for ``--help``; a test holds them together."""

PERSON = click.option("--user", "user_id", metavar="ID", required=True, help="Whose traits.")
_TRAIT = click.argument("trait_id", metavar="ID", type=ShortId())


@click.command()
@PERSON
@click.option("--force", is_flag=True, help="Reflect whether it is due or not.")
@click.option("--session-ended", is_flag=True, help="Reflect because a session has ended.")
@click.option("--check", is_flag=True, help="Print only whether it is due; change nothing.")
@with_store
@click.pass_context
def reflect(ctx: click.Context, *, user_id: str, force: bool, session_ended: bool, check: bool, store: Store) -> None:
    """Derive traits from what a user says again and again.

    Only when it is due: enough is new, or the last time is long ago. 'rollback' takes it back. The exit code is 1 when
    a model gave no answer and the round was skipped.
    """
    with store.open() as memory:
        found = memory.should_reflect(user_id)
        if check:
            store.answer(found, print_due)
            return
        before = memory.get_user_traits(user_id, STAGES[0])
        with show_waiting("reflecting"):
            cycle = memory.reflect(user_id, force=force, session_ended=session_ended, actor="user")
            memory.flush()
        after = memory.get_user_traits(user_id, STAGES[0])
    store.answer(cycle, lambda one: print_reflected(one, found, changed_lines(before, after)))
    if cycle.status == "failed":
        ctx.exit(1)


def print_traits(found: Sequence["Trait"]) -> None:
    """Print traits, one a line, the sides of a trait under it."""
    rows = []
    for trait in found:
        for mark, one in (("", trait), *(("└ ", side) for side in trait.sides)):
            name, evidence = f"{mark}{short_id(one.id)}", evidence_counts_text(one.evidence)
            rows.append((name, one.stage, _sure(one), one.subtype, one.context, evidence, one.content))
    head = ("trait", "stage", "confidence", "subtype", "context", "for:against", "")
    say_table(rows, head=head, nothing="no trait is known there")


@command(
    PERSON,
    click.option(
        "--min-stage", type=click.Choice(STAGES), default="emerging", show_default=True, help="At least this."
    ),
    click.option("--subtype", type=click.Choice(SUBTYPES), help="Only these."),
    click.option("--context", type=click.Choice(CONTEXTS), help="Only what shows there."),
    AS_OF,
    show=print_traits,
)
def list_traits(memory: "Memory", user_id: str, **given: Any) -> Any:
    """List a user's traits, the surest first.

    Trends and candidates are guesses, and shown only when --min-stage asks for them.
    """
    return memory.get_user_traits(user_id, **given)


@click.command()
@_TRAIT
@AS_OF
@with_store
def show_trait(trait_id: str, *, as_of: str | None, store: Store) -> None:
    """Show a trait with the memories for and against it.

    With its stage and confidence, what it was made of, and what was made of it.
    """
    with store.open() as memory:
        trait_id = complete_id(memory, trait_id)
        rows = memory.traits.evidence(trait_id, as_of=as_of)
        trait = replace(_read(memory, trait_id, as_of), evidence=tuple(rows))
        near = {
            "part of": _find_traits(memory, trait.parent_ids, as_of),
            "made of": _find_traits(memory, trait.data.get("children", ()), as_of),
        }
    store.answer(trait, lambda one: print_trait(one, near))


@command(
    _TRAIT,
    click.option("--content", metavar="TEXT", help="What is true instead, in one sentence."),
    click.option("--context", type=click.Choice(CONTEXTS), help="Where it shows."),
    click.option("--facet", type=click.Choice(FACETS), help="Of a core trait."),
    REASON,
    show=print_edited,
    flush=True,
)
def correct_trait(memory: "Memory", trait_id: str, **given: Any) -> Any:
    """Correct a trait; no later reflection writes over it.

    Correct its words, its context or its facet. The history keeps what it was.
    """
    return memory.traits.correct(trait_id, **given, actor="user")


@command(_TRAIT, REASON, show=print_edited)
def delete_trait(memory: "Memory", trait_id: str, **given: Any) -> Any:
    """Say that a trait is wrong: it does not come back.

    Neither the same words nor the same memories make it again. Its history stays; 'delete --erase' removes it too.
    """
    return memory.traits.delete(trait_id, **given, actor="user")


def print_cycles(found: Sequence["ReflectionCycle"]) -> None:
    """Print reflections, newest first."""
    rows = []
    for one in found:
        began = (one.started_at and second(one.started_at), one.status, _brief(one), one.memories_scanned)
        came = (one.error or summarise_changes(one), len(one.refused) or "")
        rows.append((*began, *came, one.made_by, _cost(one), short_id(one.entry_id or "")))
    head = ("when", "status", "why", "new", "came to", "refused", "by", "cost", "entry")
    say_table(rows, head=head, nothing="nobody reflected there")


@command(PERSON, LIMIT, show=print_cycles)
def list_cycles(memory: "Memory", user_id: str, limit: int) -> Any:
    """List the reflections on a user, newest first.

    Each with what set it off, how many memories it looked at and what came of it.
    """
    return memory.traits.reflections(user_id, limit=limit)


def _read(memory: "Memory", trait_id: str, as_of: str | None) -> "Trait":
    return cast("Trait", memory.get(trait_id, as_of=as_of))


def _find_traits(memory: "Memory", ids: Iterable[str], as_of: str | None) -> "list[Trait]":
    """Return traits by their ids, but those that were erased, or did not exist yet."""
    found = []
    for one in ids:
        with suppress(NotFound):
            found.append(_read(memory, one, as_of))
    return found


# Traits and reflections as a person reads them.

_CAME: Final = {
    "traits_created": "created",
    "traits_reinforced": "reinforced",
    "traits_contradicted": "contradicted",
    "traits_promoted": "promoted",
    "traits_modified": "modified",
    "traits_dissolved": "dissolved",
}
"""The counts of a reflection, and how they are said."""

_MOVING: Final = ("stage", "reinforcement_count", "contradiction_count", "content")
"""The fields of a trait that a reflection may change."""

_WHY: Final = {
    "force": "forced",
    "session_end": "a session ended",
    "first": "the first time",
    "nothing_new": "nothing new was learned",
    "not_yet": "too little is new, and too soon",
}


def print_due(found: "ReflectionTrigger") -> None:
    """Print whether a reflection is due, and the figures."""
    print_lines(f"{'due' if found else 'not due'}: {why(found.reason, found.value)}", f"    {figures(found)}")


def why(reason: str, value: float | None) -> str:
    """Return why a reflection ran, or did not."""
    if reason == "importance":
        return f"importance {value or 0:g}"
    if reason == "elapsed":
        return f"{value or 0:.0f} hours since the last one"
    return _WHY.get(reason, on_one_line(reason))


def figures(found: "ReflectionTrigger") -> str:
    """Return the figures that decide whether a reflection is due."""
    last = "none before" if found.hours is None else f"the last one {found.hours:.1f} of {found.hours_due:g} hours ago"
    new = count_of(found.new_memories, "new memory", "new memories")
    return f"{new}, importance {found.importance} of {found.importance_due}; {last}"


def print_reflected(cycle: "ReflectionCycle", found: "ReflectionTrigger", changes: Iterable[str] = ()) -> None:
    """Print what a reflection came to, and ``found``: the figures as they were before."""
    reason = why(cycle.trigger_type, cycle.trigger_value)
    if cycle.status == "not_due":
        print_lines(f"not due: {reason}", f"    {figures(found)}")
        return
    if cycle.status == "failed":
        print_lines(
            f"the round was skipped ({cycle.error}): nothing changed, and the next one looks at the same memories"
        )
    else:
        said = count_of(cycle.memories_scanned, "new memory", "new memories")
        print_lines(f"reflected on {said} ({reason}): {summarise_changes(cycle)}")
    print_lines(
        f"    {figures(found)}",
        f"    by {on_one_line(cycle.made_by)}; {_cost(cycle) or 'no model was asked'}",
        *changes,
    )
    for one in cycle.refused:
        about = f": {cut(on_one_line(one.content), 80)}" if one.content else ""
        print_lines(f"refused ({one.rule}) of {one.operation}{about}; {on_one_line(one.reason)}")
    if cycle.status != "failed":
        print_undo(cycle.entry_id)


def summarise_changes(cycle: "ReflectionCycle") -> str:
    """Return what a reflection did to traits, in counts."""
    counts = [f"{getattr(cycle, name)} {said}" for name, said in _CAME.items() if getattr(cycle, name)]
    return ", ".join(counts) or "no finding"


def changed_lines(before: Sequence["Trait"], after: Sequence["Trait"]) -> Iterator[str]:
    """Return a line for each trait that came, went or moved between two readings."""
    known, now = ({one.id: one for trait in found for one in (trait, *trait.sides)} for found in (before, after))
    for identity, one in now.items():
        then = known.get(identity)
        if then is None:
            yield f"new: {_moved(one)}"
        elif any(getattr(then, name) != getattr(one, name) for name in _MOVING):
            yield f"{_stage_of(then)} → {_moved(one)}"
    yield from (f"gone: {_moved(one)}" for identity, one in known.items() if identity not in now)


def _moved(one: "Trait") -> str:
    return f"{_stage_of(one)}  {on_one_line(one.content)}  {short_id(one.id)}"


def print_trait(trait: "Trait", near: "Mapping[str, Sequence[Trait]] | None" = None) -> None:
    """Print all that is known of a trait; ``near`` are the traits around it by their title, where they were read."""
    parents = ", ".join(map(short_id, trait.parent_ids)) if near is None else ""
    rows = [(name, value) for name, value in (*_trait_rows(trait), ("part of", parents)) if value]
    print_lines(on_one_line(trait.content), "", *table(rows))
    for title, traits in {"sides": trait.sides, **(near or {})}.items():
        if traits:
            cells = [(short_id(one.id), one.stage, _sure(one), one.context, one.content) for one in traits]
            print_lines("", title, *table(cells, indent="    "))
    print_evidence(trait.evidence)


def print_evidence(rows: Sequence["TraitEvidence"]) -> None:
    """Print the memories for and against a trait, oldest first: quality, day, session, citation and words."""
    for title, kind in (("for it", "supporting"), ("against it", "contradicting")):
        found = sorted((row for row in rows if row.evidence_type == kind), key=_time_of)
        if found:
            cells = [
                (row.quality, day(_time_of(row)), row.session_id, short_id(row.memory_id), row.content) for row in found
            ]
            print_cut("", f"{title}: {len(found)}", *table(cells, indent="    "))


def in_short(cycle: "ReflectionCycle") -> str:
    """Return a reflection in one line: what stands for the words of an item that has none."""
    how = f"skipped ({cycle.error})" if cycle.status == "failed" else summarise_changes(cycle)
    return f"reflection on {count_of(cycle.memories_scanned, 'new memory', 'new memories')} ({_brief(cycle)}): {how}"


def _trait_rows(trait: "Trait") -> Iterator[tuple[str, str]]:
    yield "citation", trait.citation
    yield "stage", trait.stage or ""
    yield "confidence", "" if trait.confidence is None else f"{trait.confidence:.3f}, as of the last reflection"
    window = trait.window
    if window is not None:
        yield "window", f"{_date(window['start'])} to {_date(window['end'])}, {window['days']} days"
    yield "subtype", trait.subtype if trait.facet is None else f"{trait.subtype}, {trait.facet}"
    yield "context", trait.context
    yield "observed", f"first {day(trait.first_observed)}" if trait.first_observed else ""
    yield "reinforced", _times(trait.reinforcement_count, trait.last_reinforced)
    yield "contradicted", _times(trait.contradiction_count, None) if trait.contradiction_count else ""
    yield "of use", f"{trait.usefulness:.2f}, by recall" if trait.usefulness else ""
    yield "made by", {"rule": "rules", "model": "a model"}.get(str(trait.data.get("made_by")), "")
    yield "because", on_one_line(str(trait.data.get("reasoning") or ""))
    corrected = ", ".join(trait.data.get("corrected", ()))
    yield "corrected", f"by a person: {corrected}" if corrected else ""
    if trait.ended is not None or trait.status != "active":
        yield "ended", f"{trait.ended or trait.status} {day(trait.valid_to)}".strip()
    yield "version", f"{trait.version}, by entry {short_id(trait.entry_id)} of {second(trait.recorded_at)}"
    yield "user", trait.user_id or ""


def evidence_counts_text(rows: Sequence["TraitEvidence"]) -> str:
    """Return how many memories speak for a trait, and how many against it."""
    against = sum(row.evidence_type == "contradicting" for row in rows)
    return f"{len(rows) - against}:{against}"


def _time_of(row: "TraitEvidence") -> datetime:
    return row.occurred_at or row.recorded_at


def _sure(trait: "Trait") -> str:
    if trait.confidence is not None:
        return f"{trait.confidence:.2f}"
    return "" if trait.window is None else f"to {_date(trait.window['end'])}"


def _stage_of(trait: "Trait") -> str:
    return f"{trait.stage} {_sure(trait)}".strip()


def _times(count: int, last: datetime | None) -> str:
    return count_of(count, "time", "times") + (f", last {day(last)}" if last else "")


def _brief(cycle: "ReflectionCycle") -> str:
    value = "" if cycle.trigger_value is None else f" {cycle.trigger_value:g}"
    return f"{cycle.trigger_type}{value}"


def _cost(cycle: "ReflectionCycle") -> str:
    if not cycle.calls:
        return ""
    price = f", cost {cycle.cost:g}" if cycle.cost else ""
    return f"{count_of(cycle.calls, 'call', 'calls')}, {cycle.tokens} tokens{price}"


def _date(moment: str) -> str:
    return day(parse_moment(moment, field="window"))
