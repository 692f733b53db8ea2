"""Pages of users: the list, one user's traits, profile and reflections, and a trait's confidence over time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

from fastapi import Form, Response

from phronesis.core.confidence import CORE_ABOVE, EMERGING_FROM, ESTABLISHED_FROM
from phronesis.core.items import Item
from phronesis.core.reports import RECORDED_KINDS
from phronesis.core.results import HistoryEvent
from phronesis.core.timestamps import isoformat
from phronesis.errors import NotFound
from phronesis.interfaces.web.rendering import item_address, page
from phronesis.interfaces.web.routing import back, make_router
from phronesis.interfaces.web.session import Visiting, Visitor
from phronesis.interfaces.web.words import Words
from phronesis.traits.contradictions import FACETS
from phronesis.traits.laws.records import CONTEXTS, Trait, TraitEvidence
from phronesis.traits.laws.strength import RANKS

# Users: the list, and one user's traits with when and why a reflection is due.

SHOWN: Final = 200
"""Maximum users listed; others are found by name."""

KNOWN: Final = 20
"""Maximum profile facts and preferences on a user's page."""

REFLECTIONS: Final = 10

SUBTYPES: Final = ("core", "preference", "behavior")
"""Order of the subtypes on a page, the most general first."""

router = make_router()


@router.get("/people")
def people(visitor: Visiting, q: str = "") -> Response:
    """List the users of a tenant, to an admin; others name the user they mean."""
    wanted = q.strip()
    users = visitor.memory.admin.users() if visitor.is_admin else []
    found = [user for user in users if wanted.casefold() in user.user_id.casefold()]
    learned = {
        user.user_id: {kind: n for kind, n in user.counts.items() if n and kind not in RECORDED_KINDS}
        for user in found[:SHOWN]
    }
    return page(visitor, "people.html", users=found[:SHOWN], count=len(found), learned=learned, wanted=wanted)


@router.get("/people/view")
def person(visitor: Visiting, id: str, done: str = "") -> Response:  # noqa: A002 - the query's name
    """Show what kind of person a user is, what is known of them, and the reflections on them."""
    memory = visitor.memory
    traits = memory.get_user_traits(id, RANKS[0])
    return page(
        visitor,
        "person.html",
        user_id=id,
        groups=by_subtype(traits),
        known=known_of(visitor, id),
        reflections=memory.traits.reflections(id, limit=REFLECTIONS),
        done=done,
    )


@router.get("/people/due")
def due(visitor: Visiting, id: str) -> Response:  # noqa: A002 - the query's name
    """Return whether a reflection on a user is due: a part of the page, for which all that is new of them is read."""
    return page(visitor, "due.html", due=visitor.memory.should_reflect(id))


@router.post("/people/reflect")
def reflect(visitor: Visiting, token: Annotated[str, Form()], id: Annotated[str, Form()]) -> Response:  # noqa: A002
    """Reflect on a user now."""
    visitor.check(token)
    cycle = visitor.memory.reflect(id, force=True, actor=visitor.actor)
    return back("/people/view", id=id, done=f"reflected_{cycle.status}")


def by_subtype(traits: list[Trait]) -> dict[str, list[Trait]]:
    """Return traits by subtype, the most confident first in each; empty subtypes are left out."""
    groups = {name: [trait for trait in traits if trait.subtype == name] for name in SUBTYPES}
    return {name: found for name, found in groups.items() if found}


def known_of(visitor: Visitor, user_id: str) -> list[Item]:
    """Return what a user stated: the profile and preferences."""
    found = visitor.memory.get_all(user_id=user_id, kinds=["profile", "preference"], limit=KNOWN)
    return [item for item in found if item.user_id == user_id]


BORDERS: Final = {"emerging": EMERGING_FROM, "established": ESTABLISHED_FROM, "core": CORE_ABOVE}
"""Minimum confidence of a stage."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A trait after a change: time, confidence, stage, and counts of evidence for and against it."""

    at: Any
    confidence: float
    stage: str
    supporting: int
    contradicting: int


@dataclass(frozen=True, slots=True)
class TraitDetails:
    """What a trait's page shows in addition to an item's page."""

    moments: Sequence[Moment]
    chart: Mapping[str, Any]
    supporting: Sequence[TraitEvidence]
    contradicting: Sequence[TraitEvidence]
    parents: Sequence[Item]
    contexts: Sequence[str] = CONTEXTS
    facets: Sequence[str] = FACETS


def trait_told(visitor: Visitor, trait: Trait, history: Sequence[HistoryEvent]) -> TraitDetails:
    """Return what a trait's page shows in addition; changes are oldest first."""
    evidence = visitor.memory.traits.evidence(trait.id)
    moments = moments_of(history)
    return TraitDetails(
        moments,
        chart_of(moments, visitor.words),
        [row for row in evidence if row.evidence_type == "supporting"],
        [row for row in evidence if row.evidence_type == "contradicting"],
        _parents(visitor, trait),
    )


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
    visitor.memory.traits.correct(
        item_id,
        content=content,
        context=context,
        facet=facet or None,
        reason=reason.strip() or None,
        expected_version=version,
        actor=visitor.actor,
    )
    return back(item_address(item_id), done="corrected")


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
            "value": [isoformat(one.at), round(one.confidence, 4)],
            "itemStyle": {"color": "--bad" if one.contradicting else "--main"},
        }
        for one in moments
    ]
    ends = [isoformat(one.at) for one in (*moments[:1], *moments[-1:])]
    borders = [
        {
            "type": "line",
            "data": [[at, border] for at in ends],
            "symbol": "none",
            "silent": True,
            "lineStyle": {"color": "--quiet", "width": 1, "type": "dashed"},
            "endLabel": {"show": True, "formatter": words.of("stage", name), "color": "--quiet"},
        }
        for name, border in BORDERS.items()
    ]
    line = {
        "type": "line",
        "data": points,
        "symbol": "circle",
        "symbolSize": 10,
        "lineStyle": {"color": "--main", "width": 3},
    }
    axis = {
        "axisLine": {"lineStyle": {"color": "--line"}},
        "axisLabel": {"color": "--quiet", "hideOverlap": True},
        "splitLine": {"lineStyle": {"color": "--line"}},
    }
    return {
        "animation": False,
        "grid": {"left": 44, "right": 96, "top": 16, "bottom": 32},
        "xAxis": {"type": "time", **axis, "splitLine": {"show": False}},
        "yAxis": {"type": "value", "min": 0, "max": 1, **axis},
        "series": [*borders, line],
    }


def _parents(visitor: Visitor, trait: Trait) -> list[Item]:
    out: list[Item] = []
    for one in trait.parent_ids:
        try:
            out.append(visitor.memory.get(one))
        except NotFound:  # erased meanwhile
            continue
    return out
