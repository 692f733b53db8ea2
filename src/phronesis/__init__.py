"""Phronesis: a memory for AI agents. What happened, what was learned from it, and the evidence for every line."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from phronesis.async_memory import AsyncMemory
    from phronesis.client import AsyncClient, Client
    from phronesis.core.context import ContextPackage
    from phronesis.core.items import Item, Trust
    from phronesis.core.reports import EntityRecord, Page
    from phronesis.core.results import AddResult, CommitResult, EditResult, Evidence, SearchResult, Source
    from phronesis.errors import ClaimsRefused, PhronesisError, Violation
    from phronesis.experience.laws.event_draft import NEI
    from phronesis.experience.laws.records import L1Event, Pattern, Principle
    from phronesis.memory import Memory
    from phronesis.reasoning.laws.item_records import LearnResult, ReasoningItem, RunRecord
    from phronesis.reasoning.laws.records import Claim, Review


__version__ = "0.1.0"

_HOMES = {
    "AsyncMemory": "phronesis.async_memory",
    "AddResult": "phronesis.core.results",
    "AsyncClient": "phronesis.client",
    "Client": "phronesis.client",
    "Claim": "phronesis.reasoning.laws.records",
    "ClaimsRefused": "phronesis.errors",
    "CommitResult": "phronesis.core.results",
    "ContextPackage": "phronesis.core.context",
    "EditResult": "phronesis.core.results",
    "EntityRecord": "phronesis.core.reports",
    "Evidence": "phronesis.core.results",
    "Item": "phronesis.core.items",
    "L1Event": "phronesis.experience.laws.records",
    "LearnResult": "phronesis.reasoning.laws.item_records",
    "Memory": "phronesis.memory",
    "NEI": "phronesis.experience.laws.event_draft",
    "Page": "phronesis.core.reports",
    "Pattern": "phronesis.experience.laws.records",
    "PhronesisError": "phronesis.errors",
    "Principle": "phronesis.experience.laws.records",
    "ReasoningItem": "phronesis.reasoning.laws.item_records",
    "Review": "phronesis.reasoning.laws.records",
    "RunRecord": "phronesis.reasoning.laws.item_records",
    "SearchResult": "phronesis.core.results",
    "Source": "phronesis.core.results",
    "Trust": "phronesis.core.items",
    "Violation": "phronesis.errors",
}

__all__ = [
    "NEI",
    "AddResult",
    "AsyncClient",
    "AsyncMemory",
    "Claim",
    "ClaimsRefused",
    "Client",
    "CommitResult",
    "ContextPackage",
    "EditResult",
    "EntityRecord",
    "Evidence",
    "Item",
    "L1Event",
    "LearnResult",
    "Memory",
    "Page",
    "Pattern",
    "PhronesisError",
    "Principle",
    "ReasoningItem",
    "Review",
    "RunRecord",
    "SearchResult",
    "Source",
    "Trust",
    "Violation",
    "__version__",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: ``import phronesis`` itself loads nothing heavy."""
    if name not in _HOMES:
        raise AttributeError(f"module 'phronesis' has no attribute {name!r}")
    import importlib  # noqa: PLC0415 - only when a name is asked for

    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
