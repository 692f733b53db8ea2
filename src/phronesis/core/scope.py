"""The scope of a call: a tenant's lane, and the attributes that narrow it."""

from dataclasses import dataclass
from typing import Any, Final, Literal

from phronesis.core.text import check_id
from phronesis.errors import InputError

DEFAULT_NAMESPACE: Final = "default"

LaneKind = Literal["user", "shared"]


@dataclass(frozen=True, slots=True)
class LaneName:
    """What a caller calls a lane: a user, or a shared namespace. Rows carry the lane's number, never this name."""

    kind: LaneKind
    name: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"


@dataclass(frozen=True, slots=True)
class Scope:
    """A checked scope. ``user_id`` None means the shared namespace alone; with ``own_only`` a user sees it not."""

    user_id: str | None = None
    namespace: str = DEFAULT_NAMESPACE
    agent_id: str | None = None
    session_id: str | None = None
    run_id: str | None = None
    across_tenant: bool = False
    own_only: bool = False

    @property
    def write_lane(self) -> LaneName:
        """The lane that a write goes to."""
        return LaneName("shared", self.namespace) if self.user_id is None else LaneName("user", self.user_id)

    @property
    def read_lanes(self) -> tuple[LaneName, ...]:
        """The lanes that a read sees; meaningless when ``across_tenant``."""
        shared = LaneName("shared", self.namespace)
        if self.user_id is None:
            return (shared,)
        own = LaneName("user", self.user_id)
        return (own,) if self.own_only else (own, shared)

    @property
    def named(self) -> dict[str, str | None]:
        """The names that choose its lanes: None for a user that is not named, both None across the tenant."""
        if self.across_tenant:
            return {"user_id": None, "namespace": None}
        return {"user_id": self.user_id, "namespace": self.namespace}

    @property
    def attributes(self) -> dict[str, str]:
        """The named attributes, to be ANDed."""
        named = {"agent_id": self.agent_id, "session_id": self.session_id, "run_id": self.run_id}
        return {name: value for name, value in named.items() if value is not None}


def make_scope(
    *,
    user_id: Any = None,
    namespace: Any = None,
    agent_id: Any = None,
    session_id: Any = None,
    run_id: Any = None,
    across: Any = None,
) -> Scope:
    """Check what a caller gave and make a Scope; InputError names the field."""
    if across not in (None, "tenant"):
        raise InputError(f"across must be 'tenant' or left out, not {across!r:.40}", field="across")

    def optional(value: Any, field: str) -> str | None:
        return None if value is None else check_id(value, field=field)

    return Scope(
        user_id=optional(user_id, "user_id"),
        namespace=optional(namespace, "namespace") or DEFAULT_NAMESPACE,
        agent_id=optional(agent_id, "agent_id"),
        session_id=optional(session_id, "session_id"),
        run_id=optional(run_id, "run_id"),
        across_tenant=across == "tenant",
    )
