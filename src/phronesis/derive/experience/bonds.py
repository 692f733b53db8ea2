"""What people said of events: that they belong together, or do not. Edges keep it, and it holds (EMB-15)."""

from collections.abc import Iterable, Mapping
from typing import Final

from phronesis.core.experience.grouping import Bonds
from phronesis.core.relations import Edge
from phronesis.storage.lane_view import LaneView

SIMILAR: Final = "similar"
TOGETHER: Final = "must_link"
APART: Final = "cannot_link"
"""Grades of the edges between events that a person drew (Wagstaff et al. 2001, 'Constrained K-means')."""


def bonds_among(view: LaneView, ids: Iterable[str], row_of: Mapping[str, int]) -> Bonds:
    """Give the bonds among some events, by row."""
    drawn = [edge for edge in view.edges_from(sorted(ids), SIMILAR) if edge.grade in (TOGETHER, APART)]
    placed = [(edge.grade, row_of[edge.from_id], row_of[edge.to_id]) for edge in drawn
              if edge.from_id in row_of and edge.to_id in row_of]  # fmt: skip
    return Bonds(
        together=tuple((one, other) for grade, one, other in placed if grade == TOGETHER),
        apart=tuple((one, other) for grade, one, other in placed if grade == APART),
    )


def bond(entry_id: str, one: str, other: str, *, together: bool) -> Edge:
    """Give the edge that says whether two events belong together; it stands in the place of one drawn before."""
    first, second = sorted((one, other))
    return Edge(type=SIMILAR, from_kind="item", from_id=first, to_kind="item", to_id=second, entry_id=entry_id,
                grade=TOGETHER if together else APART, origin="human")  # fmt: skip
