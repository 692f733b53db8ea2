"""A call of ``compose_context``, checked."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Any

from phronesis.core.context import Budget
from phronesis.core.plan import RetrievalPlan
from phronesis.core.scope import Scope
from phronesis.core.text import storable
from phronesis.storage.eligible import Wanted


@dataclass(frozen=True, slots=True)
class Request:
    """A checked call of ``compose_context``; ``now`` tells what is due, ``plan`` is the caller's own, if any.

    ``now`` is in the user's time zone.
    """

    session_id: str
    message: str
    scope: Scope
    budget: Budget
    agent_state: Mapping[str, Any]
    wanted: Wanted
    now: datetime
    plan: RetrievalPlan | None = None

    @property
    def zone(self) -> tzinfo:
        """Return the user's time zone."""
        return self.now.tzinfo or UTC

    @property
    def asked(self) -> str:
        """The message as it is planned for and searched; the caller gets back its own."""
        return storable(self.message)
