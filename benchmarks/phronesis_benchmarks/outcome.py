"""What a run gives for one system."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from phronesis_benchmarks.metrics import Estimate, Ranking
from phronesis_benchmarks.stopwatch import Duration, per_second

Mode = Literal["session", "message"]
"""How many turns a call of ``add`` is given: those of a session, or one."""


@dataclass(frozen=True, slots=True)
class IngestCost:
    """Seconds to take in ``turns`` turns by ``calls`` calls: in ``add``, and in ``settle`` after the last of them."""

    turns: int
    calls: int
    adding: Duration
    settling: Duration

    def to_dict(self) -> dict[str, Any]:
        """Return counts, seconds, and turns per second: taken in (add), and ready to be found (add and settle)."""
        ready = self.adding + self.settling
        return {
            **asdict(self),
            "turns_per_second": per_second(self.turns, self.adding.wall),
            "turns_per_cpu_second": per_second(self.turns, self.adding.cpu),
            "ready_turns_per_second": per_second(self.turns, ready.wall),
            "ready_turns_per_cpu_second": per_second(self.turns, ready.cpu),
        }


@dataclass(frozen=True, slots=True)
class SearchCost:
    """Milliseconds of a search: percentiles over all questions."""

    p50_ms: float
    p95_ms: float
    cpu_p50_ms: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was measured of one system.

    ``memory_mb`` is the resident set before its first opening and ``peak_mb`` the highest seen, in MiB, None where
    the platform does not tell. ``encoded_while_timed`` counts texts that the embedder had to take inside a measured
    interval, and should be 0.
    """

    name: str
    label: str
    durable: bool
    quality: Mapping[str, Mapping[str, Estimate]]
    ingest: Mapping[Mode, IngestCost]
    search: SearchCost
    memory_mb: float | None
    peak_mb: float | None
    encoded_while_timed: int
    rankings: tuple[Ranking, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON values, the rankings too."""
        return {
            "name": self.name,
            "label": self.label,
            "durable": self.durable,
            "quality": {
                group: {metric: estimate.to_dict() for metric, estimate in row.items()}
                for group, row in self.quality.items()
            },
            "ingest": {mode: cost.to_dict() for mode, cost in self.ingest.items()},
            "search": asdict(self.search),
            "memory_mb": self.memory_mb,
            "peak_mb": self.peak_mb,
            "encoded_while_timed": self.encoded_while_timed,
            "rankings": [asdict(ranking) for ranking in self.rankings],
        }
