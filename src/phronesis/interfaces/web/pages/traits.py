"""A trait's page: its confidence over time, the evidence on both sides, and its correction by hand."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

from fastapi import Form, Response

from phronesis.core.confidence import CORE_ABOVE, EMERGING_FROM, ESTABLISHED_FROM
from phronesis.core.results import HistoryEvent
from phronesis.core.timestamps import isoformat
from phronesis.interfaces.web.rendering import back_with_notice, item_address, make_router, page
from phronesis.interfaces.web.session import FormText, Notice, Visiting, Visitor, Words, Writing
from phronesis.traits.laws.records import CONTEXTS, Trait, TraitEvidence
from phronesis.traits.trait_changes import FACETS

router = make_router()


STAGES: Final = (
    ("candidate", 0.0, EMERGING_FROM),
    ("emerging", EMERGING_FROM, ESTABLISHED_FROM),
    ("established", ESTABLISHED_FROM, CORE_ABOVE),
    ("core", CORE_ABOVE, 1.0),
)
"""Stages in order, each with the confidence at which it begins and ends."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A trait after a change: time, confidence, stage, and counts of evidence for and against it."""

    at: Any
    confidence: float
    stage: str
    supporting: int
    contradicting: int


def trait_details(visitor: Visitor, trait: Trait, history: Sequence[HistoryEvent]) -> dict[str, Any]:
    """Return what a trait's page shows in addition to an item's page; changes are oldest first."""
    moments = moments_of(history)
    return {
        "moments": moments,
        "chart": chart_of(moments, visitor.words),
        **_both_sides(visitor, trait.id),
        "parents": visitor.items(trait.parent_ids),
        "contexts": CONTEXTS,
        "facets": FACETS,
    }


def _both_sides(visitor: Visitor, trait_id: str) -> dict[str, list[TraitEvidence]]:
    rows = visitor.memory.traits.evidence(trait_id)
    return {name: [row for row in rows if row.evidence_type == name] for name in ("supporting", "contradicting")}


@router.post("/traits/{item_id}/correct")
def correct(
    visitor: Writing,
    item_id: str,
    *,
    version: Annotated[int, Form()],
    content: FormText,
    context: FormText,
    facet: FormText = "",
    reason: FormText = "",
) -> Response:
    """Correct a trait by hand; refused when somebody else, or a reflection, changed it meanwhile."""
    result = visitor.memory.traits.correct(
        item_id,
        content=content,
        context=context,
        facet=facet or None,
        reason=reason.strip() or None,
        expected_version=version,
        actor=visitor.actor,
    )
    return back_with_notice(visitor, item_address(item_id), Notice("corrected", (result.entry_id,)))


def moments_of(history: Sequence[HistoryEvent]) -> list[Moment]:
    """Return a trait's state after each change of its confidence or stage."""
    out: list[Moment] = []
    confidence, stage = None, "candidate"
    for event in history:
        moved = [name for name in ("confidence", "stage") if name in event.fields]
        confidence = event.fields["confidence"][1] if "confidence" in moved else confidence
        stage = event.fields["stage"][1] or stage if "stage" in moved else stage
        found = [row["polarity"] for row in event.evidence_added]
        if confidence is not None and (moved or found):
            out.append(Moment(event.at, confidence, stage, found.count("support"), found.count("contra")))
    return out


def chart_of(moments: Sequence[Moment], words: Words) -> dict[str, Any]:
    """Return the ECharts options of a trait's confidence: its line, and the borders of the stages.

    A colour is the name of a CSS variable, which the page's script resolves.
    """
    points = [
        {
            "value": [isoformat(one.at), round(100 * one.confidence, 2)],
            "itemStyle": {"color": "--bad" if one.contradicting else "--main"},
        }
        for one in moments
    ]
    ends = [isoformat(one.at) for one in (*moments[:1], *moments[-1:])]
    borders = [
        {
            "type": "line",
            "data": [[at, 100 * border] for at in ends],
            "symbol": "none",
            "silent": True,
            "lineStyle": {"color": "--quiet", "width": 1, "type": "dashed"},
            "endLabel": {"show": True, "formatter": words.of("stage", name), "color": "--quiet", "fontSize": 13},
        }
        for name, border, _ in STAGES[1:]
    ]
    line = {
        "type": "line",
        "data": points,
        "symbol": "circle",
        "symbolSize": 10,
        "lineStyle": {"color": "--main", "width": 3},
    }
    labels = {"color": "--quiet", "hideOverlap": True, "fontSize": 13}
    axis = {"axisLine": {"lineStyle": {"color": "--line"}}, "splitLine": {"show": False}}
    return {
        "animation": False,
        "grid": {"left": 44, "right": 96, "top": 16, "bottom": 32},
        "xAxis": {"type": "time", **axis, "axisLabel": labels | {"formatter": "{yyyy}-{MM}-{dd}"}},
        "yAxis": {"type": "value", "min": 0, "max": 100, **axis, "axisLabel": labels | {"formatter": "{value} %"}},
        "series": [*borders, line],
    }


@router.get("/people/evidence")
def evidence(visitor: Visiting, id: str) -> Response:
    """Show the memories for and against a trait: a part of its user's page."""
    item = visitor.memory.get(id)
    return page(visitor, "trait_evidence.html", item=item, trait=_both_sides(visitor, item.id))
