"""Authentication and rate limiting: a token becomes a `Caller` with its tenant's memory and its role.

The memory of a key that is bound to a user has the verbs of ``Memory`` for that user alone (`UserMemory`): every
interface calls verbs of a caller's memory, so this is the one place that bounds a key.
"""

import hashlib
import inspect
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Final, NoReturn, cast

from phronesis.core.api_keys import TOKEN_PREFIX, ApiKey, Role
from phronesis.core.ids import parse_id
from phronesis.core.retrieval_plan import plan_of
from phronesis.errors import Forbidden, NotFound, RateLimited, Unauthenticated
from phronesis.memory import Memory
from phronesis.memory.keys import KeyRing
from phronesis.store.database import Unit
from phronesis.store.deltas import find_delta
from phronesis.store.items import lane_of_item
from phronesis.store.lanes import Lane, get_lane
from phronesis.store.log import find_entry
from phronesis.store.relations import lane_of_entity

GROUPS: Final = frozenset(
    {"items", "entities", "sessions", "traits", "resources", "reasoning", "runs", "quarantine", "admin"}
)
OPEN: Final = frozenset({"reasoning.check", "admin.tenant", "admin.components"})
"""Verbs that read nothing of anybody, and what the interfaces themselves need: the clock, limits, the log of calls."""

OF_ADMINS: Final = frozenset({"erase", "quarantine.release", "quarantine.reject"})
OWN_IN_ADMIN: Final = frozenset({"admin.contexts", "admin.overview", "admin.unlearned"})
"""Verbs of ``admin`` that take a user and need no admin's key."""

_IDS: Final = ("id", "target_id", "ids")


class UserMemory:
    """The verbs of a memory for one user, or those of one of its groups.

    A verb that takes a ``user_id`` gets the user's; another user's is refused, and so is every verb that takes none and
    is not listed here.
    """

    def __init__(self, memory: Memory, user_id: str, group: str = "") -> None:
        self._memory = memory
        self._user_id = user_id
        self._group = group

    def __getattr__(self, name: str) -> Any:
        if not self._group and name in GROUPS:
            return UserMemory(self._memory, self._user_id, name)
        path = f"{self._group}.{name}" if self._group else name
        if path == "admin.keys":
            keys = self._memory.admin.keys
            return KeyRing(keys.database, keys.tenant, keys.clock, user_id=self._user_id)
        found = getattr(getattr(self._memory, self._group) if self._group else self._memory, name)
        if path in OPEN:
            return found
        if path in _CHECKED:
            return lambda *given, **named: _CHECKED[path](self._memory, self._user_id, found, *given, **named)
        if not is_bound(path, found):
            return lambda *_given, **_named: refuse_tenant(path)
        return lambda *given, **named: self._call(found, given, named)

    def _call(self, verb: Callable[..., Any], given: Any, named: dict[str, Any]) -> Any:
        bound = _signature(getattr(verb, "__func__", verb)).bind_partial(None, *given, **named)
        arguments = bound.arguments
        arguments["user_id"] = bound_user(self._user_id, arguments.get("user_id"))
        if arguments.get("across") is not None:
            refuse_tenant("across")
        if "actor" in bound.signature.parameters:
            self._check_written(arguments)
        return verb(*bound.args[1:], **bound.kwargs)

    def _check_written(self, arguments: dict[str, Any]) -> None:
        """Refuse to change what is shared. What is another user's, the verb does not find."""
        admin = self._memory.admin
        for name in _IDS:
            given = arguments.get(name) or ()
            for one in (given,) if isinstance(given, str) else given:
                with admin.components.database.transaction(admin.tenant, "read") as unit:
                    lane = _lane_of(unit, parse_id(one, field=name))
                if lane is not None and lane.kind == "shared":
                    raise Forbidden(
                        f"{name}: {one} is shared, and this key changes the memory of its user alone; use a key of the"
                        " tenant (phronesis serve keys create without --user)",
                        field=name,
                    )


def _lane_of(unit: Unit, given: str) -> Lane | None:
    """Return the lane of an item, an entity, a delta or an entry; None where there is none: the verb says so."""
    lane_id = lane_of_item(unit, given) or lane_of_entity(unit, given)
    if lane_id is None:
        delta = find_delta(unit, given)
        entry = find_entry(unit, given if delta is None else delta[1].entry_id)
        lane_id = None if entry is None else entry.lane_id
    return None if lane_id is None else get_lane(unit, lane_id)


def is_bound(path: str, verb: Callable[..., Any]) -> bool:
    """Return whether a verb may be called for the user of a key."""
    if path in OF_ADMINS or (path.startswith("admin.") and path not in OWN_IN_ADMIN):
        return False
    return "user_id" in _signature(getattr(verb, "__func__", verb)).parameters


def bound_user(user_id: str, given: object) -> str:
    """Return the user of a key; Forbidden where a call names another one."""
    if given not in (None, user_id):
        raise Forbidden(
            "user_id: this key acts for its own user alone; leave user_id out, or use a key of the tenant"
            " (phronesis serve keys create without --user)",
            field="user_id",
        )
    return user_id


def refuse_tenant(what: str) -> NoReturn:
    """Raise Forbidden for what concerns more than one user."""
    raise Forbidden(
        f"{what}: this concerns the whole tenant, and this key acts for its own user alone; use a key of the tenant"
        " (phronesis serve keys create without --user)",
        field="Authorization",
    )


def _retrieve(_memory: Memory, user_id: str, verb: Callable[..., Any], plan: Any, **named: Any) -> Any:
    wanted = plan_of(plan)
    if wanted.scope.across_tenant:
        refuse_tenant("scope.across_tenant")
    scope = replace(wanted.scope, user_id=bound_user(user_id, wanted.scope.user_id))
    return verb(replace(wanted, scope=scope), **named)


def _context(_memory: Memory, user_id: str, verb: Callable[..., Any], context_id: str) -> Any:
    detail = verb(context_id)
    if detail.context.user_id != user_id:
        raise NotFound(f"the log has no context {context_id} of this user", field="context_id")
    return detail


_CHECKED: Final[dict[str, Callable[..., Any]]] = {"retrieve": _retrieve, "admin.context": _context}
"""Verbs that take no ``user_id``, and whose arguments or results name one."""


@cache
def _signature(function: Any) -> inspect.Signature:
    return inspect.signature(function)


MAX_CALLERS: Final = 10_000
"""Maximum token buckets kept; beyond it the least recently used is dropped and starts full again."""


@dataclass(slots=True)
class RateLimit:
    """Token buckets: ``per_minute`` calls per caller, ``burst`` at once; None disables the limit. Thread-safe."""

    per_minute: int | None
    burst: int
    seconds: Callable[[], float] = time.monotonic
    _buckets: OrderedDict[str, tuple[float, float]] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, caller: str) -> None:
        """Count one call; RateLimited when there are too many, with the seconds until the next is allowed."""
        if self.per_minute is None:
            return
        rate, now = self.per_minute / 60, self.seconds()
        with self._lock:
            left, at = self._buckets.pop(caller, (float(self.burst), now))
            left = min(float(self.burst), left + (now - at) * rate)
            allowed = left >= 1
            self._buckets[caller] = (left - 1 if allowed else left, now)
            if len(self._buckets) > MAX_CALLERS:
                self._buckets.popitem(last=False)
        if not allowed:
            wait = (1 - left) / rate
            raise RateLimited(
                f"too many calls: {self.per_minute} a minute are taken; come again in {wait:.0f} s",
                details={"retry_after": round(wait, 3)},
            )


ANYBODY = "agent"
"""Actor of callers without a key: a program on this machine."""

MOST_RECENT = 10_000
"""Maximum cached callers; if more come within ``seconds``, the cache is cleared."""


@dataclass(frozen=True, slots=True)
class Caller:
    """An authenticated caller. ``memory`` is that of the key's tenant; ``key`` is None where none was required.

    The memory of a key that is bound to a user is that user's alone (`UserMemory`).
    """

    memory: Memory
    role: Role
    actor: str
    key: ApiKey | None = None

    @property
    def user_id(self) -> str | None:
        """The user for whom the caller's key acts; None: for any."""
        return None if self.key is None else self.key.user_id

    def acting_user(self, given: str | None) -> str | None:
        """Return the user of a call; Forbidden where the key is bound to another one."""
        return given if self.user_id is None else bound_user(self.user_id, given)

    def require_tenant_key(self, what: str) -> None:
        """Raise Forbidden for a key that is bound to a user."""
        if self.user_id is not None:
            refuse_tenant(what)

    def require_role(self, role: Role) -> None:
        """Raise Forbidden unless the caller's role is ``role`` or above."""
        if self.role < role:
            name = role.name.lower()
            raise Forbidden(
                f"this needs a key of role {name}, and yours may {self.role.name.lower()};"
                f" an operator makes one: phronesis serve keys create --role {name}",
                field="Authorization",
                details={"role": name},
            )


@dataclass(slots=True)
class Authenticator:
    """Authenticates callers. Thread-safe.

    An accepted key is cached for ``seconds``, for which a revoked one still works. With 0 it is refused at the next
    call.

    Without ``keys_required``, and as long as the server's own tenant never had a key, a caller without a token is an
    admin of that tenant; such a server must be reachable from this machine only. Revoking the last key does not restore
    keyless access.
    """

    memory: Memory
    keys_required: bool
    seconds: float = 0.0
    clock: Callable[[], float] = time.monotonic
    limit: RateLimit = field(default_factory=lambda: RateLimit(None, 1))
    find_key: Callable[[str], ApiKey] | None = None
    """Returns the grant of an OAuth token, which is accepted at /mcp alone; None: there is no OAuth."""
    _recent: dict[bytes, tuple[Caller, float]] = field(default_factory=dict)
    _tenants: dict[str, Memory] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def authenticate(self, token: str | None, *, oauth: bool = False) -> Caller:
        """Return the caller of a token; Unauthenticated if it is invalid, or absent where one is required.

        ``oauth``: the token may be one of OAuth, whose audience is /mcp.
        """
        caller = self.recent(token, oauth=oauth)
        if caller is not None:
            return caller
        caller = self._look_up(token, oauth=oauth)
        if self.seconds and token is not None:  # keyless access ends when the first key is made
            with self._lock:
                if len(self._recent) >= MOST_RECENT:
                    self._recent.clear()
                self._recent[_mark(token, oauth=oauth)] = (caller, self.clock() + self.seconds)
        return caller

    def count(self, caller: Caller | None, address: str) -> None:
        """Count a call by key, or by address without a valid key; RateLimited when there are too many.

        All interfaces count here, so that they share one limit.
        """
        self.limit.take(address if caller is None or caller.key is None else caller.key.id)

    def recent(self, token: str | None, *, oauth: bool = False) -> Caller | None:
        """Return the caller of a recently accepted token; None if the store must be asked."""
        known = None if token is None else self._recent.get(_mark(token, oauth=oauth))
        return known[0] if known is not None and self.clock() < known[1] else None

    def _look_up(self, token: str | None, *, oauth: bool) -> Caller:
        if token is None:
            if self.open_to_anybody():
                return Caller(self.memory, Role.ADMIN, ANYBODY)
            raise Unauthenticated(
                "give an API key in the header 'Authorization: Bearer …';"
                " an operator makes one: phronesis serve keys create",
                field="Authorization",
            )
        if oauth and self.find_key is not None and not token.startswith(TOKEN_PREFIX):
            return self.caller_of(self.find_key(token))
        key = self.memory.admin.keys.find(token)
        if key is None:
            raise Unauthenticated(
                "this API key is not known here or was revoked; an operator makes another: phronesis serve keys create",
                field="Authorization",
            )
        return self.caller_of(key)

    def caller_of(self, key: ApiKey) -> Caller:
        """Return the caller that holds a key."""
        memory = self.memory
        if key.tenant != memory.admin.tenant:
            with self._lock:  # one Memory per tenant
                if key.tenant not in self._tenants:
                    self._tenants[key.tenant] = memory.for_tenant(key.tenant)
                memory = self._tenants[key.tenant]
        bound = memory if key.user_id is None else cast("Memory", UserMemory(memory, key.user_id))
        return Caller(bound, key.role, key.actor, key)

    def open_to_anybody(self) -> bool:
        """Return whether callers without a token are accepted."""
        return not self.keys_required and not self.memory.admin.keys.any_made()


def _mark(token: str, *, oauth: bool) -> bytes:
    """Return a digest by which a token is cached, so that this process's memory does not hold the token."""
    return bytes([oauth]) + hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
