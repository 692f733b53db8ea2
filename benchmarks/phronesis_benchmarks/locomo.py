"""The report of a run, as Markdown and as JSON."""

import os
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from phronesis.errors import InputError, MissingExtra
from phronesis.models.embedder import Embedder, load_embedder
from phronesis_benchmarks.cached_embedder import CachedEmbedder, EncodingCost
from phronesis_benchmarks.datasets import Conversation, load_locomo
from phronesis_benchmarks.metrics import OVERALL, Estimate, paired_difference
from phronesis_benchmarks.optional import installed_version
from phronesis_benchmarks.records import render_table
from phronesis_benchmarks.runner import Contender, IngestCost, Outcome, measure
from phronesis_benchmarks.systems import peer_contender, phronesis_contender

_HEADLINE: Final = "recall@10"
_DETAIL: Final = ("recall@1", "recall@5", "recall@20", "hit@10", "mrr", "ndcg@10")


@dataclass(frozen=True, slots=True)
class Setting:
    """What all figures of a run depend on. ``corrected``: the evidence was read with an audit's corrections."""

    data: str
    corrected: bool
    conversations: int
    turns: int
    questions: int
    dropped: int
    embedder: str
    encoding: EncodingCost
    seed: int
    phronesis: str
    python: str
    platform: str
    cpus: int

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain JSON values."""
        return asdict(self) | {"encoding": self.encoding.to_dict()}


@dataclass(frozen=True, slots=True)
class BenchReport:
    """What was measured of each system, in the order measured; the first one is what the others are compared with."""

    setting: Setting
    outcomes: tuple[Outcome, ...]

    def differences(self) -> dict[str, Estimate]:
        """Return, for every system but the first, its recall@10 minus that of the first, question by question."""
        first, *others = self.outcomes
        return {
            other.name: paired_difference(first.rankings, other.rankings, _HEADLINE, seed=self.setting.seed)
            for other in others
        }

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON values, every ranking too."""
        return {
            "setting": self.setting.to_dict(),
            "systems": [outcome.to_dict() for outcome in self.outcomes],
            "recall@10_minus_first": {name: estimate.to_dict() for name, estimate in self.differences().items()},
        }

    def to_markdown(self) -> str:
        """Return the setting and two tables: what was found, and what it cost."""
        return f"{self._describe()}\n\n{self._quality()}\n\n{self._costs()}\n"

    def _describe(self) -> str:
        setting, rate = self.setting, self.setting.encoding.to_dict()
        evidence = "corrected evidence" if setting.corrected else "evidence as published"
        return (
            f"{setting.data}: {setting.conversations} conversations, {setting.turns:,} turns,"
            f" {setting.questions:,} questions ({evidence}; adversarial ones left out;"
            f" {setting.dropped} unusable turns or evidence ids dropped). No language model.\n"
            f"Every system has the same vectors: {setting.embedder}, {rate['texts_per_second']:.0f} texts/s"
            f" ({rate['texts_per_cpu_second']:.0f} a CPU second), **encoded ahead and not part of the times below**.\n"
            f"Python {setting.python}, {setting.platform}, {setting.cpus} CPUs, phronesis {setting.phronesis};"
            f" intervals: 95 %, bootstrap over questions, seed {setting.seed}."
        )

    def _quality(self) -> str:
        categories = [name for name in self.outcomes[0].quality if name != OVERALL]
        differences = self.differences()
        head = ["system", "recall@10", "95 %", "minus first", *categories, *_DETAIL]
        rows = []
        for outcome in self.outcomes:
            whole = outcome.quality[OVERALL]
            headline = whole[_HEADLINE]
            difference = differences.get(outcome.name)
            rows.append(
                [
                    outcome.name,
                    f"{headline.mean:.3f}",
                    f"{headline.low:.3f}–{headline.high:.3f}",
                    f"{difference.mean:+.3f} ({difference.low:+.3f} to {difference.high:+.3f})" if difference else "",
                    *(f"{outcome.quality[name][_HEADLINE].mean:.3f}" for name in categories),
                    *(f"{whole[metric].mean:.3f}" for metric in _DETAIL),
                ]
            )
        return "Evidence found (a category's column is recall@10):\n\n" + render_table(head, rows)

    def _costs(self) -> str:
        head = [
            "system",
            "what was run",
            "on disk",
            "turns/s, a session a call",
            "turns/s, a message a call",
            "search p50",
            "p95",
            "peak memory (growth)",
        ]
        rows = [
            [
                outcome.name,
                outcome.label,
                "yes" if outcome.durable else "no",
                _rates(outcome.ingest, "session"),
                _rates(outcome.ingest, "message"),
                f"{outcome.search.p50_ms:.1f} ms",
                f"{outcome.search.p95_ms:.1f} ms",
                _megabytes(outcome),
            ]
            for outcome in self.outcomes
        ]
        note = (
            "Costs, embedder excluded. Turns/s is wall time until `add` returns [CPU time] → until all can be found."
            " Memory is the resident set of the process, embedder included."
        )
        leaks = [outcome.name for outcome in self.outcomes if outcome.encoded_while_timed]
        if leaks:
            note += f" The embedder ran inside measured intervals of {', '.join(leaks)}: their times are too high."
        return f"{note}\n\n" + render_table(head, rows)


def _rates(ingest: Mapping[Any, IngestCost], mode: str) -> str:
    rates = ingest[mode].to_dict()
    return (
        f"{rates['turns_per_second']:,.0f} [{rates['turns_per_cpu_second']:,.0f}]"
        f" → {rates['ready_turns_per_second']:,.0f}"
    )


def _megabytes(outcome: Outcome) -> str:
    if outcome.peak_mb is None or outcome.memory_mb is None:
        return "unknown"
    return f"{outcome.peak_mb:.0f} MB (+{outcome.peak_mb - outcome.memory_mb:.0f})"


Progress = Callable[[str, int, int], None]
"""Called with (what is being done, steps done, steps in all)."""


def run_locomo(
    data: Path,
    *,
    peers: Sequence[str] = (),
    limit: int | None = None,
    corrections: Path | None = None,
    embedder: Embedder | None = None,
    seed: int = 0,
    on_progress: Progress | None = None,
) -> BenchReport:
    """Measure Phronesis and ``peers`` (names, as in ``PEERS``) on LoCoMo.

    Phronesis is measured by both of its verbs for conversations, and without waiting for the interpretation.
    ``limit`` takes the first conversations only; ``corrections`` as in :func:`load_locomo`; ``embedder`` is by default
    the best one of this installation. Rankings and intervals repeat with the same ``seed``; times do not.

    Raises:
        InputError: a file or an argument is wrong, or no question is left to ask.
        MissingExtra: a peer, or any local embedder, is not installed; raised before anything is measured.
    """
    conversations = _select(load_locomo(data, corrections), limit)
    cached = CachedEmbedder(embedder or local_embedder())
    contenders = [
        phronesis_contender(cached, verb="add"),
        phronesis_contender(cached, verb="commit_turn"),
        phronesis_contender(cached, verb="commit_turn", wait=False),
        *(peer_contender(name, cached) for name in dict.fromkeys(peers)),
    ]
    documents = [turn.line() for conversation in conversations for turn in conversation.turns]
    queries = [question.text for conversation in conversations for question in conversation.questions]
    encoding = cached.warm(documents, queries, on_progress and partial(on_progress, cached.name))
    setting = Setting(
        data=data.name,
        corrected=corrections is not None,
        conversations=len(conversations),
        turns=len(documents),
        questions=len(queries),
        dropped=sum(conversation.dropped for conversation in conversations),
        embedder=cached.name,
        encoding=encoding,
        seed=seed,
        phronesis=installed_version("phronesis"),
        python=platform.python_version(),
        platform=f"{platform.system()} {platform.machine()}",
        cpus=os.cpu_count() or 1,
    )
    return compare(contenders, conversations, embedder=cached, setting=setting, on_progress=on_progress)


def compare(
    contenders: Sequence[Contender],
    conversations: Sequence[Conversation],
    *,
    embedder: CachedEmbedder,
    setting: Setting,
    on_progress: Progress | None = None,
) -> BenchReport:
    """Measure the contenders one after another; the first is what the others are compared with."""
    outcomes = [
        measure(
            contender,
            conversations,
            embedder=embedder,
            seed=setting.seed,
            on_progress=on_progress and partial(on_progress, contender.name),
        )
        for contender in contenders
    ]
    return BenchReport(setting, tuple(outcomes))


def local_embedder() -> Embedder:
    """Return the best encoder of this installation; MissingExtra when there is none."""
    embedder = load_embedder("auto")
    if embedder is None:
        raise MissingExtra('embedder: none is installed; pip install "phronesis[embed]"', field="embedder")
    return embedder


def _select(conversations: Sequence[Conversation], limit: int | None) -> Sequence[Conversation]:
    if limit is not None and limit < 1:
        raise InputError(f"limit: {limit} conversations cannot be measured; give 1 or more, or none", field="limit")
    chosen = conversations[:limit]
    if not any(conversation.questions for conversation in chosen):
        raise InputError("data: no question with evidence is left; give another file or a higher limit", field="data")
    return chosen
