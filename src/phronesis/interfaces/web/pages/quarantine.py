"""The quarantine: what reads like an order to a model, shown as data, until an admin lets it go or ends it."""

from typing import Annotated, Final

from fastapi import Form, Response

from phronesis.core.items import SUSPECT_WORDS
from phronesis.core.keys import Role
from phronesis.errors import Conflict
from phronesis.interfaces.web.rendering import page
from phronesis.interfaces.web.routing import back, make_router
from phronesis.interfaces.web.visiting import Visiting

SHOWN: Final = 50
"""Texts of a page: those behind them come up as these are decided on."""

BULK: Final = 1_000
"""Texts that one form decides on."""

router = make_router()


@router.get("/quarantine")
def quarantine(visitor: Visiting, done: str = "", count: int = 0) -> Response:
    """Show what is held, the newest first."""
    held = visitor.memory.quarantine_list(**visitor.looking.scope, limit=SHOWN + 1)
    return page(
        visitor, "quarantine.html", held=held[:SHOWN], more=len(held) > SHOWN, suspected=SUSPECT_WORDS, done=done,
        count=count,
    )  # fmt: skip


@router.post("/quarantine/release")
def release(
    visitor: Visiting,
    token: Annotated[str, Form()],
    id: Annotated[str, Form()],  # noqa: A002 - the verb's name
    next: Annotated[str, Form()] = "/quarantine",  # noqa: A002 - the form's name
) -> Response:
    """Let a text go: it is found and shown again, as data where its source is not trusted."""
    visitor.check(token, Role.ADMIN)
    visitor.memory.quarantine_release(id, actor=visitor.actor)
    return back(next.partition("?")[0], done="release", count=1)


@router.post("/quarantine/reject")
def reject(
    visitor: Visiting,
    token: Annotated[str, Form()],
    id: Annotated[list[str], Form(max_length=BULK)],  # noqa: A002 - the verb's name
    next: Annotated[str, Form()] = "/quarantine",  # noqa: A002 - the form's name
) -> Response:
    """End texts, one or all that were chosen."""
    visitor.check(token, Role.ADMIN)
    ended = 0
    for one in id:
        try:
            visitor.memory.quarantine_reject(one, actor=visitor.actor)
            ended += 1
        except Conflict:  # somebody decided on it meanwhile
            if len(id) == 1:
                raise
    return back(next.partition("?")[0], done="reject", count=ended)
