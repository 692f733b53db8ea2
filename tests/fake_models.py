"""Models that answer from a script, and a ledger in memory."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from phronesis.core.reports import ModelCall, ModelUsage
from phronesis.models.call_policy import Allowance, CallPolicy, Limits, SpendingLimit, never
from phronesis.models.structured_client import AnswerSchema, Completion, Constraint, Message, StructuredClient
from phronesis.models.token_counter import ByteBound

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)

Step = Completion | Exception | str
"""What a model does when asked: a completion, an error, or a text that it finishes by itself."""


@dataclass
class MemoryLedger:
    calls: list[tuple[str, ModelCall]] = field(default_factory=list)

    def record(self, tenant: str, call: ModelCall) -> None:
        self.calls.append((tenant, call))

    def spent(self, tenant: str, *, since: datetime, role: str | None = None) -> ModelUsage:
        found = [call for of, call in self.calls if of == tenant and call.at >= since and role in {None, call.role}]
        tokens = sum(call.prompt_tokens + call.completion_tokens for call in found)
        return ModelUsage(len(found), tokens, sum(call.cost for call in found))


@dataclass
class ScriptedModel:
    """Takes the steps one after another; the last one again and again."""

    steps: list[Step]
    name: str = "test/model"
    asked: list[tuple[Sequence[Message], AnswerSchema, Constraint, int]] = field(default_factory=list)

    def complete(
        self,
        messages: Sequence[Message],
        *,
        answer: AnswerSchema,
        constraint: Constraint,
        max_tokens: int,
        limits: Limits,
    ) -> Completion:
        limits.check()
        self.asked.append((tuple(messages), answer, constraint, max_tokens))
        step = self.steps[min(len(self.asked), len(self.steps)) - 1]
        if isinstance(step, Exception):
            raise step
        return Completion(text=step, finish_reason="stop") if isinstance(step, str) else step


def limits(seconds: float = 20.0, *, max_bytes: int = 8 << 20) -> Limits:
    """Give the limits of a call that begins now."""
    return Limits(time.monotonic, time.monotonic() + seconds, never, max_bytes)


def asker(model: ScriptedModel, ledger: MemoryLedger | None = None, **given: Any) -> StructuredClient:
    settings: dict[str, Any] = {"timeout": 5.0, "tries": 1, "concurrency": 2, "allowance": Allowance(), **given}
    clock: Callable[[], datetime] = settings.get("clock", lambda: NOON)
    return StructuredClient(
        role="extract",
        model=model,
        conduct=CallPolicy(timeout=settings["timeout"], tries=settings["tries"], concurrency=settings["concurrency"]),
        purse=SpendingLimit(ledger or MemoryLedger(), clock, settings["allowance"], settings.get("prices", {})),
        counter=ByteBound(),
        max_tokens=settings.get("max_tokens", 100),
    )
