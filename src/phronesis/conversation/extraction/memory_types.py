"""The types of memory, read from the page that documents them (docs/memory-types.md)."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files
from typing import Final

from phronesis.core.proposals import Cardinality
from phronesis.core.statements import compared_form
from phronesis.core.values import normal_value
from phronesis.models.text_features import simplify_script

PAGE: Final = "memory-types.md"

COLUMNS: Final = ("key", "kind", "cardinality", "value", "importance", "English", "中文")
"""The head of every table on the page; a table may have ``CARE`` behind them."""

CARE: Final = "care"

_SPELLINGS: Final = tuple(
    (re.compile(one), other)
    for one, other in (
        (r"\b(col|flav|harb|neighb|behavi|hum)our", r"\1or"),
        (r"\b(theat|cent|lit|met)re(s?)\b", r"\1er\2"),
        (r"\bprogramme", "program"),
        (r"\bgrey\b", "gray"),
        (r"\b(mov|cook|brown|smooth|calor|self|zomb)ies$", r"\1ie"),
        (r"(?<=[a-z]{2})(?<!ser)(?<!spec)ies$", "y"),
        (r"(?<=[a-z])(ch|sh|x|ss)es$", r"\1"),
        (r"(?<=[a-z][a-hj-rtv-z])(?<!serie)(?<!specie)(?<!ic)(?<!new)s$", ""),
    )
)
"""Spellings of the words of families, and plurals: each is sought in the word, and what stands for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryType:
    """One row: what a key of a kind holds. ``family``: the key goes on with what is asked about (favorite.color).

    ``care``: it matters to whoever plans for somebody, and so it stands in contexts whosever it is.
    """

    key: str
    kind: str
    cardinality: Cardinality
    form: str
    importance: int
    english: str
    chinese: str
    care: bool = False

    @property
    def family(self) -> bool:
        """Return whether the key stands for many."""
        return self.key.endswith(".*")

    def key_of(self, word: str | None) -> str:
        """Return the key of one of a family, by its word in small letters, or the key itself: one key for "colours"."""
        return fold_key(f"{self.key[:-2]}.{(word or '').strip()}") if self.family else self.key


class MemoryTypes:
    """The rows of the page, by key and kind."""

    def __init__(self, rows: Iterable[MemoryType]) -> None:
        self._rows = {(row.key, row.kind): row for row in rows}
        self._first: dict[str, MemoryType] = {}
        for row in self._rows.values():
            self._first.setdefault(row.key, row)

    def __iter__(self) -> Iterator[MemoryType]:
        return iter(self._rows.values())

    def keys_of_others_shown(self) -> tuple[str, ...]:
        """Return the keys that stand in contexts whosever they are."""
        return tuple(dict.fromkeys(row.key for row in self._rows.values() if row.care))

    def find(self, key: str, kind: str | None = None) -> MemoryType | None:
        """Return the row of a key, "favorite.color" or "favorite.*"; of the kind, or the first on the page."""
        names = (key, f"{key.partition('.')[0]}.*")
        rows = (self._first.get(name) if kind is None else self._rows.get((name, kind)) for name in names)
        return next(filter(None, rows), None)


def fold_key(key: str) -> str:
    """Return a key in small letters, the word of a family in one spelling and as one: "favorite.Colours" as of a color.

    It folds what English spells in two ways ("-our", "theatre", "programme", "grey") and the common plurals; a word
    that only looks like a plural ("chess", "status") stays.
    """
    family, dot, word = key.casefold().partition(".")
    for one, other in _SPELLINGS:
        word = one.sub(other, word)
    return f"{family}{dot}{word}"


def comparable_value(row: MemoryType, value: str, *, at: datetime | None = None) -> str | None:
    """Return a value in the form of its row; None where that is no other than its plain form.

    ``at`` is when it was said, against which dates are read. Chinese is compared in simplified characters.
    """
    form = compared_form(normal_value(row.form, simplify_script(value), at=at))
    return None if form == compared_form(value) else form


def load_memory_types() -> MemoryTypes:
    """Read the page that is installed with the package."""
    page = (files("phronesis.conversation") / PAGE).read_text("utf-8")
    rows: list[MemoryType] = []
    inside: tuple[str, ...] = ()
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")] if line.startswith("|") else []
        if not cells:
            inside = ()
        elif tuple(cells) in (COLUMNS, (*COLUMNS, CARE)):
            inside = tuple(cells)
        elif inside and set("".join(cells)) - set("-: "):
            rows.append(_parse_row(dict(zip(inside, cells, strict=True))))
    return MemoryTypes(rows)


def _parse_row(given: Mapping[str, str]) -> MemoryType:
    return MemoryType(
        key=given["key"].strip("`"),
        kind=given["kind"],
        cardinality="one" if given["cardinality"] == "one" else "many",
        form=given["value"],
        importance=int(given["importance"]),
        english=given["English"],
        chinese=given["中文"],
        care=given.get(CARE) == "yes",
    )
