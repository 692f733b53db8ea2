"""What is left of proposals once more of a message is read: whose they are, and what was no such thing."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from phronesis.conversation.extracting.cast import PEOPLE, SubjectReference
from phronesis.conversation.extracting.clauses import MASK, Clause, clauses, language_of, mask_message, sentences
from phronesis.conversation.extracting.gate import count_statements, message_rule, own_words, sentence_rule
from phronesis.conversation.extracting.tables import Language, PatternMatch
from phronesis.core.calendar_spans import parse_number
from phronesis.core.proposals import Proposal
from phronesis.core.values import normal_value
from phronesis.recall.asked_keys.finding import key_asked

_OF_ANYBODY: Final = frozenset(
    {
        "age",
        "job",
        "gender",
        "health",
        "diet",
        "allergy",
        "hometown",
        "home_city",
        "nationality",
        "skill",
        "school",
        "field_of_study",
        "employer",
        "language",
        "hobby",
        "life_event",
        "likes",
        "dislikes",
        "address",
        "phone",
        "email",
        "timezone",
        "birthday",
    }
)
"""Keys of which a clause without a subject may be of whom the messages before spoke of."""

_LONG_DEAD: Final = re.compile(r"(?<!\d)1[0-8]\d\d(?!\d)")
"""A year in which nobody was born whom a speaker knows."""

_NEAR: Final = 40
"""Characters between two values of which one holds the other, for them to be the same thing said again."""

_GROWN: Final = 14
"""Years: who is younger, and speaks, says whose age it is."""


def told_of_others(matched: PatternMatch, parts: Sequence[Clause]) -> set[int]:
    """Return where those clauses begin whose words are said of the subject that a match over several names."""
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
    """Return whether an age is the day of a month: 五月二十."""
    if one.key != "age" or not one.value:
        return False
    before, _, after = one.quote.partition(one.value)
    return language.text["month"].search(before) is not None and language.text["years"].match(after) is None


def is_of_others(key: str, value: str, spoken: SubjectReference, language: Language, *, own: bool) -> bool:
    """Return whether an age or a birthday is not of whom it seems to be said; ``own``: it seems to be the speaker's."""
    if key == "birthday":
        return _LONG_DEAD.search(value) is not None  # "Jane Austen was born on 16 December 1775"
    small = spoken.elided and own and _is_small(value, language)  # 布偶，六岁: a pet's, or a child's
    return key == "age" and (small or language.text["so_many"].match(spoken.text) is not None)  # "we are five"


def said_before(same: Iterable[Proposal], form: str, value: str, start: int) -> bool:
    """Return whether one of the proposals of the same key holds a value already, or shortly before a part of it."""
    normal = normal_value(form, value)
    for one in same:
        other = None if one.value is None else normal_value(form, one.value)
        if other is not None and (
            normal == other
            or (one.start <= start and (normal in other or other in normal) and start - one.end <= _NEAR)
        ):
            return True
    return False


def _is_small(age: str, language: Language) -> bool:
    """Return whether an age is that of somebody who does not write."""
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


# Messages that are nothing but a value: "Welder.", "Berlin", 素食.

_TURNED: Final = {"your": "my", "you": "I", "are you": "am I", "你": "我", "您": "我"}
_YOU: Final = re.compile(r"\b(?:are you|your|you)\b|[你您]", re.IGNORECASE)
"""Who is asked, as who would ask it of themselves: so the tables of questions read it."""


def is_fragment(one: Proposal, text: str) -> bool:
    """Return whether a message holds nothing but the value of what is proposed of it."""
    return one.kind == "profile" and one.act == "assert" and one.value is not None and _signs(one.value) == _signs(text)


def answers(one: Proposal, before: Mapping[str, Any] | None) -> bool:
    """Return whether the message before is the assistant's, and asks the user for what is proposed."""
    said = (before or {}).get("content")
    if before is None or before.get("role") != "assistant" or not isinstance(said, str):
        return False
    asked = key_asked(_YOU.sub(lambda match: _TURNED[match[0].lower()], said))
    return asked is not None and asked.about == "user" and asked.related is None and one.key in asked.keys


def _signs(text: str) -> str:
    return "".join(sign for sign in text.casefold() if sign.isalnum())


# What the rules have against a quotation that somebody else proposes to learn from: it asks, supposes or quotes.


def objection(text: str, start: int, end: int, languages: Mapping[str, Language]) -> str | None:
    """Return the rule by which the words of a message at [start, end) state nothing; None: they may."""
    mask = own_words(mask_message(text), languages)
    if MASK in mask.text[start:end]:
        return "code" if mask.code else "quotation"
    language = language_of(mask.text, languages)
    whole = message_rule(mask.text.lower(), language)
    if whole is not None:
        return whole
    for sentence in sentences(mask.text, language):
        if sentence.end <= start or sentence.start >= end:
            continue
        language = language_of(sentence.raw, languages)
        rule = sentence_rule(sentence.raw.lower(), language)
        if rule is not None:
            return rule
        found = clauses(sentence, (), language)
        if any(
            start < clause.end and clause.start < end for clause in found[count_statements(sentence, found, language) :]
        ):
            return "question"
    return None
