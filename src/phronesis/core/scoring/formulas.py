"""The weights, with where they come from: data, made anew from labelled conversations by ``phronesis bench refit``."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, Final

from phronesis.core.scoring.diversity import CROWDING
from phronesis.core.scoring.features import FEATURES
from phronesis.core.scoring.scale import DENSE, WORDS, Scale
from phronesis.errors import InputError

FOUND: Final = (
    "found by softmax cross-entropy over each question's candidates with L2, leave one conversation out, on six of"
    " LoCoMo's conversations and chats with long assistant turns together; then moved by `phronesis bench refit` with"
    " L2 2 around those on the same six, and the dev questions of tests/labelled/chats_long_turns.json and"
    " chats_chinese.json, sets weighing alike"
)
"""Where the weights of A12 and B12 come from; docs/decisions/0010-ranking.md has both stages and their figures."""

KEY: Final = 4.0
"""What being held under the key that a question asks for counts: what coverage of all of the question and its speaker
bring together in A12. Chosen by hand, for no labelled conversation asks so (docs/decisions/0045-asked-by-key.md)."""

COARSE_DENSE: Final = 0.7
"""What a standard deviation of the cosine counts among candidates beside one of BM25."""

WEAK_SCORE: Final[Mapping[bool, float]] = {False: 2.3, True: 3.4}
"""The best score below which a result is weak, without and with vectors (``abstention``), by A12 and B12.

The weakest one to five per cent of answerable questions on the three labelled sets score less."""


@dataclass(frozen=True, slots=True)
class Formula:
    """A weight for each feature that counts; a feature that is not named counts 0.

    ``dense`` says that it reckons with vectors; ``crowding`` is what a result loses for each better one of its session
    or document (`diversity`). ``coarse`` weighs the cosine where candidates are chosen; ``weak`` is the best score
    below which a result is weak, None: that of `WEAK_SCORE`. ``scaled`` brings a sum to 0 to 1, None: as in A12 or B12.
    """

    name: str
    weights: Mapping[str, float]
    provenance: str
    dense: bool
    crowding: float = 0.0
    coarse: float = COARSE_DENSE
    weak: float | None = None
    scaled: Scale | None = None

    @property
    def weak_score(self) -> float:
        """The best score below which a result is weak."""
        return WEAK_SCORE[self.dense] if self.weak is None else self.weak

    @property
    def scale(self) -> Scale:
        """What brings a sum to a score from 0 to 1."""
        return self.scaled or (DENSE if self.dense else WORDS)

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
        "previous_asks": 0.398, "photo": 0.583, "mention": 0.905, "key": KEY,
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
        "key": KEY,
    },
    FOUND,
    dense=True,
)  # fmt: skip
"""With any encoder that gives one vector a text."""

SECTIONS: Final = Formula(
    "S3",
    {"words": 0.6, "dense": 1.75, "mention": 0.607},
    "words (windows and pairs) and names as in B12; the weight of the cosine chosen on the dev questions of"
    " tests/labelled/resources with two encoders together, 1.75 or 2 in each round of leaving one document out",
    dense=True,
    coarse=1.75 / 0.6,
    weak=6.0,
)
"""Sections of documents, with any encoder; docs/decisions/0032-ranking-sections.md has the figures.

A section says what it is about where a turn of talk says "it", so its vector tells more. Nobody speaks in it, its day
is the one it was kept on, its neighbours are other matters. Candidates are chosen as they are ranked, so that a
question finds what is written in another language, where no word speaks for it. A best score of 6.0 lies as many
deviations above the mean as 3.4 does in B12; one of 108 answers to the dev questions scores less."""
