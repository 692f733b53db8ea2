"""Records calls of tools, and what searches showed, in the log of activity (``store/activity_log``)."""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from mcp.types import CallToolResult, TextContent

from phronesis.core.timestamps import to_micros
from phronesis.errors import PhronesisError
from phronesis.uuid7 import new_id

if TYPE_CHECKING:
    from phronesis.interfaces.mcp.request_context import Caller, RequestTracker
    from phronesis.interfaces.mcp.tool_calls import Verb

SEARCH: Final = "search_memories"
"""The tool whose result is recorded as a context."""


def run_recorded(
    run: Callable[..., CallToolResult], verb: "Verb", reception: "RequestTracker", **arguments: Any
) -> CallToolResult:
    """Run a tool and record its call; a search with the items that its result shows."""
    found: list[tuple[dict[str, Any], Any]] = []

    def call(caller: "Caller", given: dict[str, Any]) -> Any:
        found.append((given, verb.call(caller, given)))
        return found[-1][1]

    started = time.perf_counter()
    result = run(replace(verb, call=call), reception, **arguments)
    milliseconds = round((time.perf_counter() - started) * 1000, 1)
    with suppress(PhronesisError):  # of a caller without a valid key; the log of HTTP requests has it
        caller, user = reception.caller(), arguments.get("user_id")
        named = reception.options.user_id if user is None else user
        _record_call(caller, verb.name, result, milliseconds, user_id=named or caller.user_id)
        if verb.name == SEARCH and found:
            budget = arguments.get("token_budget") or verb.budget
            _record_search(caller, *found[-1], _text(result), budget=budget, milliseconds=milliseconds)
    return result


def _record_call(
    caller: "Caller", name: str, result: CallToolResult, milliseconds: float, *, user_id: str | None
) -> None:
    from phronesis.store.activity_log import RequestRow, user_number  # noqa: PLC0415 - not before the store is opened

    components = caller.memory.admin.components
    row = RequestRow(
        request_id=new_id(),
        at=to_micros(components.clock()),
        interface="mcp",
        route=name,
        status=_text(result).partition(":")[0] if result.is_error else "ok",
        failed=bool(result.is_error),
        milliseconds=milliseconds,
        key_id=caller.key_id,
        owner=None if user_id is None else user_number(user_id),
    )
    components.activity.note_request(caller.memory.admin.tenant, row)


def _record_search(
    caller: "Caller", given: dict[str, Any], found: Any, text: str, *, budget: int, milliseconds: float
) -> None:
    from phronesis.core.ids import make_scope  # noqa: PLC0415 - as above
    from phronesis.memory.activity import context_row  # noqa: PLC0415 - as above

    components = caller.memory.admin.components
    shown = [one.item.id for one in found if one.item.id in text]  # what the budget left out was not shown
    row = context_row(
        "search",
        make_scope(**{name: given.get(name) for name in ("user_id", "namespace", "agent_id")}),
        {"evidence": shown} if shown else {},
        session_id=given.get("session_id"),
        context_id=new_id(),
        at=to_micros(components.clock()),
        token_count=components.count_tokens(text),
        token_budget=budget,
        milliseconds=milliseconds,
        abstained=found.abstained,
    )
    components.activity.note_context(caller.memory.admin.tenant, row)


def _text(result: CallToolResult) -> str:
    return "".join(part.text for part in result.content if isinstance(part, TextContent))
