"""The port of retrievers: each is asked what a plan says for its store, and tells what it found and passed over."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from phronesis.core.fusion.candidates import Part
from phronesis.core.plan import RetrievalPlan, Store
from phronesis.core.results import Degraded, Evidence
from phronesis.recall.manner import Encodings
from phronesis.storage.eligible import NO_EXCLUSION, Exclusion


@dataclass(frozen=True, slots=True)
class Retrieved:
    """What one retriever gives: evidence, best first, each with its signals by name in ``why``.

    ``ignored`` are the fields of the plan that it could not use; ``abstained`` says that nothing supports an answer.
    """

    name: str
    store: Store
    evidence: tuple[Evidence, ...] = ()
    abstained: bool = True
    ignored: tuple[str, ...] = ()
    degraded: tuple[Degraded, ...] = ()
    explain: Mapping[str, Any] = field(default_factory=dict)

    @property
    def part(self) -> Part:
        """What is fused."""
        return Part(self.name, self.store, self.evidence, self.abstained)


class Retriever(Protocol):
    """Finds evidence in one store. Thread-safe; it raises nothing because a model or a server is away."""

    @property
    def name(self) -> str:
        """What ``explain`` and ``ignored_fields`` call it."""
        ...

    @property
    def store(self) -> Store:
        """Whose part of a plan it carries out."""
        ...

    def retrieve(
        self, tenant: str, plan: RetrievalPlan, encodings: Encodings, exclude: Exclusion = NO_EXCLUSION
    ) -> Retrieved:
        """Give what it finds for its part of a plan, nothing when the plan has none for it.

        ``encodings`` holds the vectors of the questions of this call; what ``exclude`` names is not found.
        InputError: a filter or a kind is wrong.
        """
        ...

    def close(self) -> None:
        """Close its connections, if it has any."""
        ...
