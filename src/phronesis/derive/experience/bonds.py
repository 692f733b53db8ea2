"""What people said of events: that they belong together, or do not. Edges keep it, and it holds (EMB-15)."""

from collections.abc import Collection, Iterable
from typing import Final

from phronesis.core.experience.bonding import Drawn, resolved
from phronesis.core.experience.grouping import Bonds
from phronesis.core.relations import Edge, Origin
from phronesis.derive.experience.table import EventTable
from phronesis.storage.lane_view import LaneView

SIMILAR: Final = "similar"
TOGETHER: Final = "must_link"
APART: Final = "cannot_link"
"""Grades of the edges between events that a person drew (Wagstaff et al. 2001, 'Constrained K-means')."""


def drawn_among(view: LaneView, ids: Iterable[str]) -> Drawn:
    """Give all that was drawn of some events, and of those that they must be together with."""
    together, apart = set[tuple[str, str]](), set[tuple[str, str]]()
    known, waiting = set[str](), sorted(set(ids))
    while waiting:
        known.update(waiting)
        edges = [*view.edges_from(waiting, SIMILAR), *view.edges_to(waiting, SIMILAR)]
        together |= {(edge.from_id, edge.to_id) for edge in edges if edge.grade == TOGETHER}
        apart |= {(edge.from_id, edge.to_id) for edge in edges if edge.grade == APART}
        waiting = sorted({one for pair in together for one in pair} - known)
    return Drawn(frozenset(together), frozenset(apart))


def beside(view: LaneView, ids: Collection[str]) -> set[str]:
    """Give the events that some must be together with."""
    drawn = drawn_among(view, ids)
    part_of = drawn.part_of()
    wanted = {part_of[one] for one in ids if one in part_of}
    return {one for one, part in part_of.items() if part in wanted}


def bonds_among(view: LaneView, ids: Iterable[str], table: EventTable) -> Bonds:
    """Give the bonds among some events, by row of the table."""
    found = list(ids)
    rows, groups = {table.ids[row]: row for row in table.rows(found).tolist()}, table.outcomes()
    return resolved(drawn_among(view, found), rows, {row: int(groups[row]) for row in rows.values()})


def bond(entry_id: str, one: str, other: str, *, together: bool, origin: Origin = "human") -> Edge:
    """Give the edge that says whether two events belong together; it stands in the place of one drawn before."""
    first, second = sorted((one, other))
    return Edge(type=SIMILAR, from_kind="item", from_id=first, to_kind="item", to_id=second, entry_id=entry_id,
                grade=TOGETHER if together else APART, origin=origin)  # fmt: skip
