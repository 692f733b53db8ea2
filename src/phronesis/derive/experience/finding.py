"""Finding the groups of what an aggregation looks at, and saying what each of them is (EMB-08, EMB-09)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from phronesis.core.experience.describing import describe
from phronesis.core.experience.drafts import VIEWS
from phronesis.core.experience.grouping import Bonds
from phronesis.core.experience.neighbours import NOBODY, candidate_pairs
from phronesis.core.experience.records import CROSSED, event_of
from phronesis.core.experience.similarity import Floats, Rows
from phronesis.core.experience.viewing import view_of
from phronesis.core.items import Item
from phronesis.derive.experience.opposing import counterexamples, typical_first
from phronesis.derive.experience.reaching import method_of
from phronesis.derive.experience.resembling import resembling
from phronesis.derive.experience.table import EventTable
from phronesis.derive.experience.views import SAMPLED, ViewReader, ViewTable
from phronesis.derive.experience.wording import readable

STAYS: Final = "stays"
"""Names the pattern that a group is, where nothing else is to be said of it: it is not described."""

WEIGHT_DIGITS: Final = 4

_WEIGHED: Final = 32
"""Members that are compared with each other, for their weights."""


@dataclass(frozen=True, slots=True)
class Found:
    """A group: its rows, and the views that it is alike in; none where it is alike on the whole."""

    rows: Sequence[int]
    views: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """What of a lane is looked at: events by row, the patterns that may change, and what people said of the events.

    ``rows`` are grouped as what they are on the whole; those of ``by_view`` by one view, and where two are crossed.
    """

    rows: Rows
    by_view: Mapping[str, Rows]
    touched: Sequence[str]
    bonds: Bonds
    returning: Sequence[str]
    known: Mapping[str, Found] = field(default_factory=dict)
    """Live patterns as they are, all of whose events are there, their rows the most typical first."""
    opposed: AbstractSet[str] = frozenset()
    """Of the known ones those of which something else is to be said even where their events stay."""
    news: AbstractSet[int] = frozenset()
    """Events of which something is new."""

    @property
    def standing(self) -> list[Found]:
        """Known patterns that are not touched, and of which something else is to be said."""
        return [self.known[one] for one in sorted(self.opposed - set(self.touched))]

    @property
    def looked_at(self) -> Rows:
        """All events that are looked at."""
        standing = [np.array(one.rows, dtype=np.int64) for one in self.standing]
        return np.unique(np.concatenate([self.rows, *self.by_view.values(), *standing]))

    def stays(self, group: Found) -> str | None:
        """Give the pattern that a group is, of which nothing else is to be said."""
        # One that returns takes events out of others, which are the same events then, and not what they were.
        if self.returning or not self.news.isdisjoint(group.rows):
            return None
        for one, pattern in self.known.items():
            if one not in self.opposed and pattern.views == group.views and set(pattern.rows) == set(group.rows):
                return one
        return None


def clusters_of(reader: ViewReader, part: Part) -> dict[str, Any]:
    """Give the body of an aggregation's outcome: which groups there are, and what is to be said of each."""
    table, looked_at = reader.table, part.looked_at
    events = reader.view.items([table.ids[row] for row in looked_at.tolist()])
    rows = {row for row in looked_at.tolist() if table.ids[row] in events}
    wanted = {name: {table.ids[row] for row in allowed.tolist()} for name, allowed in part.by_view.items()}
    for one in part.standing:
        for name in one.views:
            wanted[name] |= {table.ids[row] for row in one.rows[:_WEIGHED]}
    views = reader.of(events, wanted)
    made = _found(table, part, views, rows)
    clusters, groups = [], []
    for found in made:
        pattern = part.stays(found)
        if pattern is None:
            members = _weighted(table, part.bonds, views, found)
            groups.append([table.row_of[one] for one, _ in members])
            clusters.append({"members": [list(one) for one in members], "method": method_of(found.views),
                             CROSSED: list(found.views) if len(found.views) > 1 else []})  # fmt: skip
        else:
            groups.append(list(part.known[pattern].rows))
            clusters.append({STAYS: pattern})
    _tell(reader, events, [(body, group) for body, group in zip(clusters, groups, strict=True) if STAYS not in body])
    for body, others in zip(clusters, resembling(table, groups), strict=True):
        body["similar"] = [list(one) for one in others]
    touched = {*part.touched, *part.opposed} - {body.get(STAYS) for body in clusters}
    return {
        "clusters": clusters, "touched": sorted(touched), "looked_at": len(looked_at),
        "returning": list(part.returning),
    }  # fmt: skip


def _tell(
    reader: ViewReader, events: Mapping[str, Item], groups: Sequence[tuple[dict[str, Any], Sequence[int]]]
) -> None:
    """Say what each of some groups is, by its rows, the most typical first, and what speaks against it."""
    table = reader.table
    counters = counterexamples(table, [rows for _, rows in groups])
    typical = frozenset(table.ids[row] for _, rows in groups for row in rows[:SAMPLED])
    views = reader.of(events, dict.fromkeys(VIEWS, typical))
    for (body, rows), counter in zip(groups, counters, strict=True):
        held = [events[table.ids[row]] for row in rows]
        cohesions = views.cohesions([item.id for item in held])
        body |= {"view": view_of(cohesions), "cohesion": cohesions, **_said(held, table.rarity)}
        body["counter"] = [[one, round(alike, WEIGHT_DIGITS)] for one, alike in counter]


def _said(held: Sequence[Item], rarity: Callable[[str], float]) -> dict[str, Any]:
    outcome = outcome_of(item.label for item in held)
    described = describe([event_of(item) for item in held], outcome, terms_of=readable, rarity=rarity)
    return {
        "outcome": outcome, "summary": described.summary, "signature": described.signature,
        "recommendation": described.recommendation, "content": described.content,
    }  # fmt: skip


def _found(table: EventTable, part: Part, views: ViewTable, held: AbstractSet[int]) -> list[Found]:
    """Give the groups that are alike on the whole, then those of one view only, then those of two crossed (EMB-08).

    ``held`` are the rows whose events are there. Patterns that stand come last.
    """
    if not held or table.neighbours is None:
        return []
    grouper = table.grouper(part.bonds)
    groups = grouper.groups(np.array([row for row in part.rows.tolist() if row in held], dtype=np.int64))
    out = [Found(group) for group in groups]
    rows = np.array(sorted(held), dtype=np.int64)
    places = np.array([views.places[table.ids[row]] for row in rows.tolist()], dtype=np.int64)
    place = dict(zip(rows.tolist(), places.tolist(), strict=True))
    row_at = {n: row for row, n in place.items()}
    asked = np.intersect1d(rows, np.concatenate(list(part.by_view.values())))
    nearest, _ = table.neighbours.lists(asked)
    pairs = candidate_pairs(asked, np.where(np.isin(nearest, asked), nearest, NOBODY))
    # Of events that people put together or apart, nothing is grouped by one view: they said how these belong.
    said = [row for pair in (*part.bonds.together, *part.bonds.apart) for row in pair]
    pairs = places[np.searchsorted(rows, pairs[~np.isin(pairs, said).any(axis=1)])]
    among = {name: {place[row] for row in allowed.tolist() if row in held} for name, allowed in part.by_view.items()}
    found = views.groups(pairs, [[place[row] for row in known] for known in groups], among)
    out += [Found([row_at[n] for n in group], names) for names, group in found]
    return out + [Found([row for row in one.rows if row in held], one.views) for one in part.standing]


def _weighted(table: EventTable, bonds: Bonds, views: ViewTable, found: Found) -> list[tuple[str, float]]:
    """Give the ids of a group's events, each with how typical it is, the most typical first."""
    compared = found.rows[:_WEIGHED]
    if found.views:
        places = [views.places[table.ids[row]] for row in compared]
        alike = views.alike(found.views, np.array(places, dtype=np.int64))
    else:
        alike = table.grouper(bonds).alike(np.array(compared, dtype=np.int64))
    return typical_first(zip((table.ids[row] for row in found.rows), _weights(alike, len(found.rows)), strict=True))


def _weights(alike: Floats, size: int) -> list[float]:
    """Give each member's mean likeness to the others, 1 for twice what belonging together needs."""
    sampled = len(alike)
    total = alike.sum(axis=1) - np.diag(alike)
    means = np.clip(total / max(1, sampled - 1) / 2.0, 0.0, 1.0)
    out = [round(float(mean), WEIGHT_DIGITS) for mean in means]
    return out + [round(float(means.min()), WEIGHT_DIGITS)] * (size - sampled)


def outcome_of(labels: Iterable[str | None]) -> str:
    """Give failure where at least one failed, else success, else unknown: failures go first (EMB-08)."""
    found = set(labels)
    return next((label for label in ("failure", "success") if label in found), "unknown")
