"""Routes of the engines: experience, reasoning and runs, resources, plans."""

from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Body, Form, Query, Request, Response, UploadFile

from phronesis.core import reports
from phronesis.core.api_keys import Role
from phronesis.core.evidence_pack import EvidencePack
from phronesis.core.results import ClaimIndexResult, EditResult, SearchResult
from phronesis.core.retrieval_plan import RetrievalPlan, plan_of
from phronesis.errors import InputError, Violation
from phronesis.experience.laws.answers import Answer
from phronesis.experience.laws.records import (
    L1,
    PATTERN,
    PRINCIPLE,
    Aggregation,
    Episode,
    EventSource,
    FeedbackResult,
    ForgetResult,
    Ingested,
    L1Event,
    Pattern,
    Principle,
)
from phronesis.interfaces.authentication import Caller
from phronesis.interfaces.http import PREFIX, bodies, queries
from phronesis.interfaces.http.dependencies import RUN, Administering, Reading, Writing, Written, ingest_upload
from phronesis.interfaces.http.openapi import answer, creates, gives, page_response
from phronesis.reasoning.laws.item_records import LearnResult, ReasoningItem, RunRecord
from phronesis.reasoning.laws.records import Review
from phronesis.resources.documents import IngestedResource, Resource

experience_router = APIRouter(prefix=PREFIX, tags=["experience"])


@experience_router.post("/experiences", **creates(Ingested, 502))
def ingest_experiences(caller: Writing, body: bodies.NewExperience, how: Written) -> Response:
    """Take attempts in: ``nei``, or the ``text`` of a source of some ``source_type``."""
    given = body.arguments()
    if ("nei" in given) == ("text" in given):
        raise InputError("give nei, or text with source_type", field="nei")
    if "nei" in given:
        stray = sorted(given.keys() & {"source_type", "source_ref", "occurred_at"})
        if stray:
            raise InputError(f"{stray[0]} goes with text; each nei has its own", field=stray[0])
        return answer(caller.memory.ingest(**given, **how.by(caller)), HTTPStatus.CREATED)
    if "source_type" not in given:
        raise InputError(
            "source_type says what the text is: lean, math_proof, chat, log, manual, run", field="source_type"
        )
    return answer(caller.memory.resources.ingest_source(**given, **how.by(caller)), HTTPStatus.CREATED)


@experience_router.get("/experiences", responses=gives(reports.Page[L1Event]))
def list_experiences(request: Request, caller: Reading, page: Annotated[queries.Page, Query()]) -> Response:
    """List attempts, newest first."""
    return page_response(request, _records(caller, L1, page))


@experience_router.get("/experiences/source", responses=gives(EventSource, 404))
def get_experience_source(caller: Reading, asked: Annotated[queries.SourceQuery, Query()]) -> Response:
    """Return what an event was taken from, by the event's id or a ``source_ref``: text and lines, payload, hints."""
    return answer(caller.memory.resources.get_source(**asked.arguments()))


@experience_router.get("/experiences/episode", responses=gives(Episode, 404))
def get_episode(caller: Reading, asked: Annotated[queries.EpisodeQuery, Query()]) -> Response:
    """Return the attempts of an episode in order."""
    return answer(caller.memory.resources.get_episode(**asked.arguments()))


@experience_router.get("/patterns", responses=gives(reports.Page[Pattern]))
def list_patterns(request: Request, caller: Reading, page: Annotated[queries.Page, Query()]) -> Response:
    """List what attempts have in common."""
    return page_response(request, _records(caller, PATTERN, page))


@experience_router.get("/principles", responses=gives(reports.Page[Principle]))
def list_principles(request: Request, caller: Reading, page: Annotated[queries.Page, Query()]) -> Response:
    """List what follows from patterns."""
    return page_response(request, _records(caller, PRINCIPLE, page))


@experience_router.post("/aggregate", responses=gives(Aggregation, 409, 415))
def aggregate_experiences(caller: Writing, body: bodies.Grouping, how: Written) -> Response:
    """Group attempts into patterns."""
    return answer(caller.memory.aggregate(**body.arguments(), **how.by(caller)))


@experience_router.post("/abstract", responses=gives(Aggregation, 409, 415, 502))
def abstract_patterns(caller: Writing, body: bodies.Owner, how: Written) -> Response:
    """Draw principles from patterns."""
    return answer(caller.memory.abstract(**body.arguments(), **how.by(caller)))


@experience_router.post("/query", responses=gives(Answer, 415))
def query_experience(caller: Reading, body: bodies.Question) -> Response:
    """Ask what worked, and what did not."""
    return answer(caller.memory.query(**body.arguments()))


@experience_router.post("/feedback", responses=gives(FeedbackResult, 404, 409, 415))
def give_feedback(caller: Writing, body: bodies.FeedbackBody, how: Written) -> Response:
    """Say of an item that it was useful or not, right or wrong, or what else it is."""
    return answer(caller.memory.feedback(**body.arguments(), **how.by(caller)))


@experience_router.post("/forget", responses=gives(ForgetResult, 409, 415))
def forget_memories(caller: Writing, body: bodies.Forgetting, how: Written) -> Response:
    """Put away what nobody needs, or with ``dry_run`` say what would be."""
    return answer(caller.memory.forget(**body.arguments(), **how.by(caller)))


def _records(caller: Caller, kind: str, page: queries.Page) -> reports.Page[Any]:
    found = caller.memory.get_all(kinds=[kind], **page.named())
    return reports.Page(tuple(caller.memory.get(item.id) for item in found), found.next_cursor)


# Reasoning and runs: claims, runs, feedback, learning.

run_router = APIRouter(prefix=PREFIX, tags=["runs"])


@run_router.post("/reasoning", **creates(ReasoningItem))
def add_reasoning(caller: Writing, body: bodies.NewReasoning, how: Written) -> Response:
    """Store a block of claims that keeps the rules; one that does not is refused with every mistake."""
    return answer(caller.memory.reasoning.add(**body.arguments(), **how.by(caller)), HTTPStatus.CREATED)


@run_router.get("/reasoning", responses=gives(SearchResult))
def search_claims(caller: Reading, asked: Annotated[queries.ClaimQuery, Query()]) -> Response:
    """Search reasoning items by their claims; with ``run_id``, note that the run saw them."""
    return answer(caller.memory.mem_search(**asked.arguments()))


@run_router.post("/reasoning/check", responses=gives(list[Violation], 415))
def check_claims(caller: Reading, body: bodies.ClaimsToCheck) -> Response:
    """Return every rule that a block of claims breaks; nothing is stored."""
    return answer(caller.memory.reasoning.check(**body.arguments()))


@run_router.post("/reasoning/index", responses=gives(ClaimIndexResult, 502))
def rebuild_claim_index(caller: Administering) -> Response:
    """Rebuild the search documents of the reasoning items; an admin's key."""
    return answer(caller.memory.reasoning.rebuild_index())


@run_router.get("/reasoning/{id}", responses=gives(ReasoningItem, 404))
def get_reasoning(caller: Reading, id: str, whose: Annotated[queries.ReasoningQuery, Query()]) -> Response:
    """Return a reasoning item; with ``run_id``, note that the run saw it."""
    return answer(caller.memory.reasoning.get(id, **whose.arguments()))


@run_router.post("/runs", **creates(dict[str, str]))
def record_run(caller: Writing, body: bodies.NewRun, how: Written) -> Response:
    """Record a run; gives its ``run_id``."""
    return answer({"run_id": caller.memory.runs.record(**body.arguments(), **how.by(caller))}, HTTPStatus.CREATED)


@run_router.get("/runs", responses=gives(reports.Page[RunRecord]))
def list_runs(request: Request, caller: Reading, page: Annotated[queries.Page, Query()]) -> Response:
    """List runs, newest first."""
    return page_response(request, caller.memory.runs.list(**page.named()))


@run_router.post(RUN + "/feedback", responses=gives(EditResult, 404, 409, 415))
def give_run_feedback(caller: Writing, run_id: str, body: bodies.RunWord, how: Written) -> Response:
    """Say what came of a run: products, pros, cons."""
    return answer(caller.memory.runs.feedback(run_id, **body.arguments(), **how.by(caller)))


@run_router.post(RUN + "/learn", responses=gives(LearnResult, 404, 409, 415, 502))
def learn_from_run(caller: Writing, run_id: str, body: bodies.Learning, how: Written) -> Response:
    """Learn from a run: verdicts on claims, new ones; ``entry_id`` rolls it back."""
    return answer(caller.memory.learn(run_id, **body.arguments(), **how.by(caller)))


@run_router.get(RUN + "/review", responses=gives(Review, 404, 502))
def review_run(caller: Reading, run_id: str, look: Annotated[queries.ReviewOptions, Query()]) -> Response:
    """Return what a public source says of a run's modifier."""
    return answer(caller.memory.runs.review(run_id, **look.arguments()))


@run_router.get(RUN, responses=gives(RunRecord, 404))
def get_run(caller: Reading, run_id: str, owner: Annotated[queries.ReadScope, Query()]) -> Response:
    """Return a run with its FACTS."""
    return answer(caller.memory.runs.get(run_id, **owner.arguments()))


# Resources and plans: documents, query plans and their execution, also on behalf of another server.

resource_router = APIRouter(prefix=PREFIX, tags=["resources"])


@resource_router.post("/resources", **creates(IngestedResource, 502))
def ingest_resource(caller: Writing, body: bodies.NewResource, how: Written) -> Response:
    """Take a document in: its ``text``, or the page at ``url`` where the policy allows it."""
    return answer(caller.memory.resources.ingest(**body.arguments(), **how.by(caller)), HTTPStatus.CREATED)


@resource_router.post("/resources/upload", **creates(IngestedResource, 502))
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
    about: dict[str, Any] = {"uri": uri, "title": title, "user_id": user_id, "namespace": namespace}
    return answer(ingest_upload(caller.memory, file, **about, **how.by(caller)), HTTPStatus.CREATED)


@resource_router.get("/resources/{id}", responses=gives(Resource, 404))
def get_resource(caller: Reading, id: str, then: Annotated[queries.ItemQuery, Query()]) -> Response:
    """Return a document with its versions, and its sections in reading order."""
    return answer(caller.memory.resources.get(id, **then.arguments()))


@resource_router.post("/plan", responses=gives(RetrievalPlan, 415, 502))
def plan_retrieval(caller: Reading, body: bodies.PlanRequest) -> Response:
    """Say what is to be looked for to answer a message."""
    return answer(caller.memory.plan(**body.arguments()))


@resource_router.post("/retrieve", responses=gives(EvidencePack, 415, 502))
def retrieve_evidence(
    caller: Reading,
    body: Annotated[dict[str, Any], Body(description="A plan, as /plan gives it, perhaps changed.")],
    min_score: Annotated[float | None, Query(description="Leave out what scores less.")] = None,
) -> Response:
    """Carry a plan out; so another Phronesis uses this one as its resources."""
    wanted = plan_of(body)
    if wanted.scope.across_tenant:
        caller.require_role(Role.ADMIN)
    return answer(caller.memory.retrieve(wanted, min_score=min_score))
