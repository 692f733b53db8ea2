"""What the slots of a matched pattern hold, each with the row of memory types that it is a value of."""

from typing import Final

from phronesis.derive.extracting.cast import Spoken
from phronesis.derive.extracting.clauses import Clause, with_names, with_times
from phronesis.derive.extracting.memory_types import MemoryType, MemoryTypes
from phronesis.derive.extracting.slots import TIMED, capital_part, values_of
from phronesis.derive.extracting.tables import Language, Matched

_NO_VALUES: Final = frozenset({"subject", "word"})
_DIGITS: Final = "0123456789"

_SMALL: Final = frozenset({"job", "field_of_study", "skill", "age"})
"""Keys whose values begin with no capital, whatever the pattern asks of the rest."""

_FIRMS: Final = frozenset({"employer", "school"})
"""Keys of names that end where the words begin to be small."""

Filled = tuple[str, MemoryType, list[str]]
"""The key of a slot, its row, and the values that it holds."""


def filled(
    clause: Clause, spoken: Spoken, *, matched: Matched, language: Language, types: MemoryTypes, thing: str | None,
    small: bool,
) -> list[Filled]:  # fmt: skip
    """Give what the slots of a match hold; nothing unless every one of them holds what it should.

    ``thing`` is what was spoken of last, ``small`` tells that the message is written without capitals.
    """
    found: list[Filled] = []
    for slot, (_, start, end) in matched.slots.items():
        key = slot.rstrip(_DIGITS)
        known = slot not in _NO_VALUES and not slot.startswith("old_")
        row = types.find(key, matched.pattern.kind) if known else None
        if row is None:
            continue
        if spoken.elided and spoken.subject == thing:
            row = types.find(row.key, "fact") or row  # a thing uses, it does not prefer
        surface = spoken.text[start:end]
        if spoken.topic and language.text["bare_verb"].match(surface):
            surface += spoken.topic  # 黄山我不打算去了: where to stands before
        surface = with_names(surface, clause.times, language)
        surface = with_times(surface, clause) if row.key in TIMED or row.kind == "decision" else surface
        values = values_of(row, surface, language, small=small, free=matched.pattern.free)
        proper = matched.pattern.proper and row.key not in _SMALL
        if not values or (proper and not values[0][:1].isupper()):
            return []
        if proper and row.key in _FIRMS and not small:
            values = [capital_part(one) for one in values]  # "Kestrel Logistics three days a week"
        found.append((key, row, values))
    return found
