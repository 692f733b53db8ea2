"""Placeholders and vocabulary for parsing comparisons: terms of a sentence replaced by single private-use characters.

Holds the term records, the compiled word lists of ``comparisons.toml``, and the recognition of metals.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import Any, Final

from phronesis.core.lazy_loading import load_once
from phronesis.core.pattern_tables import parse_folded
from phronesis.reasoning.laws.facts import Operator

_FIRST: Final = 0xE000
_EACH: Final = 0x100
KINDS: Final = "GMBCANRPXL"
"""Kinds of placeholders: given, metric, bound, comparator, adjective, number, ratio, product, metal pair, lone metal.
"""

RANGES: Final = {kind: f"{chr(_FIRST + n * _EACH)}-{chr(_FIRST + (n + 1) * _EACH - 1)}" for n, kind in enumerate(KINDS)}
"""Private-use characters of each kind, for a character class of a regular expression."""

CLASSES: Final = {kind: re.compile(f"[{range_}]") for kind, range_ in RANGES.items()}

_PRIVATE: Final = re.compile("[\ue000-\uf8ff]")
_DASHES: Final = str.maketrans(dict.fromkeys("‐‑‒–—―−﹣", "-") | dict.fromkeys("∶꞉", ":") | {"’": "'", "‘": "'"})
_HAN: Final = "\u3400-\u4dbf\u4e00-\u9fff"
_BLANKS: Final = re.compile(r"[^\S\n]+")
_SPACES: Final = re.compile(rf"(?<=[{_HAN}]) | (?=[{_HAN}])")
# The look-behind is placed after the full stop: before it, it would be tried at every character of the text.
_ENDS: Final = re.compile(r"[。!?;\n]|\.(?= |$)(?<!\b(?:ca|vs)\.)(?<!approx\.)(?<!\b(?:i\.e|e\.g|arb)\.)")


@dataclass(frozen=True, slots=True)
class Number:
    """An amount as a number: 60 % is 0.6 with ``percent`` set."""

    value: float
    percent: bool = False


@dataclass(frozen=True, slots=True)
class Bound:
    """A lower or upper bound: a comparator and a value."""

    op: Operator
    number: Number


@dataclass(frozen=True, slots=True)
class Metric:
    """A measured quantity; ``other`` marks one that only sounds like it. An unqualified selectivity has no product."""

    metric: str
    product: str | None


@dataclass(frozen=True, slots=True)
class Pair:
    """Two metals in order, how they were joined, and their ``ratio`` if amounts were written too."""

    m1: str
    m2: str
    joint: str = ""
    ratio: float | None = None

    def given(self) -> dict[str, Any]:
        """Return the description of the runs it denotes, as in ``given``."""
        ratio = {} if self.ratio is None else {"ratio": {"op": "==", "value": self.ratio}}
        return {"M1": self.m1, "M2": self.m2, **ratio}


@dataclass(slots=True)
class MarkedSentence:
    """A sentence in which placeholders stand for recognised terms."""

    text: str
    held: dict[str, Any] = field(default_factory=dict)
    full: bool = False
    _used: dict[str, int] = field(default_factory=dict)

    def mask(self, kind: str, pattern: re.Pattern[str], make: Callable[[re.Match[str]], Any]) -> bool:
        """Replace each match for which ``make`` returns a value by a placeholder; return whether there was one."""
        before = len(self.held)

        def put(match: re.Match[str]) -> str:
            made = make(match)
            number = self._used.get(kind, 0)
            if made is None or number == _EACH:
                self.full = self.full or made is not None
                return match[0]
            mark = chr(_FIRST + KINDS.index(kind) * _EACH + number)
            self._used[kind] = number + 1
            self.held[mark] = made
            return mark

        self.text = pattern.sub(put, self.text)
        return len(self.held) > before

    def all(self, kind: str) -> list[Any]:
        """Return the terms of a kind, in order."""
        return [self.held[mark] for mark in CLASSES[kind].findall(self.text)]


def normal_text(text: str) -> str:
    """Return a text with one width, one kind of dash and colon, single spaces, and no spaces next to Chinese."""
    if text.isascii():
        return _BLANKS.sub(" ", text).strip()
    plain = _PRIVATE.sub(" ", unicodedata.normalize("NFKC", text)).translate(_DASHES)
    return _SPACES.sub("", _BLANKS.sub(" ", plain).strip())


def sentences(text: str) -> Iterator[str]:
    """Yield the normalised sentences of a text; a question keeps its question mark."""
    plain, start = normal_text(text), 0
    for end in _ENDS.finditer(plain):
        yield " ".join(plain[start : end.start()].split()) + ("?" if end[0] == "?" else "")
        start = end.end()
    if plain[start:].strip():
        yield " ".join(plain[start:].split())


# The words of ``comparisons.toml``, compiled; `comparisons` documents the keys.

LANGUAGES: Final = ("en", "zh")
_ROWS: Final = ("number", "bound_after", "comparator", "adjective", "modifier", "ratio", "metric", "share", "versus")
_WORDS: Final = (
    "needs",
    "gap",
    "before",
    "unsure",
    "not_after",
    "join",
    "cue",
    "idle",
    "or",
    "then",
    "range",
    "by",
    "negation",
    "denied",
    "reason",
    "link",
)
_CLASS: Final = re.compile(r"\[[^\]\[]*\]")
_MARK: Final = re.compile("<([A-Z])>")
_PART: Final = re.compile(r"<<(\w+)>>")


@dataclass(frozen=True, slots=True)
class Row:
    """One pattern of a table, and its meaning."""

    pattern: re.Pattern[str]
    meaning: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Words:
    """The compiled vocabulary of a language. ``core`` are the patterns that join a metric and a bound."""

    language: str
    rows: Mapping[str, Sequence[Row]]
    single: Mapping[str, re.Pattern[str]]
    core: Sequence[re.Pattern[str]]
    formulas: re.Pattern[str]
    products: re.Pattern[str]
    known_modifier: re.Pattern[str]
    foreign: re.Pattern[str]


@load_once
def load_table() -> Mapping[str, Any]:
    """Return the parsed ``comparisons.toml``."""
    return parse_folded(
        "comparisons.toml", resources.files(__package__).joinpath("comparisons.toml").read_text("utf-8")
    )


@load_once
def load_words(language: str) -> Words:
    """Return the vocabulary of a language, compiled once."""
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


# Metals in a sentence: ordered pairs ("Cu–Zn", "Cu3Zn1", "M1 is Cu"). A third metal is more than FACTS can hold.

_AMOUNT = r"(\d{1,3}(?:\.\d{1,4})?)?"
_ALONE = r"(?<![A-Za-z0-9])"
_METAL_ENDS = r"(?![A-Za-z0-9])"


@dataclass(frozen=True, slots=True)
class _Metals:
    names: Mapping[str, str]
    role: re.Pattern[str]
    as_role: re.Pattern[str]
    triple: re.Pattern[str]
    joined: re.Pattern[str]
    glued: re.Pattern[str]
    spelled: re.Pattern[str]
    alone: re.Pattern[str]


@load_once
def _metals() -> _Metals:
    table: Mapping[str, Any] = load_table()["metals"]
    symbols = table["symbols"].split()
    names = dict(pair.split("=") for pair in table["names"].split())
    metal = "(" + "|".join(sorted(symbols, key=len, reverse=True)) + ")"
    bare = "(" + "|".join(sorted(set(symbols) - set(table["words"].split()), key=len, reverse=True)) + ")"
    english = "(" + "|".join(name for name in names if name.isascii()) + ")"
    chinese = "(" + "|".join(name for name in names if not name.isascii()) + ")"
    one = f"(?:{metal}{_AMOUNT})"
    return _Metals(
        names=names,
        role=re.compile(rf"{_ALONE}M([12]) ?(?:=|:|is|was|being|为|是|选用|采用|取|用)? ?{metal}{_METAL_ENDS}时?"),
        as_role=re.compile(rf"(?:以|用)?{_ALONE}{metal} ?(?:as|作为|作|为|充当|当) ?(?:the )?M([12]){_METAL_ENDS}"),
        triple=re.compile(rf"{_ALONE}{one} ?[-/:] ?{one} ?[-/:] ?{one}{_METAL_ENDS}"),
        joined=re.compile(rf"{_ALONE}{metal}{_AMOUNT} ?(?:\( ?)?([-/:])(?: ?\))? ?{metal}{_AMOUNT}{_METAL_ENDS}"),
        glued=re.compile(rf"{_ALONE}{metal}{_AMOUNT}(){metal}{_AMOUNT}{_METAL_ENDS}"),
        spelled=re.compile(
            rf"\b{english} ?([-/:]) ?{english}\b|{chinese}([-/:]){chinese}"
            rf"|{chinese}{chinese}(?=基|体系|催化剂|双金属|合金|样品|组合|的|比)",
            re.IGNORECASE,
        ),
        alone=re.compile(rf"{_ALONE}{bare}{_METAL_ENDS}"),
    )


def mask_metals(marked: MarkedSentence, *, modifiers: Callable[[], None]) -> bool:
    """Mask roles, then call ``modifiers``, then mask pairs and lone metals; return False for three joined metals."""
    metals = _metals()
    marked.mask("G", metals.role, lambda match: {f"M{match[1]}": match[2]})
    marked.mask("G", metals.as_role, lambda match: {f"M{match[2]}": match[1]})
    modifiers()
    if metals.triple.search(marked.text):
        return False
    for pattern in (metals.joined, metals.glued):
        marked.mask("X", pattern, _pair)
    marked.mask("X", metals.spelled, lambda match: _spelled(match, metals.names))
    marked.mask("L", metals.alone, lambda match: match[1])
    return True


def _pair(match: re.Match[str]) -> Pair | None:
    first, amount, joint, second, other = match.groups()
    if first == second:
        return None
    if amount is None and other is None:
        return Pair(first, second, joint)
    low = float(other or 1)
    return None if not low else Pair(first, second, joint, float(amount or 1) / low)


def _spelled(match: re.Match[str], names: Mapping[str, str]) -> Pair | None:
    found = [names[word.lower()] for word in match.groups() if word and word.lower() in names]
    joint = next((word for word in match.groups() if word in ("-", "/", ":")), "")
    return Pair(found[0], found[1], joint) if found[0] != found[1] else None
