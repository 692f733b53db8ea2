"""A context as a tool's result: its text, id and citations within the requested budget."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from phronesis.core.serialization import as_json
from phronesis.errors import BudgetTooSmall
from phronesis.interfaces.mcp.result_text import context_tail

if TYPE_CHECKING:
    from phronesis.core.context import ContextPackage
    from phronesis.memory.runtime import Components

TRIES: Final = 4
"""Maximum attempts to compose a context again, smaller, if its record was longer than expected."""

LONGEST_ID: Final = "1a" * 18
"""Stands for a context's id, which is new in each attempt: no other id of its length has more tokens."""


def compose_within(
    call: Callable[[dict[str, Any]], "ContextPackage"],
    given: dict[str, Any],
    budget: int,
    stages: "Components",
    *,
    records: bool,
) -> tuple[str, dict[str, Any]]:
    """Return a context's text and its record, whose ``text`` is the same.

    Some clients show a model the text, some the record. If the record is returned too, both count, so that the context
    itself gets less than half of ``budget``. How long the record is shows only when it is made: it is tried with dry
    runs, so that the activity log has one context for each call.

    Args:
        call: composes, given the arguments of ``Memory.compose_context``.
        given: the arguments except the budget.
        budget: tokens of the whole result; 0: those of the policy.
        stages: provide the policy and the token counter.
        records: whether the record is returned as well.

    Raises:
        BudgetTooSmall: the message alone takes more; it names the smallest sufficient budget of the tool.
    """
    count, total = stages.count_tokens, budget or stages.budget.total
    around = count(context_tail(LONGEST_ID, total)) + 2
    room = total - around

    def compose(**options: Any) -> tuple[str, dict[str, Any]]:
        try:
            return _context_result(call({**given, **options, "token_budget": max(1, room)}))
        except BudgetTooSmall as error:
            raise _budget_error(error, total, around, records=records) from error

    if records:
        room = room * 2 // 5 - around
        for _ in range(TRIES):
            text, record = compose(dry_run=True)
            shown = text + json.dumps(record, ensure_ascii=False)
            size = count(shown.replace(record["context_id"], LONGEST_ID)) + 1
            if size <= total:
                break
            room = min(room - 1, room * total // size - 1)
    return compose()


def _budget_error(error: BudgetTooSmall, total: int, around: int, *, records: bool) -> BudgetTooSmall:
    """Return the error in terms of the tool's budget, which also covers the text around a context."""
    least = error.details["minimum"] + around
    least = least * 3 if records else least
    return BudgetTooSmall(
        f"token_budget: {total} tokens cannot hold the user's message, which is never cut; give at least {least}",
        field="token_budget",
        details={**error.details, "token_budget": total, "minimum": least},
    )


def _context_result(package: "ContextPackage") -> tuple[str, dict[str, Any]]:
    text = package.text + context_tail(package.context_id, package.token_count)
    record = {"context_id": package.context_id, "token_count": package.token_count, "text": text}
    citations = getattr(package, "citations", None)
    return text, record if not citations else {**record, "citations": as_json(citations)}
