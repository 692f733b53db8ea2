"""Pages of activity: contexts that agents were shown, what was not learned and why, and requests with latencies."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated, Any, Final

from fastapi import Query, Response
from pydantic import BaseModel

from phronesis.core.api_keys import Role
from phronesis.core.context import UnlearnedText
from phronesis.core.items import Item
from phronesis.core.timestamps import parse_moment
from phronesis.interfaces.web.pages.item_edits import UNLEARNED
from phronesis.interfaces.web.rendering import make_router, page
from phronesis.interfaces.web.session import Visiting, Visitor
from phronesis.log.inputs import STATED_KINDS

PAGE: Final = 30
"""Rows per page."""

KINDS: Final = ("fact", *sorted(STATED_KINDS - {"fact"}))
"""Kinds that a person may remember a text as, the usual one first."""

RULES: Final = tuple(
    "chit_chat unrecognised question low_confidence hypothesis joke fiction quotation third_party_unknown"
    " duplicate_message quarantine injected instruction echo language sensitive never forget_request code value"
    " assistant operator".split()
)
"""Rules of the filter; a rule that is not named here is shown by its own name."""

ROLES: Final = ("user", "assistant", "tool")
ANYBODY: Final = "anybody"
"""The choice of all roles."""

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
    looking, session, item_id = visitor.looking, asked.session.strip(), asked.shown.strip()
    wanted = {
        "session": "" if looking.across else session,  # a session's name is its user's
        "agent": asked.agent.strip(),
        "verb": asked.verb if asked.verb in VERBS else "",
    }
    listed = visitor.memory.admin.contexts(
        **looking.scope,
        session_id=wanted["session"] or None,
        agent_id=wanted["agent"] or None,
        verb=wanted["verb"] or None,
        item_id=item_id or None,
        since=asked.since or None,
        limit=PAGE,
        cursor=asked.cursor or None,
    )
    return page(
        visitor,
        "contexts.html",
        listed=listed,
        asked={**wanted, "shown": item_id, "since": asked.since, **looking.named},
        verbs=VERBS,
        item=visitor.memory.get(item_id) if item_id else None,
        needs_user=bool(session and looking.across),
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
    last = parse_moment(asked.until, field="until") + timedelta(days=1) if asked.until else None
    listed = visitor.memory.admin.unlearned(
        **visitor.looking.scope,
        rule=asked.rule or None,
        role=None if role == ANYBODY else role,
        since=asked.since or None,
        until=last,
        limit=PAGE,
        cursor=asked.cursor or None,
    )
    return page(
        visitor,
        "unlearned.html",
        listed=listed,
        asked={"rule": asked.rule, "role": role, "since": asked.since, "until": asked.until, **visitor.looking.named},
        remembered=_remembered(visitor, listed),
        rules=RULES,
        roles=(*ROLES, ANYBODY),
        kinds=KINDS,
    )


def _remembered(visitor: Visitor, texts: Sequence[UnlearnedText]) -> dict[str, Item]:
    """Return the items that a person made of these texts, by the text's id."""
    if not texts:
        return {}
    named = {UNLEARNED: {"in": [one.id for one in texts]}}
    found = visitor.memory.get_all(**visitor.looking.scope, filters=named, limit=2 * PAGE)
    return {str(item.metadata[UNLEARNED]): item for item in found}


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
    visitor.caller.require_role(Role.ADMIN)
    interface, user = asked.interface if asked.interface in INTERFACES else "", visitor.looking.user_id
    span: dict[str, Any] = {"user_id": user, "interface": interface or None, "since": asked.since or None}
    admin = visitor.memory.admin
    listed = admin.requests(
        **span, route=asked.route or None, failed=asked.failed or None, limit=PAGE, cursor=asked.cursor or None
    )
    return page(
        visitor,
        "requests.html",
        listed=listed,
        asked={
            "interface": interface,
            "route": asked.route,
            "failed": "1" if asked.failed else "",
            "since": asked.since,
            "user": user or "",
        },
        interfaces=INTERFACES,
        latencies=[] if asked.cursor else admin.latencies(**span),
    )
