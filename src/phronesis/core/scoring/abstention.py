"""Whether what was found supports an answer at all.

It tells questions about what was never spoken of. It cannot tell a question that changes who did something: the words
are all there (LoCoMo's adversarial questions; figures in docs/benchmarks.md).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from phronesis.core.scoring.formulas import Formula

OUTLIER: Final = 3.0
"""Standard deviations above the scope's mean from which a cosine alone counts as support."""

WEAK_COVERAGE: Final = 0.4
"""The share of the question below which no text of a weak result may stand; its best score is below the formula's
``weak_score``."""

FEW: Final = 20
"""Documents below which standard deviations say nothing: there only a question without any support has no answer."""


@dataclass(frozen=True, slots=True)
class Support:
    """What speaks for one result: score without bonuses, the share of the question it holds, its features' shares."""

    score: float
    coverage: float
    shares: Mapping[str, float]


def abstains(found: Sequence[Support], formula: Formula, *, named: bool, documents: int) -> bool:
    """Tell whether nothing supports an answer. ``named``: somebody known is asked about.

    Either no word of the question is known, no meaning stands out, nobody is named and nothing is held under a key that
    is asked for; or, among enough documents, the best score is weak and no result holds much of the question.
    """
    held = max((one.coverage for one in found), default=0.0)
    meaning = max((one.shares.get("dense", 0.0) for one in found), default=0.0)
    outlying = meaning > 0 and meaning >= OUTLIER * formula.weights.get("dense", 0.0)
    meant = any(one.shares.get(name, 0.0) > 0 for one in found for name in ("mention", "key"))
    if held == 0.0 and not outlying and not named and not meant:
        return True
    weak = bool(found) and max(one.score for one in found) < formula.weak_score and held < WEAK_COVERAGE
    return weak and documents >= FEW and not outlying and not meant
