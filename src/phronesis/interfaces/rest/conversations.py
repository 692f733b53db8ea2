"""Conversations: turns, sessions, and the context for the next answer."""

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Query, Response

from phronesis.core.context import ContextPackage
from phronesis.core.keys import Role
from phronesis.core.results import CommitResult, SessionInfo, Turn
from phronesis.interfaces.context_summary import ContextSummary, summary_of
from phronesis.interfaces.rest import PREFIX
from phronesis.interfaces.rest.answers import answer
from phronesis.interfaces.rest.bodies import ContextWanted, NewTurn, Sessions, Turns
from phronesis.interfaces.rest.callers import Reading, Writing
from phronesis.interfaces.rest.documented import gives
from phronesis.interfaces.rest.writes import Written

router = APIRouter(prefix=PREFIX, tags=["conversations"])


@router.post("/turns", status_code=HTTPStatus.CREATED, responses=gives(CommitResult, 409, 415, status=201))
def commit_turn(caller: Writing, body: NewTurn, how: Written) -> Response:
    """Record one turn of a session: messages, tool calls, references."""
    return answer(caller.memory.commit_turn(**body.given(), **how.by(caller)), HTTPStatus.CREATED)


@router.get("/turns", responses=gives(list[Turn], 404))
def turns(caller: Reading, wanted: Annotated[Turns, Query()]) -> Response:
    """Give a session's turns as they were recorded."""
    return answer(caller.memory.get_turns(**wanted.given()))


@router.get("/sessions", responses=gives(list[SessionInfo]))
def sessions(caller: Reading, wanted: Annotated[Sessions, Query()]) -> Response:
    """Give the sessions a scope sees, latest first."""
    if wanted.across is not None:
        caller.needs(Role.ADMIN)
    return answer(caller.memory.list_sessions(**wanted.given()))


@router.post("/context", responses=gives(ContextSummary | ContextPackage, 415, 502))
def context(caller: Reading, body: ContextWanted) -> Response:
    """Compose the context for a message, within its token budget. Nothing is stored but what was shown.

    With `explain` also every record behind it, what each slot used and what was dropped: some thirty times the tokens.
    """
    given = body.given()
    explain = given.pop("explain", False)
    package = caller.memory.compose_context(**given)
    return answer(package if explain else summary_of(package))
