"""What a client can attach: ``memory://…``, each a JSON document of the records that the tools give."""

import json
from collections.abc import Callable
from functools import wraps
from typing import Any, Final, ParamSpec, TypeVar

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError
from mcp.server.mcpserver.resources import ResourceSecurity

from phronesis.core.plain import as_json
from phronesis.errors import NotFound, PhronesisError
from phronesis.interfaces.mcp.reception import Reception

Given = ParamSpec("Given")
Reader = TypeVar("Reader", bound=Callable[..., str])

JSON: Final = "application/json"
RECENT: Final = 20
"""Memories of ``memory://recent``: what a person looks over at a glance."""

NO_PATHS: Final = ResourceSecurity(reject_path_traversal=False, reject_absolute_paths=False)
"""Names here are ids of rows, never of files: ``team/a`` is one, and may come percent-encoded."""


def add_resources(server: MCPServer[Any], reception: Reception) -> None:
    """Add the resources and templates."""
    options = reception.options

    def fixed(path: str, title: str, description: str) -> Callable[[Reader], Reader]:
        return server.resource(f"memory://{path}", title=title, description=description, mime_type=JSON)

    def template(path: str, title: str, description: str) -> Callable[[Reader], Reader]:
        return server.resource(
            f"memory://{path}", title=title, description=description, mime_type=JSON, security=NO_PATHS
        )

    @fixed("recent", "Recent memories", "The latest memories of the default user and what is shared, newest first.")
    @_told
    def recent() -> Any:
        return reception.caller().memory.get_all(**options.lane(), limit=RECENT)

    @fixed("health", "Health and policy", "What the doctor finds, and the policy in force. For administrators.")
    @_told
    def health() -> Any:
        caller = reception.caller()
        if not caller.may("admin"):
            raise ResourceError("access.role: this needs the role admin; ask the operator of this memory")
        return caller.memory.doctor()

    @template("items/{id}", "A memory with its evidence", "A memory, its sources, evidence, edges and history.")
    @_told
    def item(id: str) -> Any:  # noqa: A002 - the name in the address
        return reception.caller().memory.explain(id)

    @template("items/{id}/history", "A memory's history", "Every change of a memory, oldest first.")
    @_told
    def item_history(id: str) -> Any:  # noqa: A002 - the name in the address
        return reception.caller().memory.history(id)

    @template("users/{user_id}/traits", "A user's traits", "What was inferred about a user, the surest first.")
    @_told
    def user_traits(user_id: str) -> Any:
        return reception.caller().memory.get_user_traits(user_id)

    @template("sessions/{session_id}/turns{?user_id}", "A session's turns",
              "A conversation as it was recorded. Without user_id: the default user's.")  # fmt: skip
    @_told
    def session_turns(session_id: str, user_id: str | None = None) -> Any:
        whose = options.user_id if user_id is None else user_id or None
        return reception.caller().memory.get_turns(session_id, user_id=whose, namespace=options.namespace)


def _told(read: Callable[Given, Any]) -> Callable[Given, str]:
    """Give a reader of JSON text, whose errors are told with their code."""

    @wraps(read)
    def told(*args: Given.args, **kwargs: Given.kwargs) -> str:
        from phronesis.truth.reader import fit  # noqa: PLC0415 - SQLAlchemy: not before something is read

        try:
            # What was recorded may hold half a surrogate pair, which no message of the protocol can.
            return json.dumps(fit(as_json(read(*args, **kwargs))), ensure_ascii=False, indent=2)
        except NotFound as error:
            raise ResourceNotFoundError(f"{error.code}: {error.message}") from error
        except PhronesisError as error:
            raise ResourceError(f"{error.code}: {error.message}") from error

    return told
