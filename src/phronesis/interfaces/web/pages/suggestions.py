"""Names of users and namespaces, suggested while they are typed."""

from typing import Final

from fastapi import Response

from phronesis.core.api_keys import Role
from phronesis.core.ids import LaneKind
from phronesis.errors import NotFound
from phronesis.interfaces.web.rendering import page
from phronesis.interfaces.web.routing import make_router
from phronesis.interfaces.web.session import Visiting
from phronesis.store.lanes import lane_names

KINDS: Final[dict[str, LaneKind]] = {"user": "user", "namespace": "shared"}

MAX_NAMES: Final = 20

router = make_router()


@router.get("/suggestions/{field}")
def suggest(visitor: Visiting, field: str, user: str = "", namespace: str = "") -> Response:
    """Return the names that contain what was typed, most recently active first; for admins, who may list them."""
    visitor.caller.needs(Role.ADMIN)
    if field not in KINDS:
        raise NotFound(f"field: there are no suggestions for {field}", field="field")
    memory, typed = visitor.memory.admin, (user if field == "user" else namespace).strip()
    with memory.components.database.transaction(memory.tenant, "read") as unit:
        names = lane_names(unit, KINDS[field], containing=typed, limit=MAX_NAMES)
    return page(visitor, "suggestions.html", names=names)
