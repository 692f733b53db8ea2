"""What a block of claims says, as records (requirements RB-01, RB-02)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from phronesis.core.state_machine import ClaimStatus

REASONING: Final = "reasoning"
"""The kind of item that holds claims."""

HEADER: Final = "RBMEM_CLAIMS_V1"
"""The first line of every block."""

TOPIC: Final = "TOPIC"
SCOPE: Final = "SCOPE"
CLAIMS: Final = "CLAIMS_JSON"
KEYS: Final = (TOPIC, SCOPE, CLAIMS)
"""The keys that mean something here, in the order in which they are written; further keys stand before the claims."""

MEMBERS: Final = (
    "claim_id", "status", "facts", "inference", "constraint", "allow_positive", "exception_reason", "conditions",
    "limitations", "support", "contra", "test",
)  # fmt: skip
"""The members of a claim that mean something here, in the order in which they are written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Runs that count for or against a claim, as they were written: at least as many as are named."""

    count: int = 0
    run_ids: tuple[str, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A claim as it is written. ``test`` is plain JSON that `claim_test.mistakes_of_test` finds nothing wrong with."""

    claim_id: str
    status: ClaimStatus
    facts: Mapping[str, Any]
    inference: str = ""
    constraint: str = ""
    allow_positive: bool = False
    exception_reason: str = ""
    conditions: tuple[str, ...] = ()
    limitations: tuple[str, ...] = ()
    support: Tally = field(default_factory=Tally)
    contra: Tally = field(default_factory=Tally)
    test: Mapping[str, Any] | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningBlock:
    """What an item of reasoning holds. ``extra`` has the keys that nothing here knows, in their order."""

    topic: str = ""
    scope: str | None = None
    claims: tuple[Claim, ...] = ()
    extra: tuple[tuple[str, str], ...] = ()
