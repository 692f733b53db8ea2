"""A retrieval plan as a person reads it. The record is imported by whoever has one: not for ``--help``."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from phronesis.interfaces.cli.printing import day, say
from phronesis.interfaces.cli.text import cut, on_one_line, terminal_columns

if TYPE_CHECKING:
    from phronesis.core.plan import RetrievalPlan, SubPlan


def say_plan(plan: "RetrievalPlan") -> None:
    """Print a plan: what it is after, when, of whom, and what each retriever is asked."""
    width = terminal_columns()
    say(*(cut(line, width) for line in _lines(plan)))


def _lines(plan: "RetrievalPlan") -> Iterator[str]:
    yield f"{plan.intent}, {'resources are needed' if plan.resources_needed else 'no resources'}  ({plan.made_by})"
    if plan.time is not None:
        yield f"time: from {day(plan.time.since)} until {day(plan.time.until)} ({on_one_line(plan.time.words)})"
    if plan.entities:
        yield f"names: {', '.join(map(on_one_line, plan.entities))}"
    yield f"why: {'; '.join(map(on_one_line, plan.reasons))}"
    for role in plan.degraded:
        yield f"{role.by} instead of {role.instead_of}: {role.reason}"
    for sub in (plan.memory, plan.resources):
        if sub is not None:
            yield ""
            yield from _sub_lines(sub)


def _sub_lines(sub: "SubPlan") -> Iterator[str]:
    yield f"{sub.store}, up to {sub.limit}:"
    for query in sub.queries:
        yield f"    {query.weight:.1f} {query.origin}: {on_one_line(query.text)}"
