"""Memories: remember, list and search, look at one."""

from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from phronesis.interfaces.rest.answers import answer
from phronesis.interfaces.rest.bodies import NewMemory
from phronesis.interfaces.rest.callers import Reading, Writing

router = APIRouter(prefix="/memories", tags=["memories"])


@router.post("", status_code=HTTPStatus.CREATED)
def add(caller: Writing, body: NewMemory) -> Response:
    """Remember a text, messages, or with ``kind`` one item."""
    return answer(caller.memory.add(**body.given(), actor=caller.actor), HTTPStatus.CREATED)


@router.get("")
def browse(
    caller: Reading,
    *,
    query: Annotated[str | None, Query(description="Search for this; without it, browse, newest first.")] = None,
    user_id: str | None = None,
    kind: Annotated[list[str] | None, Query(description="Only these kinds; may be repeated.")] = None,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 20,
    cursor: str | None = None,
) -> Response:
    """Browse what the scope sees, or search it."""
    scope: dict[str, Any] = {"user_id": user_id, "kinds": kind, "limit": limit}
    if query is None:
        return answer(caller.memory.get_all(**scope, cursor=cursor))
    return answer(caller.memory.search(query, **scope, cursor=cursor))


@router.get("/{id}")
def get(caller: Reading, id: str, as_of: str | None = None) -> Response:  # noqa: A002 - the contract's name
    """Give a memory, whatever its status."""
    item = caller.memory.get(id, as_of=as_of)
    return answer(item, headers={"ETag": f'"{item.version}"'})
