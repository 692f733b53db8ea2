"""Whether the server is there."""

from fastapi import APIRouter, Response

from phronesis import __version__
from phronesis.interfaces.rest.answers import answer

router = APIRouter(tags=["health"])


@router.get("/healthz")
async def healthz() -> Response:
    """Tell that the process answers; it asks nothing else."""
    return answer({"status": "ok", "version": __version__})
