"""The limitation that code writes when a conclusion falls back and nobody said why (requirement RB-19)."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from phronesis.core.reasoning.facts import FactsView, excerpt
from phronesis.core.reasoning.records import Claim
from phronesis.core.reasoning.verdicts import measured

MAX_RUNS: Final = 3
"""Contradicting runs that are told, the latest; of more there is the number."""

MAX_NAME: Final = 60
"""Characters of a run's label, a product's or a run's name."""

_HAN: Final = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
# An alias such as [C12] must not come in by a name, and a name is one line.
_ROUND: Final = str.maketrans("[]【】［］〔〕\n\r\t", "()()()()   ")


def limitation_from(claim: Claim, contradicting: Sequence[FactsView], test: Mapping[str, Any] | None = None) -> str:
    """Say in which runs a claim did not hold, in its own language, Chinese or English: what was, no advice.

    ``contradicting`` are in learn order, one at least; ``test`` is what they were judged by, None where a model did.
    The names of runs, modifiers and products are as people gave them; where the gate takes offence at one,
    `plain_limitation` has none.
    """
    test = test if test is not None else claim.test
    chinese = _is_chinese(claim)
    say, joint, end = (_in_chinese, "；", "。") if chinese else (_in_english, "; ", ".")
    shown = contradicting[-MAX_RUNS:]
    parts = [say(_name(view.run_id), _name(view.label), _measure(view, test)) for view in shown]
    more = len(contradicting) - len(shown)
    if more:
        parts.append(f"另有 {more} 次运行" if chinese else f"and in {more} more")
    text = joint.join(parts) + end
    return text if chinese else f"Not held {text}"


def plain_limitation(claim: Claim, runs: int) -> str:
    """Say in how many runs a claim did not hold, without a name that somebody gave: lawful whatever the names are."""
    if _is_chinese(claim):
        return f"在 {runs} 次运行中不成立。"
    return f"Not held in {runs} {'run' if runs == 1 else 'runs'}."


def _is_chinese(claim: Claim) -> bool:
    return _HAN.search("".join((claim.inference, claim.constraint, *claim.conditions))) is not None


def _in_english(run_id: str, label: str, measure: tuple[str, str | None, str] | None) -> str:
    where = f"in run {run_id}" + (f" ({label})" if label else "")
    if measure is None:
        return where
    metric, product, number = measure
    return f"{where}: {metric} of {product} {number}" if product else f"{where}: total activity {number}"


def _in_chinese(run_id: str, label: str, measure: tuple[str, str | None, str] | None) -> str:
    where = f"在运行 {run_id}" + (f"（{label.replace(', ', '，')}）" if label else " ") + "中不成立"
    if measure is None:
        return where
    metric, product, number = measure
    if product is None:
        return f"{where}：总活性为 {number}"
    gap = " " if product[-1:].isascii() else ""
    return f"{where}：{product}{gap}的{'占比' if metric == 'fraction' else '数值'}为 {number}"


def _measure(view: FactsView, test: Mapping[str, Any] | None) -> tuple[str, str | None, str] | None:
    if test is None:
        return None
    number = measured(view, test["metric"], test.get("product"))
    if number is None:
        return None
    product = test.get("product")
    return test["metric"], None if product is None else _name(product), f"{number:.6g}"


def _name(text: str) -> str:
    return excerpt(text.translate(_ROUND), MAX_NAME)
