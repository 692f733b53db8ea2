"""Parse a claim's text into a ``test`` by rules: "the selectivity of formate with Cu–Zn is at least 0.60".

Terms are recognised longest first, and each is replaced by one placeholder character: metals, modifiers, products,
numbers, comparators, then combinations of these (a bound "at least 0.60", a description "Cu:Zn above 2", a metric
"selectivity of formate"). What remains must be one metric with one bound or one comparison with other runs, and nothing
that could change its meaning: a condition that FACTS cannot decide, a leftover number, a hedge, a second comparison.
Otherwise there is no test: no verdict is better than a wrong one.

The words are data, ``comparisons.toml``, for each language:

- ``number``, ``bound_after``, ``comparator``, ``adjective``, ``modifier``, ``ratio``, ``metric``: patterns in the order
  in which they are tried, with their meaning; named groups hold the parts.
- ``share``, ``versus``: whole comparisons. ``negation``, before a comparator, inverts it.
- ``gap``, ``before``: the words allowed between a metric and its bound, and between a bound and its metric.
- ``needs``: word fragments of which every comparison contains one; a cheap prefilter.
- ``range``, ``by``, ``or``: several bounds, a change, a choice. ``unsure``: what must not be left over; ``not_after``:
  what makes a metric another quantity; ``then``: what, right after a bound, makes it a condition.
- ``join``, ``cue``, ``idle``: words between two descriptions, before one, and words without meaning.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from phronesis.core.calendar_spans import parse_number
from phronesis.reasoning.comparison_terms import (
    CLASSES,
    Bound,
    MarkedSentence,
    Metric,
    Number,
    Row,
    Words,
    load_words,
    mask_metals,
    normal_text,
    sentences,
)
from phronesis.reasoning.laws.facts import Operator

MAX_READ: Final = 2_000
"""Maximum characters of an inference, and of each condition, that are parsed."""

_HAN: Final = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_DIGIT: Final = re.compile(r"(?<![A-Za-z\d])\d")
_CLAUSE: Final = re.compile(r"\b(?:when|if|once|whenever|where|after|while)\b[^,;]*$", re.IGNORECASE)
_TURNED: Final[Mapping[str, Operator]] = {">": "<=", ">=": "<", "<": ">=", "<=": ">", "==": "!=", "!=": "=="}
_UPWARD: Final = "高大多强好"
_RATIO: Final = re.compile(
    r"(?<![A-Za-z0-9.:/])(\d{1,4}(?:\.\d{1,4})?) ?[:比/] ?(\d{1,4}(?:\.\d{1,4})?)(?![A-Za-z0-9:/]|\.\d)"
)
_RATIO_WORD: Final = re.compile("ratio|比", re.IGNORECASE)
_COMPARES: Final = re.compile("|".join(CLASSES[kind].pattern for kind in "ABCN"))
Given = dict[str, Any]


def read_comparison(inference: str, conditions: Sequence[str] = ()) -> dict[str, Any] | None:
    """Return the test that a claim's text states, or None if it states none that FACTS could decide.

    ``conditions`` become its ``given``; a condition that cannot be parsed (a temperature) leaves the claim without a
    test. Two comparisons in one claim give none: a run may support one and contradict the other.
    """
    tests = [test for sentence in sentences(inference[:MAX_READ]) if (test := _read(sentence)) is not None]
    if len(tests) != 1 or not tests[0]:
        return None
    [test] = tests
    for condition in conditions:
        given = read_condition(condition)
        merged = None if given is None else _merged([test["given"], given])
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
    text = normal_text(condition[:MAX_READ])
    words = _words(text)
    if words.known_modifier.fullmatch(text.strip(" .。")):
        return {"modifier": text.strip(" .。")}
    marked = MarkedSentence(f"{text} ")
    if not _mask(marked, words, alone=True):
        return None
    rest = words.single["cue"].sub(" ", marked.text)
    rest = words.single["join"].sub(" ", CLASSES["G"].sub(" ", rest))
    return _merged(marked.all("G")) if not rest.strip(" ,.;。、()") else None


def _words(text: str) -> Words:
    return load_words("zh" if _HAN.search(text) else "en")


def _read(sentence: str) -> dict[str, Any] | None:
    """Return the test of one normalised sentence."""
    words = _words(sentence)
    if not words.single["needs"].search(sentence):
        return None
    marked = MarkedSentence(sentence)
    if not _mask(marked, words, alone=False):
        return None
    single = words.single
    for name in ("idle", "reason"):
        marked.text = single[name].sub(" ", marked.text)
    if any(single[name].search(marked.text) for name in ("range", "by", "or")):
        return None
    found = [*_shares(marked, words), *_bounds(marked, words)] or list(_versus(marked, words))
    return found[0] if len(found) == 1 else None


def _mask(marked: MarkedSentence, words: Words, *, alone: bool) -> bool:
    """Mask all recognised terms; return False if placeholders run out or nothing compares."""
    rows = words.rows
    if not mask_metals(marked, modifiers=lambda: _mask_modifiers(marked, rows["modifier"])):
        return False
    marked.mask("P", words.formulas, lambda match: match[0])
    marked.mask("P", words.products, lambda match: match[0].lower())
    marked.mask("R", _RATIO, lambda match: Number(float(match[1]) / float(match[2])) if float(match[2]) else None)
    for row in rows["number"]:
        marked.mask("N", row.pattern, _number_of(row.meaning))
    for row in rows["bound_after"]:
        marked.mask("B", row.pattern, _bound_of(marked, row.meaning["op"], words.foreign))
    for kind, name in (("C", "comparator"), ("A", "adjective")):
        for row in rows.get(name, ()):
            marked.mask(kind, row.pattern, _always(row.meaning["op"]))
    if not alone and words.language == "en" and not _COMPARES.search(marked.text):
        return False  # every English comparison contains one of these
    marked.mask("C", words.single["negated"], lambda match: _TURNED[marked.held[match["c"]]])
    marked.mask("A", words.single["adjective"], lambda match: _TURNED[marked.held[match["a"]]])
    marked.mask("B", words.single["bound"], _bound_of(marked, None, words.foreign))
    for row in rows["ratio"]:
        marked.mask("G", row.pattern, lambda match: _given_ratio(marked, match, alone=alone))
    marked.mask("G", CLASSES["X"], lambda match: marked.held[match[0]].given())
    for row in rows["metric"]:
        marked.mask("M", row.pattern, _metric_of(marked, row.meaning["metric"], words.single["not_after"]))
    while marked.mask("G", words.single["joined"], lambda match: _merged([marked.held[match[one]] for one in "ab"])):
        pass
    return not marked.full


def _mask_modifiers(marked: MarkedSentence, rows: Sequence[Row]) -> None:
    for row in rows:
        marked.mask("G", row.pattern, lambda match: {"modifier": match["modifier"].strip()})


def _always(op: Operator) -> Callable[[re.Match[str]], Operator]:
    return lambda _: op


def _number_of(meaning: Mapping[str, Any]) -> Callable[[re.Match[str]], Number | None]:
    def make(match: re.Match[str]) -> Number | None:
        factor = Decimal(str(meaning.get("value", 1)))
        if "n" not in match.re.groupindex:
            return Number(float(factor))
        digits = match["n"].replace(",", "")
        try:
            amount = Decimal(digits)
        except ArithmeticError:
            amount = Decimal(str(parse_number(digits) or 0))
        percent = bool(meaning.get("percent"))
        value = float(amount * factor / 100 if percent else amount * factor)
        return Number(int(value) if value.is_integer() and not percent else value, percent=percent)

    return make


def _bound_of(
    marked: MarkedSentence, op: Operator | None, foreign: re.Pattern[str]
) -> Callable[[re.Match[str]], Bound | None]:
    def make(match: re.Match[str]) -> Bound | None:
        if foreign.match(match.string, match.end()):
            return None
        amount = marked.held[match["n"]]
        relation = op or marked.held[match["c"]]
        if isinstance(amount, Bound):  # "超过 0.6 以上": the preceding comparator already says it
            return Bound(relation, amount.number) if amount.op[0] == relation[0] else None
        return Bound(relation, amount)

    return make


def _given_ratio(marked: MarkedSentence, match: re.Match[str], *, alone: bool) -> Given | None:
    held = marked.held[match["ratio"]]
    bound = held if isinstance(held, Bound) else Bound("==", held)
    groups = match.groupdict()
    pair = None if groups.get("pair") is None else marked.held[groups["pair"]]
    if pair is not None and not CLASSES["R"].match(match["ratio"]):
        said = pair.joint == ":" or (alone and pair.joint == "/") or _RATIO_WORD.search(match[0])
        if not said:
            return None
    if bound.number.percent:
        return None
    metals: Given = {} if pair is None else pair.given()
    if groups.get("m1") is not None:
        metals = {"M1": marked.held[groups["m1"]], "M2": marked.held[groups["m2"]]}
    return {**metals, "ratio": {"op": bound.op, "value": bound.number.value}}


def _metric_of(
    marked: MarkedSentence, metric: str, not_after: re.Pattern[str]
) -> Callable[[re.Match[str]], Metric | None]:
    def make(match: re.Match[str]) -> Metric:
        groups = match.groupdict()
        product = None if groups.get("product") is None else marked.held[groups["product"]]
        other = not_after.search(match.string[max(0, match.start() - 40) : match.start()]) is not None
        return Metric("other" if other else metric, product)

    return make


def _bounds(marked: MarkedSentence, words: Words) -> Iterator[dict[str, Any]]:
    """Yield each metric with a bound; {} for one whose meaning is uncertain."""
    for pattern in words.core:
        for match in pattern.finditer(marked.text):
            metric: Metric = marked.held[match["m"]]
            bound = marked.held[match["b"]] if match.groupdict().get("b") else None
            if bound is None:
                bound = Bound(marked.held.get(match["c"], ">="), marked.held[match["n"]])
            start = match.start()
            denied = words.single["denied"].search(marked.text[:start])
            if denied is not None:
                start, bound = denied.start(), Bound(_TURNED[bound.op], bound.number)
            test = _with_bound(metric.metric, _product(marked, metric), bound)
            yield _described(marked, words, test, (start, match.end()))


def _shares(marked: MarkedSentence, words: Words) -> Iterator[dict[str, Any]]:
    for row in words.rows["share"]:
        for match in row.pattern.finditer(marked.text):
            test = _with_bound("fraction", marked.held[match["product"]], marked.held[match["bound"]])
            yield _described(marked, words, test, match.span())


def _described(
    marked: MarkedSentence, words: Words, test: dict[str, Any] | None, span: tuple[int, int]
) -> dict[str, Any]:
    given = _surroundings(marked, words, span, CLASSES["G"].findall(marked.text))
    return {} if test is None or given is None else {**test, "given": given}


def _versus(marked: MarkedSentence, words: Words) -> Iterator[dict[str, Any]]:
    """Yield the first comparison with other runs."""
    named = marked.all("M")
    metrics = {one for one in named if one.metric == "activity" or one.product is not None}
    if len(metrics) != 1 or any(one.metric == "other" for one in named):
        return
    [metric] = metrics
    for row in words.rows["versus"]:
        for match in row.pattern.finditer(marked.text):
            told = [one for one in CLASSES["G"].findall(marked.text) if one != match["versus"]]
            given = _surroundings(marked, words, match.span(), told, within=match[0][1:])
            versus = marked.held[match["versus"]]
            if not given or given == versus:
                continue
            shared = {name: value for name, value in _fronted(marked, told).items() if given.get(name) == value}
            yield {
                "metric": metric.metric,
                **({} if metric.product is None else {"product": metric.product}),
                "op": _relation(marked, match),
                "versus": {**shared, **versus},
                "given": given,
            }
            return


def _relation(marked: MarkedSentence, match: re.Match[str]) -> str:
    groups = match.groupdict()
    if groups.get("op") is not None:
        return str(marked.held[groups["op"]])
    op = ">" if groups["a"] in _UPWARD else "<"
    if groups.get("than") == "没有":
        return "<" if op == ">" else ">"
    return _TURNED[op] if groups.get("than") == "不比" else op


def _fronted(marked: MarkedSentence, told: Sequence[str]) -> Given:
    """Return the description in a leading clause ("With Cu–Zn, …"); it holds for both sides of a comparison."""
    head, comma, _ = marked.text.partition(",")
    if not comma or CLASSES["M"].search(head):
        return {}
    return _merged([marked.held[one] for one in told if one in head]) or {}


def _surroundings(
    marked: MarkedSentence, words: Words, span: tuple[int, int], told: Sequence[str], *, within: str = ""
) -> Given | None:
    """Return the description in the rest of a sentence beside its comparison; None if part of it is not understood."""
    before, after = marked.text[: span[0]], marked.text[span[1] :]
    single = words.single
    if single["then"].search(after) or (words.language == "en" and _CLAUSE.search(before)):
        return None
    rest = "\n".join(CLASSES["G"].sub(" ", single["cue"].sub(" ", part)) for part in (before, after))
    if any(CLASSES[kind].search(rest) for kind in "ABCLNRX") or _DIGIT.search(rest):
        return None
    if single["unsure"].search(rest) or single["unsure"].search(CLASSES["G"].sub(" ", within)):
        return None
    return _merged([marked.held[one] for one in told])


def _with_bound(metric: str, product: str | None, bound: Bound) -> dict[str, Any] | None:
    if metric == "other" or (metric == "activity") != (product is None) or bound.number.value < 0:
        return None
    if bound.number.percent and metric != "fraction":
        return None  # a previous or hypothetical value, no amount
    named = {} if product is None else {"product": product}
    return {"metric": metric, **named, "op": bound.op, "value": bound.number.value}


def _product(marked: MarkedSentence, metric: Metric) -> str | None:
    """Return a metric's product; for an unqualified selectivity the one product that the sentence names."""
    if metric.product is not None or metric.metric != "fraction":
        return metric.product
    named = {marked.held[one] for one in CLASSES["P"].findall(marked.text)}
    return str(named.pop()) if len(named) == 1 else None


def _merged(givens: Sequence[Given]) -> Given | None:
    merged: Given = {}
    for given in givens:
        for name, value in given.items():
            if merged.setdefault(name, value) != value:
                return None
    return {name: merged[name] for name in ("M1", "M2", "modifier", "ratio") if name in merged}
