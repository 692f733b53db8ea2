"""What is still to be done: entries that failed or wait, and reflections that are due."""

from typing import Annotated, Final

from fastapi import Form, Response

from phronesis.errors import EntryFailed
from phronesis.interfaces.web.rendering import page
from phronesis.interfaces.web.routing import back, make_router
from phronesis.interfaces.web.visiting import Visiting

SHOWN: Final = 100
"""Pieces of work of a page."""

ANY: Final = 1
"""Pieces of work that the first page asks for: the counts tell it enough."""

router = make_router()


@router.get("/jobs")
def jobs(visitor: Visiting, done: str = "") -> Response:
    """Show a tenant's work, what failed first."""
    return page(visitor, "jobs.html", jobs=visitor.memory.jobs(limit=SHOWN), done=done)


@router.get("/jobs/waiting")
def waiting(visitor: Visiting) -> Response:
    """Show what the first page says of it: a part of that page, so that it need not wait for it."""
    return page(visitor, "jobs_waiting.html", jobs=visitor.memory.jobs(limit=ANY))


@router.post("/jobs/retry")
def retry(
    visitor: Visiting,
    token: Annotated[str, Form()],
    id: Annotated[str, Form()],  # noqa: A002 - the form's name
) -> Response:
    """Interpret an entry again that failed, once its cause is mended."""
    visitor.check(token)
    try:
        visitor.memory.retry(id, actor=visitor.actor)
    except EntryFailed:  # recorded as a failure of its own: the page names it
        return back("/jobs", done="again")
    return back("/jobs", done="retried")
