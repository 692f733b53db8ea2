"""Experience as a person reads it. The records are imported by whoever has one: not for ``--help``."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from phronesis.interfaces.cli.render import say
from phronesis.interfaces.cli.text import cut, on_one_line, table, terminal_columns

if TYPE_CHECKING:
    from phronesis.core.experience.records import IngestMeta, L1Event, Pattern
    from phronesis.core.experience.results import Aggregation


def say_ingested(told: "Sequence[tuple[L1Event, IngestMeta]]") -> None:
    """Print the events of some sources: label, what decided it, what was tried, and where it stands."""
    if not told:
        say("no attempt was found there")
        return
    rows = [
        (event.label or "", event.family or "", event.attempt, meta.source_ref, event.citation) for event, meta in told
    ]
    width = terminal_columns()
    say(*(cut(line, width) for line in table([tuple(map(_short, row)) for row in rows],
                                             head=("label", "family", "attempt", "source", ""))))  # fmt: skip
    counts = Counter(event.label or "unknown" for event, _ in told)
    say("", f"{len(told)} events: " + ", ".join(f"{count} {label}" for label, count in sorted(counts.items())))


def say_patterns(found: "Aggregation") -> None:
    """Print what an aggregation changed."""
    if found.pending:
        say(f"recorded as entry {found.entry_id}; it will be interpreted later")
        return
    groups = (("new", found.new), ("changed", found.changed), ("retired", found.retired))
    if not any(items for _, items in groups):
        say("nothing new to group")
        return
    for title, items in groups:
        for one in items:
            say(*_pattern(title, one))
    say("", f"to take it back: phronesis rollback {found.entry_id}")


def _pattern(title: str, pattern: Any) -> Iterator[str]:
    yield f"{title}: {pattern.outcome}, {len(pattern.members)} events, alike in {pattern.view}  {pattern.citation}"
    yield f"    {on_one_line(pattern.summary)}"
    yield from (f"    {on_one_line(line)}" for line in pattern.recommendation.splitlines())
    for one in pattern.counterexamples:
        yield f"    against it: {_short(one['attempt'])}  {one['source_ref']}"


def _short(text: str) -> str:
    return cut(on_one_line(text), 80)


def standing(pattern: "Pattern") -> str:
    """Give how often what a pattern tells of worked, with its interval."""
    rate = pattern.success_rate
    if not rate or rate["rate"] is None:
        return ""
    return f"{rate['successes']} of {rate['trials']} worked ({rate['low']:.0%} to {rate['high']:.0%})"
