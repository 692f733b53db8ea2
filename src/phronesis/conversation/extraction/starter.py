"""Values of plain sentences without an encoder, and requests to forget: ``starter.toml``, a table of sentences."""

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

from phronesis.core.lazy_loading import load_once
from phronesis.models.reader.network import FoundValue
from phronesis.models.text_features import has_han, sentences, without_code

STARTER_VERSION: Final = "starter/1"

CONFIDENCE: Final = 0.9
MAX_VALUE: Final = 60
"""Characters of a value."""

FORGET: Final = "forget"

_CLAUSE: Final = re.compile("[,，] *")
_MARKS: Final = " .!。！，,~～"
_APOSTROPHES: Final = str.maketrans("’‘", "''")


@dataclass(frozen=True, slots=True)
class _Language:
    lines: Sequence[tuple[str, str]]
    forget: Sequence[str]
    excluded: re.Pattern[str]


@load_once
def _language(code: str) -> _Language:
    table = tomllib.loads((files("phronesis.conversation.extraction") / "starter.toml").read_text("utf-8"))
    words = "|".join(map(re.escape, table["not"][code]))
    return _Language(
        [(name, one) for name, lines in table[code].items() if name != FORGET for one in lines],
        table[code][FORGET],
        re.compile(words if code == "zh" else rf"(?<!\w)(?:{words})(?!\w)|n't\b"),
    )


def _match(line: str, text: str, start: int = 0) -> re.Match[str] | None:
    """Return how a text is a sentence of the table, from ``start``. Few begin as it does: only those are compiled."""
    return _compiled(line).fullmatch(text, start) if text.startswith(line.partition("{")[0], start) else None


@load_once
def _compiled(line: str) -> re.Pattern[str]:
    escaped = (
        re.escape(line).replace(r"\{word\}", r"(?P<word>[^\W\d_]{1,20})").replace(r"\{\}", r"(?P<value>\S(?:.*\S)?)")
    )
    return re.compile(escaped)


def starter_values(text: str) -> list[FoundValue]:
    """Return the values of the sentences that the table knows."""
    found: list[FoundValue] = []
    for start, low, language in _sentences(text):
        for name, line in language.lines:
            match = _match(line, low)
            if match is None:
                continue
            first, last = match.span("value")
            if last - first <= MAX_VALUE and language.excluded.search(match["value"]) is None:
                kind, _, key = name.partition("/")
                word = match.groupdict().get("word")
                found.append(
                    FoundValue(
                        kind=kind,
                        key=key if word is None else f"{key}.{word}",
                        subject=None,
                        start=start + first,
                        end=start + last,
                        retracted=False,
                        done=False,
                        replaces=None,
                        confidence=CONFIDENCE,
                    )
                )
            break
    return found


def forget_targets(text: str) -> list[tuple[int, int, str]]:
    """Return the requests to forget in a text: where each stands, and what it asks to forget."""
    found = []
    for start, low, language in _sentences(text):
        for at in (0, *(mark.end() for mark in _CLAUSE.finditer(low))):
            match = next((one for line in language.forget if (one := _match(line, low, at)) is not None), None)
            if match is not None and language.excluded.fullmatch(match["value"]) is None:
                first, last = match.span("value")
                found.append((start + at, start + len(low), text[start + first : start + last]))
                break
    return found


def _sentences(text: str) -> Iterator[tuple[int, str, _Language]]:
    """Yield the sentences that state something: their start, their words in small letters, their language."""
    shown = without_code(text)
    for start, end in sentences(shown):
        sentence = shown[start:end].rstrip(_MARKS)
        low = sentence.lower().translate(_APOSTROPHES)
        if len(low) == len(sentence) and sentence and not sentence.endswith(("?", "？")):
            yield start, low, _language("zh" if has_han(sentence) else "en")
