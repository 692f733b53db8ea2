"""The caller of an MCP request, the server's options, and the default scope of calls that name none."""

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, Literal

from pydantic import ValidationError

from phronesis.core.ids import make_scope
from phronesis.errors import InputError

if TYPE_CHECKING:
    from mcp.server.context import CallNext, HandlerResult, ServerRequestContext

    from phronesis.memory import Memory


Role = Literal["read", "write", "admin"]
"""A caller's role; each includes those before it."""

_ROLES: Final = ("read", "write", "admin")

DEFAULT_TOOLS: Final = (
    "add_memory",
    "search_memories",
    "update_memory",
    "forget",
    "compose_context",
    "commit_turn",
    "record_experience",
    "query_experience",
)
"""Tools offered by default. The list is short, since a client puts every tool into each of its prompts."""

MORE_TOOLS: Final = (
    "get_memory",
    "list_memories",
    "delete_memory",
    "memory_history",
    "rollback_memory",
    "explain_memory",
    "give_feedback",
    "get_user_traits",
    "reflect",
    "mem_search",
    "mem_get",
)
"""Tools that ``tools="all"`` adds."""

DEFAULT: Final = "default"
ALL: Final = "all"


@dataclass(frozen=True, slots=True)
class Options:
    """Options of an MCP server.

    Attributes:
        user_id: the user of calls that name no ``user_id``; None: the shared memory.
        namespace: the shared namespace of calls that name none.
        agent_id: the agent recorded for writes that name none; reads are not restricted by it.
        read_only: leave out the tools that store or change anything.
        reference_tools: also offer the nine tools of the reference memory server.
        tools: ``default``, ``all``, or names of tools; a tool that is not offered cannot be called.
        structured: also return each result as a record (structured content under an output schema), for programs. A
            model that is shown both reads everything twice; some clients then show it the record instead of the text.
            None: with ``tools="all"`` only.

    Raises:
        InputError: ``tools`` names one that does not exist, or an id is none.
    """

    user_id: str | None = None
    namespace: str | None = None
    agent_id: str | None = None
    read_only: bool = False
    reference_tools: bool = False
    tools: str | Sequence[str] = DEFAULT
    structured: bool | None = None

    def __post_init__(self) -> None:
        """Check the ids, and the names of the tools."""
        make_scope(user_id=self.user_id, namespace=self.namespace, agent_id=self.agent_id)
        unknown = [name for name in self.offered() if name not in (*DEFAULT_TOOLS, *MORE_TOOLS)]
        if unknown:
            known = ", ".join((*DEFAULT_TOOLS, *MORE_TOOLS))
            raise InputError(f"tools: {unknown[0]!r:.60} is no tool; give default, all, or of {known}", field="tools")

    @property
    def records(self) -> bool:
        """Return whether results carry a record besides their text."""
        return self._set == ALL if self.structured is None else self.structured

    def offered(self) -> tuple[str, ...]:
        """Return the names of the offered tools, without the reference server's."""
        if self._set == ALL:
            return (*DEFAULT_TOOLS, *MORE_TOOLS)
        return DEFAULT_TOOLS if self._set == DEFAULT else tuple(self._set)

    @property
    def _set(self) -> str | Sequence[str]:
        """The name of a set of tools, also as the only element of a list, or names of tools."""
        if isinstance(self.tools, str):
            names: Sequence[str] = [name.strip() for name in self.tools.split(",") if name.strip()]
        else:
            names = self.tools
        if not names:
            return DEFAULT
        return names[0] if len(names) == 1 and names[0] in (DEFAULT, ALL) else names

    def lane(self) -> dict[str, Any]:
        """Return the default scope, as arguments of a verb."""
        return {"user_id": self.user_id, "namespace": self.namespace}

    def defaults(self, given: Mapping[str, Any], user: str | None = None, *, writes: bool) -> dict[str, Any]:
        """Return the defaults of arguments that are None in ``given``.

        A tool does not take arguments absent from it. ``user`` is that of a caller who acts for one user alone, also
        where the call names an empty user, which means the shared memory otherwise.
        """
        own = {**self.lane(), "agent_id": self.agent_id if writes else None}
        found = {name: value for name, value in own.items() if name in given and given[name] is None}
        if user is not None and not given.get("user_id", user):
            found["user_id"] = user
        return found


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller of a request: its memory, its role, the actor recorded in the log, its key's id and its user.

    ``user_id`` is that of a key which acts for one user alone.
    """

    memory: "Memory"
    role: Role = "admin"
    actor: str = "agent"
    key_id: str | None = None
    user_id: str | None = None

    def may(self, role: Role) -> bool:
        """Return whether the caller has ``role`` or above."""
        return _ROLES.index(self.role) >= _ROLES.index(role)


class DeferredMemory:
    """Opens a memory on the first call of a verb: until then a server runs without the store and its packages.

    Concurrent calls wait for one opening. If it fails, the calls fail, and the next one tries again.
    """

    def __init__(self, open_memory: Callable[[], "Memory"]) -> None:
        self._open = open_memory
        self._lock = Lock()
        self._memory: Memory | None = None

    def __getattr__(self, name: str) -> Any:
        with self._lock:
            if self._memory is None:
                self._memory = self._open()
        return getattr(self._memory, name)

    def close_if_opened(self) -> None:
        """Close the memory, if it was opened."""
        with self._lock:
            if self._memory is not None:
                self._memory.close()


Callers = Callable[[Any], Caller]
"""A function from the SDK's ``ServerRequestContext`` to the caller of a request."""


def bearer(context: Any) -> str | None:
    """Return the token of a request's ``Authorization: Bearer …``; None on stdio, or where there is none."""
    headers: Mapping[str, str] = getattr(context.request, "headers", {})
    given = headers.get("authorization", "")
    scheme, _, token = given.partition(" ")
    return token.strip() or None if scheme.lower() == "bearer" else None


# MCP middleware: determine each request's caller, and hide the tools that the caller may not call.

REMEDY: Final = "params is an object, of tools/call with name, a text, and arguments, an object"
"""Remedy for request parameters that violate the protocol."""


class RequestTracker:
    """The server's middleware. It keeps the current request for code in the same task or thread."""

    def __init__(self, callers: Callers, options: Options) -> None:
        self.options = options
        self.writing: set[str] = set()
        """Names of the tools that store or change something; add the name of any such tool here."""
        self._callers = callers
        self._request: ContextVar[ServerRequestContext[Any, Any]] = ContextVar("request")
        self._known: ContextVar[tuple[ServerRequestContext[Any, Any], Caller] | None] = ContextVar(
            "caller", default=None
        )

    async def __call__(self, ctx: "ServerRequestContext[Any, Any]", call_next: "CallNext") -> "HandlerResult":
        """Answer one request."""
        import anyio.to_thread  # noqa: PLC0415 - with the SDK: an extra
        from mcp.shared.exceptions import MCPError  # noqa: PLC0415 - the same
        from mcp.types import INVALID_PARAMS  # noqa: PLC0415 - the same

        self._request.set(ctx)
        try:
            result = await call_next(ctx)
        except ValidationError as error:  # the SDK's own message names no cause
            fault = error.errors(include_url=False, include_context=False, include_input=False)[0]
            field = ".".join(map(str, fault["loc"])) or "params"
            raise MCPError(INVALID_PARAMS, f"{ctx.method}: {field}: {fault['msg']}; {REMEDY}") from error
        if ctx.method != "tools/list" or not isinstance(result, dict):  # the SDK gives it serialised
            return result
        caller = await anyio.to_thread.run_sync(self.caller)
        if caller.may("write"):
            return result
        return {**result, "tools": [tool for tool in result["tools"] if tool["name"] not in self.writing]}

    def caller(self) -> Caller:
        """Return the caller; exceptions of `Callers` propagate. It may read a database: not for the event loop."""
        request, known = self._request.get(), self._known.get()
        if known is None or known[0] is not request:
            known = (request, self._callers(request))
            self._known.set(known)
        return known[1]
