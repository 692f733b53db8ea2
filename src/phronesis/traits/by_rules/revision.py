"""A special reflection by rules: what is left of a trait that too much contradicts."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from phronesis.core.confidence import Grade
from phronesis.models.text_features import has_han
from phronesis.traits.by_rules.clusters import KnownTrait
from phronesis.traits.by_rules.memory_features import Code, MemoryFeatures, opposites_of, read, read_all, the_tables
from phronesis.traits.by_rules.similarity import MemorySimilarity
from phronesis.traits.by_rules.statement import (
    behaviours_of,
    clause_of,
    language_of,
    shares_words,
    soften,
    statement_of,
    trait_sentence,
)
from phronesis.traits.laws.records import MemoryInput, TraitContradiction, TraitInput, TraitRevision, TraitSide

# How good new evidence of a trait is (NM-06).


def sides_of(one: MemoryFeatures) -> frozenset[str]:
    """Return the sides of life that a memory shows: work, friends, family, study, home and so on."""
    situations = the_tables().situations
    return frozenset(name for name in one.situations if situations[name].side)


def grade_of(new: Sequence[MemoryFeatures], before: Sequence[MemoryFeatures]) -> Grade:
    """Return the grade: A where another side of life shows the same, B where the user says that it is a habit.

    C is what another session shows, D what one shows that showed it before.
    """
    old = {side for one in before for side in sides_of(one)}
    if old and any(sides_of(one) - old and not sides_of(one) & old for one in new):
        return "A"
    if any(one.habit for one in new):
        return "B"
    places = {one.place for one in before}
    return "C" if any(one.place not in places for one in new) else "D"


# Memories that say the opposite of a trait: it has ended, it is denied, or the opposite behaviour shows.

ABOUT: Final = 0.5
"""How alike on average to what shows a trait an ending is, to be about it where it names no behaviour of it."""

FEW_WORDS: Final = 6
"""A trait that so few words tell of is named by each of them."""


def contradictions_of(
    traits: Sequence[KnownTrait], readings: Sequence[MemoryFeatures], likeness: MemorySimilarity, fresh: Sequence[int]
) -> dict[str, list[int]]:
    """Return the new memories that contradict each trait, by the trait's id."""
    found: dict[str, list[int]] = {}
    for n in fresh:
        one = readings[n]
        if one.barred or one.apart:
            continue
        for known in traits:
            if n not in known.evidence and opposes(n, known, readings, likeness):
                found.setdefault(known.trait.id, []).append(n)
    return found


def opposes(n: int, known: KnownTrait, readings: Sequence[MemoryFeatures], likeness: MemorySimilarity) -> bool:
    """Return whether a memory says the opposite of a trait."""
    one = readings[n]
    shared = bool(one.behaviours & known.behaviours)
    words = len(one.stems & known.stems)
    about = (
        shared
        or words > 1
        or (words and len(known.stems) <= FEW_WORDS)
        or (bool(known.members) and likeness.mean(n, known.members) >= ABOUT)
    )
    if "ended" in one.marks and about:
        return True
    if known.opposites & one.behaviours and not shared:
        return "negated" not in one.marks
    return shared and "negated" in one.marks and not known.denied


def find_contradictions(found: dict[str, list[int]], readings: Sequence[MemoryFeatures]) -> list[TraitContradiction]:
    """Return the contradictions as wishes."""
    return [
        TraitContradiction(trait_id=trait, contradicting_evidence_ids=[readings[n].id for n in found[trait]])
        for trait in sorted(found)
    ]


MOSTLY: Final = 0.6
"""Share of one side's memories that show a situation for the side to be named by it."""

SELDOM: Final = 0.25
"""Share of the other side's that may show it all the same."""


def reconsider(
    trait: TraitInput, supporting: Sequence[MemoryInput], contradicting: Sequence[MemoryInput]
) -> TraitRevision:
    """Say what to make of a trait, seen what speaks for it and against it.

    Split, where the two lie in different situations; modify, where what took its place, or the degree, is said;
    dissolve, where it has ended or more speaks against it than for it. The content of a modified trait
    is never the old one.
    """
    pro, contra = read_all(supporting), read_all(contradicting)
    code: Code = "zh" if has_han(trait.content) else "en"
    return (
        _split(trait, pro, contra, code)
        or _replaced(trait, pro, contra, code)
        or _dissolved(pro, contra, code)
        or _softer(trait, code)
    )


def _split(
    trait: TraitInput, pro: Sequence[MemoryFeatures], contra: Sequence[MemoryFeatures], code: Code
) -> TraitRevision | None:
    here, there = _mark_of(pro, contra), _mark_of(contra, pro)
    if here is None or there is None or any("ended" in one.marks for one in contra):
        return None
    sides = [
        TraitSide(
            content=_sided(content, name, code),
            context=the_tables().situations[name].context,
            evidence_ids=[one.id for one in those],
        )
        for name, those, content in ((here, pro, trait.content), (there, contra, _opposite(pro, contra)))
    ]
    say = [the_tables().situations[name].say[code] for name in (here, there)]
    why = f"{say[0]}与{say[1]}不同" if code == "zh" else f"It differs {say[0]} and {say[1]}"
    return TraitRevision(action="split", reasoning=why, sides=sides)


def _mark_of(those: Sequence[MemoryFeatures], others: Sequence[MemoryFeatures]) -> str | None:
    """Return the situation that marks one side: most of its memories show it, and hardly any of the other."""
    situations = the_tables().situations
    counts = Counter(name for one in those for name in one.situations if situations[name].side)
    against = Counter(name for one in others for name in one.situations)
    marked = [
        name for name, count in counts.items() if count >= MOSTLY * len(those) and against[name] <= SELDOM * len(others)
    ]
    return min(marked, key=lambda name: (-counts[name], name), default=None)


def _sided(content: str, situation: str, code: Code) -> str:
    say = the_tables().situations[situation].say[code]
    if shares_words(content, say, code):
        return content
    return f"{say}：{content}" if code == "zh" else f"{content} {say}"


def _opposite(pro: Sequence[MemoryFeatures], contra: Sequence[MemoryFeatures]) -> str:
    """Say what the other side shows: the opposite behaviour where it is known, else what they share."""
    against = opposites_of(frozenset().union(*(one.behaviours for one in pro)))
    shown = Counter(name for one in contra for name in one.behaviours & against)
    code = language_of(contra)
    name = min(shown, key=lambda one: (-shown[one], one), default=None)
    return statement_of(contra) if name is None else trait_sentence(the_tables().behaviours[name].say[code], None, code)


def _replaced(
    trait: TraitInput, pro: Sequence[MemoryFeatures], contra: Sequence[MemoryFeatures], code: Code
) -> TraitRevision | None:
    """Take what the newest memory says instead, or the opposite behaviour that several of them show."""
    if not contra:
        return None
    said = read(MemoryInput(id=trait.id, content=trait.content, kind="fact", at=contra[-1].at))
    against = opposites_of(said.behaviours.union(behaviours_of(pro)))
    for name in behaviours_of(contra):
        if name in against:
            say = the_tables().behaviours[name].say[code]
            return _modified(trait, f"现在经常{say}" if code == "zh" else f"Now often {say}", code)
    latest = next((one for one in reversed(contra) if "instead" in one.marks), None)
    return None if latest is None else _modified(trait, clause_of(latest.text), latest.code)


def _modified(trait: TraitInput, content: str, code: Code) -> TraitRevision | None:
    if not content or content.strip() == trait.content.strip():
        return None
    why = "较新的记忆说法不同" if code == "zh" else "Newer memories say it differently"
    return TraitRevision(action="modify", reasoning=why, new_content=content)


def _dissolved(pro: Sequence[MemoryFeatures], contra: Sequence[MemoryFeatures], code: Code) -> TraitRevision | None:
    latest = max((one.at for one in pro), default=None)
    if any("ended" in one.marks and (latest is None or one.at >= latest) for one in contra):
        why = "较新的记忆表明已经不再如此" if code == "zh" else "A newer memory says that it has ended"
    elif len(contra) >= len(pro):
        why = "相反的记忆不少于支持的记忆" if code == "zh" else "No less speaks against it than for it"
    else:
        return None
    return TraitRevision(action="dissolve", reasoning=why)


def _softer(trait: TraitInput, code: Code) -> TraitRevision:
    """Say it in a lower degree; what is said so already is given up."""
    content = soften(trait.content, code)
    if content is None:
        why = "已无更弱的说法" if code == "zh" else "It cannot be said any weaker"
        return TraitRevision(action="dissolve", reasoning=why)
    why = "有些记忆与之相反" if code == "zh" else "Some memories say the opposite"
    return TraitRevision(action="modify", reasoning=why, new_content=content)
