"""No regular expression of the package takes time by the square of what it reads."""

import importlib
import pkgutil
import re
from collections.abc import Mapping
from functools import partial
from types import ModuleType
from typing import Final

import pytest

import phronesis
from growth import STEP, compare, cost_of
from phronesis.errors import MissingExtra
from pumping import patterns_of, pumps

LENGTH: Final = 6_400
PUMPS: Final = 24
WORTH_A_LOOK: Final = 0.02
"""Seconds from which on the cost of a text is compared with that of a shorter one."""

NOT_YET: Final = ("phronesis.experience.sources",)
"""Readers of logs, which are given single lines."""

BOUNDED: Final[Mapping[str, int]] = {
    "core.redaction": 512,  # _LONGEST: a value; what stands before a name is given in less
    "core.personal_numbers": 48,  # _REACH: the words before a number
    "reasoning.comparison": 2_000,  # MAX_READ: one sentence of an inference
    "experience.laws.outcome_labels": 4_000,  # _READ
    "recall.intent": 4_000,  # MAX_READ
    "recall.plan_queries": 4_000,  # the same
}
"""By the beginning of a module's name, the characters that its expressions are given at most.

So far the cost may go with the square of the length.
"""

MODULES: Final = sorted(
    one.name
    for one in pkgutil.walk_packages(phronesis.__path__, "phronesis.")
    if not one.ispkg
    and not one.name.startswith((*NOT_YET, "phronesis_benchmarks"))
    and not one.name.endswith("__main__")
)


@pytest.mark.slow
def test_the_time_of_an_expression_goes_with_the_length_of_its_text() -> None:
    seen = set[re.Pattern[str]]()
    for name in MODULES:
        short = name.removeprefix("phronesis.")
        length = next((most for start, most in BOUNDED.items() if short.startswith(start)), None)
        for pattern in set(patterns_of(_import(name))) - seen:
            _hold(pattern, LENGTH if length is None else length, power=1 if length is None else 2)
            seen.add(pattern)


def _import(name: str) -> ModuleType:
    """Import a module; of an adapter without its framework, return an empty one."""
    try:
        return importlib.import_module(name)
    except (ModuleNotFoundError, MissingExtra):
        if not name.startswith("phronesis.adapters."):
            raise
        return ModuleType(name)


def _hold(pattern: re.Pattern[str], length: int, *, power: int = 1) -> None:
    for before, piece in pumps(pattern, most=PUMPS):
        for end in ("", "\x01"):
            made = partial(_made, before, piece, end)
            if cost_of(partial(pattern.search, made(length))) > WORTH_A_LOOK * 10 ** (power - 1):
                try:
                    compare(pattern.search, made, (length // STEP, length), STEP**power)
                except AssertionError as error:
                    raise AssertionError(f"{pattern.pattern!r:.200} on {before!r}, {piece!r} again: {error}") from error


def _made(before: str, piece: str, end: str, length: int) -> str:
    return (before + piece * (length // len(piece)))[:length] + end
