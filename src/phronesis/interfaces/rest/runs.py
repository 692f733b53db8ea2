"""Reasoning and runs: claims, what was tried, what came of it, what was learned."""

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from phronesis.core import pages
from phronesis.core.reasoning.item import ReasoningItem
from phronesis.core.reasoning.learned import LearnResult, RunRecord
from phronesis.core.reasoning.review import Review
from phronesis.core.results import EditResult
from phronesis.interfaces.rest import PREFIX
from phronesis.interfaces.rest.answers import answer, listed
from phronesis.interfaces.rest.bodies import Learning, Look, NewReasoning, NewRun, Page, RunWord, Sight
from phronesis.interfaces.rest.callers import Reading, Writing
from phronesis.interfaces.rest.documented import gives
from phronesis.interfaces.rest.segments import RUN
from phronesis.interfaces.rest.writes import Written

router = APIRouter(prefix=PREFIX, tags=["runs"])


@router.post("/reasoning", status_code=HTTPStatus.CREATED, responses=gives(ReasoningItem, 409, 415, status=201))
def add_reasoning(caller: Writing, body: NewReasoning, how: Written) -> Response:
    """Store a block of claims that keeps the rules; one that does not is refused with every mistake."""
    return answer(caller.memory.add_reasoning(**body.given(), **how.by(caller)), HTTPStatus.CREATED)


@router.post("/runs", status_code=HTTPStatus.CREATED, responses=gives(dict[str, str], 409, 415, status=201))
def record_run(caller: Writing, body: NewRun, how: Written) -> Response:
    """Record a run; gives its ``run_id``."""
    return answer({"run_id": caller.memory.record_run(**body.given(), **how.by(caller))}, HTTPStatus.CREATED)


@router.get("/runs", responses=gives(pages.Page[RunRecord]))
def runs(request: Request, caller: Reading, page: Annotated[Page, Query()]) -> Response:
    """List runs, newest first."""
    return listed(request, caller.memory.list_runs(**page.named()))


@router.post(RUN + "/feedback", responses=gives(EditResult, 404, 409, 415))
def run_feedback(caller: Writing, run_id: str, body: RunWord, how: Written) -> Response:
    """Say what came of a run: products, pros, cons."""
    return answer(caller.memory.run_feedback(run_id, **body.given(), **how.by(caller)))


@router.post(RUN + "/learn", responses=gives(LearnResult, 404, 409, 415, 502))
def learn(caller: Writing, run_id: str, body: Learning, how: Written) -> Response:
    """Learn from a run: verdicts on claims, new ones; ``entry_id`` rolls it back."""
    return answer(caller.memory.learn(run_id, **body.given(), **how.by(caller)))


@router.get(RUN + "/review", responses=gives(Review, 404, 502))
def review(caller: Reading, run_id: str, look: Annotated[Look, Query()]) -> Response:
    """Give what a public source says of a run's modifier."""
    return answer(caller.memory.review_run(run_id, **look.given()))


@router.get(RUN, responses=gives(RunRecord, 404))
def run(caller: Reading, run_id: str, owner: Annotated[Sight, Query()]) -> Response:
    """Give a run with its FACTS."""
    return answer(caller.memory.get_run(run_id, **owner.given()))
