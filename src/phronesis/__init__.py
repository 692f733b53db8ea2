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
    name: f"phronesis.{module}"
    for module, names in {
        "async_memory": "AsyncMemory",
        "client": "AsyncClient Client",
        "core.context": "ContextPackage",
        "core.items": "Item Trust",
        "core.reports": "EntityRecord Page",
        "core.results": "AddResult CommitResult EditResult Evidence SearchResult Source",
        "errors": "ClaimsRefused PhronesisError Violation",
        "experience.laws.event_draft": "NEI",
        "experience.laws.records": "L1Event Pattern Principle",
        "memory": "Memory",
        "reasoning.laws.item_records": "LearnResult ReasoningItem RunRecord",
        "reasoning.laws.records": "Claim Review",
    }.items()
    for name in names.split()
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
