"""What carrying out a plan gives: evidence of every retriever, and how it was put together."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self, overload

from phronesis.core.evidence_json import (
    MAX_EVIDENCE,
    degraded_from_dict,
    evidence_from_dict,
    flag,
    listed,
    mapping,
    name_of,
)
from phronesis.core.plain import Record
from phronesis.core.plan import RetrievalPlan
from phronesis.core.results import Degraded, Evidence


@dataclass(frozen=True, slots=True)
class EvidencePack(Sequence[Evidence], Record):
    """Evidence, best first; each ``why`` holds its signals, by name.

    ``ignored_fields``: by retriever, the fields of the plan that it could not use. ``abstained``: nothing found
    supports an answer, and the best score is below ``threshold``; the evidence is not emptied.
    """

    evidence: tuple[Evidence, ...]
    plan: RetrievalPlan
    abstained: bool = False
    ignored_fields: Mapping[str, Sequence[str]] = field(default_factory=dict)
    explain: Mapping[str, Any] = field(default_factory=dict)
    degraded: tuple[Degraded, ...] = ()
    threshold: float = 0.1

    @overload
    def __getitem__(self, index: int) -> Evidence: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Evidence]: ...
    def __getitem__(self, index: int | slice) -> Evidence | Sequence[Evidence]:
        return self.evidence[index]

    def __len__(self) -> int:
        return len(self.evidence)

    def __iter__(self) -> Iterator[Evidence]:
        return iter(self.evidence)

    def to_dict(self) -> dict[str, Any]:
        """Give plain JSON values."""
        return Record.to_dict(self)

    @classmethod
    def from_dict(cls, value: object, *, plan: RetrievalPlan) -> Self:
        """Read what ``to_dict`` gave, as the answer to ``plan``: the plan that it repeats is not looked at.

        InputError names the field that is wrong. ``explain`` is the other side's own and is left out.
        """
        given = mapping(value, "pack")

        def named(found: object, field: str) -> str:
            return name_of(found, field)

        return cls(
            tuple(listed(given.get("evidence"), "evidence", lambda one, at: evidence_from_dict(one, field=at),
                         most=MAX_EVIDENCE)),
            plan,
            abstained=flag(given.get("abstained", False), "abstained"),
            ignored_fields={
                name_of(name, "ignored_fields"): tuple(listed(fields, "ignored_fields", named))
                for name, fields in mapping(given.get("ignored_fields", {}), "ignored_fields").items()
            },
            degraded=tuple(listed(given.get("degraded", ()), "degraded", degraded_from_dict)),
        )  # fmt: skip
