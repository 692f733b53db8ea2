"""Clauses that are read together, and whom the next ones are about: what one clause says of those beside it."""

from collections.abc import Iterator, Sequence
from typing import Final

from phronesis.core.proposals import Proposal
from phronesis.derive.extracting.cast import PEOPLE, Cast, Spoken
from phronesis.derive.extracting.clauses import MASK, Clause, Sentence
from phronesis.derive.extracting.tables import Language, Matched

MAX_TOGETHER: Final = 160
"""Characters of clauses that are read together."""

_NAMES_SOMEBODY: Final = (PEOPLE - {"pet"}) | {"name"}


def together(sentence: Sentence, found: Sequence[Clause]) -> Iterator[tuple[int, Sequence[Clause], Clause]]:
    """Give two or three clauses of a sentence as one: the place of the first among them, the parts and the whole."""
    for first in range(len(found) - 1):
        for count in (2, 3):
            parts = found[first : first + count]
            bare = ", ".join(one.bare for one in parts)
            if len(parts) < count or len(bare) > MAX_TOGETHER or len(bare.lower()) != len(bare):
                continue
            start, end = parts[0].start, parts[-1].end
            raw = sentence.raw[start - sentence.start : end - sentence.start]
            if MASK not in raw:
                yield first, parts, Clause(start, end, raw, bare, bare, ())


def turn(cast: Cast, spoken: Spoken, matched: Matched, *, subject: str, act: str, language: Language) -> None:
    """Note whom and what the next words are about, behind something said of a subject."""
    people = not PEOPLE.isdisjoint(matched.slots)
    of_person = (
        spoken.names or not _NAMES_SOMEBODY.isdisjoint(matched.slots)
        if language.grammar.drops_subjects
        else people and matched.begins == 0  # "Bernadette is my twin, lives out in Perth"
    )
    cast.subject = cast.person if of_person and cast.person else subject
    of_thing = spoken.thing or (matched.pattern.kind == "fact" and "subject" in matched.slots)
    cast.thing = subject if of_thing else cast.thing
    if "attribute" not in matched.slots:
        return
    who, start, end = matched.slots["attribute"]
    if spoken.thing and matched.pattern.proper and matched.begins == start == 0:
        cast.subject = cast.person = spoken.text[:end]  # "Lena maintains the billing service and lives in Graz"
    if act == "assert" and language.gates["in_charge"].match(matched.slots.get("word", ("",))[0]):
        cast.subject = cast.person = who  # 负责人是赵敏，邮箱是zhao@a.example


def is_partner(subject: str, cast: Cast, told: Sequence[Proposal], language: Language) -> bool:
    """Tell whether somebody is the speaker's partner, by a relation's word or by what was just proposed."""
    said = any((one.subject, one.key, one.value) == (cast.speaker, "partner", subject) for one in told)
    return language.grammar.drops_subjects and (said or language.relations.get(subject) == "partner")


def whole_of(subject: str, spoken: Spoken, told: Sequence[Proposal], *, begun: int, language: Language) -> str:
    """Give the thing of ours that was spoken of just before, where a subject is but a part of it.

    我们的后端用Go，日志保留九十天: what is kept are the back end's. ``begun`` is where the sentence did.
    """
    own = language.text["own"]
    last = told[-1] if told and spoken.thing and language.text["part_of_it"].match(subject) else None
    if last is None or own.search(spoken.text) or own.search(last.quote) is None:
        return subject
    return last.subject if last.start >= begun and last.kind == "fact" else subject
