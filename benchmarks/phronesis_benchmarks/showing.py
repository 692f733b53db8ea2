"""Which memories of labelled users show a behaviour, and the weights that tell (``phronesis bench showing``).

A file holds a user a line (labelled/traits). Each file is judged by weights that were fitted on the others; what
is shipped was fitted on all. Judged is how well the members of a user's traits are ranked above the rest: the area
under the curve (Hanley & McNeil 1982), .5 by chance.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from phronesis.core.timestamps import parse_moment
from phronesis.models.text_features import BUCKETS, language_of, normalise_text, rows_of
from phronesis.traits.by_rules.reading import MemoryFeatures, read
from phronesis.traits.by_rules.showing import MAX_READ, SHOWN, BehaviourClassifier, Floats, Models, marks_of, with_odds
from phronesis.traits.by_rules.voices import voice_of
from phronesis.traits.laws.records import MemoryInput
from phronesis_benchmarks.hashed_rows import matrix_of
from phronesis_benchmarks.optional import import_optional
from phronesis_benchmarks.traits import load_users

INVERSE_L2: Final = 10.0
MARKS_WEIGHT: Final = 0.3
"""``C`` of the regression, and what a mark counts beside all pieces of a text. Of 10 and 40, .1 and .3, these ranked
the memories of authors left out best."""

LANGUAGES: Final = ("en", "zh")
_STEPS: Final = 300
_LARGEST: Final = 127


@dataclass(frozen=True, slots=True)
class UserMemories:
    """The memories of one user as they are read, and which are members of a trait."""

    readings: Sequence[MemoryFeatures]
    shows: Sequence[bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowingScore:
    """How well the members of one file are told from its other memories; ``kept`` and ``taken`` at the level in use."""

    data: str
    memories: int
    members: int
    area: float
    kept: float
    taken: float


@dataclass(frozen=True, slots=True)
class ShowingReport:
    """The scores of every file, in order."""

    scores: tuple[ShowingScore, ...]

    def to_markdown(self) -> str:
        """Return a table."""
        head = "| data | memories | members | area under the curve | members kept | others taken |"
        rows = [
            f"| {one.data} | {one.memories} | {one.members} | {one.area:.3f} | {one.kept:.3f} | {one.taken:.3f} |"
            for one in self.scores
        ]
        return "\n".join([head, "|" + " --- |" * 6, *rows])


def run_showing(data: Sequence[Path], *, out: Path | None = None) -> ShowingReport:
    """Judge each file by what the others teach; with ``out``, write there the weights that all of them teach.

    One file is judged by the weights that are installed. InputError names a line that cannot be read; MissingExtra says
    that scikit-learn, which fits, is not installed.
    """
    users = {path: load_users(path) for path in data}
    scores = []
    for path, own in users.items():
        others = [one for other, those in users.items() if other != path for one in those]
        scores.append(_score(path.name, [told_of(one) for one in own], fit(others) if others else None))
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        for language, model in fit([one for those in users.values() for one in those]).items():
            out.joinpath(f"showing_{language}.npz").write_bytes(model.to_bytes())
    return ShowingReport(tuple(scores))


def told_of(user: Mapping[str, Any], *, kind: str | None = None) -> UserMemories:
    """Read the memories of a labelled user, all as of one ``kind`` where it is given."""
    seen = [
        MemoryInput(
            id=one["id"],
            content=one["text"],
            kind=kind or one["kind"],
            at=parse_moment(one["at"], field="at"),
            session_id=one.get("session"),
        )
        for one in user["memories"]
    ]
    voice = voice_of(seen)
    members = {id_ for trait in user["traits"] for id_ in trait["members"]}
    return UserMemories([read(one, voice) for one in seen], [one.id in members for one in seen])


def fit(users: Sequence[Mapping[str, Any]]) -> Models:
    """Fit the weights of each language: the mean of a fit with the memories' kinds and of one that sees none.

    MissingExtra where scikit-learn is not installed.
    """
    both = [[told_of(user, kind=kind) for user in users] for kind in (None, "episodic")]
    models = {}
    for language in LANGUAGES:
        learned = [_learned(told, language) for told in both]
        if len(set(learned[0][2])) > 1:
            weights, biases = zip(
                *(_weights(rows, np.array(marks), shows) for rows, marks, shows in learned), strict=True
            )
            models[language] = _stored(np.mean(weights, axis=0), float(np.mean(biases)))
    return models


def _learned(told: Sequence[UserMemories], language: str) -> tuple[list[list[int]], list[Floats], list[bool]]:
    """Return the pieces and the marks of all memories in a language, and which show a behaviour."""
    found = [
        (rows_of(seen), marks, member)
        for user in told
        for one, marks, member in zip(user.readings, marks_of(user.readings), user.shows, strict=True)
        if language_of(seen := normalise_text(one.text[:MAX_READ])) == language
    ]
    return [rows for rows, _, _ in found], [marks for _, marks, _ in found], [member for _, _, member in found]


def _weights(rows: Sequence[Sequence[int]], marks: Floats, shows: Sequence[bool]) -> tuple[Floats, float]:
    """Return the weights of pieces and marks, and the bias."""
    linear = import_optional("sklearn.linear_model", "scikit-learn", field="data")
    sparse = import_optional("scipy.sparse", "scipy", field="data")
    learner = linear.LogisticRegression(C=INVERSE_L2, max_iter=_STEPS)
    learner.fit(sparse.hstack([matrix_of(rows), sparse.csr_matrix(marks * MARKS_WEIGHT)]).tocsr(), np.array(shows))
    return learner.coef_[0], float(learner.intercept_[0])


def _stored(weights: Floats, bias: float) -> BehaviourClassifier:
    unit = float(np.abs(weights[:BUCKETS]).max()) / _LARGEST
    pieces = np.rint(weights[:BUCKETS] / unit).astype(np.int8)
    return BehaviourClassifier(pieces, unit, np.round(weights[BUCKETS:] * MARKS_WEIGHT, 4), round(bias, 4))


def _score(data: str, told: Sequence[UserMemories], models: Models | None) -> ShowingScore:
    odds = np.array([one.odds for user in told for one in with_odds(user.readings, models)])
    shows = np.array([one for user in told for one in user.shows], np.bool_)
    return ShowingScore(
        data=data,
        memories=len(odds),
        members=int(shows.sum()),
        area=_area(odds, shows),
        kept=float((odds[shows] > SHOWN).mean()),
        taken=float((odds[~shows] > SHOWN).mean()),
    )


def _area(odds: Floats, shows: NDArray[np.bool_]) -> float:
    """Return the share of pairs of a member and another in which the member has the higher odds."""
    those, others = odds[shows], np.sort(odds[~shows])
    below = np.searchsorted(others, those, "left") + np.searchsorted(others, those, "right")
    return float(below.mean() / (2 * max(1, len(others))))
