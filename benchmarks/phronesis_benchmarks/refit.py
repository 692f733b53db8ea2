"""Fitting the weights of the ranking anew, on anybody's labelled conversations."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from phronesis.errors import InputError
from phronesis.models.embedder import Embedder
from phronesis.recall.scoring.weights import A12, B12, Formula
from phronesis_benchmarks.cached_embedder import CachedEmbedder
from phronesis_benchmarks.candidates import NAMES, CandidateQuestion, Floats, as_vector, collect, mean_scores
from phronesis_benchmarks.datasets import load_locomo
from phronesis_benchmarks.locomo import local_embedder
from phronesis_benchmarks.records import render_table

METRICS: Final = ("recall@10", "recall@1", "ndcg@10")
L2: Final = 2.0
"""Strength of the penalty on leaving the shipped weights, in units of a feature's deviation, beside a question's loss.

The shipped weights were fitted on more than most have: labelled conversations of one's own move them, and few of them
do not overturn them. Of .03 to 2, only 2 made nothing worse on any of the three sets at hand.
"""

_STEPS: Final = 60
_CLOSE: Final = 1e-7


@dataclass(frozen=True, slots=True)
class _Softmax:
    """The loss: for each question the mean over its evidence of -log softmax of the scores, and L2 around ``prior``.

    Questions of one group count together as much as those of another, however many they are.
    """

    tables: Sequence[Floats]
    targets: Sequence[Floats]
    shares: Sequence[float]
    penalty: float
    prior: Floats

    def at(self, weights: Floats) -> tuple[float, Floats, Floats]:
        """Return loss, gradient and Hessian: a convex function, so Newton's steps find its one minimum."""
        moved = weights - self.prior
        loss = self.penalty / 2 * float(moved @ moved)
        gradient = self.penalty * moved
        hessian = self.penalty * np.eye(len(weights))
        for table, target, share in zip(self.tables, self.targets, self.shares, strict=True):
            scores = table @ weights
            top = float(scores.max())
            powers = np.exp(scores - top)
            total = float(powers.sum())
            chance = powers / total
            mean = chance @ table
            loss += share * (top + float(np.log(total)) - float(target @ scores))
            gradient = gradient + share * (mean - target @ table)
            hessian = hessian + share * ((table * chance[:, None]).T @ table - np.outer(mean, mean))
        return loss, gradient, hessian


def fit(asked: Sequence[CandidateQuestion], prior: Mapping[str, float], *, l2: float = L2) -> Floats:
    """Return weights for the features of ``prior`` (others 0), in the order of ``NAMES``.

    Softmax cross-entropy with L2.

    L2 draws towards ``prior``.

    Questions none of whose evidence is among the candidates teach nothing and are left out. InputError when none is
    left.
    """
    chosen = np.array([NAMES.index(name) for name in prior])
    known = [one for one in asked if set(one.evidence) & set(one.turns)]
    if not known:
        raise InputError("data: no question's evidence is among its candidates; nothing can be fitted", field="data")
    spread = np.concatenate([one.features[:, chosen] for one in known]).std(axis=0)
    spread[spread < _CLOSE] = 1.0
    groups = [one.group for one in known]
    problem = _Softmax(
        [one.features[:, chosen] / spread for one in known],
        [_target(one) for one in known],
        [1.0 / (groups.count(group) * len(set(groups))) for group in groups],
        l2,
        np.array(list(prior.values())) * spread,
    )
    weights = problem.prior
    loss, gradient, hessian = problem.at(weights)
    for _ in range(_STEPS):
        step, size = np.linalg.solve(hessian, gradient), 1.0
        while (new := problem.at(weights - size * step))[0] > loss and size > _CLOSE:
            size /= 2
        gained = loss - new[0]
        weights, (loss, gradient, hessian) = weights - size * step, new
        if gained < _CLOSE:
            break
    out = np.zeros(len(NAMES))
    out[chosen] = weights / spread
    return out


def _target(one: CandidateQuestion) -> Floats:
    gold = np.array([turn in one.evidence for turn in one.turns], dtype=np.float64)
    return np.asarray(gold / gold.sum())


@dataclass(frozen=True, slots=True)
class RefitReport:
    """Fitted weights beside the shipped ones. ``figures``: group → which weights → metric.

    "fitted, left out" are those of each conversation by weights fitted on all the others; "fitted" is of the questions
    that were kept apart (``split`` test), where a set has some.
    """

    shipped: Formula
    fitted: Formula
    figures: Mapping[str, Mapping[str, Mapping[str, float]]]

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"shipped": self.shipped.to_dict(), "fitted": self.fitted.to_dict(), "figures": self.figures}

    def to_policy(self) -> dict[str, Any]:
        """Return the fitted weights as a policy's ``ranking``: what brain.yml takes."""
        fitted = self.fitted
        body = {
            "name": fitted.name,
            "provenance": fitted.provenance,
            "weights": dict(fitted.weights),
            "crowding": fitted.crowding,
        }
        return {"ranking": {"dense" if fitted.dense else "words": body}}

    def to_markdown(self) -> str:
        """Return the table."""
        rows = (
            (group, name, *(f"{row[metric]:.3f}" for metric in METRICS))
            for group, by in self.figures.items()
            for name, row in by.items()
        )
        weights = ", ".join(f"{name} {weight:.2f}" for name, weight in self.fitted.weights.items())
        return f"{render_table(['set', 'weights', *METRICS], rows)}\n\nFitted: {weights}."


def refit(asked: Sequence[CandidateQuestion], *, dense: bool, l2: float = L2, more: Sequence[str] = ()) -> RefitReport:
    """Fit the features of the shipped formula, and ``more`` from 0, and say how that does beside the shipped weights.

    Questions of a ``test`` part are never fitted on. InputError when nothing is left to fit.
    """
    shipped = B12 if dense else A12
    prior = {**shipped.weights, **{name: 0.0 for name in more if name not in shipped.weights}}
    learning = [one for one in asked if one.split != "test"]
    weights = fit(learning, prior, l2=l2)
    places = list(dict.fromkeys(one.conversation for one in learning))
    held = {
        place: fit([one for one in learning if one.conversation != place], prior, l2=l2)
        for place in places
        if len(places) > 1
    }
    groups, crowding = list(dict.fromkeys(one.group for one in asked)), shipped.crowding
    figures: dict[str, dict[str, dict[str, float]]] = {}
    for group in groups:
        mine = [one for one in learning if one.group == group]
        if mine:
            figures[group] = {"shipped": mean_scores(mine, as_vector(shipped.weights), METRICS, crowding=crowding)}
            if held:
                rows = [one.scores(held[one.conversation], crowding) for one in mine]
                figures[group]["fitted, left out"] = {m: float(np.mean([row[m] for row in rows])) for m in METRICS}
        kept = [one for one in asked if one.group == group and one.split == "test"]
        if kept:
            figures[f"{group}, test"] = {
                "shipped": mean_scores(kept, as_vector(shipped.weights), METRICS, crowding=crowding),
                "fitted": mean_scores(kept, weights, METRICS, crowding=crowding),
            }
    provenance = (
        f"softmax cross-entropy over candidates, L2 {l2} around {shipped.name}, sets weighing alike:"
        f" {len(learning)} questions of " + ", ".join(dict.fromkeys(one.group for one in learning))
    )
    fitted = {name: round(float(weights[NAMES.index(name)]), 3) for name in prior}
    return RefitReport(shipped, Formula("own", fitted, provenance, dense=dense, crowding=shipped.crowding), figures)


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
        rows = (
            (feature, *(f"{self.figures[group][feature][metric]:.3f}" for group in groups for metric in METRICS))
            for feature in self.figures[groups[0]]
        )
        return f"{self.formula}\n\n{render_table(head, rows)}"


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
