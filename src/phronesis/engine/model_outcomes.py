"""Outcomes of models: the attempts of an answer, what took a model's place, and the decisions of one entry.

Decisions are asked of the role ``decide`` in prepare.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from phronesis.core.entries import Outcome
from phronesis.engine.handler import DEGRADED_ROLE
from phronesis.engine.plugin import Platform
from phronesis.errors import ModelError
from phronesis.log.reader import fit
from phronesis.models.decision import ROLE, VERSION, Decider, Decision, Question
from phronesis.models.structured_client import Answer

ANSWERS: Final = "answer"
"""The usual role of outcomes that hold a model's answers."""


def answer_outcomes(
    role: str,
    answer: Answer[Any],
    *,
    model: str,
    by: str | None = None,
    kept_as: str = ANSWERS,
    after: Sequence[Outcome] = (),
) -> list[Outcome]:
    """Return the attempts of an answer, and the outcome ``degraded`` where it has no value and ``by`` took its place.

    Numbers go on from those of ``after``.
    """
    first = _count(after, kept_as)
    outcomes = [
        Outcome(
            role=kept_as,
            n=first + n,
            made_by=model,
            body={
                "role": role,
                "constraint": attempt.constraint,
                "text": fit(attempt.text),
                "finish_reason": attempt.finish_reason,
                "problem": attempt.problem,
            },
        )
        for n, attempt in enumerate(answer.attempts)
    ]
    if answer.value is None and by is not None:
        outcomes.append(degraded_outcome(role, answer.reason, model=model, by=by, after=after))
    return outcomes


def degraded_outcome(role: str, reason: str, *, model: str, by: str, after: Sequence[Outcome] = ()) -> Outcome:
    """Return the outcome that says that ``by`` took the model's place, and why."""
    body = {"role": role, "reason": reason, "by": by, "instead_of": model}
    return Outcome(role=DEGRADED_ROLE, n=_count(after, DEGRADED_ROLE), made_by=model, body=body)


def _count(outcomes: Sequence[Outcome], role: str) -> int:
    return sum(one.role == role for one in outcomes)


DECISION_ROLE: Final = "decision"
"""The role of the outcome that records a decision: ``{question, option, probability}`` and what it is about."""
MAX_ASKED: Final = 40
"""Maximum decisions of one entry."""


@dataclass(slots=True)
class Decisions:
    """Asks for the decisions of one entry, and gathers their ``outcomes``. No transaction may be open meanwhile.

    A model that gives nothing is not asked again for this entry: an outcome ``degraded`` says so, and ``by`` stands in.
    """

    decider: Decider
    tenant: str
    by: str
    outcomes: list[Outcome] = field(default_factory=list)

    @property
    def can_ask(self) -> bool:
        """Return whether another question would be asked."""
        degraded = any(one.role == DEGRADED_ROLE for one in self.outcomes)
        return not degraded and len(self.outcomes) < MAX_ASKED

    def ask(self, question: Question, **about: str) -> Decision | None:
        """Return the decision; None if there is none. ``about`` is recorded with it."""
        if not self.can_ask:
            return None
        try:
            decision = self.decider.decide(self.tenant, question)
        except ModelError as error:
            self.outcomes.append(degraded_outcome(ROLE, error.code, model=self.decider.name, by=self.by))
            return None
        likely = None if decision.probability is None else round(decision.probability, 4)
        told = {"question": question.kind, "option": decision.option, "probability": likely, **about}
        made_by = f"{self.decider.name} {VERSION}"
        self.outcomes.append(Outcome(role=DECISION_ROLE, made_by=made_by, body=told, n=len(self.outcomes)))
        return decision


def decider_of(platform: Platform) -> Decider | None:
    """Return the model of the role ``decide``; a policy without gateways has none."""
    return platform.models.decider() if platform.policy.gateways else None
