"""Experience: attempts, what they have in common, what follows from it, and what people say of it."""

from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from phronesis.core import pages
from phronesis.core.experience.answers import Answer
from phronesis.core.experience.records import L1, PATTERN, PRINCIPLE, L1Event, Pattern, Principle
from phronesis.core.experience.results import Aggregation, EventSource, Ingested
from phronesis.core.experience.upkeep import FeedbackResult, ForgetResult
from phronesis.errors import InputError
from phronesis.interfaces.admission import Caller
from phronesis.interfaces.rest import PREFIX
from phronesis.interfaces.rest.answers import answer, listed
from phronesis.interfaces.rest.bodies import Forgetting, Grouping, NewExperience, Owner, Page, Question, Taken, Word
from phronesis.interfaces.rest.callers import Reading, Writing
from phronesis.interfaces.rest.documented import gives
from phronesis.interfaces.rest.writes import Written

router = APIRouter(prefix=PREFIX, tags=["experience"])


@router.post("/experiences", status_code=HTTPStatus.CREATED, responses=gives(Ingested, 409, 415, 502, status=201))
def ingest(caller: Writing, body: NewExperience, how: Written) -> Response:
    """Take attempts in: ``nei``, or the ``text`` of a source of some ``source_type``."""
    given = body.given()
    if ("nei" in given) == ("text" in given):
        raise InputError("give nei, or text with source_type", field="nei")
    if "nei" in given:
        stray = sorted(given.keys() & {"source_type", "source_ref", "occurred_at"})
        if stray:
            raise InputError(f"{stray[0]} goes with text; each nei has its own", field=stray[0])
        return answer(caller.memory.ingest(**given, **how.by(caller)), HTTPStatus.CREATED)
    if "source_type" not in given:
        raise InputError("source_type says what the text is: lean, math_proof, chat, log, manual, run",
                         field="source_type")  # fmt: skip
    return answer(caller.memory.ingest_source(**given, **how.by(caller)), HTTPStatus.CREATED)


@router.get("/experiences", responses=gives(pages.Page[L1Event]))
def experiences(request: Request, caller: Reading, page: Annotated[Page, Query()]) -> Response:
    """List attempts, newest first."""
    return listed(request, _records(caller, L1, page))


@router.get("/experiences/source", responses=gives(EventSource, 404))
def source(caller: Reading, asked: Annotated[Taken, Query()]) -> Response:
    """Give what an event was taken from, by the event's id or a ``source_ref``: text and lines, payload, hints."""
    return answer(caller.memory.get_source(**asked.given()))


@router.get("/patterns", responses=gives(pages.Page[Pattern]))
def patterns(request: Request, caller: Reading, page: Annotated[Page, Query()]) -> Response:
    """List what attempts have in common."""
    return listed(request, _records(caller, PATTERN, page))


@router.get("/principles", responses=gives(pages.Page[Principle]))
def principles(request: Request, caller: Reading, page: Annotated[Page, Query()]) -> Response:
    """List what follows from patterns."""
    return listed(request, _records(caller, PRINCIPLE, page))


@router.post("/aggregate", responses=gives(Aggregation, 409, 415))
def aggregate(caller: Writing, body: Grouping, how: Written) -> Response:
    """Group attempts into patterns."""
    return answer(caller.memory.aggregate(**body.given(), **how.by(caller)))


@router.post("/abstract", responses=gives(Aggregation, 409, 415, 502))
def abstract(caller: Writing, body: Owner, how: Written) -> Response:
    """Draw principles from patterns."""
    return answer(caller.memory.abstract(**body.given(), **how.by(caller)))


@router.post("/query", responses=gives(Answer, 415))
def query(caller: Reading, body: Question) -> Response:
    """Ask what worked, and what did not."""
    return answer(caller.memory.query(**body.given()))


@router.post("/feedback", responses=gives(FeedbackResult, 404, 409, 415))
def feedback(caller: Writing, body: Word, how: Written) -> Response:
    """Say of an item that it was useful or not, right or wrong, or what else it is."""
    return answer(caller.memory.feedback(**body.given(), **how.by(caller)))


@router.post("/forget", responses=gives(ForgetResult, 409, 415))
def forget(caller: Writing, body: Forgetting, how: Written) -> Response:
    """Put away what nobody needs, or with ``dry_run`` say what would be."""
    return answer(caller.memory.forget(**body.given(), **how.by(caller)))


def _records(caller: Caller, kind: str, page: Page) -> pages.Page[Any]:
    found = caller.memory.get_all(kinds=[kind], **page.named())
    return pages.Page(tuple(caller.memory.get(item.id) for item in found), found.next_cursor)
