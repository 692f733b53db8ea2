"""Phronesis: a memory for AI agents. What happened, what was learned from it, and the evidence for every line."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from phronesis.async_memory import AsyncMemory
    from phronesis.client import Client
    from phronesis.core.context import ContextPackage
    from phronesis.core.experience.nei import NEI
    from phronesis.core.experience.records import L1Event, Pattern, Principle
    from phronesis.core.items import Item, Trust
    from phronesis.core.pages import Page
    from phronesis.core.reasoning.item import ReasoningItem
    from phronesis.core.reasoning.learned import LearnResult, RunRecord
    from phronesis.core.reasoning.records import Claim
    from phronesis.core.reasoning.review import Review
    from phronesis.core.results import AddResult, CommitResult, EditResult, Evidence, SearchResult, Source
    from phronesis.errors import ClaimsRefused, PhronesisError, Violation
    from phronesis.memory import Memory

__version__ = "0.1.0"

_HOMES = {
    "AsyncMemory": "phronesis.async_memory",
    "AddResult": "phronesis.core.results",
    "Client": "phronesis.client",
    "Claim": "phronesis.core.reasoning.records",
    "ClaimsRefused": "phronesis.errors",
    "CommitResult": "phronesis.core.results",
    "ContextPackage": "phronesis.core.context",
    "EditResult": "phronesis.core.results",
    "Evidence": "phronesis.core.results",
    "Item": "phronesis.core.items",
    "L1Event": "phronesis.core.experience.records",
    "LearnResult": "phronesis.core.reasoning.learned",
    "Memory": "phronesis.memory",
    "NEI": "phronesis.core.experience.nei",
    "Page": "phronesis.core.pages",
    "Pattern": "phronesis.core.experience.records",
    "PhronesisError": "phronesis.errors",
    "Principle": "phronesis.core.experience.records",
    "ReasoningItem": "phronesis.core.reasoning.item",
    "Review": "phronesis.core.reasoning.review",
    "RunRecord": "phronesis.core.reasoning.learned",
    "SearchResult": "phronesis.core.results",
    "Source": "phronesis.core.results",
    "Trust": "phronesis.core.items",
    "Violation": "phronesis.errors",
}

__all__ = [
    "NEI",
    "AddResult",
    "AsyncMemory",
    "Claim",
    "ClaimsRefused",
    "Client",
    "CommitResult",
    "ContextPackage",
    "EditResult",
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
