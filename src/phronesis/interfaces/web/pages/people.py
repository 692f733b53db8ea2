"""People: who there is, and what kind of person each is by what was learned, with when and why it is reflected on."""

from typing import Annotated, Final

from fastapi import Form, Response

from phronesis.core.items import Item
from phronesis.core.overview import RECORDED_KINDS
from phronesis.core.traits.records import RANKS, Trait
from phronesis.interfaces.web.rendering import page
from phronesis.interfaces.web.routing import back, make_router
from phronesis.interfaces.web.visiting import Visiting, Visitor

SHOWN: Final = 200
"""People of the list; the others are found by their names."""

KNOWN: Final = 20
"""Profile facts and preferences of a person's page."""

REFLECTIONS: Final = 10

SUBTYPES: Final = ("core", "preference", "behavior")
"""In the order of a page: the deepest first."""

router = make_router()


@router.get("/people")
def people(visitor: Visiting, q: str = "") -> Response:
    """List the users of a tenant, to an admin; others name the user they mean."""
    wanted = q.strip()
    users = visitor.memory.list_users() if visitor.is_admin else []
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
        visitor, "person.html", user_id=id, groups=by_subtype(traits), known=known_of(visitor, id),
        reflections=memory.list_reflections(id, limit=REFLECTIONS), done=done,
    )  # fmt: skip


@router.get("/people/due")
def due(visitor: Visiting, id: str) -> Response:  # noqa: A002 - the query's name
    """Say whether a reflection on a user is due: a part of the page, for which all that is new of them is read."""
    return page(visitor, "due.html", due=visitor.memory.should_reflect(id))


@router.post("/people/reflect")
def reflect(visitor: Visiting, token: Annotated[str, Form()], id: Annotated[str, Form()]) -> Response:  # noqa: A002
    """Reflect on a user now."""
    visitor.check(token)
    cycle = visitor.memory.reflect(id, force=True, actor=visitor.actor)
    return back("/people/view", id=id, done=f"reflected_{cycle.status}")


def by_subtype(traits: list[Trait]) -> dict[str, list[Trait]]:
    """Give traits by their subtype, the surest first in each; subtypes without any are left out."""
    groups = {name: [trait for trait in traits if trait.subtype == name] for name in SUBTYPES}
    return {name: found for name, found in groups.items() if found}


def known_of(visitor: Visitor, user_id: str) -> list[Item]:
    """Give what is known of a user in so many words: the profile, and the preferences they stated."""
    found = visitor.memory.get_all(user_id=user_id, kinds=["profile", "preference"], limit=KNOWN)
    return [item for item in found if item.user_id == user_id]
