"""Fitting the weights of the ranking anew, on anybody's labelled conversations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from phronesis.errors import InputError
from phronesis.recall.scoring.weights import A12, B12, Formula
from phronesis_benchmarks.candidates import NAMES, CandidateQuestion, Floats, as_vector, mean_scores

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
        lines = [f"| set | weights | {' | '.join(METRICS)} |", "| --- | --- | --- | --- | --- |"]
        for group, rows in self.figures.items():
            lines += [
                f"| {group} | {name} | {' | '.join(f'{row[m]:.3f}' for m in METRICS)} |" for name, row in rows.items()
            ]
        weights = ", ".join(f"{name} {weight:.2f}" for name, weight in self.fitted.weights.items())
        return "\n".join([*lines, "", f"Fitted: {weights}."])


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
