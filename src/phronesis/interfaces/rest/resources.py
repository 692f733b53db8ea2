"""Resources and plans: documents, what to look for, and carrying it out, for another server too."""

import tempfile
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Body, Form, Query, Response, UploadFile

from phronesis.core.keys import Role
from phronesis.core.packs import EvidencePack
from phronesis.core.plan import RetrievalPlan, plan_of
from phronesis.core.resources.results import IngestedResource
from phronesis.errors import InputError
from phronesis.interfaces.rest import PREFIX
from phronesis.interfaces.rest.answers import answer
from phronesis.interfaces.rest.bodies import NewResource, PlanWanted
from phronesis.interfaces.rest.callers import Reading, Writing
from phronesis.interfaces.rest.documented import gives
from phronesis.interfaces.rest.writes import Written
from phronesis.interfaces.uploads import stored_name

router = APIRouter(prefix=PREFIX, tags=["resources"])


@router.post("/resources", status_code=HTTPStatus.CREATED, responses=gives(IngestedResource, 409, 415, 502, status=201))
def ingest_resource(caller: Writing, body: NewResource, how: Written) -> Response:
    """Take a document in: its ``text``, or the page at ``url`` where the policy allows it."""
    return answer(caller.memory.ingest_resource(**body.given(), **how.by(caller)), HTTPStatus.CREATED)


@router.post(
    "/resources/upload", status_code=HTTPStatus.CREATED, responses=gives(IngestedResource, 409, 415, 502, status=201)
)
def upload_resource(
    caller: Writing,
    file: UploadFile,
    how: Written,
    *,
    uri: Annotated[str | None, Form()] = None,
    title: Annotated[str | None, Form()] = None,
    user_id: Annotated[str | None, Form()] = None,
    namespace: Annotated[str | None, Form()] = None,
) -> Response:
    """Take a file in: text, Markdown, HTML, code; PDF and Office files where the server has their readers.

    ``uri`` says which document it is; default: the file's name.
    """
    name = Path(file.filename or "").name
    if not name:
        raise InputError("the file needs a name: its ending says how it is read", field="file")
    given: dict[str, Any] = {
        "uri": uri or f"upload:{name}",
        "title": title or name,
        "user_id": user_id,
        "namespace": namespace,
    }
    with tempfile.TemporaryDirectory(prefix="phronesis-upload-") as folder:
        kept = Path(folder, stored_name(name))
        kept.write_bytes(file.file.read())
        return answer(caller.memory.ingest_resource(path=kept, **given, **how.by(caller)), HTTPStatus.CREATED)


@router.post("/plan", responses=gives(RetrievalPlan, 415, 502))
def plan(caller: Reading, body: PlanWanted) -> Response:
    """Say what is to be looked for to answer a message."""
    return answer(caller.memory.plan(**body.given()))


@router.post("/retrieve", responses=gives(EvidencePack, 415, 502))
def retrieve(
    caller: Reading,
    body: Annotated[dict[str, Any], Body(description="A plan, as /plan gives it, perhaps changed.")],
    min_score: Annotated[float | None, Query(description="Leave out what scores less.")] = None,
) -> Response:
    """Carry a plan out; so another Phronesis uses this one as its resources."""
    wanted = plan_of(body)
    if wanted.scope.across_tenant:
        caller.needs(Role.ADMIN)
    return answer(caller.memory.retrieve(wanted, min_score=min_score))
