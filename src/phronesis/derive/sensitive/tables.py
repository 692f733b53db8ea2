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

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Final

from phronesis.core.loading import once
from phronesis.core.pattern_tables import parse_folded
from phronesis.errors import PhronesisError

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
        """Tell whether a sentence holds such a surrounding of a topic."""
        return (self.topics is None or topic in self.topics) and self.pattern.search(sentence) is not None


@dataclass(frozen=True, slots=True)
class Table:
    """What one language has."""

    letters: re.Pattern[str]
    """A sentence without one of these has nothing of this language."""
    harmless: re.Pattern[str]
    contexts: Sequence[Context]
    cues: Sequence[Cue]


@once
def load_tables() -> Sequence[Table]:
    """Give the tables that are installed with the package, read and compiled once."""
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
    """Give the sentences of a folded text; a dot within a word or number ends none."""
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
