"""What is left of proposals once more of a message is read: whose they are, and what was no such thing."""

import re
from collections.abc import Sequence
from typing import Final

from phronesis.core.numerals import parse_number
from phronesis.core.proposals import Proposal
from phronesis.derive.extracting.cast import PEOPLE, Spoken
from phronesis.derive.extracting.clauses import Clause
from phronesis.derive.extracting.tables import Language, Matched

_OF_ANYBODY: Final = frozenset({
    "age", "job", "gender", "health", "diet", "allergy", "hometown", "home_city", "nationality", "skill", "school",
    "field_of_study", "employer", "language", "hobby", "life_event", "likes", "dislikes", "address", "phone", "email",
    "timezone", "birthday",
})  # fmt: skip
"""Keys of which a clause without a subject may be of whom the messages before spoke of."""

_LONG_DEAD: Final = re.compile(r"(?<!\d)1[0-8]\d\d(?!\d)")
"""A year in which nobody was born whom a speaker knows."""

_GROWN: Final = 14
"""Years: who is younger, and speaks, says whose age it is."""


def told_of_others(matched: Matched, parts: Sequence[Clause]) -> set[int]:
    """Give where those clauses begin whose words are said of the subject that a match over several names."""
    if "subject" not in matched.slots:
        return set()
    places = [start for slot, (_, start, _) in matched.slots.items() if slot != "subject"]
    found, end = set(), 0
    for part in parts:
        begun, end = end, end + len(part.bare) + len(", ")
        if any(begun <= place < end for place in places):
            found.add(part.start)
    return found


def is_day(one: Proposal, language: Language) -> bool:
    """Tell whether an age is the day of a month: 五月二十."""
    if one.key != "age" or not one.value:
        return False
    before, _, after = one.quote.partition(one.value)
    return language.text["month"].search(before) is not None and language.text["years"].match(after) is None


def is_of_others(key: str, value: str, spoken: Spoken, language: Language, *, own: bool) -> bool:
    """Tell whether an age or a birthday is not of whom it seems to be said; ``own``: it seems to be the speaker's."""
    if key == "birthday":
        return _LONG_DEAD.search(value) is not None  # "Jane Austen was born on 16 December 1775"
    small = spoken.elided and own and _is_small(value, language)  # 布偶，六岁: a pet's, or a child's
    return key == "age" and (small or language.text["so_many"].match(spoken.text) is not None)  # "we are five"


def _is_small(age: str, language: Language) -> bool:
    """Tell whether an age is that of somebody who does not write."""
    number = parse_number(language.text["unit_of_age"].sub("", age))
    return number is not None and number < _GROWN


def without_unnamed(kept: list[Proposal], said: str, speaker: str, language: Language) -> list[Proposal]:
    """Take back what is said of nobody before "he" is spoken of, whom nobody named: 摄影师，汕尾，下回找他.

    He is whom the messages before spoke of, and so is who those clauses are about.
    """
    him = language.gates["of_him"].search(said)
    if him is None:
        return kept
    if any(one.key in PEOPLE or one.subject != speaker for one in kept):
        return kept
    own = language.text["own"]
    return [one for one in kept if one.key not in _OF_ANYBODY or one.end > him.end() or own.search(one.quote)]
