"""Which memories of labelled users show a behaviour, and the classifier that tells (``phronesis bench showing``).

A file holds a user a line (labelled/traits). Each file is judged by a classifier that was fitted on the others; what
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
from phronesis.core.vectors import Floats
from phronesis.models.reader import TextClassifier
from phronesis.models.text_features import normalise_text
from phronesis.traits.laws.records import MemoryInput
from phronesis.traits.memory_features import CLASSES, MAX_READ, SHOWN, add_odds, load_showing, read_all
from phronesis_benchmarks.records import render_share, render_table
from phronesis_benchmarks.text_classifier_training import ClassifierSettings, encode_texts, fit_text_classifier
from phronesis_benchmarks.traits import load_users

APART: Final = frozenset({"other-person", "hypothetical", "joke"})
"""Groups of what the user did not do."""

SETTINGS: Final = ClassifierSettings(hidden=64, rounds=10)


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
        head = ("data", "memories", "members", "area under the curve", "members kept", "others taken")
        rows = (
            (one.data, one.memories, one.members, *map(render_share, (one.area, one.kept, one.taken)))
            for one in self.scores
        )
        return render_table(head, rows)


def run_showing(
    data: Sequence[Path], *, out: Path | None = None, settings: ClassifierSettings = SETTINGS
) -> ShowingReport:
    """Judge each file by what the others teach; with ``out``, write there the weights that all of them teach.

    One file is judged by the weights that are installed. InputError names a line that cannot be read; MissingExtra
    says what is not installed: jax, which fits, or the reader's base weights.
    """
    users = {path: load_users(path) for path in data}
    everything = [one for those in users.values() for user in those for one in user["memories"]]
    seen = list(dict.fromkeys(_seen(one["text"]) for one in everything))
    states = dict(zip(seen, encode_texts(seen), strict=True))
    scores = []
    for path, own in users.items():
        others = [one for other, those in users.items() if other != path for one in those]
        scores.append(_score(path.name, own, fit(others, states, settings) if others else None, states))
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        everybody = [one for those in users.values() for one in those]
        (out / "showing.npz").write_bytes(fit(everybody, states, settings).to_bytes())
    return ShowingReport(tuple(scores))


def fit(
    users: Sequence[Mapping[str, Any]], states: Mapping[str, Floats], settings: ClassifierSettings = SETTINGS
) -> TextClassifier:
    """Return the classifier that labelled users teach, by the token states of their memories."""
    texts = [_seen(one["text"]) for user in users for one in user["memories"]]
    labels = [label for user in users for label in labels_of(user)]
    return fit_text_classifier([states[one] for one in texts], labels, classes=CLASSES, settings=settings)


def labels_of(user: Mapping[str, Any]) -> list[Sequence[str]]:
    """Return the classes of each memory of a labelled user."""
    labels: dict[str, Sequence[str]] = {}
    for group in user["never"]:
        if group["why"] in APART or group["why"] == "sensitive":
            labels |= dict.fromkeys(group["members"], ("apart" if group["why"] in APART else "private",))
    for trait in user["traits"]:
        labels |= dict.fromkeys(trait["members"], ("shown",))
    return [labels.get(one["id"], ()) for one in user["memories"]]


def _seen(text: str) -> str:
    return normalise_text(text[:MAX_READ])


def _score(
    data: str, users: Sequence[Mapping[str, Any]], model: TextClassifier | None, states: Mapping[str, Floats]
) -> ShowingScore:
    def judge(text: str) -> Mapping[str, float]:
        return (model or load_showing())(states[_seen(text)].astype(np.float32))

    odds, shows = [], []
    for user in users:
        readings = add_odds(read_all([_memory(one) for one in user["memories"]]), judge)
        members = {one for trait in user["traits"] for one in trait["members"]}
        odds += [one.odds for one in readings]
        shows += [one.id in members for one in readings]
    given, right = np.array(odds), np.array(shows, np.bool_)
    return ShowingScore(
        data=data,
        memories=len(given),
        members=int(right.sum()),
        area=_area(given, right),
        kept=float((given[right] > SHOWN).mean()),
        taken=float((given[~right] > SHOWN).mean()),
    )


def _memory(one: Mapping[str, Any]) -> MemoryInput:
    return MemoryInput(
        id=one["id"],
        content=one["text"],
        kind=one["kind"],
        at=parse_moment(one["at"], field="at"),
        session_id=one.get("session"),
    )


def _area(odds: NDArray[np.float64], shows: NDArray[np.bool_]) -> float:
    """Return the share of pairs of a member and another in which the member has the higher odds."""
    those, others = odds[shows], np.sort(odds[~shows])
    below = np.searchsorted(others, those, "left") + np.searchsorted(others, those, "right")
    return float(below.mean() / (2 * max(1, len(others))))
