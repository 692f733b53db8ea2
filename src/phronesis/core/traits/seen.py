"""What a reflection looks at: memories and traits, as plain values that rules and models are shown alike."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

MEMORY_KINDS: Final = (
    "fact", "episodic", "profile", "preference", "task", "decision", "event", "intention", "procedure",
)  # fmt: skip
"""The kinds that conversations give: what a reflection scans, and what may be evidence of a trait (NM-01).

Verbatim messages are not among them, and neither are runs, claims, experience and documents.
"""

CONTEXTS: Final = ("work", "personal", "social", "learning", "general")
"""Where a trait shows (NM-04)."""

GENERAL: Final = "general"
"""The context of what shows everywhere, or of what nobody said where."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenMemory:
    """A memory: ``at`` is when it happened, else when it was learned. ``subject`` is whom it is about, None: not said.

    ``session_id`` is where it was said, None: in no session.
    """

    id: str
    content: str
    kind: str
    at: datetime
    session_id: str | None = None
    importance: int = 5
    subject: str | None = None
    key: str | None = None
    value: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenTrait:
    """A trait that lives: ``confidence`` is None of a trend. ``supporting`` and ``contradicting`` are memories' ids."""

    id: str
    content: str
    stage: str
    subtype: str
    context: str = GENERAL
    confidence: float | None = None
    supporting: Sequence[str] = ()
    contradicting: Sequence[str] = ()
