"""How well sensitive topics are known, on labelled texts (``phronesis bench sensitive``), and the classifier's weights.

A file holds a text a line, ``{"text", "topic"}`` (labelled/sensitive), or a user a line (labelled/traits),
whose memories of ``sensitive`` groups have a topic that nobody wrote down. Each file is judged by a classifier that was
fitted on the others; what is shipped was fitted on all.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from phronesis.config.policy_sections import SensitiveRules
from phronesis.core.vectors import Floats
from phronesis.engine.content_guards import Guard
from phronesis.errors import InputError
from phronesis.models.reader import TextClassifier
from phronesis.models.text_features import language_of, normalise_text
from phronesis_benchmarks.records import read_rows, render_share, render_table
from phronesis_benchmarks.text_classifier_training import ClassifierSettings, encode_texts, fit_text_classifier

NONE: Final = "none"
"""The topic of texts that speak of nothing sensitive."""

UNNAMED: Final = "unnamed"
"""The topic of a text that is sensitive, nobody wrote which way: it is judged, and not learned from."""

LANGUAGES: Final = ("en", "zh")
TOPICS: Final = SensitiveRules().topics


@dataclass(frozen=True, slots=True)
class Text:
    """A labelled text: its topic, `NONE` or `UNNAMED`, and the group of memories that it is of, if any."""

    text: str
    topic: str
    group: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SensitiveScore:
    """What is known of one file's texts of one language, by the plain words alone and by the classifier.

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
        """Return a table; each cell is by words alone, and by the classifier."""
        head = ("data", "language", "texts", "recall", "false alarms", "groups: recall", "false alarms")
        rows = (
            (
                *(one.data, one.language, one.texts),
                *(
                    ", ".join(map(render_share, shares))
                    for shares in (one.recall, one.alarms, one.groups, one.group_alarms)
                ),
            )
            for one in self.scores
        )
        return render_table(head, rows)


def run_sensitive(
    data: Sequence[Path], *, out: Path | None = None, settings: ClassifierSettings | None = None
) -> SensitiveReport:
    """Judge each file by what the others teach; with ``out``, write there the weights that all of them teach.

    One file is judged by the weights that are installed. InputError names a line that cannot be read; MissingExtra says
    what is not installed: jax, which fits, or the reader's base weights.
    """
    texts = {path: load_texts(path) for path in data}
    states = {path: _encoded(own) for path, own in texts.items()}
    known = {text: one for own in states.values() for text, one in own.items()}
    scores: list[SensitiveScore] = []
    for path, own in texts.items():
        others = [one for other, read in texts.items() if other != path for one in read]
        judge = None if not others else _judge(fit(others, known, settings), known)
        for language in LANGUAGES:
            read = [one for one in own if language_of(normalise_text(one.text)) == language]
            if read:
                scores.append(_score(path.name, language, read, Guard(SensitiveRules(), judge=judge)))
    if out is not None:
        everything = [one for read in texts.values() for one in read]
        out.write_bytes(fit(everything, known, settings).to_bytes())
    return SensitiveReport(tuple(scores))


def fit(
    texts: Sequence[Text], states: Mapping[str, Floats], settings: ClassifierSettings | None = None
) -> TextClassifier:
    """Return the classifier that texts teach, by the token states of their normalised forms."""
    named = [one for one in texts if one.topic != UNNAMED]
    return fit_text_classifier(
        [states[normalise_text(one.text)] for one in named],
        [() if one.topic == NONE else (one.topic,) for one in named],
        classes=TOPICS,
        settings=settings or ClassifierSettings(rounds=16),
    )


def _encoded(texts: Sequence[Text]) -> dict[str, Floats]:
    seen = list(dict.fromkeys(normalise_text(one.text) for one in texts))
    return dict(zip(seen, encode_texts(seen), strict=True))


def _judge(classifier: TextClassifier, states: Mapping[str, Floats]) -> Callable[[str], Mapping[str, float]]:
    return lambda text: classifier(states[text].astype("float32"))


def load_texts(path: Path) -> list[Text]:
    """Return the labelled texts of a file of texts or of users."""

    def read(row: dict[str, Any]) -> list[Text]:
        return _of_user(row) if "memories" in row else [Text(row["text"], row["topic"] or NONE)]

    found = [one for own in read_rows(path, read, what="labelled text") for one in own]
    if not found:
        raise InputError(f"{path.name} holds no texts", field="data")
    return found


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
    words = Guard(SensitiveRules(), judge=lambda _: None)
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
