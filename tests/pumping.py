"""Texts that make a regular expression work: what its own repeated parts match, said again and again."""

import inspect
import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import _lru_cache_wrapper
from re import _constants as ops
from re import _parser
from types import ModuleType
from typing import Any, Final

MANY: Final = 8
"""Times from which on a repeated part is looked into."""

_REPEATS: Final = (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT)
_OF_CATEGORY: Final = {
    "CATEGORY_DIGIT": "1",
    "CATEGORY_SPACE": " \n",
    "CATEGORY_WORD": "a1中",
    "CATEGORY_NOT_WORD": " .",
}
_USUAL: Final = " \n\ta1中.,\"'([{<-_/\\:"


def patterns_of(module: ModuleType) -> Iterator[re.Pattern[str]]:
    """Give the patterns that a module compiles: its own, those in its tables, and those of tables it loads once."""
    seen: set[int] = set()
    for value in list(vars(module).values()):
        if getattr(value, "__module__", module.__name__) != module.__name__ and not isinstance(value, re.Pattern):
            continue
        yield from _within(_loaded(value) if isinstance(value, _lru_cache_wrapper) else value, seen)


def _loaded(function: Any) -> list[Any]:
    needed = [one for one in inspect.signature(function).parameters.values() if one.default is one.empty]
    if not needed:
        return [function()]
    if len(needed) == 1 and needed[0].name in {"language", "code"}:
        return [function(code) for code in ("en", "zh")]
    return []


def _within(value: Any, seen: set[int]) -> Iterator[re.Pattern[str]]:
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, re.Pattern):
        if isinstance(value.pattern, str):
            yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _within(inner, seen)
    elif isinstance(value, list | tuple | set | frozenset):
        for inner in value:
            yield from _within(inner, seen)
    elif is_dataclass(value) and not isinstance(value, type):
        for one in fields(value):
            yield from _within(getattr(value, one.name, None), seen)


def pumps(pattern: re.Pattern[str], *, most: int) -> list[tuple[str, str]]:
    """Give beginnings and pieces to repeat behind them, at most so many, the same every time."""
    chance = random.Random(ascii(pattern.pattern))
    tree = _parser.parse(pattern.pattern, pattern.flags)
    repeated = list(_repeated(tree, "", chance))
    if not repeated:
        return []
    found = {("", char) for char in _USUAL}
    found |= {("", char) for char in re.sub(r"\\.", "", pattern.pattern) if not char.isalnum() and char.isprintable()}
    for before, part in repeated:
        for _ in range(2):
            piece = _sample(part, chance)
            found |= {(before, piece), ("", before + piece), ("", piece)}
    for _ in range(4):
        whole = _sample(tree, chance)
        found |= {("", whole), ("", whole[1:]), ("", whole[: len(whole) // 2]), (whole[:-1], whole[-1:])}
    usable = sorted((before[-80:], piece[:80]) for before, piece in found if piece)
    return chance.sample(usable, min(most, len(usable)))


def _repeated(tree: Any, before: str, chance: random.Random) -> Iterator[tuple[str, Any]]:
    for n, (op, given) in enumerate(tree):
        here = before + _sample(tree[:n], chance)
        if op in _REPEATS:
            if int(given[1]) >= MANY:
                yield here, given[2]
            yield from _repeated(given[2], here, chance)
        for part in _parts(op, given):
            yield from _repeated(part, here, chance)


def _parts(op: Any, given: Any) -> list[Any]:
    if op is ops.BRANCH:
        return list(given[1])
    if op is ops.ATOMIC_GROUP:
        return [given]
    place = {ops.SUBPATTERN: 3, ops.ASSERT: 1, ops.ASSERT_NOT: 1}.get(op)
    return [] if place is None else [given[place]]


def _sample(tree: Any, chance: random.Random) -> str:
    """Give a text that a parsed expression would match, but for what it looks around at."""
    return "".join(_one(op, given, chance) for op, given in tree)


def _one(op: Any, given: Any, chance: random.Random) -> str:
    if op is ops.LITERAL:
        return chr(given)
    if op is ops.NOT_LITERAL or op is ops.ANY:
        return "b" if given == ord("a") else "a"
    if op is ops.IN:
        return _member(given, chance)
    if op is ops.BRANCH:
        return _sample(chance.choice(given[1]), chance)
    if op is ops.SUBPATTERN:
        return _sample(given[3], chance)
    if op is ops.ATOMIC_GROUP:
        return _sample(given, chance)
    if op in _REPEATS:
        least, most, part = given
        times = min(int(most), least + chance.choice((0, 1, 2)), MANY)
        return "".join(_sample(part, chance) for _ in range(times))
    return ""


def _member(given: Any, chance: random.Random) -> str:
    if given[0][0] is ops.NEGATE:
        return next((char for char in "a .1中-x\n" if not any(_holds(one, char) for one in given[1:])), "é")
    op, value = chance.choice(given)
    if op is ops.RANGE:
        return chr(value[0])
    return chr(value) if op is ops.LITERAL else chance.choice(_OF_CATEGORY.get(str(value), "a"))


def _holds(one: tuple[Any, Any], char: str) -> bool:
    op, value = one
    if op is ops.LITERAL:
        return bool(ord(char) == value)
    if op is ops.RANGE:
        return bool(value[0] <= ord(char) <= value[1])
    return (
        re.match(
            {
                "CATEGORY_DIGIT": r"\d",
                "CATEGORY_SPACE": r"\s",
                "CATEGORY_WORD": r"\w",
                "CATEGORY_NOT_WORD": r"\W",
                "CATEGORY_NOT_SPACE": r"\S",
                "CATEGORY_NOT_DIGIT": r"\D",
            }[str(value)],
            char,
        )
        is not None
    )
