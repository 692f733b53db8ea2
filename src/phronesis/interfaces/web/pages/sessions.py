"""Pages of sessions: the list, and one session with what was learned from it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from fastapi import Response

from phronesis.core.ids import item_id
from phronesis.core.items import Item
from phronesis.core.results import Turn
from phronesis.core.timestamps import parse_moment
from phronesis.errors import InputError, NotFound
from phronesis.interfaces.web.rendering import address, page
from phronesis.interfaces.web.routing import make_router
from phronesis.interfaces.web.session import Visiting, Visitor

PAGE: Final = 30
"""Sessions per page."""

TURNS: Final = 40
"""Turns per page: the newest, with a link to earlier ones."""

ITEMS: Final = 1_000
"""Maximum items of a session read for its page, the newest: messages, and what was learned from them."""

MESSAGE: Final = "message"
"""Kind of a message; all others were learned from messages."""

ASKS_NOTHING: Final = {"message": "-", "memory": None, "resources": None}
"""A query plan without retrievers: its context holds only what needs no search."""

router = make_router()


@dataclass(frozen=True, slots=True)
class MessageView:
    """A recorded message. ``item`` is its memory, None where there is none or it was erased."""

    anchor: str
    message: Mapping[str, Any]
    at: datetime
    item: Item | None

    @property
    def role(self) -> str:
        """The speaker: user, assistant, tool or another."""
        return str(self.message.get("role", ""))


@dataclass(frozen=True, slots=True)
class Exchange:
    """A turn with its messages, and what was learned from it."""

    turn: Turn
    said: Sequence[MessageView]
    learned: Sequence[Item]


@router.get("/sessions")
def sessions(visitor: Visiting, start: int = 0) -> Response:
    """List the sessions of a scope, the latest first."""
    found = visitor.memory.sessions.list(**visitor.looking.scope)
    first = max(0, start)
    more = first + PAGE if len(found) > first + PAGE else None
    further = address("/sessions", start=more, **visitor.looking.named)
    return page(
        visitor, "sessions.html", listed=found[first : first + PAGE], count=len(found), more=more, further=further
    )


@router.get("/sessions/view")
def session(visitor: Visiting, id: str, before: int = 0) -> Response:  # noqa: A002 - the query's name
    """Show a session as a conversation: its last turns, or those before the turn ``before``."""
    latest = visitor.memory.sessions.turns(id, **visitor.looking.owner, last=1)
    if not latest:
        raise NotFound(f"id: there is no session {id} of this user or namespace; /sessions lists them", field="id")
    found = visitor.memory.sessions.turns(id, **visitor.looking.owner, last=TURNS + 1, before=before or None)
    shown = found[-TURNS:]
    named = {"id": id, **visitor.looking.named}
    return page(
        visitor,
        "session.html",
        session_id=id,
        latest=latest[-1],
        exchanges=_exchanges(visitor, id, shown),
        before=address("/sessions/view", before=shown[0].number, **named) if len(found) > len(shown) else None,
        newest=address("/sessions/view", **named) if before else None,
        summary_at=address("/sessions/summary", **named),
        composer=address("/composer", session=id, **visitor.looking.named),
    )


@router.get("/sessions/summary")
def summary(visitor: Visiting, id: str) -> Response:  # noqa: A002 - the query's name
    """Show the running summary of a session, as contexts carry it: a part of its page."""
    package = visitor.memory.compose_context(id, "-", **visitor.looking.owner, plan=ASKS_NOTHING, dry_run=True)
    return page(visitor, "session_summary.html", lines=package.working_summary, made_by=package.explain["summary"])


def _exchanges(visitor: Visitor, session_id: str, turns: Sequence[Turn]) -> list[Exchange]:
    """Return turns joined with the items of their entries."""
    owner = visitor.looking.owner
    held = visitor.memory.quarantine.list(**owner, session_id=session_id, limit=ITEMS)
    found = [*visitor.memory.get_all(**owner, session_id=session_id, limit=ITEMS), *held]
    messages = {item.id: item for item in found if item.kind == MESSAGE}
    learned: dict[str, list[Item]] = {}
    for item in found:
        if item.kind != MESSAGE:
            learned.setdefault(item.entry_id, []).append(item)
    return [
        Exchange(
            turn,
            [_message_view(turn, n, message, messages) for n, message in enumerate(turn.messages)],
            learned.get(turn.entry_id, [])[::-1],
        )
        for turn in turns
    ]


def _message_view(turn: Turn, n: int, message: Mapping[str, Any], items: Mapping[str, Item]) -> MessageView:
    item = items.get(item_id(turn.entry_id, MESSAGE, str(n)))
    anchor = message.get("id") or (item.id if item is not None else f"{turn.number}-{n}")
    return MessageView(f"m-{anchor}", message, _moment(message.get("created_at")) or turn.recorded_at, item)


def _moment(given: object) -> datetime | None:
    try:
        return parse_moment(given, field="created_at") if given else None
    except InputError:  # recorded before times were validated, or imported
        return None
