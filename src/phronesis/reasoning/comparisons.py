"""Read the comparison that a claim's text states as a ``test``: "the selectivity of formate is at least 0.60".

A sentence is split into terms: numbers, metals and formulas by form, words by the table ``comparisons.toml``. A part
that is none of these leaves it without terms: no verdict is better than a wrong one. It must state one metric with one
bound, or compare one metric with other runs.
"""

import re
import tomllib
import unicodedata
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any, Final, NamedTuple

from phronesis.core.calendar_spans import parse_number
from phronesis.core.lazy_loading import load_once
from phronesis.core.serialization import split_words
from phronesis.reasoning.laws.facts import Operator

_TURNED: Final[Mapping[str, Operator]] = {">": "<=", ">=": "<", "<": ">=", "<=": ">", "==": "!=", "!=": "=="}
_IGNORED: Final = re.compile(r"[\s,.()、:'\"]+")
_NUMBER: Final = re.compile(
    r"(?P<n>[+-]?\d{1,15}(?:,\d{3}(?!\d)){0,4}(?:\.\d{1,15})?(?:[eE][+-]?\d{1,3})?)(?P<percent> ?(?:%|percent\b))?"
    r"(?: ?(?:[mkuμµ]?mol|mA|a\.u\.|ppm)(?:[ ·/]?(?:g|mg|kg|h|s|min|cm|L|cat)(?![A-Za-z])\^?(?:-?\d)?){0,4}"
    r"(?![A-Za-z]))?"
    r"(?![\d.]*\d|[A-Za-z])"
)
_RATIO: Final = re.compile(r"(\d{1,4}(?:\.\d{1,4})?) ?[:/比] ?(\d{1,4}(?:\.\d{1,4})?)(?![\w:/]|\.\d)", re.ASCII)
_CHINESE: Final = re.compile(r"百分之([零一二三四五六七八九十两\d.]{1,8})|([一二三四五六七八九])成")
_FORMULA: Final = re.compile(r"(?:CO|HCOO|(?:[CHON]\d{0,2}){2,8}|[HON]\d)(?:-|\b)(?![A-Za-z0-9])")
_NAME: Final = re.compile(r"[A-Za-z][\w'+]{0,40}(?:-(?!modified)[\w']{1,40}){0,6}(?: acid)?", re.ASCII)
_BEFORE_MODIFIED: Final = re.compile(rf"(?P<name>{_NAME.pattern})-(?:modified|functionali[sz]ed)(?!\w)", re.ASCII)

Given = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Number:
    """An amount: 60 % is 0.6 with ``percent`` set; ``ratio`` marks one written as 3:1."""

    value: float
    percent: bool = False
    ratio: bool = False


@dataclass(frozen=True, slots=True)
class Bound:
    """A lower or upper bound: a comparator and a value."""

    op: Operator
    number: Number


@dataclass(frozen=True, slots=True)
class Pair:
    """Two metals in order, and how they were joined."""

    given: Given
    joint: str


class Term(NamedTuple):
    """A recognised part of a sentence: a number, a word of a kind of the table, or what these were joined to."""

    kind: str
    value: Any


Meanings = dict[str, Any]
"""What a part of a sentence may say, by kind; the first kind is the usual one."""


@dataclass(frozen=True, slots=True)
class Words:
    """The words of the table, one expression that finds the longest, and those that find metals."""

    meanings: Mapping[str, Mapping[str, Any]]
    longest: re.Pattern[str]
    role: re.Pattern[str]
    pair: re.Pattern[str]


@load_once
def load_words() -> Words:
    """Return the words of ``comparisons.toml``, prepared once."""
    table = tomllib.loads(resources.files(__package__).joinpath("comparisons.toml").read_text("utf-8"))
    meanings: dict[str, dict[str, Any]] = {}

    def put(kind: str, given: str, value: Any = None) -> None:
        for word in split_words(given):
            meanings.setdefault(word.lower(), {}).setdefault(kind, word if value is None else value)

    for kind, name in (("op", "operators"), ("more", "more"), ("after", "after"), ("metric", "metrics")):
        for meant, given in table[name].items():
            put(kind, given, meant)
    for pair in split_words(table["numbers"]["words"]):
        word, _, amount = pair.partition("=")
        put("number", word, Number(float(amount)))
    put("product", table["names"]["products"])
    put("modifier", table["names"]["modifiers"])
    for kind in ("not", "than", "ratio", "modified", "reason", "idle"):
        put(kind, table["words"][kind])
    metal = f"({'|'.join(sorted(table['metals']['symbols'].split(), key=len, reverse=True))})"
    amount, end = r"(\d{1,3}(?:\.\d{1,4})?)?", r"(?![\w-]| ?[-/:] ?[A-Z])"
    return Words(
        meanings=meanings,
        longest=re.compile("|".join(map(_whole_word, sorted(meanings, key=len, reverse=True))), re.IGNORECASE),
        role=re.compile(rf"M([12]) ?(?:=|:|is|was|为|是)? ?{metal}{end}", re.ASCII),
        pair=re.compile(rf"{metal}{amount} ?([-/:]|)(?(3)|(?!)) ?{metal}{amount}{end}", re.ASCII),
    )


def _whole_word(word: str) -> str:
    """Return an expression for a word: no Latin word ends or begins within another."""
    return re.escape(word) + (r"(?![A-Za-z0-9_])" if word[-1].isascii() and word[-1].isalnum() else "")


def read_terms(text: str, *, alone: bool = False) -> list[Term] | None:
    """Return the terms of a text, joined to descriptions and bounds; None if part of it is not understood.

    ``alone``: the text is a condition, in which Cu/Zn may be a ratio.
    """
    found = _split(text)
    if found is None:
        return None
    chosen: list[Term] = []
    for n, meanings in enumerate(found):
        behind = next((one for one in found[n + 1 :] if "idle" not in one), {})
        chosen.append(_choose(meanings, found[n - 1] if n else {}, behind))
    terms = [term for term in chosen if term.kind not in ("idle", "modified")]
    return _join_descriptions(_join_apart(_join_neighbours(terms)), alone=alone)


def _kind(meanings: Meanings) -> str:
    return next(iter(meanings), "")


def _split(text: str) -> list[Meanings] | None:
    words, found, at = load_words(), list[Meanings](), 0
    while at < len(text):
        if (gap := _IGNORED.match(text, at)) is not None:
            at = gap.end()
            continue
        meanings, at = _structure(text, at, words, found) or _word(text, at, words) or ({}, at)
        if not meanings:
            return None
        if _kind(meanings) == "reason":
            break
        found.append(meanings)
    return found


def _structure(text: str, at: int, words: Words, before: Sequence[Meanings]) -> tuple[Meanings, int] | None:
    """Return what a part of a given form says that begins at a place, and its end."""
    if (found := _metals(text, at, words) or _number(text, at)) is not None:
        return found
    if (named := _BEFORE_MODIFIED.match(text, at)) is not None:
        return {"given": {"modifier": named["name"]}}, named.end()
    if (formula := _FORMULA.match(text, at)) is not None:
        return {"product": formula[0]}, formula.end()
    name = _NAME.match(text, at) if before and _kind(before[-1]) == "modified" else None
    if name is not None and name[0].lower() not in words.meanings:
        return {"given": {"modifier": name[0]}}, name.end()
    return None


def _metals(text: str, at: int, words: Words) -> tuple[Meanings, int] | None:
    """Return a role ("M1 is Cu"), an ordered pair ("Cu–Zn"), or one with amounts ("Cu3Zn1")."""
    if (role := words.role.match(text, at)) is not None:
        return {"given": {f"M{role[1]}": role[2]}}, role.end()
    pair = words.pair.match(text, at)
    if pair is None or pair[1] == pair[4]:
        return None
    given: Given = {"M1": pair[1], "M2": pair[4]}
    if not (pair[2] or pair[5]):
        return {"pair": Pair(given, pair[3])}, pair.end()
    if (low := float(pair[5] or 1)) == 0:
        return None
    return {"given": {**given, "ratio": {"op": "==", "value": float(pair[2] or 1) / low}}}, pair.end()


def _number(text: str, at: int) -> tuple[Meanings, int] | None:
    """Return a ratio ("3:1"), or a number in digits or in Chinese, a percentage divided by 100."""
    if (ratio := _RATIO.match(text, at)) is not None:
        low = float(ratio[2])
        return ({"number": Number(float(ratio[1]) / low, ratio=True)}, ratio.end()) if low else None
    if (digits := _NUMBER.match(text, at)) is not None:
        value = float(digits["n"].replace(",", ""))
        if digits["percent"]:
            return {"number": Number(round(value / 100, 12), percent=True)}, digits.end()
        return {"number": Number(int(value) if value.is_integer() else value)}, digits.end()
    chinese = _CHINESE.match(text, at)
    amount = None if chinese is None else parse_number(chinese[1] or chinese[2])
    if chinese is None or amount is None:
        return None
    percent = chinese[1] is not None
    return {"number": Number(round(amount / (100 if percent else 10), 12), percent)}, chinese.end()


def _word(text: str, at: int, words: Words) -> tuple[Meanings, int] | None:
    found = words.longest.match(text, at)
    if found is None:
        return None
    meanings = dict(words.meanings[found[0].lower()])
    if "modifier" in meanings:
        meanings["modifier"] = {"modifier": found[0]}
    if "product" in meanings and found[0].isascii():
        meanings["product"] = meanings["product"] if found[0].isupper() else found[0].lower()
    return meanings, found.end()


def _choose(meanings: Meanings, before: Meanings, behind: Meanings) -> Term:
    """Return the one meaning that fits the parts around."""
    kind = _kind(meanings)
    if "idle" in meanings and "op" in meanings:
        kind = "op" if _kind(behind) == "number" else "idle"
    elif "modifier" in meanings:
        named = "modified" in (_kind(before), _kind(behind))
        kind = "modifier" if named or "product" not in meanings else "product"
    return Term("given" if kind == "modifier" else kind, meanings[kind])


def _join_neighbours(terms: Sequence[Term]) -> list[Term]:
    """Join what stands side by side: a negation or a number with its comparator, before it or behind it."""
    joined: list[Term] = []
    for term in terms:
        both = _join_terms(joined[-1], term) if joined else None
        if both is not None:
            joined.pop()
        joined.append(both or term)
    return joined


def _join_terms(last: Term, term: Term) -> Term | None:
    match last.kind, term.kind:
        case "not", ("op" | "more"):
            return Term(term.kind, _TURNED[term.value])
        case "op", "number":
            return Term("bound", Bound(last.value, term.value))
        case "number", "after":
            return Term("bound", Bound(term.value, last.value))
        case "bound", "after" if last.value.op[0] == term.value[0]:  # "超过 0.6 以上"
            return last
    return None


def _join_apart(terms: Sequence[Term]) -> list[Term]:
    """Join a comparator and a number with the metric alone between them: "never exceeds a fraction of 0.3"."""
    out = list(terms)
    for n, term in enumerate(terms):
        if term.kind == "op":
            end = next((m for m in range(n + 1, len(terms)) if terms[m].kind not in ("metric", "product")), n)
            if terms[end].kind == "number":
                out[end] = Term("bound", Bound(term.value, terms[end].value))
                del out[n]
                break
    return out


def _join_descriptions(terms: Sequence[Term], *, alone: bool) -> list[Term] | None:
    """Join metals and their ratio; None for a ratio of nothing."""
    joined, waiting = list[Term](), deque(terms)
    while waiting:
        term = waiting.popleft()
        if term.kind not in ("pair", "ratio"):
            joined.append(term)
            continue
        given = dict(term.value.given) if term.kind == "pair" else {}
        joint = term.value.joint if term.kind == "pair" else ""
        worded = term.kind == "ratio"
        if not worded and waiting and waiting[0].kind == "ratio":
            worded = bool(waiting.popleft())
        bound = _ratio_bound(waiting[0]) if waiting else None
        if bound is not None and (bound.number.ratio or worded or joint == ":" or (alone and joint == "/")):
            if bound.number.percent:
                return None
            given["ratio"] = {"op": bound.op, "value": bound.number.value}
            waiting.popleft()
        elif worded:
            return None
        joined.append(Term("given", given))
    return joined


def _ratio_bound(term: Term) -> Bound | None:
    if term.kind == "number":
        return Bound("==", term.value)
    return term.value if term.kind == "bound" else None


def merge_givens(givens: Sequence[Given]) -> Given | None:
    """Return what several descriptions say together; None where they contradict each other."""
    merged: Given = {}
    for given in givens:
        for name, value in given.items():
            if merged.setdefault(name, value) != value:
                return None
    return {name: merged[name] for name in ("M1", "M2", "modifier", "ratio") if name in merged}


MAX_READ: Final = 2_000
"""Maximum characters of an inference, and of each condition, that are parsed."""

_DASHES: Final = str.maketrans(dict.fromkeys("‐‑‒–—―−﹣", "-") | dict.fromkeys("∶꞉", ":") | {"’": "'", "‘": "'"})
_BLANKS: Final = re.compile(r"[^\S\n]+")
_ENDS: Final = re.compile(r"[。!?;\n]|\.(?= |$)")


def read_comparison(inference: str, conditions: Sequence[str] = ()) -> dict[str, Any] | None:
    """Return the test that a claim's text states, or None if it states none that FACTS could decide.

    ``conditions`` become its ``given``; a condition that cannot be parsed (a temperature) leaves the claim without a
    test. Two comparisons in one claim give none: a run may support one and contradict the other.
    """
    tests = [test for sentence in sentences(inference[:MAX_READ]) if (test := _read(sentence)) is not None]
    if len(tests) != 1:
        return None
    [test] = tests
    for condition in conditions:
        given = read_condition(condition)
        merged = None if given is None else merge_givens([test["given"], given])
        if given is None or merged is None:
            return None
        test["given"] = merged
        if "versus" in test:
            test["versus"] = {**given, **test["versus"]}
    if not test["given"]:
        del test["given"]
    return test


def read_condition(condition: str) -> Given | None:
    """Return the runs that a condition describes, as in ``given``; {} for an empty one, None if it says more."""
    terms = read_terms(normal_text(condition[:MAX_READ]), alone=True)
    if terms is None or any(term.kind != "given" for term in terms):
        return None
    return merge_givens([term.value for term in terms])


def normal_text(text: str) -> str:
    """Return a text with one width, one kind of dash and colon, and single spaces."""
    return _BLANKS.sub(" ", unicodedata.normalize("NFKC", text).translate(_DASHES)).strip()


def sentences(text: str) -> Iterator[str]:
    """Yield the normalised sentences of a text; a question keeps its question mark."""
    plain, start = normal_text(text), 0
    for end in _ENDS.finditer(plain):
        if said := plain[start : end.start()].strip():
            yield said + ("?" if end[0] == "?" else "")
        start = end.end()
    if plain[start:].strip():
        yield plain[start:].strip()


def _read(sentence: str) -> dict[str, Any] | None:
    """Return the test of one normalised sentence."""
    terms = read_terms(sentence)
    if terms is None:
        return None
    metrics = [term.value for term in terms if term.kind == "metric"]
    products = [term.value for term in terms if term.kind == "product"]
    if len(metrics) != 1 or len(products) != (metrics[0] != "activity"):
        return None
    said = {"metric": metrics[0], **({"product": products[0]} if products else {})}
    rest = [term for term in terms if term.kind not in ("metric", "product")]
    bounds = [term.value for term in rest if term.kind == "bound"]
    if not bounds:
        return _run_comparison(said, rest)
    given = merge_givens([term.value for term in rest if term.kind == "given"])
    if given is None or len(bounds) > 1 or any(term.kind not in ("bound", "given") for term in rest):
        return None
    [bound] = bounds
    if bound.number.value < 0 or bound.number.ratio or (bound.number.percent and metrics[0] != "fraction"):
        return None
    return {**said, "op": bound.op, "value": bound.number.value, "given": given}


def _run_comparison(said: Mapping[str, Any], terms: Sequence[Term]) -> dict[str, Any] | None:
    """Return the comparison with other runs that the terms state; both sides must name the same fields."""
    kinds = [term.kind for term in terms]
    ops = [n for n, kind in enumerate(kinds) if kind in ("op", "more")]
    if len(ops) != 1 or kinds.count("than") > 1 or not {"op", "more", "than", "given"}.issuperset(kinds):
        return None
    if "than" not in kinds and kinds[ops[0]] == "more":
        return None
    place = kinds.index("than") if "than" in kinds else ops[0]
    behind = list(range(place + 1, next((n for n in range(place + 1, len(kinds)) if kinds[n] != "given"), len(kinds))))
    other = behind if "given" in kinds[:place] else behind[: len(behind) // 2]
    versus = merge_givens([terms[n].value for n in other])
    given = merge_givens([term.value for n, term in enumerate(terms) if term.kind == "given" and n not in other])
    if not versus or not given or versus.keys() != given.keys() or versus == given:
        return None
    return {**said, "op": terms[ops[0]].value, "versus": versus, "given": given}
