"""The words of ``comparisons.toml``, compiled: what they mean stands in ``comparisons``."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any, Final

from phronesis.core.loading import once
from phronesis.core.pattern_tables import parse_folded
from phronesis.derive.comparison_marks import RANGES

LANGUAGES: Final = ("en", "zh")
_ROWS: Final = ("number", "bound_after", "comparator", "adjective", "modifier", "ratio", "metric", "share", "versus")
_WORDS: Final = ("needs", "gap", "before", "unsure", "not_after", "join", "cue", "idle", "or", "then", "range", "by",
                 "negation", "denied", "reason", "link")  # fmt: skip
_CLASS: Final = re.compile(r"\[[^\]\[]*\]")
_MARK: Final = re.compile("<([A-Z])>")
_PART: Final = re.compile(r"<<(\w+)>>")


@dataclass(frozen=True, slots=True)
class Row:
    """One pattern of a table, and what it means."""

    pattern: re.Pattern[str]
    meaning: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Words:
    """What the rules know of a language. ``core`` are the ways in which a metric and a bound stand together."""

    language: str
    rows: Mapping[str, Sequence[Row]]
    single: Mapping[str, re.Pattern[str]]
    core: Sequence[re.Pattern[str]]
    formulas: re.Pattern[str]
    products: re.Pattern[str]
    known_modifier: re.Pattern[str]
    foreign: re.Pattern[str]


@once
def load_table() -> Mapping[str, Any]:
    """Give ``comparisons.toml`` as it is written."""
    return parse_folded(
        "comparisons.toml", resources.files(__package__).joinpath("comparisons.toml").read_text("utf-8")
    )


@once
def load_words(language: str) -> Words:
    """Give the words of a language, compiled once."""
    table = load_table()
    given = table[language]
    english = language == "en"
    products, modifiers = table["products"], table["modifiers"]
    parts = {**table["parts"], "known_modifier": modifiers["english"], "known_modifier_zh": modifiers["chinese"]}

    def compiled(text: str, flags: re.RegexFlag = re.IGNORECASE) -> re.Pattern[str]:
        whole = _PART.sub(lambda found: f"(?:{parts[found[1]]})", text)
        inner = _CLASS.sub(lambda found: _MARK.sub(lambda mark: RANGES[mark[1]], found[0]), whole)
        return re.compile(_MARK.sub(lambda mark: f"[{RANGES[mark[1]]}]", inner), flags)

    rows = {name: [Row(compiled(row["p"]), row) for row in given.get(name, ())] for name in _ROWS}
    single = {name: compiled(given[name]) for name in _WORDS}
    link, gap = given["link"], rf"(?:[ ,()]|<G>|{given['gap']})*"
    before = rf"(?: |<G>|{given['before']})*"
    unit = r"(?: ?<<unit>>)?"
    single["negated"] = compiled(f"{given['negation']}(?P<c><C>)")
    single["bound"] = compiled(rf"(?P<c><C>) ?(?:{link}) ?(?P<n><N>|<B>){unit}")
    single["adjective"] = compiled(rf"{given['negation'].removesuffix('(?=<C>)')}(?P<a><A>)")
    single["joined"] = compiled(rf"(?P<a><G>)(?:[ ()]|{given['join']}){{0,8}}(?P<b><G>)")
    latin = "(?<![A-Za-z0-9])(?:{})(?![A-Za-z0-9])"
    named = [latin.format(f"(?:{products['english']})s?"), products["chinese"]]
    return Words(
        language=language,
        rows=rows,
        single=single,
        core=[
            compiled(rf"(?P<m><M>){gap}(?P<b><B>)"),
            compiled(rf"(?P<b><B>){before}(?P<m><M>)"),
            compiled(rf"(?P<c><C>|\breach(?:es)?|\battains?) (?:an? |the )?(?P<m><M>) of (?P<n><N>){unit}"),
        ],
        formulas=compiled(latin.format(products["formulas"]), re.NOFLAG),
        products=compiled("|".join(named[: 1 if english else 2])),
        known_modifier=compiled(modifiers["english" if english else "chinese"]),
        foreign=compiled(rf" ?{parts['foreign']}"),
    )
