"""Asking a model about a run, once: classes of claims, and proposals; and once more for the form of a refused one.

What it says is recorded whole, so that a replay asks nobody. Where it gives nothing that can be used, the rules do all
of it, and an outcome ``degraded`` says so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from phronesis.core.entries import Entry, Outcome
from phronesis.core.reasoning.block import text_of
from phronesis.core.reasoning.records import ReasoningBlock
from phronesis.derive.claims_gate.gate import gate
from phronesis.derive.claims_gate.wording import KB_ALIAS, NEXT_STEP, POSITIVE_CONSTRAINT
from phronesis.derive.handler import DEGRADED_ROLE
from phronesis.derive.learning.answer import ClaimClass, LearnAsker, Lesson, ProposedItem, Rewritten
from phronesis.derive.learning.proposing import RULES, Proposal
from phronesis.derive.learning.showing import shown, shown_to_rewrite
from phronesis.derive.learning.wording import block_of_proposal, rewritten_block
from phronesis.derive.prompts import prompt
from phronesis.errors import ModelUnavailable
from phronesis.models.asker import Answer
from phronesis.models.structured import Attempt, Task
from phronesis.truth.reader import fit

ROLE: Final = "learn"
ASKED: Final = "asked"
ANSWERS: Final = "answer"
"""The roles of outcomes: which model was asked and about which items, and what it said."""

PROMPT_VERSION: Final = "learn/1"
"""Rises when ``prompts/learn.md`` or ``prompts/learn_rewrite.md`` changes: it stands with every outcome."""

REPAIR: Final = "claims-repair/1"
"""What puts the form right where no model does."""

_WORDING: Final = frozenset({KB_ALIAS, NEXT_STEP, POSITIVE_CONSTRAINT})
"""The rules that another wording can keep. Eleven claims, or a claim that says nothing, stay so in any words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A run as a model is asked about it: FACTS, and the candidates as they stand.

    ``used`` are, by item, the ids of claims that a new claim must not have.
    """

    entry: Entry
    run_id: str
    facts: Mapping[str, Any]
    known: Mapping[str, ReasoningBlock]
    used: Mapping[str, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Taught:
    """What a model said of a run. Without an answer ``answered`` is false, and rules are to do the work.

    ``rewrites`` are, by the text of a block, the same block put right in form; ``ids`` the items by the numbers under
    which they were shown, ``told`` the FACTS as they were.
    """

    model: str
    outcomes: Sequence[Outcome]
    answered: bool = False
    proposals: Sequence[Proposal] = ()
    rewrites: Mapping[str, str] = field(default_factory=dict)
    classes: Sequence[ClaimClass] = ()
    ids: Sequence[str] = ()
    told: str = ""

    @property
    def made_by(self) -> str:
        """Gateway, model and the version of what it was asked."""
        return f"{self.model} {PROMPT_VERSION}"


def unknown_model(reference: str) -> Taught:
    """Give what comes of a model whose gateway is no longer there: nothing, and it is said."""
    return Taught(model=reference, outcomes=[_degraded(reference, ModelUnavailable.code, RULES, 0)])


def teach(asker: LearnAsker, tenant: str, question: Question) -> Taught:
    """Ask about a run. It raises nothing that a model or server causes; no transaction may be open meanwhile."""
    seen = shown(question.entry.id, question.facts, question.known)
    answer: Answer[Lesson] = asker.ask(tenant, Task(prompt("learn"), seen.data, Lesson))
    body = {"model": asker.name, "shown": list(seen.ids), "left_out": len(question.known) - len(seen.ids)}
    outcomes = [Outcome(role=ASKED, made_by=f"{asker.name} {PROMPT_VERSION}", body=body)]
    outcomes += _said(asker.name, answer.attempts, 0)
    if answer.value is None:
        outcomes.append(_degraded(asker.name, _code(answer), RULES, 0))
        return Taught(model=asker.name, outcomes=outcomes, ids=seen.ids, told=seen.facts)
    asking = _Asking(asker, tenant, question, outcomes)
    meant = [_proposal(asker.name, one, question, seen.ids) for one in answer.value.proposals]
    rewrites = {made.content: right for made, block in meant if (right := asking.put_right(made, block)) is not None}
    return Taught(
        model=asker.name, outcomes=outcomes, answered=True, proposals=[made for made, _ in meant], rewrites=rewrites,
        classes=answer.value.classes, ids=seen.ids, told=seen.facts,
    )  # fmt: skip


def _proposal(model: str, one: ProposedItem, question: Question, ids: Sequence[str]) -> tuple[Proposal, ReasoningBlock]:
    item_id = ids[one.item] if one.action == "update" and one.item is not None and one.item < len(ids) else None
    current = None if item_id is None else question.known[item_id]
    used = question.used.get(item_id or "", frozenset())
    block = block_of_proposal(one, current, question.run_id, used)
    made_by = f"{model} {PROMPT_VERSION}"
    return Proposal(action=one.action, content=text_of(block), made_by=made_by, item_id=item_id), block


@dataclass(frozen=True, slots=True)
class _Asking:
    """A model that is asked again about the form of its proposals; what it says is added to ``outcomes``."""

    asker: LearnAsker
    tenant: str
    question: Question
    outcomes: list[Outcome]

    def put_right(self, made: Proposal, block: ReasoningBlock) -> str | None:
        """Ask once for another wording of a block that its wording alone keeps out; None where none is lawful."""
        violations = gate(made.content)
        outside = made.action == "update" and made.item_id is None
        if outside or not violations or not _WORDING.issuperset(one.rule for one in violations):
            return None
        data = shown_to_rewrite(self.question.entry.id, block, violations)
        answer: Answer[Rewritten] = self.asker.ask(self.tenant, Task(prompt("learn_rewrite"), data, Rewritten))
        self.outcomes.extend(_said(self.asker.name, answer.attempts, _count(self.outcomes, ANSWERS)))
        if answer.value is None:
            n = _count(self.outcomes, DEGRADED_ROLE)
            self.outcomes.append(_degraded(self.asker.name, _code(answer), REPAIR, n))
            return None
        right = rewritten_block(block, answer.value, [one.claim_id for one in violations])
        return None if right is None or gate(text_of(right)) else text_of(right)


def _said(model: str, attempts: Sequence[Attempt], first: int) -> list[Outcome]:
    return [
        Outcome(role=ANSWERS, n=first + n, made_by=model, body={
            "role": ROLE, "constraint": attempt.constraint, "text": fit(attempt.text),
            "finish_reason": attempt.finish_reason, "problem": attempt.problem,
        })
        for n, attempt in enumerate(attempts)
    ]  # fmt: skip


def _degraded(model: str, reason: str, by: str, n: int) -> Outcome:
    body = {"role": ROLE, "reason": reason, "by": by, "instead_of": model}
    return Outcome(role=DEGRADED_ROLE, n=n, made_by=model, body=body)


def _code(answer: Answer[Any]) -> str:
    return answer.error.code if answer.error is not None else "model.error"


def _count(outcomes: Sequence[Outcome], role: str) -> int:
    return sum(one.role == role for one in outcomes)
