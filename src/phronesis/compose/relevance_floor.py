"""The relevance floor: a context without evidence where a model finds that none of it bears on the message."""

from dataclasses import dataclass
from typing import Final

from phronesis.compose.evidence_selection import EvidenceChoice
from phronesis.core.redaction import mask
from phronesis.core.results import Degraded
from phronesis.errors import ModelError
from phronesis.models.decision import NOTHING, ROLE, Decider, ask_relevance
from phronesis.recall.retrieval import shown_text

IRRELEVANT: Final = "irrelevant"
"""The reason for leaving out what bears on nothing that the message asks."""

SCORES: Final = "scores"
"""The fallback named in ``degraded``: what the scores select."""


@dataclass(frozen=True, slots=True)
class RelevanceFloor:
    """Asks once for a message, about the best lines. Reading is not recorded; no transaction may be open meanwhile."""

    decider: Decider

    def keep_relevant(
        self, tenant: str, asked: str, chosen: EvidenceChoice, *, first: int, seed: str
    ) -> tuple[EvidenceChoice, tuple[Degraded, ...]]:
        """Return the choice, or only its ``first`` results where nothing else bears on ``asked``."""
        rest = chosen.shown[first:]
        if not rest:
            return chosen, ()
        try:
            question = ask_relevance(asked, [mask(shown_text(one)) for one in rest], seed=seed)
            decision = self.decider.decide(tenant, question)
        except ModelError as error:
            return chosen, (Degraded(ROLE, error.code, SCORES, self.decider.name),)
        if not decision.is_surely(NOTHING):
            return chosen, ()
        left_out = [*chosen.left_out, *((one.item.citation, IRRELEVANT) for one in rest)]
        return EvidenceChoice(chosen.shown[:first], left_out), ()
