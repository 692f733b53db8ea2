"""The composer: enter a message and see the context a model would get, and how it was composed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Annotated, Any, Final, Literal, NamedTuple

import pydantic
from fastapi import Form, Response

from phronesis.core.api_keys import Role
from phronesis.core.context import SLOTS, Block, ContextPackage
from phronesis.core.ids import CITATION_PREFIX
from phronesis.core.items import KINDS, Item
from phronesis.core.reports import Preview
from phronesis.core.results import Evidence
from phronesis.core.retrieval_plan import RetrievalPlan
from phronesis.errors import InputError, NotFound
from phronesis.interfaces.web.rendering import make_router, page
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


class ContextForm(pydantic.BaseModel):
    """The values of the form; those that end in ``_b`` are the settings that the first ones are compared with."""

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

    def settings(self, end: str = "") -> "Settings":
        """Return the first settings, or with ``end`` those of that end."""
        return Settings(*(getattr(self, f"{name}{end}").strip() for name in Settings._fields))


class Settings(NamedTuple):
    """How a context is composed: its budget, and what the plan is changed to. An empty text is the usual."""

    budget: str = ""
    kind: str = ""
    most: str = ""
    documents: str = ""
    known: str = ""


class ComparedEntry(NamedTuple):
    """A block or a piece of evidence of two contexts, None on the side that does not show it."""

    sides: tuple[Block | Evidence | None, Block | Evidence | None]

    @property
    def same(self) -> bool:
        """Return whether both sides show it."""
        return None not in self.sides


@dataclass(frozen=True, slots=True)
class ComparedSlot:
    """A slot of two contexts: the tokens that each used, and the entries of both in order."""

    name: str
    used: tuple[int, int]
    entries: Sequence[ComparedEntry]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The contexts of one message under two settings."""

    sides: tuple[ContextView, ContextView]
    slots: Sequence[ComparedSlot]

    @property
    def differing(self) -> tuple[int, int]:
        """The number of entries that only one side shows."""
        entries = [entry.sides for slot in self.slots for entry in slot.entries]
        return sum(right is None for _, right in entries), sum(left is None for left, _ in entries)


@router.get("/composer")
def composer(visitor: Visiting, session: str = "") -> Response:
    """Show the form, for a session where one is named."""
    return page(visitor, "composer.html", **_shown(ContextForm(token="", session=session)))


@router.post("/composer")
def compose(visitor: Visiting, asked: Annotated[ContextForm, Form()]) -> Response:
    """Show what is asked for of a message. A form, for messages are long and private: it changes nothing."""
    visitor.check(asked.token, Role.READ)
    here = replace(visitor, looking=ViewScope(asked.user.strip() or None, asked.namespace.strip() or None))
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
    scope = visitor.looking.owner | ({"session_id": asked.session.strip()} if asked.session.strip() else {})
    return visitor.memory.items.preview(asked.message.strip(), **scope)


def _compare(visitor: Visitor, asked: ContextForm) -> Comparison:
    left, right = (_compose_view(visitor, asked, asked.settings(end)) for end in ("", "_b"))
    return Comparison((left, right), [_compared_slot(name, left, right) for name in SLOTS if name != "user_message"])


def _compared_slot(name: str, left: ContextView, right: ContextView) -> ComparedSlot:
    shown = [_entries(view.package, name) for view in (left, right)]
    used = [sum(slot.used for slot in view.slots if slot.name == name) for view in (left, right)]
    entries: list[ComparedEntry] = []
    names = [[_entry_name(one) for one in side] for side in shown]
    for _, begin, end, other_begin, other_end in SequenceMatcher(
        None, names[0], names[1], autojunk=False
    ).get_opcodes():
        one, other = shown[0][begin:end], shown[1][other_begin:other_end]
        if names[0][begin:end] == names[1][other_begin:other_end]:
            entries += [ComparedEntry(pair) for pair in zip(one, other, strict=True)]
        else:
            entries += [
                *(ComparedEntry((each, None)) for each in one),
                *(ComparedEntry((None, each)) for each in other),
            ]
    return ComparedSlot(name, (used[0], used[1]), entries)


def _entries(package: ContextPackage, slot: str) -> Sequence[Block | Evidence]:
    return package.evidence if slot == "evidence" else _blocks(package, slot)


def _entry_name(entry: Block | Evidence) -> str:
    return entry.item.id if isinstance(entry, Evidence) else f"{entry.role} {entry.text}"


def _compose_view(visitor: Visitor, asked: ContextForm, settings: Settings) -> ContextView:
    # A dry run: no impression is recorded, so a later repetition still counts as independent evidence (law 7) and
    # viewing keeps no memory from being forgotten. The session is the real one, since its turns and summary belong to
    # the context.
    message, session = asked.message.strip(), asked.session.strip() or TRIAL
    package = visitor.memory.compose_context(
        session,
        message,
        **visitor.looking.owner,
        token_budget=_count(settings.budget, "token_budget"),
        plan=_plan(visitor, message, session, settings),
        as_of=settings.known or None,
        dry_run=True,
    )
    spent = package.explain["budget"]
    slots = [
        Slot(name, told["used"], told["share"], told["borrowed"], _blocks(package, name))
        for name, told in ((name, spent["slots"][name]) for name in SLOTS if name in spent["slots"])
    ]
    dropped = [_dropped_candidate(visitor, row) for row in package.explain["dropped"][:DROPPED]]
    return ContextView(package, slots, dropped, max(0, package.token_count - sum(slot.used for slot in slots)))


def _plan(visitor: Visitor, message: str, session: str, settings: Settings) -> RetrievalPlan | None:
    """Return the plan of a message changed by the settings; None where they leave it as it is."""
    if not (settings.kind or settings.most or settings.documents):
        return None
    most = _count(settings.most, "limit")
    plan = visitor.memory.plan(
        message, session_id=session, **visitor.looking.owner, limit=most, as_of=settings.known or None
    )
    if settings.documents:
        plan = replace(plan, resources=None, resources_needed=False)
    if settings.kind:
        memory = None if plan.memory is None else replace(plan.memory, kinds=(settings.kind,))
        plan = replace(plan, kinds=(settings.kind,), memory=memory)
    return plan.named()


def _count(given: str, field: str) -> int | None:
    if not given:
        return None
    if not given.isdecimal():
        raise InputError(f"{field}: give a whole number, or nothing", field=field)
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


_RESULTS: Final = {
    "compose": lambda visitor, asked: _compose_view(visitor, asked, asked.settings()),
    "compare": _compare,
    "preview": _preview,
}
"""What each button of the form asks for."""
