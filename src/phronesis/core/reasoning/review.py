"""What is known of the small molecule that a run names as its modifier (requirements RB-21, RB-22)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from phronesis.core.plain import Record

ReviewStatus = Literal["resolved", "unresolved", "pending"]

ReviewReason = Literal[
    "",
    "ambiguous",
    "bad_smiles",
    "busy",
    "looking_up",
    "never_asked",
    "no_http_client",
    "no_modifier",
    "no_rdkit",
    "no_structure",
    "not_found",
    "refused",
    "timeout",
    "unreachable",
    "unreadable_answer",
    "unreadable_modifier",
]
"""Why a review is not resolved; empty when it is. docs/reasoning-bank.md says what each means."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate(Record):
    """A compound of PubChem that a modifier's name may mean.

    ``has_cooh`` and ``has_carboxylate`` are None where its structure could not be looked at.
    """

    cid: int
    name: str | None = None
    smiles: str | None = None
    inchikey: str | None = None
    has_cooh: bool | None = None
    has_carboxylate: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Review(Record):
    """What PubChem says of a run's modifier, and whether it has a free carboxyl group –C(=O)OH.

    It judges nothing: whatever it says, the run stands. ``has_cooh`` is about the neutral acid; a salt or a zwitterion
    has a carboxylate (``has_carboxylate``), an ester has neither. ``matched`` gives the atoms of each group, under
    ``acid``, ``carboxylate`` and ``ester``: carbon, =O and –O by their places in ``smiles``, counted from 0.
    ``candidates`` are PubChem's compounds of that name, its best first. ``suggestion`` is for a person, in the language
    of the run, and empty where there is nothing to suggest. ``asked_at`` is when PubChem was asked.
    """

    run_id: str
    modifier: str | None
    status: ReviewStatus
    reason: ReviewReason = ""
    cid: int | None = None
    name: str | None = None
    smiles: str | None = None
    inchikey: str | None = None
    has_cooh: bool | None = None
    has_carboxylate: bool | None = None
    matched: Mapping[str, Sequence[Sequence[int]]] = field(default_factory=dict)
    candidates: Sequence[Candidate] = ()
    suggestion: str = ""
    asked_at: datetime | None = None
