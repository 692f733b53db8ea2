"""What each feature of the ranking brings: the figures with each one left out, its weight set to 0."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from phronesis.recall.scoring.weights import A12, B12
from phronesis_benchmarks.candidates import CandidateQuestion, as_vector, mean_scores
from phronesis_benchmarks.refit import METRICS

WHOLE = "(nothing left out)"
CROWDED = "crowding"


@dataclass(frozen=True, slots=True)
class AblationReport:
    """``figures``: group → feature left out → metric."""

    formula: str
    figures: Mapping[str, Mapping[str, Mapping[str, float]]]

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"formula": self.formula, "figures": self.figures}

    def to_markdown(self) -> str:
        """Return one table, a set's metrics side by side."""
        groups = list(self.figures)
        head = ["left out", *(f"{group} {metric}" for group in groups for metric in METRICS)]
        lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
        for feature in self.figures[groups[0]]:
            row = [f"{self.figures[group][feature][metric]:.3f}" for group in groups for metric in METRICS]
            lines.append(f"| {' | '.join([feature, *row])} |")
        return f"{self.formula}\n\n" + "\n".join(lines)


def ablate(asked: Sequence[CandidateQuestion], *, dense: bool) -> AblationReport:
    """Leave out each feature of the shipped formula in turn; there must be at least one question."""
    formula = B12 if dense else A12
    figures: dict[str, dict[str, dict[str, float]]] = {}
    for group in dict.fromkeys(one.group for one in asked):
        mine = [one for one in asked if one.group == group]
        crowding = formula.crowding
        rows = {WHOLE: mean_scores(mine, as_vector(formula.weights), METRICS, crowding=crowding)}
        for feature in formula.weights:
            rest = {name: weight for name, weight in formula.weights.items() if name != feature}
            rows[feature] = mean_scores(mine, as_vector(rest), METRICS, crowding=crowding)
        if crowding:
            rows[CROWDED] = mean_scores(mine, as_vector(formula.weights), METRICS, crowding=0.0)
        figures[group] = rows
    return AblationReport(formula.name, figures)
