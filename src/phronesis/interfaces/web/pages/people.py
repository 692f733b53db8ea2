"""Pages of users: the list, and what is known of one, grouped, corrected, exported and erased."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from fastapi import Response

from phronesis.core.api_keys import Role
from phronesis.core.ids import LaneKind
from phronesis.core.items import Item, due_of
from phronesis.core.reports import RECORDED_KINDS
from phronesis.core.statements import DENIES
from phronesis.errors import InputError, NotFound
from phronesis.interfaces.web.pages.memories import read_all
from phronesis.interfaces.web.pages.sessions import cards_of
from phronesis.interfaces.web.pages.traits import STAGES
from phronesis.interfaces.web.rendering import address, back_with_notice, download, json_lines, make_router, page
from phronesis.interfaces.web.session import Administering, FormText, Notice, Visiting, Visitor, Writing
from phronesis.memory import Memory
from phronesis.store.lanes import lane_names
from phronesis.traits.laws.strength import RANKS

FACT_KINDS: Final = ("profile", "preference", "fact", "decision")
"""Kinds of items that a user's page shows as facts."""

FACTS_SHOWN: Final = 300
"""Maximum facts on a user's page, the newest; the list of memories has the others."""

TOPICS: Final[Mapping[str, tuple[str, ...]]] = {
    "health": ("allergy", "diet", "health", "medication", "measurement"),
    "identity": ("name", "alias", "address_as", "age", "birthday", "gender", "nationality", "language"),
    "contact": ("email", "phone", "address", "home_city", "hometown", "timezone", "contact"),
    "work": ("employer", "job", "role", "school", "field_of_study", "skill", "availability"),
    "people": tuple("relationship_status partner child parent sibling relative friend colleague pet".split()),
    "likes": ("likes", "dislikes", "prefers", "favorite", "hobby", "habit", "uses", "possession"),
    "replies": ("reply_language", "reply_style", "convention"),
    "decisions": ("decision",),
}
"""Topics in the order of the page, each with its keys, a family by its first part. Other keys are of the topic "other".

The keys are those of docs/memory-types.md.
"""

_TOPIC_OF: Final = {key: topic for topic, keys in TOPICS.items() for key in keys}
_TOPIC_OF_KIND: Final = {"preference": "likes", "decision": "decisions"}
_PLACE: Final = {name: n for n, name in enumerate([*TOPICS, "other"])}

USER: Final = "user"
"""Subject of what is known of the user."""


@dataclass(frozen=True, slots=True)
class FactGroup:
    """The facts of one topic about one subject; ``subject`` is None for the user."""

    subject: str | None
    topic: str
    facts: Sequence[Item]


def group_facts(items: Sequence[Item], user_id: str) -> list[FactGroup]:
    """Return a user's facts by subject, the user first, and by topic; within one, the most important first."""
    groups: dict[tuple[str | None, str], list[Item]] = {}
    for item in items:
        subject = None if item.subject in {None, "", USER, user_id} else item.subject
        groups.setdefault((subject, _topic_of(item)), []).append(item)
    for facts in groups.values():
        facts.sort(key=lambda item: (-item.importance, item.key or ""))
    order = sorted(groups, key=lambda group: (group[0] is not None, group[0] or "", _PLACE[group[1]]))
    return [FactGroup(*group, groups[group]) for group in order]


def _topic_of(item: Item) -> str:
    """Return the topic of a fact by its key, of a denial by the key that it denies; without a key, by its kind."""
    if not item.key:
        return _TOPIC_OF_KIND.get(item.kind, "other")
    return _TOPIC_OF.get(item.key.removeprefix(DENIES).partition(".")[0], "other")


def export_lines(memory: Memory, user_id: str) -> Iterator[dict[str, Any]]:
    """Yield all that a user's own lane holds: items of every state, what is in quarantine, turns, and entities."""
    everything = read_all(memory, user_id=user_id, filters={"status": {"in": ["active", "archived"]}})
    yield from ({"record": "memory", **item.to_dict()} for item in everything if item.user_id == user_id)
    for item in memory.quarantine.list(user_id=user_id, limit=10_000):
        if item.user_id == user_id:
            yield {"record": "quarantined", **item.to_dict()}
    for session in memory.sessions.list(user_id=user_id):
        if session.user_id == user_id:
            for turn in memory.sessions.turns(session.session_id, user_id=user_id):
                yield {"record": "turn", **turn.to_dict()}
    for entity in memory.entities.list(user_id=user_id, limit=10_000):
        if entity.user_id == user_id:
            yield {"record": "entity", **entity.to_dict()}


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
def person(visitor: Visiting, id: str) -> Response:
    """Show what is known of a user, what kind of person they are, and what is to be done for them."""
    memory = visitor.memory
    sessions = [one for one in memory.sessions.list(user_id=id) if one.user_id == id]
    related = [one for one in memory.entities.list(user_id=id, limit=SHOWN) if one.user_id == id]
    facts = [one for one in memory.get_all(user_id=id, kinds=FACT_KINDS, limit=FACTS_SHOWN) if one.user_id == id]
    traits = memory.get_user_traits(id, RANKS[0])
    groups = {name: [trait for trait in traits if trait.subtype == name] for name in SUBTYPES}
    return page(
        visitor,
        "person.html",
        user_id=id,
        facts=group_facts(facts, id),
        groups={name: found for name, found in groups.items() if found},
        stages=STAGES,
        tasks=open_tasks(visitor, id),
        sessions_shown=cards_of(visitor, sessions[:SESSIONS]),
        related=related[:RELATED],
        reflections=memory.traits.reflections(id, limit=REFLECTIONS),
    )


@router.get("/people/export")
def export(visitor: Visiting, id: str) -> Response:
    """Return all that is held about a user, as JSON lines."""
    visitor.caller.acting_user(id)  # before the response begins, so that the error is a page
    return download(f"{id}.jsonl", json_lines(export_lines(visitor.memory, id)))


@router.get("/people/due")
def due(visitor: Visiting, id: str) -> Response:
    """Return whether a reflection on a user is due: a part of the page, for which all that is new of them is read."""
    return page(visitor, "due.html", due=visitor.memory.should_reflect(id))


@router.post("/people/reflect")
def reflect(visitor: Writing, id: FormText) -> Response:
    """Reflect on a user now."""
    cycle = visitor.memory.reflect(id, force=True, actor=visitor.actor)
    return back_with_notice(visitor, address(VIEW, id=id), Notice(f"reflected_{cycle.status}"))


@router.post("/people/erase")
def erase(visitor: Administering, id: FormText, typed: FormText = "") -> Response:
    """Erase a user with all that is held about them, once their name was typed."""
    if typed.strip() != id:
        raise InputError(f"typed: type {id} to erase all that is held about them", field="typed")
    certificate = visitor.memory.erase(user_id=id, actor=visitor.actor)
    return page(visitor, "erased.html", certificates=[certificate], next="/people")


def open_tasks(visitor: Visitor, user_id: str) -> list[tuple[Item, datetime | None, bool]]:
    """Return a user's tasks, those that are due first, then the newest; each with its time and whether it is due."""
    items = visitor.memory.items
    due = [one for one in items.due(user_id, within=timedelta(0)) if one.user_id == user_id]
    coming = [one for one in items.due(user_id, within=timedelta(days=30)) if one.user_id == user_id]
    others = visitor.memory.get_all(user_id=user_id, kinds=["task", "intention"], limit=TASKS)
    found = {one.id: one for one in (*due, *coming, *others) if one.user_id == user_id}
    now = {one.id for one in due}
    return [(one, due_of(one), one.id in now) for one in list(found.values())[:TASKS]]


LANE_KINDS: Final[dict[str, LaneKind]] = {"user": "user", "namespace": "shared"}

MAX_NAMES: Final = 20


@router.get("/suggestions/{field}")
def suggest(visitor: Visiting, field: str, user: str = "", namespace: str = "") -> Response:
    """Return the names that contain what was typed, most recently active first; for admins, who may list them."""
    visitor.caller.require_role(Role.ADMIN)
    if field not in LANE_KINDS:
        raise NotFound(f"field: there are no suggestions for {field}", field="field")
    memory, typed = visitor.memory.admin, (user if field == "user" else namespace).strip()
    with memory.components.database.transaction(memory.tenant, "read") as unit:
        names = lane_names(unit, LANE_KINDS[field], containing=typed, limit=MAX_NAMES)
    return page(visitor, "suggestions.html", names=names)
