"""An answer of experience cut to a budget of tokens."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from phronesis.core.experience.answers import Answer
from phronesis.core.plain import as_json
from phronesis.errors import InputError

LISTS: Final = (
    "l1_evidence", "l2_patterns", "l3_principles", "recommended_attempts", "avoid", "excluded", "conflicts",
)  # fmt: skip
"""The members of an answer that are lists, each best first."""


def fit_answer(answer: Answer, budget: int, count: Callable[[str], int]) -> Answer:
    """Give the answer whose JSON takes at most ``budget`` tokens; ``left_out`` says how many of which list are missing.

    The list that takes most loses its last member first, so that advice outlives the events that it rests on.

    Raises:
        InputError: the budget is less than an answer takes that lists nothing.
    """
    if _size(answer, count) <= budget:
        return answer
    kept = {name: list(getattr(answer, name)) for name in LISTS}
    sizes = {name: [count(_dumped(one)) + 1 for one in members] for name, members in kept.items()}
    bare = _size(_cut(answer, {name: [] for name in LISTS}), count)
    if bare > budget:
        raise InputError(f"token_budget: {bare} tokens are taken by an answer that lists nothing", field="token_budget")
    while bare + sum(map(sum, sizes.values())) > budget or _size(_cut(answer, kept), count) > budget:
        longest = max(LISTS, key=lambda name: sum(sizes[name]))
        kept[longest].pop()
        sizes[longest].pop()
    return _cut(answer, kept)


def _cut(answer: Answer, kept: dict[str, list[object]]) -> Answer:
    missing = {name: len(getattr(answer, name)) - len(members) for name, members in kept.items()}
    left_out = {name: number for name, number in missing.items() if number}
    return replace(answer, **kept, left_out=left_out)  # type: ignore[arg-type]  # the names are those of its lists


def _size(answer: Answer, count: Callable[[str], int]) -> int:
    return count(_dumped(answer))


def _dumped(value: object) -> str:
    return json.dumps(as_json(value), ensure_ascii=False)
