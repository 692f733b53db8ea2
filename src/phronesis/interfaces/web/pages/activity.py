"""Pages of activity: contexts that agents were shown, what was not learned and why, and requests with latencies."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any, Final

from fastapi import Form, Query, Response
from pydantic import BaseModel

from phronesis.core.api_keys import Role
from phronesis.core.context import UnlearnedText
from phronesis.core.items import Item
from phronesis.core.timestamps import parse_moment
from phronesis.interfaces.web.rendering import back_with_notice, make_router, page
from phronesis.interfaces.web.session import Notice, Visiting, Visitor
from phronesis.log.inputs import STATED_KINDS

PAGE: Final = 30
"""Rows per page."""

KINDS: Final = ("fact", *sorted(STATED_KINDS - {"fact"}))
"""Kinds that a person may remember a text as, the usual one first."""

RULES: Final = (
    "chit_chat",
    "unrecognised",
    "question",
    "low_confidence",
    "hypothesis",
    "joke",
    "fiction",
    "quotation",
    "third_party_unknown",
    "duplicate_message",
    "quarantine",
    "injected",
    "instruction",
    "echo",
    "language",
    "sensitive",
    "never",
    "forget_request",
    "code",
    "value",
    "assistant",
    "operator",
)
"""Rules of the filter; a rule that is not named here is shown by its own name."""

ROLES: Final = ("user", "assistant", "tool")
ANYBODY: Final = "anybody"
"""The choice of all roles."""

SOURCE: Final = "remembered_from"
"""Name in an item's metadata of the text that a person remembered anyway."""

VERBS: Final = ("compose_context", "search")
INTERFACES: Final = ("http", "mcp")

router = make_router()


# Contexts: what each agent was shown.


class ContextsAsked(BaseModel):
    """The filters of the list; ``shown`` is the id of an item that the contexts showed."""

    session: str = ""
    agent: str = ""
    verb: str = ""
    shown: str = ""
    since: str = ""
    cursor: str = ""


@router.get("/activity")
def contexts(visitor: Visiting, asked: Annotated[ContextsAsked, Query()]) -> Response:
    """List the contexts of a scope, the newest first."""
    looking, session = visitor.looking, asked.session.strip()
    is_named = not looking.across  # a session's name is its user's
    chosen = {
        "session": session if is_named else "",
        "agent": asked.agent.strip(),
        "verb": asked.verb if asked.verb in VERBS else "",
        "shown": asked.shown.strip(),
        "since": asked.since,
        **looking.named,
    }
    listed = visitor.memory.admin.contexts(
        **looking.scope,
        session_id=chosen["session"] or None,
        agent_id=chosen["agent"] or None,
        verb=chosen["verb"] or None,
        item_id=chosen["shown"] or None,
        since=_day(asked.since),
        limit=PAGE,
        cursor=asked.cursor or None,
    )
    return page(
        visitor,
        "contexts.html",
        listed=listed,
        asked=chosen,
        verbs=VERBS,
        item=visitor.memory.get(chosen["shown"]) if chosen["shown"] else None,
        needs_user=bool(session) and not is_named,
    )


@router.get("/activity/context")
def context(visitor: Visiting, id: str) -> Response:
    """Show a context with the items that it showed, as they are now."""
    told = visitor.memory.admin.context(id)
    sections: dict[str, list[Any]] = {}
    for one in told.items:
        sections.setdefault(one.section, []).append(one)
    since = {one.item_id for one in told.items if one.state not in {"same", "remote"}}
    return page(visitor, "context.html", context=told.context, sections=sections, since=len(since))


# What was not learned, and why.


class Remembered(BaseModel):
    """The form that remembers a text anyway: ``id`` is that of the text, ``at`` when it was said."""

    token: str
    id: str
    content: str
    kind: str = "fact"
    user: str = ""
    namespace: str = ""
    at: str = ""
    next: str = "/activity/unlearned"


class UnlearnedAsked(BaseModel):
    """The filters of the list."""

    rule: str = ""
    role: str = "user"
    since: str = ""
    until: str = ""
    cursor: str = ""


@router.get("/activity/unlearned")
def unlearned(visitor: Visiting, asked: Annotated[UnlearnedAsked, Query()]) -> Response:
    """List what was not learned, the latest first."""
    role = asked.role if asked.role in (*ROLES, ANYBODY) else ROLES[0]
    last = _day(asked.until)
    listed = visitor.memory.admin.unlearned(
        **visitor.looking.scope,
        rule=asked.rule or None,
        role=None if role == ANYBODY else role,
        since=_day(asked.since),
        until=None if last is None else last + timedelta(days=1),
        limit=PAGE,
        cursor=asked.cursor or None,
    )
    chosen = {"rule": asked.rule, "role": role, "since": asked.since, "until": asked.until, **visitor.looking.named}
    return page(
        visitor,
        "unlearned.html",
        listed=listed,
        asked=chosen,
        remembered=_remembered(visitor, listed),
        rules=RULES,
        roles=(*ROLES, ANYBODY),
        kinds=KINDS,
    )


@router.post("/activity/remember")
def remember(visitor: Visiting, given: Annotated[Remembered, Form()]) -> Response:
    """Remember a text from which nothing was learned, as an item of the kind that the person names."""
    visitor.check(given.token)
    made = visitor.memory.add(
        given.content.replace("\r\n", "\n").strip(),
        kind=given.kind,
        user_id=given.user or None,
        namespace=given.namespace or None,
        occurred_at=given.at or None,
        metadata={SOURCE: given.id},
        actor=visitor.actor,
    )
    notice = Notice("added", (made.entry_id,)) if made.items else Notice("nothing_learned")
    return back_with_notice(visitor, given.next, notice)


def _remembered(visitor: Visitor, texts: Sequence[UnlearnedText]) -> dict[str, Item]:
    """Return the items that a person made of these texts, by the text's id."""
    if not texts:
        return {}
    named = {SOURCE: {"in": [one.id for one in texts]}}
    found = visitor.memory.get_all(**visitor.looking.scope, filters=named, limit=2 * PAGE)
    return {str(item.metadata[SOURCE]): item for item in found}


# Requests, for admins.


class RequestsAsked(BaseModel):
    """The filters of the list."""

    interface: str = ""
    route: str = ""
    failed: bool = False
    since: str = ""
    cursor: str = ""


@router.get("/activity/requests")
def requests(visitor: Visiting, asked: Annotated[RequestsAsked, Query()]) -> Response:
    """List the requests that the server answered, the newest first, with latencies by route."""
    visitor.caller.needs(Role.ADMIN)
    chosen = {
        "interface": asked.interface if asked.interface in INTERFACES else "",
        "route": asked.route,
        "failed": "1" if asked.failed else "",
        "since": asked.since,
        "user": visitor.looking.user_id or "",
    }
    span: dict[str, Any] = {
        "user_id": visitor.looking.user_id,
        "interface": chosen["interface"] or None,
        "since": _day(asked.since),
    }
    admin = visitor.memory.admin
    listed = admin.requests(
        **span, route=asked.route or None, failed=asked.failed or None, limit=PAGE, cursor=asked.cursor or None
    )
    latencies = [] if asked.cursor else admin.latencies(**span)
    return page(visitor, "requests.html", listed=listed, asked=chosen, interfaces=INTERFACES, latencies=latencies)


def _day(given: str) -> datetime | None:
    return parse_moment(given, field="since") if given else None
