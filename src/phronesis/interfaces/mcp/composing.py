"""A context as the result of a tool: its text, its id and its citations within the budget that was asked for."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from phronesis.core.plain import as_json
from phronesis.errors import BudgetTooSmall
from phronesis.interfaces.mcp.result_text import context_tail

if TYPE_CHECKING:
    from phronesis.core.context import ContextPackage
    from phronesis.memory.inside import Stages

TRIES: Final = 4
"""Times that a context is composed anew, smaller, where its record was longer than expected."""


def compose_within(
    call: Callable[[dict[str, Any]], "ContextPackage"], given: dict[str, Any], budget: int, stages: "Stages", *,
    records: bool,
) -> tuple[str, dict[str, Any]]:  # fmt: skip
    """Give a context's text and its record, whose ``text`` is the same: some clients show a model one, some the other.

    Where the record is given too, both are counted, so that the context itself gets less than half of ``budget``.

    Args:
        call: composes, given the arguments of ``Memory.compose_context``.
        given: the arguments but the budget.
        budget: tokens of everything; 0: those of the policy.
        stages: whose policy and token counter count.
        records: whether the record goes out as well.

    Raises:
        BudgetTooSmall: the message alone takes more; it names the least budget of the tool that would do.
    """
    count, total = stages.count_tokens, budget or stages.budget.total
    around = count(context_tail("ctx_" + "0" * 36, total)) + 2
    room = total - around
    if records:
        room = room * 2 // 5 - around
    for _ in range(TRIES):
        try:
            package = call({**given, "token_budget": max(1, room)})
        except BudgetTooSmall as error:
            raise _too_small(error, total, around, records=records) from error
        text, record = _told(package)
        size = count(text) + (count(json.dumps(record, ensure_ascii=False)) if records else 0)
        if size <= total:
            break
        room = min(room - 1, room * total // size - 1)
    return text, record


def _too_small(error: BudgetTooSmall, total: int, around: int, *, records: bool) -> BudgetTooSmall:
    """Give the error in terms of the tool's budget, which also holds what stands around a context."""
    least = error.details["minimum"] + around
    least = least * 3 if records else least
    return BudgetTooSmall(
        f"token_budget: {total} tokens cannot hold the user's message, which is never cut; give at least {least}",
        field="token_budget", details={**error.details, "token_budget": total, "minimum": least},
    )  # fmt: skip


def _told(package: "ContextPackage") -> tuple[str, dict[str, Any]]:
    text = package.text + context_tail(package.context_id, package.token_count)
    record = {"context_id": package.context_id, "token_count": package.token_count, "text": text}
    citations = getattr(package, "citations", None)
    return text, record if not citations else {**record, "citations": as_json(citations)}
