"""The decisions of one entry: asked of the role ``decide`` in prepare, each recorded as an outcome."""

from dataclasses import dataclass, field
from typing import Final

from phronesis.core.entries import Outcome
from phronesis.engine.handler import DEGRADED_ROLE
from phronesis.engine.model_outcomes import degraded_outcome
from phronesis.engine.plugin import Platform
from phronesis.errors import ModelError
from phronesis.models.decision import ROLE, VERSION, Decider, Decision, Question

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
