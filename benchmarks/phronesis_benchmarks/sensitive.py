"""How well sensitive matters are known, on labelled texts (``phronesis bench sensitive``), and the model's weights.

A file holds a text a line, ``{"text", "topic"}`` (labelled/sensitive), or a user a line (labelled/traits),
whose memories of ``sensitive`` groups have a topic that nobody wrote down. Each file is judged by a model that was
fitted on the others; what is shipped was fitted on all.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from phronesis.config.policy_sections import SensitiveRules
from phronesis.engine.sensitive_topics import Guard
from phronesis.engine.sensitive_topics.tables import NONE, Model
from phronesis.errors import InputError
from phronesis.models.text_features import language_of, normalise_text, rows_of
from phronesis_benchmarks.hashed_rows import matrix_of
from phronesis_benchmarks.optional import import_optional

UNNAMED: Final = "unnamed"
"""The topic of a text that is sensitive, nobody wrote which way: it is the likeliest by the others."""

INVERSE_L2: Final = 40.0
"""``C`` of the regression. Of 10 and 40, 40 ranked the memories of users of authors left out better."""

LANGUAGES: Final = ("en", "zh")
_STEPS: Final = 200
_LARGEST: Final = 127

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Text:
    """A labelled text: its topic, `NONE` or `UNNAMED`, and the group of memories that it is of, if any."""

    text: str
    topic: str
    group: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SensitiveScore:
    """What is known of one file's texts of one language, by the tables alone and by both.

    Shares of the sensitive texts and groups are recall, those of the others false alarms.
    """

    data: str
    language: str
    texts: int
    recall: tuple[float | None, float | None]
    alarms: tuple[float | None, float | None]
    groups: tuple[float | None, float | None]
    group_alarms: tuple[float | None, float | None]


@dataclass(frozen=True, slots=True)
class SensitiveReport:
    """The scores of every file and language, in order."""

    scores: tuple[SensitiveScore, ...]

    def to_markdown(self) -> str:
        """Return a table; each cell is by words alone, and with the model."""
        head = "| data | language | texts | recall | false alarms | groups: recall | false alarms |"
        rows = [
            f"| {one.data} | {one.language} | {one.texts} | "
            + " | ".join(map(_both, (one.recall, one.alarms, one.groups, one.group_alarms)))
            + " |"
            for one in self.scores
        ]
        return "\n".join([head, "|" + " --- |" * 7, *rows])


def run_sensitive(data: Sequence[Path], *, out: Path | None = None) -> SensitiveReport:
    """Judge each file by what the others teach; with ``out``, write there the weights that all of them teach.

    One file is judged by the weights that are installed. InputError names a line that cannot be read; MissingExtra says
    that scikit-learn, which fits, is not installed.
    """
    texts = {path: load_texts(path) for path in data}
    scores: list[SensitiveScore] = []
    for path, own in texts.items():
        others = [one for other, read in texts.items() if other != path for one in read]
        models = fit(others) if others else None
        known = Guard(SensitiveRules()) if models is None else Guard(SensitiveRules(), models=models)
        for language in LANGUAGES:
            read = [one for one in own if language_of(normalise_text(one.text)) == language]
            if read:
                scores.append(_score(path.name, language, read, known))
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        for language, model in fit([one for read in texts.values() for one in read]).items():
            out.joinpath(f"{language}.npz").write_bytes(model.to_bytes())
    return SensitiveReport(tuple(scores))


def load_texts(path: Path) -> list[Text]:
    """Return the labelled texts of a file of texts or of users."""
    found: list[Text] = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            found += _of_user(row) if "memories" in row else [Text(row["text"], row["topic"] or NONE)]
        except (ValueError, TypeError, KeyError) as error:
            raise InputError(
                f"{path.name}, line {number}: this is no labelled text: {error!r:.120}", field="data"
            ) from error
    if not found:
        raise InputError(f"{path.name} holds no texts", field="data")
    return found


def fit(texts: Sequence[Text]) -> Mapping[str, Model]:
    """Fit the model of each language that has texts of a named topic, and others.

    MissingExtra where scikit-learn is not installed.
    """
    models: dict[str, Model] = {}
    for language in LANGUAGES:
        own = [(seen, one.topic) for one in texts if language_of(seen := normalise_text(one.text)) == language]
        if len({topic for _, topic in own} - {UNNAMED}) > 1:
            models[language] = _fitted([seen for seen, _ in own], [topic for _, topic in own])
    return models


def _fitted(seen: Sequence[str], topics: Sequence[str]) -> Model:
    """Fit the regression: the sensitive texts weigh as much together as the others, however many they are."""
    linear = import_optional("sklearn.linear_model", "scikit-learn", field="data")
    rows, said = matrix_of([rows_of(text) for text in seen]), np.array(topics)
    harmless = said == NONE
    weights = np.where(harmless, 1.0, harmless.sum() / max(1, (~harmless).sum()))
    named = said != UNNAMED
    for known in [named] if named.all() else [named, np.ones_like(named)]:
        learner = linear.LogisticRegression(C=INVERSE_L2, max_iter=_STEPS)
        learner.fit(rows[known], said[known], sample_weight=weights[known])
        if known is named and not named.all():
            chances = learner.predict_proba(rows[~named])
            chances[:, list(learner.classes_).index(NONE)] = 0
            said[~named] = learner.classes_[chances.argmax(axis=1)]
    columns: Floats = learner.coef_.T
    bias: Floats = learner.intercept_
    if columns.shape[1] == 1:  # of two classes scikit-learn keeps the second's column alone
        columns, bias = np.hstack([np.zeros_like(columns), columns]), np.concatenate([np.zeros(1), bias])
    unit = float(np.abs(columns).max()) / _LARGEST
    return Model(tuple(map(str, learner.classes_)), np.rint(columns / unit).astype(np.int8), unit, bias)


def _of_user(user: Mapping[str, Any]) -> list[Text]:
    groups = {one: ("", f"{user['user']}/{trait['id']}") for trait in user["traits"] for one in trait["members"]}
    for n, never in enumerate(user["never"]):
        if never["why"] == "sensitive":
            groups.update(dict.fromkeys(never["members"], (UNNAMED, f"{user['user']}/never/{n}")))
    return [
        Text(one["text"], topic or NONE, group)
        for one in user["memories"]
        for topic, group in [groups.get(one["id"], ("", None))]
    ]


def _score(data: str, language: str, texts: Sequence[Text], guard: Guard) -> SensitiveScore:
    words = Guard(SensitiveRules(), models={})
    by_group: dict[str, list[Text]] = {}
    for one in texts:
        if one.group is not None:
            by_group.setdefault(one.group, []).append(one)
    groups = [own for own in by_group.values() if len(own) > 1]

    def share(sensitive: bool, by: Guard) -> float | None:
        hits = [by.of_trait(one.text, ()) is not None for one in texts if (one.topic != NONE) == sensitive]
        return sum(hits) / len(hits) if hits else None

    def of_groups(sensitive: bool, by: Guard) -> float | None:
        hits = [
            by.of_trait("", [one.text for one in own]) is not None
            for own in groups
            if (own[0].topic != NONE) == sensitive
        ]
        return sum(hits) / len(hits) if hits else None

    return SensitiveScore(
        data=data,
        language=language,
        texts=len(texts),
        recall=(share(True, words), share(True, guard)),
        alarms=(share(False, words), share(False, guard)),
        groups=(of_groups(True, words), of_groups(True, guard)),
        group_alarms=(of_groups(False, words), of_groups(False, guard)),
    )


def _both(shares: tuple[float | None, float | None]) -> str:
    return ", ".join("–" if one is None else f"{one:.3f}" for one in shares)
