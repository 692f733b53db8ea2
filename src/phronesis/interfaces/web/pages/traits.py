"""What an item's page shows of a trait beside all else: its confidence over time, what speaks for it and against it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

from fastapi import Form, Response

from phronesis.core.instants import isoformat
from phronesis.core.items import Item
from phronesis.core.results import HistoryEvent
from phronesis.core.state_machine import CORE_ABOVE, EMERGING_FROM, ESTABLISHED_FROM
from phronesis.core.traits.records import Trait, TraitEvidence
from phronesis.core.traits.seen import CONTEXTS
from phronesis.derive.reflecting.correcting import FACETS
from phronesis.errors import NotFound
from phronesis.interfaces.web.rendering import item_address
from phronesis.interfaces.web.routing import back, make_router
from phronesis.interfaces.web.visiting import Visiting, Visitor
from phronesis.interfaces.web.words import Words

BORDERS: Final = {"emerging": EMERGING_FROM, "established": ESTABLISHED_FROM, "core": CORE_ABOVE}
"""From where on a confidence is of a stage."""

router = make_router()


@dataclass(frozen=True, slots=True)
class Moment:
    """A trait after one of its changes: when, how sure, at which stage, and what was found for or against it."""

    at: Any
    confidence: float
    stage: str
    supporting: int
    contradicting: int


@dataclass(frozen=True, slots=True)
class TraitTold:
    """What the page of a trait shows beside what every item's page shows."""

    moments: Sequence[Moment]
    chart: Mapping[str, Any]
    supporting: Sequence[TraitEvidence]
    contradicting: Sequence[TraitEvidence]
    parents: Sequence[Item]
    contexts: Sequence[str] = CONTEXTS
    facets: Sequence[str] = FACETS


def trait_told(visitor: Visitor, trait: Trait, history: Sequence[HistoryEvent]) -> TraitTold:
    """Give what the page of a trait shows, of its changes oldest first."""
    evidence = visitor.memory.get_trait_evidence(trait.id)
    moments = moments_of(history)
    return TraitTold(
        moments, chart_of(moments, visitor.words),
        [row for row in evidence if row.evidence_type == "supporting"],
        [row for row in evidence if row.evidence_type == "contradicting"],
        _parents(visitor, trait),
    )  # fmt: skip


@router.post("/traits/{item_id}/correct")
def correct(
    visitor: Visiting,
    item_id: str,
    *,
    token: Annotated[str, Form()],
    version: Annotated[int, Form()],
    content: Annotated[str, Form()],
    context: Annotated[str, Form()],
    facet: Annotated[str, Form()] = "",
    reason: Annotated[str, Form()] = "",
) -> Response:
    """Correct a trait by hand; refused when somebody else, or a reflection, changed it meanwhile."""
    visitor.check(token)
    visitor.memory.correct_trait(
        item_id, content=content, context=context, facet=facet or None, reason=reason.strip() or None,
        expected_version=version, actor=visitor.actor,
    )  # fmt: skip
    return back(item_address(item_id), done="corrected")


def moments_of(history: Sequence[HistoryEvent]) -> list[Moment]:
    """Give how a trait stood after each change that moved its confidence or its stage."""
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
    """Give the chart of a trait's confidence: its line, and the stages' borders, as options of ECharts.

    A colour is the name of a variable of the style sheet, which the page's script looks up.
    """
    points = [
        {"value": [isoformat(one.at), round(one.confidence, 4)],
         "itemStyle": {"color": "--bad" if one.contradicting else "--main"}}
        for one in moments
    ]  # fmt: skip
    ends = [isoformat(one.at) for one in (*moments[:1], *moments[-1:])]
    borders = [
        {"type": "line", "data": [[at, border] for at in ends], "symbol": "none", "silent": True,
         "lineStyle": {"color": "--quiet", "width": 1, "type": "dashed"},
         "endLabel": {"show": True, "formatter": words.of("stage", name), "color": "--quiet"}}
        for name, border in BORDERS.items()
    ]  # fmt: skip
    line = {"type": "line", "data": points, "symbol": "circle", "symbolSize": 10,
            "lineStyle": {"color": "--main", "width": 3}}  # fmt: skip
    axis = {"axisLine": {"lineStyle": {"color": "--line"}}, "axisLabel": {"color": "--quiet", "hideOverlap": True},
            "splitLine": {"lineStyle": {"color": "--line"}}}  # fmt: skip
    return {
        "animation": False, "grid": {"left": 44, "right": 96, "top": 16, "bottom": 32},
        "xAxis": {"type": "time", **axis, "splitLine": {"show": False}},
        "yAxis": {"type": "value", "min": 0, "max": 1, **axis}, "series": [*borders, line],
    }  # fmt: skip


def _parents(visitor: Visitor, trait: Trait) -> list[Item]:
    out: list[Item] = []
    for one in trait.parent_ids:
        try:
            out.append(visitor.memory.get(one))
        except NotFound:  # erased meanwhile
            continue
    return out
