"""Traits and reflections as a person reads them. The records are imported by whoever has one: not for ``--help``."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

from phronesis.core.ids import short_id
from phronesis.core.timestamps import parse_moment
from phronesis.interfaces.cli.output import (
    count_of,
    cut,
    day,
    on_one_line,
    say,
    say_cut,
    say_undo,
    second,
    table,
)

if TYPE_CHECKING:
    from phronesis.traits.laws.records import ReflectionCycle, Trait, TraitEvidence
    from phronesis.traits.laws.strength import ReflectionTrigger


_CAME: Final = {
    "traits_created": "created",
    "traits_reinforced": "reinforced",
    "traits_contradicted": "contradicted",
    "traits_promoted": "promoted",
    "traits_modified": "modified",
    "traits_dissolved": "dissolved",
}
"""The counts of a reflection, and how they are said."""

_WHY: Final = {
    "force": "forced",
    "session_end": "a session ended",
    "first": "the first time",
    "nothing_new": "nothing new was learned",
    "not_yet": "too little is new, and too soon",
}


@dataclass(frozen=True, slots=True)
class Family:
    """The traits around one: those that were made of it, and those that it was made of."""

    parents: Sequence["Trait"] = ()
    children: Sequence["Trait"] = ()


def say_due(found: "ReflectionTrigger") -> None:
    """Print whether a reflection is due, and the figures."""
    say(f"{'due' if found else 'not due'}: {why(found.reason, found.value)}", f"    {figures(found)}")


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


def say_reflected(cycle: "ReflectionCycle", found: "ReflectionTrigger", changes: Iterable[str] = ()) -> None:
    """Print what a reflection came to, and ``found``: the figures as they were before."""
    if cycle.pending:
        say_undo(cycle.entry_id, pending=True)
        return
    reason = why(cycle.trigger_type, cycle.trigger_value)
    if cycle.status == "not_due":
        say(f"not due: {reason}", f"    {figures(found)}")
        return
    if cycle.status == "failed":
        say(f"the round was skipped ({cycle.error}): nothing changed, and the next one looks at the same memories")
    else:
        said = count_of(cycle.memories_scanned, "new memory", "new memories")
        say(f"reflected on {said} ({reason}): {came_to(cycle)}")
    say(f"    {figures(found)}", *(f"    {line}" for line in _cost_lines(cycle)))
    say(*changes)
    for one in cycle.refused:
        about = f": {cut(on_one_line(one.content), 80)}" if one.content else ""
        say(f"refused ({one.rule}) of {one.operation}{about}; {on_one_line(one.reason)}")
    if cycle.status != "failed":
        say_undo(cycle.entry_id)


def came_to(cycle: "ReflectionCycle") -> str:
    """Return what a reflection did to traits, in counts."""
    counts = [f"{getattr(cycle, name)} {said}" for name, said in _CAME.items() if getattr(cycle, name)]
    return ", ".join(counts) or "no finding"


def changed_lines(before: Sequence["Trait"], after: Sequence["Trait"]) -> Iterator[str]:
    """Return a line for each trait that came, went or moved between two readings."""
    known, left = {one.id: one for one in _with_sides(before)}, {one.id for one in _with_sides(after)}
    for one in _with_sides(after):
        then = known.get(one.id)
        if then is None:
            yield f"new: {_stage_of(one)}  {on_one_line(one.content)}  {short_id(one.id)}"
        elif (then.stage, then.reinforcement_count, then.contradiction_count, then.content) != (
            one.stage,
            one.reinforcement_count,
            one.contradiction_count,
            one.content,
        ):
            yield f"{_stage_of(then)} → {_stage_of(one)}  {on_one_line(one.content)}  {short_id(one.id)}"
    yield from (
        f"gone: {_stage_of(one)}  {on_one_line(one.content)}  {short_id(one.id)}"
        for one in known.values()
        if one.id not in left
    )


def say_traits(found: Sequence["Trait"]) -> None:
    """Print traits, one a line, the sides of a trait under it."""
    if not found:
        say("no trait is known there")
        return
    rows = [row for one in found for row in (_row(one, ""), *(_row(side, "└ ") for side in one.sides))]
    head = ("trait", "stage", "confidence", "subtype", "context", "for:against", "")
    say_cut(*table(rows, head=head))


def say_trait(trait: "Trait", family: Family | None = None) -> None:
    """Print all that is known of a trait; ``family`` are the traits around it, where they were read."""
    say(on_one_line(trait.content), "")
    parents = ", ".join(map(short_id, trait.parent_ids)) if family is None else ""
    say(*table([(name, value) for name, value in (*_trait_rows(trait), ("part of", parents)) if value]))
    near = Family() if family is None else family
    for title, traits in (("sides", trait.sides), ("part of", near.parents), ("made of", near.children)):
        if traits:
            rows = [(short_id(one.id), one.stage, _sure(one), one.context, one.content) for one in traits]
            say("", title, *table(rows, indent="    "))
    say_evidence(trait.evidence)


def say_evidence(rows: Sequence["TraitEvidence"]) -> None:
    """Print the memories for and against a trait, oldest first: quality, day, session, citation and words."""
    for title, kind in (("for it", "supporting"), ("against it", "contradicting")):
        found = sorted((row for row in rows if row.evidence_type == kind), key=_time_of)
        if found:
            say_cut("", f"{title}: {len(found)}", *table([_piece(row) for row in found], indent="    "))


def say_cycles(found: Sequence["ReflectionCycle"]) -> None:
    """Print reflections, newest first."""
    if not found:
        say("nobody reflected there")
        return
    rows = [
        (
            second(one.started_at) if one.started_at else "",
            one.status,
            _brief(one),
            one.memories_scanned,
            one.error or came_to(one),
            len(one.refused) or "",
            one.made_by,
            _cost(one),
            short_id(one.entry_id or ""),
        )
        for one in found
    ]
    head = ("when", "status", "why", "new", "came to", "refused", "by", "cost", "entry")
    say_cut(*table(rows, head=head))


def in_short(cycle: "ReflectionCycle") -> str:
    """Return a reflection in one line: what stands for the words of an item that has none."""
    how = f"skipped ({cycle.error})" if cycle.status == "failed" else came_to(cycle)
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
    said = ", ".join(trait.data.get("corrected", ()))
    yield "corrected", f"by a person: {said}" if said else ""
    if trait.ended is not None or trait.status != "active":
        yield "ended", f"{trait.ended or trait.status} {day(trait.valid_to)}".strip()
    yield "version", f"{trait.version}, by entry {short_id(trait.entry_id)} of {second(trait.recorded_at)}"
    yield "user", trait.user_id or ""


def _row(trait: "Trait", mark: str) -> tuple[str, ...]:
    return (
        f"{mark}{short_id(trait.id)}",
        trait.stage or "",
        _sure(trait),
        trait.subtype,
        trait.context,
        for_against(trait.evidence),
        trait.content,
    )


def for_against(rows: Sequence["TraitEvidence"]) -> str:
    """Return how many memories speak for a trait, and how many against it."""
    against = sum(row.evidence_type == "contradicting" for row in rows)
    return f"{len(rows) - against}:{against}"


def _piece(row: "TraitEvidence") -> tuple[str, ...]:
    return (row.quality or "", day(_time_of(row)), row.session_id or "", short_id(row.memory_id), row.content or "")


def _time_of(row: "TraitEvidence") -> datetime:
    return row.occurred_at or row.recorded_at


def _sure(trait: "Trait") -> str:
    if trait.confidence is not None:
        return f"{trait.confidence:.2f}"
    return "" if trait.window is None else f"to {_date(trait.window['end'])}"


def _stage_of(trait: "Trait") -> str:
    return f"{trait.stage} {_sure(trait)}".strip()


def _with_sides(traits: Sequence["Trait"]) -> list["Trait"]:
    return [one for trait in traits for one in (trait, *trait.sides)]


def _times(count: int, last: datetime | None) -> str:
    return count_of(count, "time", "times") + (f", last {day(last)}" if last else "")


def _brief(cycle: "ReflectionCycle") -> str:
    value = "" if cycle.trigger_value is None else f" {cycle.trigger_value:g}"
    return f"{cycle.trigger_type}{value}"


def _cost_lines(cycle: "ReflectionCycle") -> Iterator[str]:
    by = on_one_line(cycle.made_by)
    if not cycle.calls:
        yield f"by {by}; no model was asked"
    else:
        yield f"by {by}; {_cost(cycle)}"


def _cost(cycle: "ReflectionCycle") -> str:
    if not cycle.calls:
        return ""
    price = f", cost {cycle.cost:g}" if cycle.cost else ""
    return f"{count_of(cycle.calls, 'call', 'calls')}, {cycle.tokens} tokens{price}"


def _date(moment: str) -> str:
    return day(parse_moment(moment, field="window"))
