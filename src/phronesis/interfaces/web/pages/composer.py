"""The composer as a playground: type a message, and see the context that a model would get, and how it came about."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final

from fastapi import Form, Response

from phronesis.core.context import SLOTS, Block, ContextPackage
from phronesis.core.ids import CITATION_PREFIX
from phronesis.core.items import Item
from phronesis.core.keys import Role
from phronesis.errors import InputError, NotFound
from phronesis.interfaces.web.rendering import page
from phronesis.interfaces.web.routing import make_router
from phronesis.interfaces.web.visiting import Looking, Visiting, Visitor

TRIAL: Final = "composer"
"""The session of a message that names none: nothing was said in it, and nothing will be noted of it."""

DROPPED: Final = 40
"""Candidates that are named with their words, of those that are not shown."""

router = make_router()


@dataclass(frozen=True, slots=True)
class Slot:
    """One slot of a context: the tokens that it used, was given and borrowed, and its blocks. Evidence has none."""

    name: str
    used: int
    share: int
    borrowed: int
    blocks: Sequence[Block]


@dataclass(frozen=True, slots=True)
class Dropped:
    """What is not shown, and why; ``item`` where it is a memory that is still there."""

    slot: str
    citation: str | None
    reason: str
    item: Item | None


@dataclass(frozen=True, slots=True)
class Composed:
    """A package as its page shows it."""

    package: ContextPackage
    slots: Sequence[Slot]
    dropped: Sequence[Dropped]
    frame: int
    """Tokens of the message, the titles and the paragraph about fences: what no slot uses."""

    @property
    def explain(self) -> Mapping[str, Any]:
        """How the package came about."""
        return self.package.explain


@dataclass(frozen=True, slots=True)
class Asked:
    """What the form holds."""

    message: str = ""
    session: str = ""
    budget: str = ""


@router.get("/composer")
def composer(visitor: Visiting, session: str = "") -> Response:
    """Show the form, for a session where one is named."""
    return page(visitor, "composer.html", asked=Asked(session=session), composed=None, wrong=None)


@router.post("/composer")
def compose(
    visitor: Visiting,
    token: Annotated[str, Form()],
    message: Annotated[str, Form()] = "",
    *,
    session: Annotated[str, Form()] = "",
    budget: Annotated[str, Form()] = "",
    user: Annotated[str, Form()] = "",
    namespace: Annotated[str, Form()] = "",
) -> Response:
    """Show the context of a message. A form, for messages are long and private: it changes nothing."""
    visitor.check(token, Role.READ)
    asked = Asked(message.strip(), session.strip(), budget.strip())
    here = replace(visitor, looking=Looking(user.strip() or None, namespace.strip() or None))
    template = "composed.html" if visitor.partial else "composer.html"
    try:
        composed = _composed(here, asked)
    except InputError as error:  # htmx shows no page of an error: this part says it
        status = 200 if visitor.partial else 400
        return page(here, template, status=status, asked=asked, composed=None, wrong=error.message)
    return page(here, template, asked=asked, composed=composed, wrong=None)


def _composed(visitor: Visitor, asked: Asked) -> Composed:
    # A dry run: no session was shown these memories, so that who says them later is still a witness (law 7), and a look
    # keeps no memory from being forgotten. The session is the real one, for its turns and summary belong to it.
    package = visitor.memory.compose_context(
        asked.session or TRIAL, asked.message, **visitor.looking.owner, token_budget=_budget(asked.budget), dry_run=True
    )
    spent = package.explain["budget"]
    slots = [
        Slot(name, told["used"], told["share"], told["borrowed"], _blocks(package, name))
        for name, told in ((name, spent["slots"][name]) for name in SLOTS if name in spent["slots"])
    ]
    dropped = [_dropped(visitor, row) for row in package.explain["dropped"][:DROPPED]]
    return Composed(package, slots, dropped, max(0, package.token_count - sum(slot.used for slot in slots)))


def _budget(given: str) -> int | None:
    if not given:
        return None
    if not given.isdecimal():
        raise InputError("token_budget: give a whole number of tokens, or nothing", field="token_budget")
    return int(given)


def _blocks(package: ContextPackage, slot: str) -> Sequence[Block]:
    return () if slot == "evidence" else getattr(package, slot)


def _dropped(visitor: Visitor, row: Mapping[str, Any]) -> Dropped:
    citation, item = row.get("citation"), None
    if citation and str(citation).startswith(CITATION_PREFIX):
        try:
            item = visitor.memory.get(citation)
        except (NotFound, InputError):  # erased meanwhile, or of another server
            item = None
    return Dropped(row["slot"], citation, row["reason"], item)
