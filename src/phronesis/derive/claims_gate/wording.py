"""The table of what claims must not say, ready to use.

The table is data, ``wording.toml``:

- ``folds``: letters that count as others, letter for letter.
- ``parts``: pieces of patterns, ``<<name>>`` in a pattern.
- ``pattern``: a ``rule``; ``needs``, of which a text must hold one for the pattern to be tried (a fast look first); the
  ``pattern``; ``not_after`` and ``not_before``: what, right before or behind a match, makes it none; ``fields``: where
  it counts, everywhere when it is absent.
- ``constraint``: what is looked for in the constraint itself; `constraint.positive_words` says how.
- ``quoted``: what is reported in quotation marks, and so is nobody's order.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any, Final

from phronesis.core.loading import once
from phronesis.core.pattern_tables import parse_folded

KB_ALIAS: Final = "kb_alias"
NEXT_STEP: Final = "next_step"
POSITIVE_CONSTRAINT: Final = "positive_constraint"
"""The rules whose patterns stand in the table."""

MAX_QUOTE: Final = 120
"""Characters of the words that are quoted in a violation."""

_AROUND: Final = 160
"""Characters before and behind a match that may say that it is none."""

_HAN: Final = "\u3400-\u4dbf\u4e00-\u9fff"
_INVISIBLE: Final = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]+"
)
_HAN_GAP: Final = re.compile(rf"(?<=[{_HAN}])[ \t\u3000]+(?=[{_HAN}])")
_PART: Final = re.compile(r"<<(\w+)>>")


@dataclass(frozen=True, slots=True)
class Pattern:
    """One way to break a rule, compiled."""

    rule: str
    needs: Sequence[str]
    pattern: re.Pattern[str]
    not_after: re.Pattern[str] | None
    not_before: re.Pattern[str] | None
    fields: frozenset[str] | None

    def find(self, folded: str) -> str | None:
        """Give the words of the first match; None when there is none."""
        for start, end in self.spans(folded):
            return folded[start : min(end, start + MAX_QUOTE)].strip(" \n\t.,;:!?。")
        return None

    def spans(self, folded: str) -> Iterator[tuple[int, int]]:
        """Give where the pattern stands."""
        if not any(needed in folded for needed in self.needs):
            return
        for match in self.pattern.finditer(folded):
            start, end = match.span()
            before = self.not_after is not None and self.not_after.search(folded[max(0, start - _AROUND) : start])
            behind = self.not_before is not None and self.not_before.search(folded[end : end + _AROUND])
            if not before and not behind:
                yield start, end


@dataclass(frozen=True, slots=True)
class Wording:
    """The table of patterns, of pieces of a constraint, and what folds a text."""

    version: str
    patterns: Sequence[Pattern]
    constraint: Mapping[str, re.Pattern[str]]
    quoted: re.Pattern[str]
    folds: Mapping[int, str]


@once
def load_wording() -> Wording:
    """Give the table, read and compiled once."""
    table = parse_folded("wording.toml", resources.files(__package__).joinpath("wording.toml").read_text("utf-8"))
    folds: dict[int, str] = {}
    for given, meant in table["folds"].items():
        folds.update(zip(map(ord, given), meant, strict=True))
    parts = table["parts"]
    return Wording(
        version=table["version"],
        patterns=tuple(_pattern(row, parts) for row in table["pattern"]),
        constraint={name: _compiled(text, parts) for name, text in table["constraint"].items()},
        quoted=_compiled(table["quoted"]["pattern"], parts),
        folds=folds,
    )


def fold(text: str) -> str:
    """Give a text as it is matched: narrow, small letters, simplified, nothing invisible, no gaps in Chinese."""
    return _HAN_GAP.sub("", _small(_narrow(text)))


def unquoted(folded: str) -> str:
    """Give a folded text without what it reports in quotation marks."""
    return load_wording().quoted.sub(" ", folded)


def broken(rule: str, folded: str, field: str) -> str | None:
    """Give the words of a folded text that break a rule in this field; None when there are none."""
    for pattern in load_wording().patterns:
        if pattern.rule == rule and (pattern.fields is None or field in pattern.fields):
            found = pattern.find(folded)
            if found is not None:
                return found
    return None


def without_aliases(text: str) -> str:
    """Give a text without the aliases of a knowledge base, for whoever assembles FACTS from a run's words.

    A text that holds one comes back folded in width (NFKC): that is how the alias was found.
    """
    kept = narrow = _narrow(text)
    for pattern in load_wording().patterns:
        if pattern.rule == KB_ALIAS:
            for start, end in reversed(list(pattern.spans(_small(narrow)))):
                kept = kept[:start] + kept[end:]
    return text if kept == narrow else kept


def _pattern(row: Mapping[str, Any], parts: Mapping[str, str]) -> Pattern:
    not_after, not_before, fields = row.get("not_after"), row.get("not_before"), row.get("fields")
    return Pattern(
        row["rule"],
        tuple(row["needs"]),
        _compiled(row["pattern"], parts),
        None if not_after is None else _compiled(not_after, parts),
        None if not_before is None else _compiled(not_before, parts),
        None if fields is None else frozenset(fields),
    )


def _narrow(text: str) -> str:
    return _INVISIBLE.sub("", unicodedata.normalize("NFKC", text))


def _small(narrow: str) -> str:
    """Give a text of the same length in small, simplified letters; İ alone would become two, and stays."""
    return narrow.translate(load_wording().folds).replace("\u0130", "i").lower()


def _compiled(text: str, parts: Mapping[str, str]) -> re.Pattern[str]:
    # A part may name parts; none names itself.
    while (found := _PART.search(text)) is not None:
        text = f"{text[: found.start()]}(?:{parts[found[1]]}){text[found.end() :]}"
    return re.compile(text)
