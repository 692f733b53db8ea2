"""Whether the server is there, whether it can work, and what it counted."""

from http import HTTPStatus

from fastapi import APIRouter, Request, Response

from phronesis import __version__
from phronesis.interfaces.rest.answers import answer
from phronesis.interfaces.rest.callers import Reading
from phronesis.interfaces.rest.documented import problems
from phronesis.interfaces.rest.metrics import MEDIA_TYPE, Labels, Metrics
from phronesis.memory import Memory
from phronesis.storage.health import count_by_kind
from phronesis.storage.lanes import list_behind

router = APIRouter(tags=["health"])


@router.get("/healthz", responses=problems(403))
async def healthz() -> Response:
    """Tell that the process answers; it asks nothing else."""
    return answer({"status": "ok", "version": __version__})


@router.get("/readyz", responses=problems(403, 500, 503))
def readyz(request: Request) -> Response:
    """Tell that the database answers, and how many entries wait for their interpretation."""
    memory: Memory = request.app.state.admission.memory
    return answer({"status": "ready", "pending": _pending(memory)})


@router.get(
    "/metrics",
    responses={
        200: {"description": "In the text form that Prometheus reads.", "content": {"text/plain": {}}},
        **problems(401, 403, 429, 500, 503),
    },
)
def metrics(request: Request, caller: Reading) -> Response:
    """Give counts of requests, their latencies, and what the key's tenant holds."""
    counted: Metrics = request.app.state.metrics
    with caller.memory.stages.database.transaction(caller.memory.tenant, "read") as unit:
        kinds = count_by_kind(unit)
    gauges: dict[str, tuple[str, dict[Labels, int]]] = {
        "phronesis_pending_entries": ("Entries that wait for their interpretation.", {(): _pending(caller.memory)}),
        "phronesis_items": ("Items by kind.", {(("kind", kind),): count for kind, count in kinds.items()}),
    }
    return Response(counted.text(gauges), HTTPStatus.OK, media_type=MEDIA_TYPE)


def _pending(memory: Memory) -> int:
    with memory.stages.database.transaction(memory.tenant, "read") as unit:
        return sum(lane.head_seq - lane.applied_seq for lane in list_behind(unit))
