"""Edges between patterns that are like each other and yet two (EMB-06): who reads one finds the others.

Preparing says which groups resemble which, applying draws edges of type ``similar`` without a grade; those with one
were drawn by people (`bonds`) and stay.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from phronesis.core.entries import Entry
from phronesis.core.experience.edge_building import Listed
from phronesis.core.relations import Edge
from phronesis.derive.experience.bonds import SIMILAR
from phronesis.derive.experience.table import EventTable
from phronesis.storage.lane_view import LaneView

LIKE: Final = 0.4
"""How alike the most typical members of two patterns are, in thresholds and without shared neighbours, for an edge."""

MOST: Final = 3
"""Edges that a pattern has to those most like it; more may have one to it."""

DIGITS: Final = 4


def resembling(table: EventTable, groups: Sequence[Sequence[int]]) -> list[list[tuple[int, float]]]:
    """Give for each group, whose most typical member stands first, the later ones that it resembles, and how much.

    Compared are those of which one's typical member has a member of the other for a neighbour.
    """
    out: list[list[tuple[int, float]]] = [[] for _ in groups]
    if table.neighbours is None or not groups:
        return out
    owners: dict[int, list[int]] = {}
    for n, group in enumerate(groups):
        for row in group:
            owners.setdefault(row, []).append(n)
    centres = np.array([group[0] for group in groups], dtype=np.int64)
    nearest, _ = table.neighbours.lists(centres)
    pairs = {(min(n, other), max(n, other)) for n, rows in enumerate(nearest.tolist())
             for row in rows for other in owners.get(row, ()) if not set(groups[n]) & set(groups[other])}  # fmt: skip
    by_row: dict[tuple[int, int], tuple[int, int]] = {}
    for one, other in sorted(pairs):
        first, second = sorted((int(centres[one]), int(centres[other])))
        by_row[first, second] = (one, other)
    builder = Listed(sorted(by_row), LIKE * table.belonging.likeness_unit)
    links = builder.build(table.neighbours.metric, np.unique(centres))
    found = sorted(((link.weight, *by_row[link.first, link.second]) for link in links), key=lambda one: (-one[0], one))
    had = [0] * len(groups)
    for weight, one, other in found:
        if min(had[one], had[other]) < MOST:
            had[one] += 1
            had[other] += 1
            share = min(1.0, weight / table.belonging.likeness_unit)
            out[min(one, other)].append((max(one, other), round(share, DIGITS)))
    return [sorted(others) for others in out]


def drawn_anew(
    view: LaneView, entry: Entry, touched: Sequence[str], wished: Mapping[tuple[str, str], float]
) -> tuple[list[Edge], list[Edge]]:
    """Give the edges to draw and those to drop, so that among ``touched`` patterns only the wished ones stand.

    Edges to patterns that were not looked at stay, but for those that retired.
    """
    known = {edge.identity: edge for edge in (*view.edges_from(touched, SIMILAR), *view.edges_to(touched, SIMILAR))}
    said = {frozenset((edge.from_id, edge.to_id)) for edge in known.values() if edge.grade is not None}
    edges = [
        Edge(type=SIMILAR, from_kind="item", from_id=one, to_kind="item", to_id=other, entry_id=entry.id, weight=weight)
        for (one, other), weight in sorted(wished.items()) if frozenset((one, other)) not in said
    ]  # fmt: skip
    stays = {edge.identity for edge in edges}
    inside = set(touched)
    dropped = [edge for edge in known.values() if edge.grade is None and edge.identity not in stays
               and edge.from_id in inside and edge.to_id in inside]  # fmt: skip
    drawn = [edge for edge in edges if edge.identity not in known or not edge.restates(known[edge.identity])]
    return drawn, sorted(dropped, key=lambda edge: edge.identity)
