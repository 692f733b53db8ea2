"""``phronesis bench refit`` and ``bench ablate``: whole runs behind one function each."""

import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from phronesis.errors import InputError
from phronesis.models.embedder import Embedder
from phronesis_benchmarks.ablation import AblationReport, ablate
from phronesis_benchmarks.bench import local_embedder
from phronesis_benchmarks.cached_embedder import CachedEmbedder
from phronesis_benchmarks.candidates import CandidateQuestion, collect
from phronesis_benchmarks.datasets import load_locomo
from phronesis_benchmarks.refit import L2, RefitReport, refit

Progress = Callable[[str, int, int], None]
"""Called with (what is being done, steps done, steps in all)."""


def run_refit(
    files: Sequence[Path],
    *,
    words: bool = False,
    l2: float | None = None,
    out: Path | None = None,
    embedder: Embedder | None = None,
    on_progress: Progress | None = None,
) -> RefitReport:
    """Fit the weights to labelled conversations, and write them to ``out`` as a policy takes them.

    ``words`` fits the formula without an encoder; else ``embedder`` is by default the best of this installation.

    Raises:
        InputError: a file is wrong, holds no question, or ``l2`` is not above 0.
        MissingExtra: no local embedder is installed.
    """
    strength = L2 if l2 is None else l2
    if not strength > 0:
        raise InputError(f"l2: {strength} must be above 0", field="l2")
    report = refit(_asked(files, words, embedder, on_progress), dense=not words, l2=strength)
    if out is not None:
        try:
            out.write_text(json.dumps(report.to_policy(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        except OSError as error:
            raise InputError(f"out: {out} cannot be written ({error.strerror})", field="out") from error
    return report


def run_ablation(
    files: Sequence[Path],
    *,
    words: bool = False,
    embedder: Embedder | None = None,
    on_progress: Progress | None = None,
) -> AblationReport:
    """Leave out each feature in turn on labelled conversations; arguments and errors as for :func:`run_refit`."""
    return ablate(_asked(files, words, embedder, on_progress), dense=not words)


def _asked(
    files: Sequence[Path], words: bool, embedder: Embedder | None, on_progress: Progress | None
) -> list[CandidateQuestion]:
    cached = None if words else CachedEmbedder(embedder or local_embedder())
    asked = [
        one
        for file in files
        for one in collect(file.stem, load_locomo(file), cached, on_progress and partial(on_progress, file.stem))
    ]
    if not asked:
        raise InputError("data: no question with evidence is left; give another file", field="data")
    return asked
