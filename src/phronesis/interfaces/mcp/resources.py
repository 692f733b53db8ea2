"""MCP resources, ``memory://…``: JSON documents of the records that the tools return, within a token budget."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, Final, ParamSpec, TypeVar
from urllib.parse import quote

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError
from mcp.server.mcpserver.resources import ResourceSecurity

from phronesis.core.serialization import as_json
from phronesis.errors import InputError, NotFound, PhronesisError
from phronesis.interfaces.mcp.request_context import RequestTracker
from phronesis.interfaces.mcp.result_budget import Count, record_within, rows_within

Given = ParamSpec("Given")
Reader = TypeVar("Reader", bound=Callable[..., str])

JSON: Final = "application/json"
RECENT: Final = 20
"""Memories of ``memory://recent``."""

BUDGET: Final = 4_000
"""Token budget of a resource, that of a context: a client puts it into a prompt unchanged."""
HEALTH_BUDGET: Final = 8_000
"""Token budget of ``memory://health``, which holds the whole policy."""

NO_PATHS: Final = ResourceSecurity(reject_path_traversal=False, reject_absolute_paths=False)
"""Names here are row ids, never files: ``team/a`` is valid, and may be percent-encoded."""


@dataclass(frozen=True, slots=True)
class Document:
    """The content of a resource before it is cut.

    Attributes:
        value: a record, or a list of them, of which the first ``offset`` are left out.
        more: where to read the rest: for a list the address of the next page without its number, for a record a
            description of what returns more of it.
        offset: members of the list on earlier pages, from the address.
    """

    value: Any
    more: str
    offset: str = "0"

    def text(self, budget: int, count: Count) -> str:
        """Return the document as JSON in at most ``budget`` tokens, with a note on how to continue if it is cut.

        A cut list ends with ``{"left_out", "next"}``; a cut record gets the members ``left_out`` and ``more``.
        """
        from phronesis.log.payloads import fit  # noqa: PLC0415 - SQLAlchemy: imported only when needed

        # Recorded text may hold a lone surrogate, which no message of the protocol can.
        plain = fit(as_json(self.value))
        if isinstance(plain, list):
            start = _offset(self.offset)
            return rows_within(plain[start:], budget, count, next_page=lambda n: f"{self.more}{start + n}")
        whole = json.dumps(plain, ensure_ascii=False)
        if len(whole) <= budget or count(whole) <= budget:
            return whole
        note = {"more": self.more}
        cut = record_within(plain, budget - count(json.dumps(note)) - NOTE, count)
        return json.dumps({"left_out": 0, **cut, **note}, ensure_ascii=False)


NOTE: Final = 10
"""Tokens reserved for ``"left_out": n`` and its separators in a record."""


def _offset(given: str) -> int:
    if not (given.isascii() and given.isdigit() and len(given) <= len(str(10**9))):
        raise InputError(f"offset must be a whole number from 0, as next says it; got {given!r:.40}", field="offset")
    return int(given)


def add_resources(server: MCPServer[Any], reception: RequestTracker) -> None:
    """Register the resources and templates."""
    options = reception.options
    told, told_health = _resource_decorator(reception, BUDGET), _resource_decorator(reception, HEALTH_BUDGET)

    def fixed(path: str, title: str, description: str) -> Callable[[Reader], Reader]:
        return server.resource(f"memory://{path}", title=title, description=description, mime_type=JSON)

    def template(path: str, title: str, description: str) -> Callable[[Reader], Reader]:
        return server.resource(
            f"memory://{path}", title=title, description=description, mime_type=JSON, security=NO_PATHS
        )

    @fixed("recent", "Recent memories", "The latest memories of the default user and what is shared, newest first.")
    @told
    def recent() -> Document:
        page = reception.caller().memory.get_all(**options.lane(), limit=RECENT)
        return Document(page, "list_memories gives them page by page, memory://items/{id} one of them")

    @fixed("health", "Health and policy", "What the doctor finds, and the policy in force. For administrators.")
    @told_health
    def health() -> Document:
        caller = reception.caller()
        if not caller.may("admin"):
            raise ResourceError("access.role: this needs the role admin; ask the operator of this memory")
        return Document(caller.memory.admin.doctor(), "the command phronesis doctor shows all of it")

    @template("items/{id}", "A memory with its evidence", "A memory, its sources, evidence, edges and history.")
    @told
    def item(id: str) -> Document:  # noqa: A002 - the name in the address
        return Document(
            reception.caller().memory.explain(id, user_id=options.user_id),
            f"memory://items/{_name(id)}/history lists every change; HTTP and Python give all of it",
        )

    @template("items/{id}/history{?offset}", "A memory's history", "Every change of a memory, oldest first.")
    @told
    def item_history(id: str, offset: str = "0") -> Document:  # noqa: A002 - the name in the address
        changes = reception.caller().memory.history(id, user_id=options.user_id)
        return Document(changes, f"memory://items/{_name(id)}/history?offset=", offset)

    @template("users/{user_id}/traits{?offset}", "A user's traits", "What was inferred about a user, the surest first.")
    @told
    def user_traits(user_id: str, offset: str = "0") -> Document:
        traits = reception.caller().memory.get_user_traits(user_id)
        return Document(traits, f"memory://users/{_name(user_id)}/traits?offset=", offset)

    @template(
        "sessions/{session_id}/turns{?user_id,offset}",
        "A session's turns",
        "A conversation as it was recorded. Without user_id: the default user's.",
    )
    @told
    def session_turns(session_id: str, user_id: str | None = None, offset: str = "0") -> Document:
        whose = options.user_id if user_id is None else user_id or None
        turns = reception.caller().memory.sessions.turns(session_id, user_id=whose, namespace=options.namespace)
        user = "" if user_id is None else f"user_id={_name(user_id)}&"
        return Document(turns, f"memory://sessions/{_name(session_id)}/turns?{user}offset=", offset)


def _name(given: str) -> str:
    return quote(given, safe="")


def _resource_decorator(
    reception: RequestTracker, budget: int
) -> Callable[[Callable[Given, Document]], Callable[Given, str]]:
    """Return a decorator for readers: documents become JSON text within a budget, errors keep their code."""

    def decorate(read: Callable[Given, Document]) -> Callable[Given, str]:
        @wraps(read)
        def told(*args: Given.args, **kwargs: Given.kwargs) -> str:
            try:
                document = read(*args, **kwargs)
                return document.text(budget, reception.caller().memory.admin.components.count_tokens)
            except NotFound as error:
                raise ResourceNotFoundError(f"{error.code}: {error.message}") from error
            except PhronesisError as error:
                raise ResourceError(f"{error.code}: {error.message}") from error

        return told

    return decorate
