"""Pages of users: the list, one user's facts and traits with what a person may do about them, and a trait over time."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, Final

from fastapi import Form, Response

from phronesis.core.api_keys import Role
from phronesis.core.confidence import CORE_ABOVE, EMERGING_FROM, ESTABLISHED_FROM
from phronesis.core.items import Item
from phronesis.core.prospective import due_of
from phronesis.core.reports import RECORDED_KINDS
from phronesis.core.results import HistoryEvent
from phronesis.core.timestamps import isoformat
from phronesis.errors import InputError, NotFound
from phronesis.interfaces.web.notices import Notice
from phronesis.interfaces.web.pages.person_facts import corrected, export_lines, facts_of, key_text
from phronesis.interfaces.web.pages.sessions import cards_of
from phronesis.interfaces.web.rendering import address, item_address, page
from phronesis.interfaces.web.routing import back, back_with_notice, json_lines_file, make_router
from phronesis.interfaces.web.session import Visiting, Visitor
from phronesis.interfaces.web.words import Words
from phronesis.traits.laws.records import CONTEXTS, Trait, TraitEvidence
from phronesis.traits.laws.strength import RANKS
from phronesis.traits.trait_changes import FACETS

# Users: the list, and one user's traits with when and why a reflection is due.

SHOWN: Final = 200
"""Maximum users listed; others are found by name."""

REFLECTIONS: Final = 10

TASKS: Final = 20
"""Maximum open tasks and intentions on a user's page."""

SESSIONS: Final = 5

RELATED: Final = 12
"""Maximum people and things on a user's page."""

VIEW: Final = "/people/view"

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


@router.get(VIEW)
def person(visitor: Visiting, id: str, done: str = "") -> Response:  # noqa: A002 - the query's name
    """Show what is known of a user, what kind of person they are, and what is to be done for them."""
    memory = visitor.memory
    sessions = [one for one in memory.sessions.list(user_id=id) if one.user_id == id]
    related = memory.entities.list(user_id=id, limit=SHOWN)
    return page(
        visitor,
        "person.html",
        user_id=id,
        facts=facts_of(memory, id),
        key_text=key_text,
        groups=by_subtype(memory.get_user_traits(id, RANKS[0])),
        stages=STAGES,
        tasks=open_tasks(visitor, id),
        sessions_shown=cards_of(visitor, sessions[:SESSIONS]),
        related=[one for one in related if one.user_id == id][:RELATED],
        reflections=memory.traits.reflections(id, limit=REFLECTIONS),
        done=done,
    )


@router.get("/people/evidence")
def evidence(visitor: Visiting, id: str) -> Response:  # noqa: A002 - the query's name
    """Show the memories for and against a trait: a part of its user's page."""
    item = visitor.memory.get(id)
    return page(visitor, "trait_evidence.html", item=item, trait=_both_sides(visitor, item.id))


@router.get("/people/export")
def export(visitor: Visiting, id: str) -> Response:  # noqa: A002 - the query's name
    """Return all that is held about a user, as JSON lines."""
    visitor.caller.acting_user(id)  # before the response begins, so that the error is a page
    return json_lines_file(id, export_lines(visitor.memory, id))


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


@router.post("/people/correct")
def correct_fact(
    visitor: Visiting,
    *,
    token: Annotated[str, Form()],
    id: Annotated[str, Form()],  # noqa: A002 - the verb's name
    version: Annotated[int, Form()],
    content: Annotated[str, Form()],
    value: Annotated[str, Form()] = "",
) -> Response:
    """Correct a fact where it stands; refused when somebody else changed it meanwhile."""
    visitor.check(token)
    item = visitor.memory.get(id)
    changed = corrected(item, value.strip(), content.strip(), visitor.words)
    if changed is None:
        return back(VIEW, id=item.user_id)
    said, told = changed
    result = visitor.memory.update(item.id, content=said, value=told, expected_version=version, actor=visitor.actor)
    return _show_person(visitor, item, "corrected_fact", result.entry_id)


@router.post("/people/end")
def end(
    visitor: Visiting,
    token: Annotated[str, Form()],
    id: Annotated[str, Form()],  # noqa: A002 - the verb's name
    how: Annotated[str, Form()],
) -> Response:
    """End a fact that was never so (``wrong``) or is so no longer (``over``), or a task that is ``finished``."""
    visitor.check(token)
    if how not in ENDS:
        raise InputError(f"how: must be one of {', '.join(ENDS)}", field="how")
    item = visitor.memory.get(id)
    return _show_person(visitor, item, how, ENDS[how](visitor, item.id))


@router.post("/people/erase")
def erase(
    visitor: Visiting,
    token: Annotated[str, Form()],
    id: Annotated[str, Form()],  # noqa: A002 - the verb's name
    typed: Annotated[str, Form()] = "",
) -> Response:
    """Erase a user with all that is held about them, once their name was typed."""
    visitor.check(token, Role.ADMIN)
    if typed.strip() != id:
        raise InputError(f"typed: type {id} to erase all that is held about them", field="typed")
    return page(visitor, "erased.html", certificate=visitor.memory.erase(user_id=id, actor=visitor.actor))


def _end_validity(visitor: Visitor, item_id: str) -> str:
    now = visitor.memory.admin.components.clock()
    return visitor.memory.update(item_id, valid_to=now, actor=visitor.actor).entry_id


ENDS: Final[Mapping[str, Callable[[Visitor, str], str]]] = {
    "wrong": lambda visitor, item_id: visitor.memory.items.retract(item_id, actor=visitor.actor).entry_id,
    "over": _end_validity,
    "finished": lambda visitor, item_id: visitor.memory.items.archive(item_id, actor=visitor.actor).entry_id,
}
"""How a fact or a task ends, by the buttons of a user's page; each returns the entry, which can be rolled back."""


def _show_person(visitor: Visitor, item: Item, action: str, entry_id: str) -> Response:
    return back_with_notice(visitor, address(VIEW, id=item.user_id), Notice(action, (entry_id,)))


def by_subtype(traits: list[Trait]) -> dict[str, list[Trait]]:
    """Return traits by subtype, the most confident first in each; empty subtypes are left out."""
    groups = {name: [trait for trait in traits if trait.subtype == name] for name in SUBTYPES}
    return {name: found for name, found in groups.items() if found}


@dataclass(frozen=True, slots=True)
class OpenTask:
    """An open task or intention: ``due`` at a time if it has one, and whether that is now or past."""

    item: Item
    due: datetime | None
    is_due: bool


def open_tasks(visitor: Visitor, user_id: str) -> list[OpenTask]:
    """Return a user's tasks: those that are due first, then the newest."""
    items = visitor.memory.items
    due = [one for one in items.due(user_id, within=timedelta(0)) if one.user_id == user_id]
    coming = [one for one in items.due(user_id, within=timedelta(days=30)) if one.user_id == user_id]
    others = visitor.memory.get_all(user_id=user_id, kinds=["task", "intention"], limit=TASKS)
    found = {one.id: one for one in (*due, *coming, *others) if one.user_id == user_id}
    now = {one.id for one in due}
    return [OpenTask(one, due_of(one), one.id in now) for one in list(found.values())[:TASKS]]


BORDERS: Final = {"emerging": EMERGING_FROM, "established": ESTABLISHED_FROM, "core": CORE_ABOVE}
"""Minimum confidence of a stage."""

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
    moments = moments_of(history)
    sides = _both_sides(visitor, trait.id)
    return TraitDetails(
        moments,
        chart_of(moments, visitor.words),
        sides["supporting"],
        sides["contradicting"],
        _parents(visitor, trait),
    )


def _both_sides(visitor: Visitor, trait_id: str) -> dict[str, list[TraitEvidence]]:
    rows = visitor.memory.traits.evidence(trait_id)
    return {name: [row for row in rows if row.evidence_type == name] for name in ("supporting", "contradicting")}


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
        for name, border in BORDERS.items()
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


def _parents(visitor: Visitor, trait: Trait) -> list[Item]:
    out: list[Item] = []
    for one in trait.parent_ids:
        try:
            out.append(visitor.memory.get(one))
        except NotFound:  # erased meanwhile
            continue
    return out
