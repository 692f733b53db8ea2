"""Pages of sessions: the list, and one session with what was learned from it."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, time
from typing import Any, Final

from fastapi import Response

from phronesis.core.ids import item_id
from phronesis.core.items import Item
from phronesis.core.results import SessionInfo, Turn
from phronesis.core.timestamps import parse_moment
from phronesis.errors import InputError, NotFound
from phronesis.interfaces.web.rendering import address, download, json_lines, make_router, page
from phronesis.interfaces.web.session import Administering, FormText, Visiting, Visitor

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

FIRST_WORDS: Final = 90
"""Characters of the first words that stand for a title."""

SEARCHED: Final = 200
"""Messages that a search for sessions considers."""

router = make_router()


@dataclass(frozen=True, slots=True)
class SessionCard:
    """A session of a list: its title, the first words said in it, and the message that a search found in it."""

    info: SessionInfo
    title: str
    first_words: str
    found: Item | None = None

    @property
    def heading(self) -> str:
        """Return what the session is called: its title, else its first words, else its id."""
        return self.title or self.first_words or self.info.session_id


@router.get("/sessions")
def sessions(visitor: Visiting, q: str = "", since: str = "", until: str = "", start: int = 0) -> Response:
    """List the sessions of a scope, the latest first; those in which something was said, where words are given."""
    words, listed = q.strip(), visitor.memory.sessions.list(**visitor.looking.scope)
    if since:
        first_day = parse_moment(since, field="since")
        listed = [one for one in listed if one.updated_at >= first_day]
    if until:
        end = datetime.combine(parse_moment(until, field="until").date(), time.max, UTC)
        listed = [one for one in listed if one.created_at <= end]
    hits = _hits(visitor, words)
    found = [one for one in listed if not words or _is_named(one, words) or _key(one) in hits]
    first = max(0, start)
    more = first + PAGE if len(found) > first + PAGE else None
    asked = {"q": words, "since": since, "until": until}
    cards = cards_of(visitor, found[first : first + PAGE], hits)
    further = address("/sessions", start=more, **asked, **visitor.looking.named)
    return page(visitor, "sessions.html", listed=cards, count=len(found), more=more, further=further, asked=asked)


def cards_of(
    visitor: Visitor, found: Iterable[SessionInfo], hits: Mapping[tuple[str | None, ...], Item] | None = None
) -> list[SessionCard]:
    """Return sessions with their titles and first words; ``hits`` are the messages that a search found."""
    return [
        SessionCard(
            one,
            title_of(one.metadata),
            _first_words(visitor, one.session_id, {"user_id": one.user_id, "namespace": one.namespace}),
            (hits or {}).get(_key(one)),
        )
        for one in found
    ]


def title_of(metadata: Mapping[str, Any]) -> str:
    """Return the title that a session was given, as importers of chats do."""
    return str(metadata.get("title") or "").strip()


def _first_words(visitor: Visitor, session_id: str, owner: Mapping[str, Any]) -> str:
    first = visitor.memory.sessions.turns(session_id, **owner, last=1, before=2)
    texts = (_text(message) for turn in first for message in turn.messages)
    words = " ".join(next(filter(None, texts), "").split())
    return words if len(words) <= FIRST_WORDS else words[: FIRST_WORDS - 1].rstrip() + "…"


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    return content if isinstance(content, str) else ""


def _hits(visitor: Visitor, words: str) -> dict[tuple[str | None, ...], Item]:
    """Return the best message of each session that a search for words finds."""
    if not words:
        return {}
    found = visitor.memory.search(words, **visitor.looking.scope, kinds=[MESSAGE], limit=SEARCHED)
    best: dict[tuple[str | None, ...], Item] = {}
    for one in found:
        if one.score >= found.threshold:
            best.setdefault(_key(one.item), one.item)
    return best


def _key(one: SessionInfo | Item) -> tuple[str | None, ...]:
    return one.user_id, one.namespace, one.session_id


def _is_named(info: SessionInfo, words: str) -> bool:
    return any(words.casefold() in name.casefold() for name in (info.session_id, title_of(info.metadata)))


@router.get("/sessions/view")
def session(visitor: Visiting, id: str, before: int = 0) -> Response:
    """Show a session as a conversation: its last turns, or those before the turn ``before``."""
    latest = _latest_turn(visitor, id)
    found = visitor.memory.sessions.turns(id, **visitor.looking.owner, last=TURNS + 1, before=before or None)
    shown = found[-TURNS:]
    named = {"id": id, **visitor.looking.named}
    return page(
        visitor,
        "session.html",
        session_id=id,
        title=title_of(latest.session_metadata) or _first_words(visitor, id, visitor.looking.owner) or id,
        latest=latest,
        exchanges=_exchanges(visitor, id, shown),
        before=address("/sessions/view", before=shown[0].number, **named) if len(found) > len(shown) else None,
        newest=address("/sessions/view", **named) if before else None,
        summary_at=address("/sessions/summary", **named),
        contexts=address("/activity", session=id, **visitor.looking.named),
        composer=address("/composer", session=id, **visitor.looking.named),
        export=address("/sessions/export", **named),
    )


def _latest_turn(visitor: Visitor, session_id: str) -> Turn:
    """Return the newest turn of a session; NotFound if there is no such session."""
    found = visitor.memory.sessions.turns(session_id, **visitor.looking.owner, last=1)
    if not found:
        said = f"id: there is no session {session_id} of this user or namespace; /sessions lists them"
        raise NotFound(said, field="id")
    return found[-1]


@router.get("/sessions/export")
def export(visitor: Visiting, id: str) -> Response:
    """Return the turns of a session, as JSON lines."""
    _latest_turn(visitor, id)
    turns = visitor.memory.sessions.turns(id, **visitor.looking.owner)
    return download(f"{id}.jsonl", json_lines(turns))


@router.post("/sessions/erase")
def erase(visitor: Administering, id: FormText, typed: FormText = "") -> Response:
    """Erase a session with what was learned there, once its id was typed."""
    if typed.strip() != id:
        raise InputError(f"typed: type {id} to erase the session", field="typed")
    certificate = visitor.memory.erase(session_id=id, **visitor.looking.owner, actor=visitor.actor)
    return page(visitor, "erased.html", certificates=[certificate], next="/sessions")


@router.get("/sessions/summary")
def summary(visitor: Visiting, id: str) -> Response:
    """Show the running summary of a session, as contexts carry it: a part of its page."""
    package = visitor.memory.compose_context(id, "-", **visitor.looking.owner, plan=ASKS_NOTHING, dry_run=True)
    return page(visitor, "session_summary.html", lines=package.working_summary, made_by=package.explain["summary"])


def _exchanges(visitor: Visitor, session_id: str, turns: Sequence[Turn]) -> list[dict[str, Any]]:
    """Return turns joined with the items of their entries."""
    owner = visitor.looking.owner
    held = visitor.memory.quarantine.list(**owner, session_id=session_id, limit=ITEMS)
    found = [*visitor.memory.get_all(**owner, session_id=session_id, limit=ITEMS), *held]
    messages = {item.id: item for item in found if item.kind == MESSAGE}
    learned: dict[str, list[Item]] = {}
    for item in found:
        if item.kind != MESSAGE:
            learned.setdefault(item.entry_id, []).append(item)
    return [_exchange(turn, messages, learned.get(turn.entry_id, [])[::-1]) for turn in turns]


def _exchange(turn: Turn, messages: Mapping[str, Item], learned: Sequence[Item]) -> dict[str, Any]:
    """Return a turn; each learned item stands at the message that it was learned from, as far as that is known."""
    origin = {item.id: n for item in learned for n in _origins(turn, item)[:1]}
    said = []
    for n, message in enumerate(turn.messages):
        item = messages.get(item_id(turn.entry_id, MESSAGE, str(n)))
        anchor = message.get("id") or (item.id if item is not None else f"{turn.number}-{n}")
        at = turn.recorded_at
        with suppress(InputError):  # recorded before times were validated, or imported
            at = parse_moment(message["created_at"], field="created_at") if message.get("created_at") else at
        here = [one for one in learned if origin.get(one.id) == n]
        role = str(message.get("role", ""))
        said.append(
            {"anchor": f"m-{anchor}", "role": role, "message": message, "at": at, "item": item, "learned": here}
        )
    return {"turn": turn, "said": said, "learned": [one for one in learned if one.id not in origin]}


def _origins(turn: Turn, item: Item) -> list[int]:
    """Return the places of the messages that an item may be learned from: by the message's id, else by its words."""
    named = [n for n, one in enumerate(turn.messages) if item.message_id and one.get("id") == item.message_id]
    return named or [n for n, one in enumerate(turn.messages) if item.content and item.content in _text(one)]
