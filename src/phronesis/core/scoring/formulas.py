"""The weights, with where they come from: data, made anew from labelled conversations by ``phronesis bench refit``."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, Final

from phronesis.core.scoring.diversity import CROWDING
from phronesis.core.scoring.features import FEATURES
from phronesis.errors import InputError

FOUND: Final = (
    "found by softmax cross-entropy over each question's candidates with L2, leave one conversation out, on six of"
    " LoCoMo's conversations and chats with long assistant turns together; then moved by `phronesis bench refit` with"
    " L2 2 around those on the same six, and the dev questions of tests/labelled/chats_long_turns.json and"
    " chats_chinese.json, sets weighing alike"
)
"""Where the weights of A12 and B12 come from; docs/decisions/0010-ranking.md has both stages and their figures."""


@dataclass(frozen=True, slots=True)
class Formula:
    """A weight for each feature that counts; a feature that is not named counts 0.

    ``dense`` says that it reckons with vectors; ``crowding`` is what a result loses for each better one of its session
    or document (`diversity`).
    """

    name: str
    weights: Mapping[str, float]
    provenance: str
    dense: bool
    crowding: float = 0.0

    def __post_init__(self) -> None:
        """Refuse a feature that there is not, a weight that is no number, and a crowding below 0."""
        if not (isfinite(self.crowding) and self.crowding >= 0):
            raise InputError(f"crowding must be 0 or a number above it, not {self.crowding!r:.80}", field="crowding")
        for feature, weight in self.weights.items():
            if feature not in FEATURES:
                raise InputError(
                    f"weights: {feature!r:.80} is no feature; there are {', '.join(FEATURES)}", field="weights"
                )
            if not isfinite(weight):
                raise InputError(f"weights.{feature} must be a finite number, not {weight!r:.80}", field="weights")

    def to_dict(self) -> dict[str, Any]:
        """Give plain JSON values."""
        return {"name": self.name, "dense": self.dense, "provenance": self.provenance, "weights": dict(self.weights),
                "crowding": self.crowding}  # fmt: skip


A12: Final = Formula(
    "A12",
    {
        "window": 0.475, "pair": 0.195, "previous": 0.099, "second_previous": 0.096, "coverage": 2.014,
        "coverage_next": 1.168, "speaker": 2.021, "date_covered": 2.679, "when_time": 1.423, "length": -0.23,
        "previous_asks": 0.398, "photo": 0.583, "mention": 0.905,
    },
    FOUND,
    dense=False,
    crowding=CROWDING,
)  # fmt: skip
"""Without an encoder."""

B12: Final = Formula(
    "B12",
    {
        "dense": 0.724, "dense_next": 0.17, "window": 0.332, "pair": 0.27, "second_previous": 0.117,
        "coverage_next": 0.698, "coverage_third_next": 0.158, "speaker": 1.969, "date_covered": 2.01,
        "date_in_text": 1.113, "when_time": 1.348, "photo": 0.559, "mention": 0.607,
    },
    FOUND,
    dense=True,
)  # fmt: skip
"""With any encoder that gives one vector a text."""
