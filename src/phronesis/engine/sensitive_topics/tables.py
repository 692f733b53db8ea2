"""The tables of sensitive matters, ready to use, and how texts are brought to what they are written in.

The tables are data, ``en.toml`` and ``zh.toml``. What stands there is regular expressions, in small letters, narrow,
simplified, with single spaces:

- ``parts``: pieces of patterns, any of their words where a pattern has ``<<name>>``.
- ``harmless.phrases``: what is taken out of a sentence before it is read: "technical debt", 党参.
- ``context``: words of a surrounding in which a sensitive word means something else, or is spoken of from outside (a
  code base, physics, a game, a novel); ``topics`` it holds for, all when absent.
- ``cue``: a ``topic``, the ``weight`` of meeting any of its ``phrases``, and ``unless``, which must not stand anywhere
  in the sentence. A cue counts once in a sentence, however many of its phrases stand there.

English phrases stand between word boundaries; Chinese has none, and says what must not stand beside (``党(?!参)``).
"""

import io
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from phronesis.core.lazy_loading import load_once
from phronesis.core.pattern_tables import parse_folded
from phronesis.errors import PhronesisError
from phronesis.models.text_features import bucket, pieces

LANGUAGES: Final = ("en", "zh")
"""The languages that there are tables of."""

MAX_SENTENCE: Final = 400
"""Characters of a sentence; what is longer is read in pieces, so that far things do not count together."""

_HAN: Final = "\u3400-\u4dbf\u4e00-\u9fff"
_HAS_HAN: Final = re.compile(f"[{_HAN}]")
_HAS_LATIN: Final = re.compile("[a-z]")
_SENTENCE: Final = re.compile(rf"(?:[^.!?。;\r\n]|\.(?! )){{1,{MAX_SENTENCE}}}")
_PART: Final = re.compile(r"<<(\w+)>>")


@dataclass(frozen=True, slots=True)
class Cue:
    """Words or phrases that speak for a topic, compiled."""

    topic: str
    weight: int
    pattern: re.Pattern[str]
    unless: re.Pattern[str] | None


@dataclass(frozen=True, slots=True)
class Context:
    """Words of a surrounding that speaks against; ``topics`` is None when against all."""

    pattern: re.Pattern[str]
    topics: frozenset[str] | None

    def speaks_against(self, topic: str, sentence: str) -> bool:
        """Return whether a sentence holds such a surrounding of a topic."""
        return (self.topics is None or topic in self.topics) and self.pattern.search(sentence) is not None


@dataclass(frozen=True, slots=True)
class Table:
    """What one language has."""

    letters: re.Pattern[str]
    """A sentence without one of these has nothing of this language."""
    harmless: re.Pattern[str]
    contexts: Sequence[Context]
    cues: Sequence[Cue]


@load_once
def load_tables() -> Sequence[Table]:
    """Return the tables that are installed with the package, read and compiled once."""
    return tuple(parse_table(files(__package__).joinpath(f"{name}.toml").read_text("utf-8")) for name in LANGUAGES)


def parse_table(source: str) -> Table:
    """Read a table. PhronesisError when a pattern names a part that is not there."""
    given = parse_folded("a table of sensitive matters", source)
    parts = {name: "|".join(words) for name, words in given.get("parts", {}).items()}
    spaced = given["spaced"]

    def compiled(phrases: Sequence[str]) -> re.Pattern[str]:
        return _compiled("|".join(phrases), parts, spaced=spaced)

    return Table(
        letters=_HAS_LATIN if spaced else _HAS_HAN,
        harmless=compiled(given["harmless"]["phrases"]),
        contexts=tuple(
            Context(compiled(row["words"]), frozenset(row["topics"]) if "topics" in row else None)
            for row in given["context"]
        ),
        cues=tuple(_cue(row, compiled(row["phrases"]), parts, spaced=spaced) for row in given["cue"]),
    )


def sentences(folded_text: str) -> Iterator[str]:
    """Return the sentences of a folded text; a dot within a word or number ends none."""
    for match in _SENTENCE.finditer(folded_text):
        yield match[0]


def _cue(row: Mapping[str, Any], pattern: re.Pattern[str], parts: Mapping[str, str], *, spaced: bool) -> Cue:
    unless = row.get("unless")
    return Cue(
        row["topic"], row["weight"], pattern, None if unless is None else _compiled(unless, parts, spaced=spaced)
    )


def _compiled(text: str, parts: Mapping[str, str], *, spaced: bool) -> re.Pattern[str]:
    # A part may name parts; none names itself.
    while (found := _PART.search(text)) is not None:
        if found[1] not in parts:
            raise PhronesisError(f"the table of sensitive matters has no part {found[1]!r}")
        text = f"{text[: found.start()]}(?:{parts[found[1]]}){text[found.end() :]}"
    # ASCII alone makes words, so that "我有ptsd" has one.
    return re.compile(rf"\b(?:{text})(?!\w)" if spaced else text, re.ASCII)


# What the tables' words do not know: how likely a text speaks of a sensitive matter, by the pieces of its words.

NONE: Final = "none"
"""The class of texts that speak of no topic."""

MAX_READ: Final = 400
"""Characters of the longest text that the model is asked of: it learned from memories, and knows no documents."""

_TELLING: Final = 3


@dataclass(frozen=True, slots=True)
class Odds:
    """The log odds that a text speaks of a guarded topic, the likeliest of these, and the pieces that say most."""

    log: float
    topic: str
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Model:
    """The weights of one language.

    ``weights`` are `BUCKETS` rows with a column a class, in units of ``unit``; ``bias`` is of each class.
    """

    classes: tuple[str, ...]
    weights: NDArray[np.int8]
    unit: float
    bias: NDArray[np.float64]

    def odds(self, text: str, topics: Collection[str]) -> Odds | None:
        """Return the odds of a folded text, of those topics; None of what it cannot judge.

        That is a text without a letter or longer than `MAX_READ`, and any where it knows none of the topics.
        """
        columns = [n for n, name in enumerate(self.classes) if name in topics and name != NONE]
        if not columns or len(text) > MAX_READ or not any(map(str.isalpha, text)):
            return None
        found = pieces(text)
        rows = [bucket(piece) for piece in found]
        unique = sorted(set(rows))
        length = math.sqrt(len(unique) or 1)
        scores = self.weights[unique].sum(axis=0, dtype=np.int64) * (self.unit / length) + self.bias
        rest = [n for n in range(len(self.classes)) if n not in columns]
        best = max(columns, key=lambda n: scores[n])
        gains = self.weights[rows, best].astype(np.int64) - self.weights[rows, self.classes.index(NONE)]
        telling = sorted((-int(gain), piece) for gain, piece in zip(gains, found, strict=True) if gain > 0)
        words = tuple(piece for _, piece in telling if not piece.startswith("<"))[:_TELLING]
        return Odds(_sum_of_powers(scores[columns]) - _sum_of_powers(scores[rest]), self.classes[best], words)

    def to_bytes(self) -> bytes:
        """Return the stored form: a compressed archive of numpy."""
        out = io.BytesIO()
        np.savez_compressed(out, classes=np.array(self.classes), weights=self.weights, unit=self.unit, bias=self.bias)
        return out.getvalue()


def model_from(stored: bytes) -> Model:
    """Return a model again."""
    with np.load(io.BytesIO(stored), allow_pickle=False) as held:
        return Model(tuple(map(str, held["classes"])), held["weights"], float(held["unit"]), held["bias"])


@load_once
def load_model(language: str) -> Model:
    """Return the weights that are installed with the package, ``en`` or ``zh``."""
    return model_from(files(__package__).joinpath(f"{language}.npz").read_bytes())


def _sum_of_powers(scores: NDArray[np.float64]) -> float:
    top = float(scores.max())
    return top + math.log(float(np.exp(scores - top).sum()))
