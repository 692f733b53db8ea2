"""The memory of a caller whose key is bound to a user: the verbs of ``Memory``, for that user alone.

Every interface calls verbs of a caller's memory, so this is the one place that bounds a key. A verb that takes a
``user_id`` gets the user's; another user's is refused, and so is every verb that takes none and is not listed here.
"""

import inspect
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any, Final, NoReturn

from phronesis.core.ids import parse_id
from phronesis.core.retrieval_plan import plan_of
from phronesis.errors import Forbidden, NotFound
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
    """The verbs of a memory for one user, or those of one of its groups."""

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
        for field in _IDS:
            given = arguments.get(field) or ()
            for one in (given,) if isinstance(given, str) else given:
                with admin.components.database.transaction(admin.tenant, "read") as unit:
                    lane = _lane_of(unit, parse_id(one, field=field))
                if lane is not None and lane.kind == "shared":
                    raise Forbidden(
                        f"{field}: {one} is shared, and this key changes the memory of its user alone; use a key of the"
                        " tenant (phronesis serve keys create without --user)",
                        field=field,
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
