"""The composer: enter a message and see the context a model would get, and how it was composed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Annotated, Any, Final, Literal, Self

import pydantic
from fastapi import Form, Response

from phronesis.core.api_keys import Role
from phronesis.core.context import SLOTS, Block, ContextPackage
from phronesis.core.ids import CITATION_PREFIX
from phronesis.core.items import KINDS
from phronesis.core.reports import Preview
from phronesis.core.results import Evidence
from phronesis.core.retrieval_plan import RetrievalPlan
from phronesis.errors import InputError
from phronesis.interfaces.web.rendering import make_router, page
from phronesis.interfaces.web.session import ViewScope, Visiting, Visitor

router = make_router()


TRIAL: Final = "composer"
"""Session of a message that names none; it has no turns, and nothing is recorded for it."""

SETTINGS: Final = ("budget", "kind", "most", "documents", "known")
"""Names of the settings: how a context is composed. An empty one is the usual."""

DROPPED: Final = 40
"""Maximum dropped candidates shown with their text."""


class ContextForm(pydantic.BaseModel):
    """The values of the form; those that end in ``_b`` are the settings that the first ones are compared with."""

    model_config = pydantic.ConfigDict(str_strip_whitespace=True)

    token: str
    message: str = ""
    session: str = ""
    user: str = ""
    namespace: str = ""
    do: Literal["compose", "compare", "preview"] = "compose"
    budget: str = ""
    kind: str = ""
    most: str = ""
    documents: str = ""
    known: str = ""
    budget_b: str = ""
    kind_b: str = ""
    most_b: str = ""
    documents_b: str = ""
    known_b: str = ""

    def other(self) -> Self:
        """Return the form with the settings to compare with in the place of the first ones."""
        return self.model_copy(update={name: getattr(self, f"{name}_b") for name in SETTINGS})


@dataclass(frozen=True, slots=True)
class ContextView:
    """A context package prepared for its page."""

    package: ContextPackage
    slots: Sequence[Mapping[str, Any]]
    """Name and blocks of each (of evidence none), and the tokens that it used, was allotted (share) and borrowed."""
    dropped: Sequence[Mapping[str, Any]]
    """Dropped candidates, and why; ``item`` if it is a memory that still exists."""
    frame: int
    """Tokens outside the slots: the message, the titles and the paragraph about fences."""

    @property
    def explain(self) -> Mapping[str, Any]:
        """The explanation of the package."""
        return self.package.explain


Entry = Block | Evidence | None
"""What a context shows, None on the side of a comparison that does not show it."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The contexts of one message under two settings: in each slot the tokens that each used, and pairs of entries."""

    sides: tuple[ContextView, ContextView]
    slots: Sequence[Mapping[str, Any]]

    @property
    def differing(self) -> tuple[int, int]:
        """The number of entries that only one side shows."""
        pairs = [pair for slot in self.slots for pair in slot["entries"]]
        return sum(right is None for _, right in pairs), sum(left is None for left, _ in pairs)


@router.get("/composer")
def composer(visitor: Visiting, session: str = "") -> Response:
    """Show the form, for a session where one is named."""
    return page(visitor, "composer.html", **_shown(ContextForm(token="", session=session)))


@router.post("/composer")
def compose(visitor: Visiting, asked: Annotated[ContextForm, Form()]) -> Response:
    """Show what is asked for of a message. A form, for messages are long and private: it changes nothing."""
    visitor.check(asked.token, Role.READ)
    here = replace(visitor, looking=ViewScope(asked.user or None, asked.namespace or None))
    template = "composed.html" if visitor.partial else "composer.html"
    try:
        shown = _shown(asked, **{asked.do: _RESULTS[asked.do](here, asked)})
    except InputError as error:  # htmx would not show an error page; this fragment reports it
        return page(here, template, status=200 if visitor.partial else 400, **_shown(asked, wrong=error.message))
    return page(here, template, **shown)


def _shown(asked: ContextForm, **found: Any) -> dict[str, Any]:
    """Return the values of the templates, of which one result at most is given."""
    return {"asked": asked, "kinds": KINDS, "compose": None, "compare": None, "preview": None, "wrong": None} | found


def _preview(visitor: Visitor, asked: ContextForm) -> Preview:
    # Under its own session a message could be a repetition there, and may refer to what was said before.
    scope = visitor.looking.owner | ({"session_id": asked.session} if asked.session else {})
    return visitor.memory.items.preview(asked.message, **scope)


def _compare(visitor: Visitor, asked: ContextForm) -> Comparison:
    left, right = _compose_view(visitor, asked), _compose_view(visitor, asked.other())
    return Comparison((left, right), [_compared_slot(name, left, right) for name in SLOTS if name != "user_message"])


def _compared_slot(name: str, *views: ContextView) -> Mapping[str, Any]:
    left, right = (view.package.evidence if name == "evidence" else _blocks(view.package, name) for view in views)
    names = [
        [one.item.id if isinstance(one, Evidence) else f"{one.role} {one.text}" for one in side]
        for side in (left, right)
    ]
    pairs: list[tuple[Entry, Entry]] = []
    for same, begin, end, other_begin, other_end in SequenceMatcher(
        a=names[0], b=names[1], autojunk=False
    ).get_opcodes():
        one, other = left[begin:end], right[other_begin:other_end]
        if same == "equal":
            pairs += zip(one, other, strict=True)
        else:
            pairs += [*((each, None) for each in one), *((None, each) for each in other)]
    used = [sum(slot["used"] for slot in view.slots if slot["name"] == name) for view in views]
    return {"name": name, "used": used, "entries": pairs}


def _compose_view(visitor: Visitor, asked: ContextForm) -> ContextView:
    # A dry run: no impression is recorded, so a later repetition still counts as independent evidence (law 7) and
    # viewing keeps no memory from being forgotten. The session is the real one, since its turns and summary belong to
    # the context.
    session = asked.session or TRIAL
    package = visitor.memory.compose_context(
        session,
        asked.message,
        **visitor.looking.owner,
        token_budget=_count(asked.budget, "token_budget"),
        plan=_plan(visitor, asked, session),
        as_of=asked.known or None,
        dry_run=True,
    )
    spent = package.explain["budget"]["slots"]
    slots = [{"name": name, **spent[name], "blocks": _blocks(package, name)} for name in SLOTS if name in spent]
    dropped = [_dropped_candidate(visitor, row) for row in package.explain["dropped"][:DROPPED]]
    return ContextView(package, slots, dropped, max(0, package.token_count - sum(slot["used"] for slot in slots)))


def _plan(visitor: Visitor, asked: ContextForm, session: str) -> RetrievalPlan | None:
    """Return the plan of a message changed by the settings; None where they leave it as it is."""
    if not (asked.kind or asked.most or asked.documents):
        return None
    plan = visitor.memory.plan(
        asked.message,
        session_id=session,
        **visitor.looking.owner,
        limit=_count(asked.most, "limit"),
        as_of=asked.known or None,
    )
    if asked.documents:
        plan = replace(plan, resources=None, resources_needed=False)
    if asked.kind:
        memory = None if plan.memory is None else replace(plan.memory, kinds=(asked.kind,))
        plan = replace(plan, kinds=(asked.kind,), memory=memory)
    return plan.named()


def _count(given: str, field: str) -> int | None:
    if not given:
        return None
    if not given.isdecimal():
        raise InputError(f"{field}: give a whole number, or nothing", field=field)
    return int(given)


def _blocks(package: ContextPackage, slot: str) -> Sequence[Block]:
    return () if slot == "evidence" else getattr(package, slot)


def _dropped_candidate(visitor: Visitor, row: Mapping[str, Any]) -> Mapping[str, Any]:
    citation = row.get("citation") or ""
    items = visitor.items([citation]) if citation.startswith(CITATION_PREFIX) else []  # not those of another server
    return {**row, "citation": citation, "item": items[0] if items else None}


_RESULTS: Final = {"compose": _compose_view, "compare": _compare, "preview": _preview}
"""What each button of the form asks for."""
