"""Read the comparison that a claim's text states as a ``test``: "the selectivity of formate is at least 0.60".

A sentence is split into terms (``comparison_terms``). It must hold nothing else, and state one metric with one bound,
or compare one metric with other runs.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from phronesis.reasoning.comparison_terms import Given, Term, merge_givens, read_terms

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
