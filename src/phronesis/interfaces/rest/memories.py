"""Memories: remember, list and search, look at one, change it, take it back."""

from functools import reduce
from http import HTTPStatus
from operator import or_
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Query, Request, Response

from phronesis.core.items import Item
from phronesis.core.keys import Role
from phronesis.core.pages import Page
from phronesis.core.results import AddResult, EditResult, ErasureCertificate, Explanation, HistoryEvent, SearchResult
from phronesis.interfaces.rest import PREFIX
from phronesis.interfaces.rest.answers import answer, listed
from phronesis.interfaces.rest.bodies import Because, Change, Listing, NewMemory, Removal, Then, Undo
from phronesis.interfaces.rest.callers import Reading, Writing
from phronesis.interfaces.rest.documented import gives
from phronesis.interfaces.rest.writes import Key, Match, Written, etag, version_of
from phronesis.wire import RECORD_OF_KIND

router = APIRouter(prefix=PREFIX, tags=["memories"])

ANY_ITEM: Final[Any] = reduce(or_, RECORD_OF_KIND.values(), Item)
_TAGGED: Final = {"ETag": "The item's version, for If-Match."}


@router.post("/memories", status_code=HTTPStatus.CREATED, responses=gives(AddResult, 409, 415, status=201))
def add(caller: Writing, body: NewMemory, how: Written) -> Response:
    """Remember a text, messages, or with ``kind`` one item."""
    return answer(caller.memory.add(**body.given(), **how.by(caller)), HTTPStatus.CREATED)


@router.get("/memories", responses=gives(Page[Item] | SearchResult, headers={"Link": "The next page."}))
def list_memories(request: Request, caller: Reading, wanted: Annotated[Listing, Query()]) -> Response:
    """Browse what the scope sees, newest first, page by page; with ``query``, search it."""
    given = wanted.of(caller)
    if wanted.query is not None:
        return answer(caller.memory.search(**given))
    for name in ("explain", "offset", "min_score", "exclude_session", "time_zone"):
        given.pop(name, None)
    return listed(request, caller.memory.get_all(**given))


@router.get("/memories/{id}", responses=gives(ANY_ITEM, 404, headers=_TAGGED))
def get(caller: Reading, id: str, then: Annotated[Then, Query()]) -> Response:  # noqa: A002 - the contract's name
    """Give a memory as the record of its kind, whatever its status."""
    item = caller.memory.get(id, **then.given())
    return answer(item, headers=etag(item.version))


@router.patch("/memories/{id}", responses=gives(EditResult, 404, 409, 412, 415, headers=_TAGGED))
def change(caller: Writing, id: str, body: Change, how: Written, *, if_match: Match = None) -> Response:  # noqa: A002
    """Give a memory other words, metadata, or an end; its history keeps the old."""
    result = caller.memory.update(id, **body.given(), expected_version=version_of(if_match), **how.by(caller))
    return edited(result)


@router.delete("/memories/{id}", responses=gives(EditResult | ErasureCertificate, 404, 409, 412))
def remove(
    caller: Writing,
    id: str,  # noqa: A002 - the contract's name
    way: Annotated[Removal, Query()],
    *,
    key: Key = None,
    if_match: Match = None,
) -> Response:
    """Archive a memory; with ``erase`` remove its words for good, which needs an admin's key."""
    if way.erase:
        caller.needs(Role.ADMIN)
    given: dict[str, Any] = {"expected_version": version_of(if_match), "reason": way.reason, "actor": caller.actor}
    if way.erase:
        return answer(caller.memory.erase(id=id, **given))
    return edited(caller.memory.delete(id, **given, idempotency_key=key, wait=way.wait))


@router.post("/memories/{id}/{edit}", responses=gives(EditResult, 404, 409, 412, 415, headers=_TAGGED))
def edit(
    caller: Writing,
    id: str,  # noqa: A002 - the contract's name
    edit: Literal["archive", "unarchive", "pin", "unpin", "retract"],
    how: Written,
    body: Because | None = None,
    *,
    if_match: Match = None,
) -> Response:
    """Archive a memory, bring it back, pin or unpin it, or say that it was wrong."""
    given = {} if body is None else body.given()
    verb = getattr(caller.memory, edit)
    return edited(verb(id, **given, expected_version=version_of(if_match), **how.by(caller)))


@router.get("/memories/{id}/history", responses=gives(list[HistoryEvent], 404))
def history(caller: Reading, id: str, then: Annotated[Then, Query()]) -> Response:  # noqa: A002
    """Give a memory's changes, oldest first; each can be rolled back."""
    return answer(caller.memory.history(id, **then.given()))


@router.get("/memories/{id}/explain", responses=gives(Explanation, 404))
def explain(caller: Reading, id: str, then: Annotated[Then, Query()]) -> Response:  # noqa: A002
    """Give why a memory is held: entry, source, quotation, evidence, edges, history."""
    return answer(caller.memory.explain(id, **then.given()))


@router.post("/rollback", responses=gives(EditResult, 404, 409, 415))
def rollback(caller: Writing, body: Undo, how: Written) -> Response:
    """Take back one delta, or all that an entry changed."""
    return answer(caller.memory.rollback(body.id, cascade=body.cascade, **how.by(caller)))


def edited(result: EditResult) -> Response:
    """Give the answer to an edit, with the version that the item has now."""
    item = result.items[0] if result.items else None
    return answer(result, headers=etag(item.version) if item is not None else None)
