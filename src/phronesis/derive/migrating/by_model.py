"""An old memory as claims by a model: it words them, code gives FACTS, ids and counts, and the gate decides.

What it says is looked at once more than the gate does: a number that the memory does not hold is made up. Without an
answer, or with one that may not be written, the rules rewrite the memory, and an outcome says so.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, Protocol

import pydantic

from phronesis.core.entries import Outcome
from phronesis.core.fences import choose_boundary
from phronesis.core.reasoning.block import text_of
from phronesis.core.reasoning.records import Claim
from phronesis.core.text import storable
from phronesis.derive.handler import DEGRADED_ROLE
from phronesis.derive.instructions import find_order
from phronesis.derive.migrating.rewriting import ORDER, RULES, OldMemory, Rewriting, facts_of, lawful, refusal_of
from phronesis.derive.prompts import prompt
from phronesis.errors import Violation
from phronesis.models.asker import Answer
from phronesis.models.structured import Attempt, Task
from phronesis.truth.reader import fit

ROLE: Final = "migrate"
ANSWERS: Final = "migrate_answer"
"""The role of outcomes that hold what the model said."""

PROMPT_VERSION: Final = "migrate/1"
"""Rises when ``prompts/migrate.md`` changes: it stands with every outcome."""

MADE_UP: Final = "not_in_the_memory"
"""The rule that a number of a claim must stand in the memory that it was made of."""

MAX_SHOWN: Final = 12_000
"""Characters of a memory that a model is shown. A longer one is left to the rules, which take it whole."""

_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?")

_Text = Annotated[str, pydantic.Field(max_length=2_000)]
_Texts = Annotated[list[Annotated[str, pydantic.Field(min_length=1, max_length=400)]], pydantic.Field(max_length=10)]


class ProposedClaim(pydantic.BaseModel):
    """A claim as a model gives it."""

    model_config = pydantic.ConfigDict(extra="forbid", strict=True)

    status: Literal["fact", "hypothesis"]
    inference: _Text
    constraint: _Text
    conditions: _Texts
    limitations: _Texts


class RewrittenMemory(pydantic.BaseModel):
    """The answer asked for."""

    model_config = pydantic.ConfigDict(extra="forbid", strict=True)

    topic: Annotated[str, pydantic.Field(max_length=200)]
    claims: Annotated[list[ProposedClaim], pydantic.Field(max_length=40)]


class MemoryAsker(Protocol):
    """Who can be asked for claims (``models.asker.Asker``)."""

    @property
    def name(self) -> str:
        """Gateway and model."""
        ...

    def ask(self, tenant: str, task: Task[RewrittenMemory]) -> Answer[RewrittenMemory]:
        """Give an answer, or why there is none."""
        ...


@dataclass(frozen=True, slots=True)
class Asked:
    """What asking came to: a rewriting, or None and why; and the outcomes that say what the model said."""

    made: Rewriting | None
    outcomes: Sequence[Outcome]


def ask(asker: MemoryAsker, tenant: str, old: OldMemory) -> Asked:
    """Ask for the claims of a memory. None made: the model gave nothing that may be written."""
    if len(old.text) > MAX_SHOWN or refusal_of(old.text) is not None:
        return Asked(None, ())
    boundary = choose_boundary(old.origin, [old.text, old.title])
    shown = f"{old.title}\n{old.text}" if old.title else old.text
    answer = asker.ask(tenant, Task(prompt(ROLE), boundary.memory(storable(shown)), RewrittenMemory))
    outcomes = [_said(n, asker.name, attempt) for n, attempt in enumerate(answer.attempts)]
    made = None if answer.value is None else _rewriting(asker.name, old, answer.value)
    if made is not None and not made.violations:
        return Asked(made, outcomes)
    code = answer.error.code if answer.error is not None else "model.answer"
    reason = code if made is None else f"gate.{made.violations[0].rule}"
    away = {"role": ROLE, "reason": reason, "by": RULES, "instead_of": asker.name}
    return Asked(None, [*outcomes, Outcome(role=DEGRADED_ROLE, made_by=asker.name, body=away)])


def _rewriting(name: str, old: OldMemory, answer: RewrittenMemory) -> Rewriting:
    claims = [_claim(old, one) for one in answer.claims]
    made_by = f"{name} {PROMPT_VERSION}"
    made = lawful(old, old.title or _plain(answer.topic), claims, made_by=made_by)
    found = [*made.violations, *_made_up(old, made)]
    return made if not found else Rewriting(made_by=made_by, violations=found)


def _claim(old: OldMemory, one: ProposedClaim) -> Claim:
    inference, constraint = _plain(one.inference), _plain(one.constraint)
    facts, stated = facts_of(old, inference)
    return Claim(
        claim_id="c1", status="fact" if one.status == "fact" and stated else "hypothesis", facts=facts,
        inference=inference, constraint=constraint,
        conditions=tuple(filter(None, map(_plain, one.conditions))),
        limitations=tuple(filter(None, map(_plain, one.limitations))),
    )  # fmt: skip


def _made_up(old: OldMemory, made: Rewriting) -> list[Violation]:
    """Give what no gate sees: numbers that the memory does not hold, and orders to a model."""
    known = set(_NUMBER.findall(f"{old.title} {old.text}"))
    out = []
    for block in made.blocks:
        for claim in block.claims:
            words = "\n".join((claim.inference, claim.constraint, *claim.conditions, *claim.limitations))
            strange = next((number for number in _NUMBER.findall(words) if number not in known), None)
            if strange is not None:
                out.append(Violation(rule=MADE_UP, message=f"{strange} is not in the memory", claim_id=claim.claim_id))
        order = find_order(text_of(block))
        if order is not None:
            out.append(Violation(rule=ORDER, message=f"reads like an order to a model: {order.rule}"))
    return out


def _plain(text: str) -> str:
    return " ".join(fit(text).split())


def _said(n: int, made_by: str, attempt: Attempt) -> Outcome:
    body: dict[str, Any] = {"role": ROLE, "constraint": attempt.constraint, "text": fit(attempt.text),
                            "finish_reason": attempt.finish_reason, "problem": attempt.problem}  # fmt: skip
    return Outcome(role=ANSWERS, made_by=made_by, body=body, n=n)
