"""The weights, with where they come from: data, made anew from labelled conversations by ``phronesis bench refit``."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, Final

from phronesis.core.scoring.features import FEATURES
from phronesis.errors import InputError

FOUND: Final = (
    "softmax cross-entropy over each question's candidates with L2, leave one conversation out, fitted on six of"
    " LoCoMo's conversations and a set of chats with long assistant turns together"
)
"""How the weights of A12 and B12 were found."""


@dataclass(frozen=True, slots=True)
class Formula:
    """A weight for each feature that counts; a feature that is not named counts 0.

    ``dense`` says that it reckons with vectors.
    """

    name: str
    weights: Mapping[str, float]
    provenance: str
    dense: bool

    def __post_init__(self) -> None:
        """Refuse a feature that there is not, and a weight that is no number."""
        for feature, weight in self.weights.items():
            if feature not in FEATURES:
                raise InputError(
                    f"weights: {feature!r:.80} is no feature; there are {', '.join(FEATURES)}", field="weights"
                )
            if not isfinite(weight):
                raise InputError(f"weights.{feature} must be a finite number, not {weight!r:.80}", field="weights")

    def to_dict(self) -> dict[str, Any]:
        """Give plain JSON values."""
        return {"name": self.name, "dense": self.dense, "provenance": self.provenance, "weights": dict(self.weights)}


A12: Final = Formula(
    "A12",
    {
        "window": 0.46, "pair": 0.20, "previous": 0.06, "second_previous": 0.08, "coverage": 2.14,
        "coverage_next": 1.34, "speaker": 1.95, "date_covered": 2.91, "when_time": 1.48, "length": -0.45,
        "previous_asks": 0.35, "photo": 0.59, "mention": 0.5,
    },
    FOUND,
    dense=False,
)  # fmt: skip
"""Without an encoder."""

B12: Final = Formula(
    "B12",
    {
        "dense": 0.64, "dense_next": 0.16, "window": 0.32, "pair": 0.29, "second_previous": 0.10,
        "coverage_next": 0.91, "coverage_third_next": 0.60, "speaker": 1.89, "date_covered": 2.70,
        "date_in_text": 1.44, "when_time": 1.34, "photo": 0.58, "mention": 0.5,
    },
    FOUND,
    dense=True,
)  # fmt: skip
"""With any encoder that gives one vector a text."""
