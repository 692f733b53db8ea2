"""How a trait is put: one general sentence about the user, in the language of what shows it."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from phronesis.core.traits.seen import GENERAL
from phronesis.derive.reflecting.by_rules.reading import Reading
from phronesis.derive.reflecting.by_rules.tables import Code, the_tables
from phronesis.derive.reflecting.by_rules.wording import clause_of

SHARED: Final = 0.5
"""Share of the members that must hold what a sentence says of them all."""

SITUATED: Final = 0.6
"""Share of the members that must show a situation for the sentence to name it."""

_SAID: Final = ("before_work", "bedtime", "night", "morning", "evening", "weekend", "commute", "stress", "alone",
                "friends", "family")  # fmt: skip
"""Situations that a sentence names, the most telling first."""

_NO_OFTEN: Final = re.compile("^(?:容易|喜欢|习惯|爱|很|是|不)")
_NOW: Final = {"en": "Often", "zh": "经常"}


def language_of(members: Sequence[Reading]) -> Code:
    """Give the language that most members are in; Chinese where they are as many."""
    return "zh" if 2 * sum(one.code == "zh" for one in members) >= len(members) else "en"


def behaviours_of(members: Sequence[Reading]) -> list[str]:
    """Give the behaviours that at least half of the members show, the commonest first."""
    counts = Counter(name for one in members for name in one.behaviours)
    return sorted((name for name, count in counts.items() if count >= SHARED * len(members) and count > 1),
                  key=lambda name: (-counts[name], name))  # fmt: skip


def situation_of(members: Sequence[Reading]) -> str | None:
    """Give the most telling situation that most members name."""
    counts = Counter(name for one in members for name in one.situations)
    return next((name for name in _SAID if counts[name] > 1 and counts[name] >= SITUATED * len(members)), None)


def context_of(members: Sequence[Reading]) -> str:
    """Give where something shows: what its behaviours and its words say most often; general where they do not agree."""
    tables = the_tables()
    votes: Counter[str] = Counter()
    for one in members:
        votes.update({tables.situations[name].context for name in one.situations} - {GENERAL})
    for name in behaviours_of(members)[:1]:
        votes[tables.domains[tables.behaviours[name].domain].context] += len(members)
    ranked = sorted(votes.items(), key=lambda pair: (-pair[1], pair[0]))
    if not ranked or ranked[0][1] * 2 < len(members):
        return GENERAL
    return ranked[0][0]


def statement_of(members: Sequence[Reading]) -> str:
    """Give the sentence: by the behaviour that they share, else the shortest clear one without its details."""
    code = language_of(members)
    tables = the_tables()
    situation = situation_of(members)
    for name in behaviours_of(members)[:1]:
        return said(tables.behaviours[name].say[code], situation, code)
    counts = Counter(stem for one in members for stem in one.stems)
    clear = [one for one in members if one.code == code]
    best = min(clear, key=lambda one: (-sum(counts[stem] > 1 for stem in one.stems), len(one.text), one.at, one.id))
    return clause_of(best.text, code, often=True)


def said(say: str, situation: str | None, code: Code) -> str:
    """Give a behaviour as a sentence, with when it shows."""
    when = "" if situation is None else the_tables().situations[situation].say[code]
    if code == "en":
        return f"Often {say}" + (f" {when}" if when and not repeats(say, when) else "")
    if when and not repeats(say, when):
        return f"经常{when}{say}"
    return say if _NO_OFTEN.match(say) else f"经常{say}"


def repeats(say: str, when: str) -> bool:
    """Tell whether a sentence would name one time twice: "stays up late late at night"."""
    telling = set(re.findall(r"[a-z]{4,}|[\u4e00-\u9fff]", when)) - {
        "with",
        "when",
        "的",
        "时",
        "在",
        "上",
        "前",
        "and",
    }
    clocks = ("morning", "evening", "night", "early", "late", "bed", "break", "weekend", "after hours")
    timed = any(word in say for word in clocks) and any(word in when for word in ("morning", "evening", "night", "bed"))
    return timed or any(word in say for word in telling)
