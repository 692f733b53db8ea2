"""The features of each question's candidates, read off searches through the public API.

A formula in which every feature weighs 1 makes ``why`` the features themselves; and which candidates there are no
weight decides (``recall.scoring.ranking``). So what is fitted and left out here is exactly what a search reckons with,
before the bonuses for being recent and important (``recall.scoring.lane_arrays``), which no weights move.
"""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from phronesis import Memory
from phronesis.models.embedder import Embedder
from phronesis.recall.scoring.ranking import CANDIDATES, FEATURES
from phronesis.recall.scoring.weights import diversify
from phronesis_benchmarks.datasets import Conversation
from phronesis_benchmarks.metrics import score
from phronesis_benchmarks.systems import BENCH_SCOPE, fill

NAMES: Final = tuple(FEATURES)
_ONES: Final = {"provenance": "every feature as it is", "weights": dict.fromkeys(NAMES, 1.0), "crowding": 0.0}

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class CandidateQuestion:
    """One question with its candidates: their turns and sessions, and features, (candidates, features) as in ``NAMES``.

    ``group`` is the file it comes from; ``split`` its part of that, if any.
    """

    group: str
    conversation: str
    split: str
    evidence: tuple[str, ...]
    turns: tuple[str, ...]
    sessions: tuple[str, ...]
    features: Floats

    def scores(self, weights: Floats, crowding: float = 0.0) -> dict[str, float]:
        """Return the metrics of the ranking that weights make; of equals, the one that comes first stays first."""
        sums = self.features @ weights
        order = np.argsort(-sums, kind="stable")
        picked = diversify(sums[order].tolist(), [self.sessions[n] for n in order], crowding=crowding, limit=len(order))
        return score([self.turns[order[position]] for position, _ in picked], self.evidence)


def collect(
    group: str,
    conversations: Sequence[Conversation],
    embedder: Embedder | None,
    on_progress: Callable[[int, int], None] | None = None,
) -> list[CandidateQuestion]:
    """Return every question of some conversations with its candidates; ``embedder`` None measures words alone."""
    out: list[CandidateQuestion] = []
    policy: dict[str, Any] = {"ranking": {"words": _ONES, "dense": _ONES}}
    if embedder is None:
        policy["embedder"] = "none"
    for done, conversation in enumerate(conversations, start=1):
        with (
            tempfile.TemporaryDirectory(prefix="phronesis-bench-") as folder,
            Memory.open(
                f"sqlite:///{Path(folder) / 'memory.db'}", tenant="bench", policy=policy, embedder=embedder
            ) as memory,
        ):
            for turns in conversation.sessions():
                fill(memory, turns)
            memory.flush()
            for question in conversation.questions:
                found = memory.search(question.text, **BENCH_SCOPE, limit=CANDIDATES, explain=True)
                turns_found = tuple(str(one.item.message_id) for one in found)
                table = np.array([[(one.why or {}).get(name, 0.0) for name in NAMES] for one in found])
                out.append(
                    CandidateQuestion(
                        group,
                        f"{group}/{conversation.id}",
                        question.split,
                        question.evidence,
                        turns_found,
                        tuple(one.item.session_id or one.item.id for one in found),
                        table.reshape(len(turns_found), len(NAMES)),
                    )
                )
        if on_progress:
            on_progress(done, len(conversations))
    return out


def as_vector(weights: Mapping[str, float]) -> Floats:
    """Return weights in the order of ``NAMES``."""
    return np.array([weights.get(name, 0.0) for name in NAMES])


def mean_scores(
    asked: Sequence[CandidateQuestion], weights: Floats, metrics: Sequence[str], *, crowding: float = 0.0
) -> dict[str, float]:
    """Return the mean of some metrics over questions; there must be at least one."""
    rows = [one.scores(weights, crowding) for one in asked]
    return {metric: float(np.mean([row[metric] for row in rows])) for metric in metrics}
