"""The caller of an MCP request, the server's options, and the default scope of calls that name none."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, Literal

from phronesis.errors import InputError

if TYPE_CHECKING:
    from phronesis.memory import Memory


Role = Literal["read", "write", "admin"]
"""What a caller may do; each may do what those before it may."""

_RANK: Final[Mapping[str, int]] = {"read": 1, "write": 2, "admin": 3}

_SCHEME: Final = "bearer "

DEFAULT_TOOLS: Final = (
    "add_memory", "search_memories", "update_memory", "forget", "compose_context", "commit_turn", "record_experience",
    "query_experience",
)  # fmt: skip
"""The tools that a server offers unless it is told otherwise: a client puts every tool into each of its prompts."""

MORE_TOOLS: Final = (
    "get_memory", "list_memories", "delete_memory", "memory_history", "rollback_memory", "explain_memory",
    "give_feedback", "get_user_traits", "reflect", "mem_search", "mem_get",
)  # fmt: skip
"""What ``tools="all"`` offers besides."""

DEFAULT: Final = "default"
ALL: Final = "all"


@dataclass(frozen=True, slots=True)
class Options:
    """What a server is set up with.

    Attributes:
        user_id: whose memory is meant where a call names no ``user_id``; None: what is shared.
        namespace: which shared memory is meant where a call names none.
        agent_id: who is written down as the agent where a write names none; reads are not narrowed by it.
        read_only: leave the tools out that store or change anything.
        reference_tools: also offer the nine tools of the reference memory server.
        tools: ``default``, ``all``, or names of tools; a tool that is not offered cannot be called.
        structured: also give each result as a record (structured content under an output schema), for programs. A
            model that is shown both reads everything twice; some clients then show it the record instead of the text.
            None: with ``tools="all"`` only.

    Raises:
        InputError: ``tools`` names one that does not exist.
    """

    user_id: str | None = None
    namespace: str | None = None
    agent_id: str | None = None
    read_only: bool = False
    reference_tools: bool = False
    tools: str | Sequence[str] = DEFAULT
    structured: bool | None = None

    def __post_init__(self) -> None:
        """Check the names of the tools."""
        unknown = [name for name in self.offered() if name not in (*DEFAULT_TOOLS, *MORE_TOOLS)]
        if unknown:
            known = ", ".join((*DEFAULT_TOOLS, *MORE_TOOLS))
            raise InputError(f"tools: {unknown[0]!r:.60} is no tool; give default, all, or of {known}", field="tools")

    @property
    def records(self) -> bool:
        """Return whether results carry a record besides their text."""
        return self._set == ALL if self.structured is None else self.structured

    def offered(self) -> tuple[str, ...]:
        """Return the names of the tools that are offered, the reference server's left out."""
        if self._set == ALL:
            return (*DEFAULT_TOOLS, *MORE_TOOLS)
        return DEFAULT_TOOLS if self._set == DEFAULT else tuple(self._set)

    @property
    def _set(self) -> str | Sequence[str]:
        """The name of a set of tools, also where it stands alone in a list, or names of tools."""
        if isinstance(self.tools, str):
            names: Sequence[str] = [name.strip() for name in self.tools.split(",") if name.strip()]
        else:
            names = self.tools
        if not names:
            return DEFAULT
        return names[0] if len(names) == 1 and names[0] in (DEFAULT, ALL) else names

    def lane(self) -> dict[str, Any]:
        """Return whose memory is meant, as arguments of a verb."""
        return {"user_id": self.user_id, "namespace": self.namespace}

    def defaults(self, given: Mapping[str, Any], *, writes: bool) -> dict[str, Any]:
        """Return the defaults of the arguments that are None in ``given``; what is not in it, a tool does not take."""
        own = {**self.lane(), "agent_id": self.agent_id if writes else None}
        return {name: value for name, value in own.items() if name in given and given[name] is None}


@dataclass(frozen=True, slots=True)
class Caller:
    """One who asks: the memory it works on, what it may do there, and whom the log names for what it does."""

    memory: "Memory"
    role: Role = "admin"
    actor: str = "agent"

    def may(self, role: Role) -> bool:
        """Return whether it may do what ``role`` may."""
        return _RANK[self.role] >= _RANK[role]


class DeferredMemory:
    """Opens a memory when its first verb is called: until then a server answers without the store and its packages.

    Calls that come at once wait for one opening. When it fails the call fails, and the next one tries again.
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
"""Gives the caller of a request; its argument is the SDK's ``ServerRequestContext``."""


def bearer(context: Any) -> str | None:
    """Return the token of a request's ``Authorization: Bearer …``; None on stdio, and where there is none."""
    headers: Mapping[str, str] = getattr(context.request, "headers", {})
    given = headers.get("authorization", "")
    return given[len(_SCHEME) :].strip() or None if given[: len(_SCHEME)].lower() == _SCHEME else None
