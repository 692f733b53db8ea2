"""Keeping a store in order: jobs, quarantine, export."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Final

from fastapi import APIRouter, Query, Response
from fastapi.responses import StreamingResponse

from phronesis.core.items import Item
from phronesis.core.jobs import Jobs
from phronesis.core.results import EditResult
from phronesis.interfaces.rest import PREFIX
from phronesis.interfaces.rest.answers import answer
from phronesis.interfaces.rest.bodies import Held, Verdict
from phronesis.interfaces.rest.callers import Administering, Reading
from phronesis.interfaces.rest.documented import gives
from phronesis.interfaces.rest.writes import Written

router = APIRouter(prefix=PREFIX, tags=["upkeep"])

NDJSON: Final = "application/x-ndjson"
_CHUNK: Final = 1 << 16


@router.get("/jobs", responses=gives(Jobs))
def jobs(caller: Reading, limit: Annotated[int, Query(ge=1, le=1_000)] = 100) -> Response:
    """List what failed, waits, or is due."""
    return answer(caller.memory.jobs(limit=limit))


@router.get("/quarantine", responses=gives(list[Item]))
def quarantined(caller: Reading, wanted: Annotated[Held, Query()]) -> Response:
    """List what reads like an order to a model."""
    return answer(caller.memory.quarantine_list(**wanted.of(caller)))


@router.post("/quarantine", responses=gives(EditResult, 404, 409, 415))
def decide(caller: Administering, body: Verdict, how: Written) -> Response:
    """Let an item in quarantine go, or end it; an admin's key."""
    verb = caller.memory.quarantine_release if body.action == "release" else caller.memory.quarantine_reject
    return answer(verb(body.id, reason=body.reason, **how.by(caller)))


@router.get(
    "/export",
    response_class=StreamingResponse,
    responses={200: {"description": "The log, a JSON object a line.",
                     "content": {NDJSON: {"schema": {"type": "string"}}}}},
)  # fmt: skip
def export(caller: Administering) -> Response:
    """Give the whole log as lines of JSON, from which ``import`` makes the same store; an admin's key."""
    # The file is complete before the first byte goes out: what cannot be exported is a problem, not half an answer.
    folder = tempfile.TemporaryDirectory(prefix="phronesis-export-")
    try:
        path = Path(folder.name) / "export.jsonl"
        caller.memory.export(path)
    except BaseException:
        folder.cleanup()
        raise
    return StreamingResponse(_read(path, folder), media_type=NDJSON)


def _read(path: Path, folder: "tempfile.TemporaryDirectory[str]") -> Iterator[bytes]:
    with folder, path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk
