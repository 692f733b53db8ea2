"""``phronesis bench locomo``: the whole run behind one function."""

import os
import platform
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from phronesis.errors import InputError, MissingExtra
from phronesis.models.embedder import Embedder, load_local_embedder
from phronesis_benchmarks.cached_embedder import CachedEmbedder
from phronesis_benchmarks.datasets import Conversation, load_locomo
from phronesis_benchmarks.optional import installed_version
from phronesis_benchmarks.peers import peer_contender
from phronesis_benchmarks.report import BenchReport, Setting
from phronesis_benchmarks.runner import Contender, measure
from phronesis_benchmarks.systems import phronesis_contender

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
    embedder = load_local_embedder("auto")
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
