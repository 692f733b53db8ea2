"""The quarantine: text that reads like an order to a model, shown as data until an admin releases or rejects it."""

from typing import Annotated, Final

from fastapi import Form, Response

from phronesis.core.api_keys import Role
from phronesis.core.items import SUSPECT_WORDS
from phronesis.errors import Conflict
from phronesis.interfaces.web.notices import Notice
from phronesis.interfaces.web.rendering import page
from phronesis.interfaces.web.routing import back_with_notice, make_router
from phronesis.interfaces.web.session import Visiting

SHOWN: Final = 50
"""Texts per page; the next ones appear as these are decided."""

BULK: Final = 1_000
"""Maximum texts decided by one form."""

router = make_router()


@router.get("/quarantine")
def quarantine(visitor: Visiting) -> Response:
    """Show what is held, the newest first."""
    held = visitor.memory.quarantine.list(**visitor.looking.scope, limit=SHOWN + 1)
    return page(
        visitor,
        "quarantine.html",
        held=held[:SHOWN],
        more=len(held) > SHOWN,
        suspected=SUSPECT_WORDS,
    )


@router.post("/quarantine/release")
def release(
    visitor: Visiting,
    token: Annotated[str, Form()],
    id: Annotated[str, Form()],  # noqa: A002 - the verb's name
    next: Annotated[str, Form()] = "/quarantine",  # noqa: A002 - the form's name
) -> Response:
    """Let a text go: it is found and shown again, as data where its source is not trusted."""
    visitor.check(token, Role.ADMIN)
    result = visitor.memory.quarantine.release(id, actor=visitor.actor)
    return back_with_notice(visitor, next, Notice("release", (result.entry_id,)))


@router.post("/quarantine/reject")
def reject(
    visitor: Visiting,
    token: Annotated[str, Form()],
    id: Annotated[list[str], Form(max_length=BULK)],  # noqa: A002 - the verb's name
    next: Annotated[str, Form()] = "/quarantine",  # noqa: A002 - the form's name
) -> Response:
    """End texts, one or all that were chosen."""
    visitor.check(token, Role.ADMIN)
    entries: list[str] = []
    for one in id:
        try:
            entries.append(visitor.memory.quarantine.reject(one, actor=visitor.actor).entry_id)
        except Conflict:  # already decided
            if len(id) == 1:
                raise
    notice = Notice("reject", tuple(reversed(entries)), count=len(entries), failed=len(id) - len(entries))
    return back_with_notice(visitor, next, notice)
