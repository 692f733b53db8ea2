"""What speaks against patterns: the events of the other outcome that are like their most typical members."""

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from phronesis.core.experience.neighbours import NOBODY
from phronesis.core.experience.records import CONTRADICTS, MEMBER_OF
from phronesis.derive.experience.table import EventTable
from phronesis.storage.lane_view import LaneView

COUNTER: Final = 0.5
"""How alike an event of the other outcome must be to a pattern's members, in units of the threshold and without shared
neighbours, which events of two outcomes do not have, to be its counterexample."""

MAX_COUNTER: Final = 5
"""Counterexamples that a pattern names, the most alike first."""

_TYPICAL: Final = 3
"""Members that are compared with those of the other outcome that are nearest to one of them."""


def counterexamples(table: EventTable, groups: Sequence[Sequence[int]]) -> list[list[tuple[str, float]]]:
    """Give for each group, whose most typical members stand first, the events of the other outcome that are like these.

    They come with how alike they are, in units of what belonging together needs, the most alike first.
    """
    out = []
    for group in groups:
        assert table.neighbours is not None  # there are groups  # noqa: S101
        typical = np.array(group[:_TYPICAL], dtype=np.int64)
        met = np.unique(table.neighbours.across(typical))
        met = met[met != NOBODY]
        mean = table.neighbours.metric.matrix(typical, met).mean(axis=0) / table.belonging.likeness_unit
        like = [(table.ids[met[n]], float(mean[n])) for n in np.flatnonzero(mean >= COUNTER).tolist()]
        out.append(sorted(like, key=lambda one: (-one[1], one[0]))[:MAX_COUNTER])
    return out


def spoken_against(view: LaneView, table: EventTable, news: Sequence[str]) -> list[str]:
    """Give the patterns that some events speak against, or did: what is said of these changes with the events.

    It goes by the weights that the members have, which differ by little from those that they would be given now.
    """
    did = {edge.to_id for edge in view.edges_from(news, CONTRADICTS)}
    fresh = table.rows(news)
    if table.neighbours is None or not len(fresh):
        return sorted(did)
    opposite = table.neighbours.across(fresh)
    table.neighbours.lists(np.unique(opposite[opposite != NOBODY]))  # of a table that was just read nobody's are known
    least = COUNTER * table.belonging.likeness_unit
    naming = table.neighbours.against(fresh, least)
    named = {edge.to_id for edge in view.edges_from([table.ids[row] for row in naming.tolist()], MEMBER_OF)}
    does = []
    for one, members in members_of(view, sorted(named - did)).items():
        typical = table.rows(members[:_TYPICAL])
        if not np.isin(typical, naming).any():
            continue
        if table.neighbours.metric.matrix(typical, fresh).mean(axis=0).max() >= least:
            does.append(one)
    return sorted({*did, *does})


def members_of(view: LaneView, patterns: Sequence[str]) -> dict[str, list[str]]:
    """Give the events of each pattern, the most typical first."""
    found: dict[str, list[tuple[str, float]]] = {one: [] for one in patterns}
    for edge in view.edges_to(patterns, MEMBER_OF):
        found[edge.to_id].append((edge.from_id, edge.weight))
    return {one: [event for event, _ in typical_first(members)] for one, members in found.items()}


def typical_first(members: Iterable[tuple[str, float]]) -> list[tuple[str, float]]:
    """Give members with their weights, the most typical first."""
    return sorted(members, key=lambda one: (-one[1], one[0]))
