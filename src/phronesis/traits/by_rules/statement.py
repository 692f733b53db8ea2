"""How a trait is put: one sentence about the user, in the language of what shows it."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from phronesis.traits.by_rules.memory_features import Code, MemoryFeatures, the_tables
from phronesis.traits.laws.records import GENERAL

MAX_LENGTH: Final = {"en": 80, "zh": 30}
"""Characters of a memory that a sentence about a trait repeats at most."""

LEAST_LENGTH: Final = {"en": 12, "zh": 4}
"""Characters of a clause that says something: a verb and an object."""

SHARED: Final = 0.5
"""Share of the members that must hold what a sentence says of them all."""

SITUATED: Final = 0.6
"""Share of the members that must show a situation for the sentence to name it."""

_CLAUSE: Final = re.compile(r"[,;:.!?]\s|[，。；：！？、!?]|\.$")
_SUBJECTS: Final = ("the user ", "user ", "i ", "用户", "我")
_OFTEN: Final = {"en": ("now often ", "often: ", "often ", "always "), "zh": ("现在经常", "经常：", "经常", "总是")}
_SOMETIMES: Final = {"en": "Sometimes ", "zh": "有时"}


def clause_of(text: str) -> str:
    """Return the first telling clause of a memory, without the user as its subject."""
    code: Code = "en" if text.isascii() else "zh"
    bare = " ".join(text.split())
    subject = next((one for one in _SUBJECTS if bare.lower().startswith(one)), "")
    parts = [part.strip() for part in _CLAUSE.split(bare[len(subject) :])]
    best = next((part for part in parts if len(part) >= LEAST_LENGTH[code]), max(parts, key=len))
    return best[: MAX_LENGTH[code]].strip() or text.strip()[: MAX_LENGTH[code]]


def soften(content: str, code: Code) -> str | None:
    """Return a trait in a lower degree ("Sometimes goes running"); None where it is in one already."""
    if content.startswith(_SOMETIMES[code]):
        return None
    lead = next((one for one in _OFTEN[code] if content.lower().startswith(one)), "")
    bare = content[len(lead) :]
    return f"{_SOMETIMES[code]}{bare[:1].lower()}{bare[1:]}"


def language_of(members: Sequence[MemoryFeatures]) -> Code:
    """Return the language that most members are in; Chinese where they are as many."""
    return "zh" if 2 * sum(one.code == "zh" for one in members) >= len(members) else "en"


def behaviours_of(members: Sequence[MemoryFeatures]) -> list[str]:
    """Return the behaviours that at least half of the members show, the commonest first."""
    counts = Counter(name for one in members for name in one.behaviours)
    return sorted(
        (name for name, count in counts.items() if count >= SHARED * len(members) and count > 1),
        key=lambda name: (-counts[name], name),
    )


def situation_of(members: Sequence[MemoryFeatures]) -> str | None:
    """Return the situation that most members name, the first of the table."""
    counts = Counter(name for one in members for name in one.situations)
    named = (name for name in the_tables().situations if counts[name] > 1 and counts[name] >= SITUATED * len(members))
    return next(named, None)


def context_of(members: Sequence[MemoryFeatures]) -> str:
    """Return where something shows: what its behaviours and its words say most often, general where they disagree."""
    tables = the_tables()
    votes: Counter[str] = Counter()
    for one in members:
        votes.update({tables.situations[name].context for name in one.situations} - {GENERAL})
    for name in behaviours_of(members)[:1]:
        votes[tables.fields[tables.behaviours[name].field].context] += len(members)
    ranked = sorted(votes.items(), key=lambda pair: (-pair[1], pair[0]))
    return ranked[0][0] if ranked and ranked[0][1] * 2 >= len(members) else GENERAL


def statement_of(members: Sequence[MemoryFeatures]) -> str:
    """Return the sentence: the behaviour that they share, else the clause of the member that shares most words."""
    code = language_of(members)
    for name in behaviours_of(members)[:1]:
        return trait_sentence(the_tables().behaviours[name].say[code], situation_of(members), code)
    counts = Counter(stem for one in members for stem in one.stems)
    clear = [one for one in members if one.code == code]
    best = min(clear, key=lambda one: (-sum(counts[stem] > 1 for stem in one.stems), len(one.text), one.at, one.id))
    clause = clause_of(best.text)
    return f"经常：{clause}" if code == "zh" else f"Often: {clause[:1].lower()}{clause[1:]}"


def trait_sentence(say: str, situation: str | None, code: Code) -> str:
    """Return a behaviour as a sentence, with when it shows."""
    when = "" if situation is None else the_tables().situations[situation].say[code]
    when = "" if shares_words(say, when, code) else when
    if code == "en":
        return f"Often {say} {when}".strip()
    return f"经常{when}{say}"


def shares_words(say: str, when: str, code: Code) -> bool:
    """Return whether a sentence would name one time twice: "goes to bed early before bed"."""
    if code == "zh":
        return not set(say).isdisjoint(set(when) - set("的时在上前"))
    return not set(say.lower().split()).isdisjoint(when.split())
