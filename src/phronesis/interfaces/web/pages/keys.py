"""The page of keys: API keys and the grants of OAuth clients, of the tenant or of one user, and their revocation."""

from typing import Annotated

from fastapi import Form, Response

from phronesis.core.api_keys import Role
from phronesis.interfaces.web.rendering import page
from phronesis.interfaces.web.routing import back, make_router
from phronesis.interfaces.web.session import Visiting, Visitor

router = make_router()


@router.get("/keys")
def keys(visitor: Visiting) -> Response:
    """List keys and grants, the newest first: an admin sees all, a user their own."""
    _check_right(visitor)
    listed = sorted(visitor.memory.admin.keys.list(), key=lambda key: (key.active, key.created_at), reverse=True)
    return page(visitor, "keys.html", keys=listed)


@router.post("/keys/revoke")
def revoke(
    visitor: Visiting,
    token: Annotated[str, Form()],
    id: Annotated[str, Form()],  # noqa: A002 - the verb's name
) -> Response:
    """Revoke a key, or what an OAuth client was granted."""
    visitor.check(token, Role.READ)
    _check_right(visitor)
    visitor.memory.admin.keys.revoke(id)
    return back("/keys")


def _check_right(visitor: Visitor) -> None:
    if not visitor.sees_keys:
        visitor.caller.needs(Role.ADMIN)
