"""Who asks, and whose memory is meant when the call does not say."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from phronesis.memory import Memory

Role = Literal["read", "write", "admin"]
"""What a caller may do; each may do what those before it may."""

_RANK: Final[Mapping[str, int]] = {"read": 1, "write": 2, "admin": 3}

_SCHEME: Final = "bearer "


@dataclass(frozen=True, slots=True)
class Options:
    """What a server is set up with.

    Attributes:
        user_id: whose memory is meant where a call names no ``user_id``; None: what is shared.
        namespace: which shared memory is meant where a call names none.
        agent_id: who is written down as the agent where a write names none; reads are not narrowed by it.
        read_only: leave the tools out that store or change anything.
        reference_tools: also offer the nine tools of the reference memory server.
    """

    user_id: str | None = None
    namespace: str | None = None
    agent_id: str | None = None
    read_only: bool = False
    reference_tools: bool = False

    def lane(self) -> dict[str, Any]:
        """Give whose memory is meant, as arguments of a verb."""
        return {"user_id": self.user_id, "namespace": self.namespace}

    def defaults(self, given: Mapping[str, Any], *, writes: bool) -> dict[str, Any]:
        """Give the defaults of the arguments that are None in ``given``; what is not in it, a tool does not take."""
        own = {**self.lane(), "agent_id": self.agent_id if writes else None}
        return {name: value for name, value in own.items() if name in given and given[name] is None}


@dataclass(frozen=True, slots=True)
class Caller:
    """One who asks: the memory it works on, what it may do there, and whom the log names for what it does."""

    memory: "Memory"
    role: Role = "admin"
    actor: str = "agent"

    def may(self, role: Role) -> bool:
        """Tell whether it may do what ``role`` may."""
        return _RANK[self.role] >= _RANK[role]


Callers = Callable[[Any], Caller]
"""Gives the caller of a request; its argument is the SDK's ``ServerRequestContext``."""


def bearer(context: Any) -> str | None:
    """Give the token of a request's ``Authorization: Bearer …``; None on stdio, and where there is none."""
    headers: Mapping[str, str] = getattr(context.request, "headers", {})
    given = headers.get("authorization", "")
    return given[len(_SCHEME) :].strip() or None if given[: len(_SCHEME)].lower() == _SCHEME else None
