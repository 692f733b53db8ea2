"""Outcomes of a model's answers: every attempt as it was given, and what took the model's place where it gave none."""

from collections.abc import Sequence
from typing import Any, Final

from phronesis.core.entries import Outcome
from phronesis.engine.handler import DEGRADED_ROLE
from phronesis.log.reader import fit
from phronesis.models.structured_client import Answer

ANSWERS: Final = "answer"
"""The usual role of outcomes that hold a model's answers."""


def answer_outcomes(
    role: str,
    answer: Answer[Any],
    *,
    model: str,
    by: str | None = None,
    kept_as: str = ANSWERS,
    after: Sequence[Outcome] = (),
) -> list[Outcome]:
    """Return the attempts of an answer, and the outcome ``degraded`` where it has no value and ``by`` took its place.

    Numbers go on from those of ``after``.
    """
    first = _count(after, kept_as)
    outcomes = [
        Outcome(
            role=kept_as,
            n=first + n,
            made_by=model,
            body={
                "role": role,
                "constraint": attempt.constraint,
                "text": fit(attempt.text),
                "finish_reason": attempt.finish_reason,
                "problem": attempt.problem,
            },
        )
        for n, attempt in enumerate(answer.attempts)
    ]
    if answer.value is None and by is not None:
        outcomes.append(degraded_outcome(role, answer.reason, model=model, by=by, after=after))
    return outcomes


def degraded_outcome(role: str, reason: str, *, model: str, by: str, after: Sequence[Outcome] = ()) -> Outcome:
    """Return the outcome that says that ``by`` took the model's place, and why."""
    body = {"role": role, "reason": reason, "by": by, "instead_of": model}
    return Outcome(role=DEGRADED_ROLE, n=_count(after, DEGRADED_ROLE), made_by=model, body=body)


def _count(outcomes: Sequence[Outcome], role: str) -> int:
    return sum(one.role == role for one in outcomes)
