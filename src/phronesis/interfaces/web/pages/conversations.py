"""The composer: enter a message and see the context a model would get, and how it was composed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final

from fastapi import Form, Response

from phronesis.core.api_keys import Role
from phronesis.core.context import SLOTS, Block, ContextPackage
from phronesis.core.ids import CITATION_PREFIX
from phronesis.core.items import Item
from phronesis.errors import InputError, NotFound
from phronesis.interfaces.web.rendering import page
from phronesis.interfaces.web.routing import make_router
from phronesis.interfaces.web.session import ViewScope, Visiting, Visitor

router = make_router()

TRIAL: Final = "composer"
"""Session of a message that names none; it has no turns, and nothing is recorded for it."""

DROPPED: Final = 40
"""Maximum dropped candidates shown with their text."""


@dataclass(frozen=True, slots=True)
class Slot:
    """One slot of a context: the tokens it used, was allotted and borrowed, and its blocks. Evidence has none."""

    name: str
    used: int
    share: int
    borrowed: int
    blocks: Sequence[Block]


@dataclass(frozen=True, slots=True)
class DroppedCandidate:
    """A dropped candidate, and why; ``item`` if it is a memory that still exists."""

    slot: str
    citation: str | None
    reason: str
    item: Item | None


@dataclass(frozen=True, slots=True)
class ContextView:
    """A context package prepared for its page."""

    package: ContextPackage
    slots: Sequence[Slot]
    dropped: Sequence[DroppedCandidate]
    frame: int
    """Tokens outside the slots: the message, the titles and the paragraph about fences."""

    @property
    def explain(self) -> Mapping[str, Any]:
        """The explanation of the package."""
        return self.package.explain


@dataclass(frozen=True, slots=True)
class ContextForm:
    """The values of the form."""

    message: str = ""
    session: str = ""
    budget: str = ""


@router.get("/composer")
def composer(visitor: Visiting, session: str = "") -> Response:
    """Show the form, for a session where one is named."""
    return page(visitor, "composer.html", asked=ContextForm(session=session), composed=None, wrong=None)


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
    asked = ContextForm(message.strip(), session.strip(), budget.strip())
    here = replace(visitor, looking=ViewScope(user.strip() or None, namespace.strip() or None))
    template = "composed.html" if visitor.partial else "composer.html"
    try:
        composed = _compose_view(here, asked)
    except InputError as error:  # htmx would not show an error page; this fragment reports it
        status = 200 if visitor.partial else 400
        return page(here, template, status=status, asked=asked, composed=None, wrong=error.message)
    return page(here, template, asked=asked, composed=composed, wrong=None)


def _compose_view(visitor: Visitor, asked: ContextForm) -> ContextView:
    # A dry run: no impression is recorded, so a later repetition still counts as independent evidence (law 7) and
    # viewing keeps no memory from being forgotten. The session is the real one, since its turns and summary belong to
    # the context.
    package = visitor.memory.compose_context(
        asked.session or TRIAL, asked.message, **visitor.looking.owner, token_budget=_budget(asked.budget), dry_run=True
    )
    spent = package.explain["budget"]
    slots = [
        Slot(name, told["used"], told["share"], told["borrowed"], _blocks(package, name))
        for name, told in ((name, spent["slots"][name]) for name in SLOTS if name in spent["slots"])
    ]
    dropped = [_dropped_candidate(visitor, row) for row in package.explain["dropped"][:DROPPED]]
    return ContextView(package, slots, dropped, max(0, package.token_count - sum(slot.used for slot in slots)))


def _budget(given: str) -> int | None:
    if not given:
        return None
    if not given.isdecimal():
        raise InputError("token_budget: give a whole number of tokens, or nothing", field="token_budget")
    return int(given)


def _blocks(package: ContextPackage, slot: str) -> Sequence[Block]:
    return () if slot == "evidence" else getattr(package, slot)


def _dropped_candidate(visitor: Visitor, row: Mapping[str, Any]) -> DroppedCandidate:
    citation, item = row.get("citation"), None
    if citation and str(citation).startswith(CITATION_PREFIX):
        try:
            item = visitor.memory.get(citation)
        except (NotFound, InputError):  # erased meanwhile, or of another server
            item = None
    return DroppedCandidate(row["slot"], citation, row["reason"], item)
