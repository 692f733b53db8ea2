"""Groups into which memories fall by an encoder: which there are, and which of them show one behaviour."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import ceil, log2
from typing import Final

import numpy as np

from phronesis.core.confidence import Grade
from phronesis.traits.laws.records import MemoryInput, TraitInput
from phronesis.traits.laws.strength import MIN_MEMORIES
from phronesis.traits.memory_features import STATED, MemoryFeatures, behaviours_of, opposites_of, read, the_tables
from phronesis.traits.similarity import MemorySimilarity

# Which trait a memory belongs to: as the memories that show the trait, and its sentence, say.

FEW: Final = 16
SURE: Final = 2.0
"""Memories up to which what is usual is not known well enough to tell that one fits a trait; until then a behaviour
that the tables name for sure is enough, and this is how well it fits. On labelled users no figure moved."""

MOST_COMPARED: Final = 24
"""Memories of a trait that a new one is compared with: the latest."""

MOST_OF: Final = 2 / 3
"""Share of what shows a trait that a memory must be like, where an encoder looks."""

MISFIT: Final = 0.4
"""How alike what shows a trait must be to `MOST_OF` the rest, not to be free for another: of a trait that was begun
with two memories of one behaviour and one of another, both may go on. On the readable labelled users recall rose by
.02, and by as much with `MOST_OF`, with precision as it was."""

_NO_TIME: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownTrait:
    """A trait that lives: its sentence as a reading, the places of the memories that show it, and its behaviours."""

    trait: TraitInput
    said: MemoryFeatures
    members: Sequence[int]
    evidence: frozenset[int]
    behaviours: frozenset[str]
    stems: frozenset[str]
    opposites: frozenset[str]
    denied: bool


def known_traits(traits: Sequence[TraitInput], readings: Sequence[MemoryFeatures]) -> list[KnownTrait]:
    """Read the traits."""
    places = {one.id: n for n, one in enumerate(readings)}
    found = []
    for trait in traits:
        said = read(MemoryInput(id=trait.id, content=trait.content, kind="fact", at=_NO_TIME))
        members = sorted({places[one] for one in trait.supporting if one in places})
        against = {places[one] for one in trait.contradicting if one in places}
        shown = [readings[n] for n in members]
        counts = Counter(stem for one in shown for stem in one.stems)
        behaviours = frozenset([*said.behaviours, *behaviours_of(shown)])
        found.append(
            KnownTrait(
                trait=trait,
                said=said,
                members=members[-MOST_COMPARED:],
                evidence=frozenset(against.union(members)),
                behaviours=behaviours,
                opposites=opposites_of(behaviours),
                denied="negated" in said.marks or 2 * sum("negated" in one.marks for one in shown) > len(shown),
                stems=said.stems | {stem for stem, count in counts.items() if count > 1},
            )
        )
    return found


def similarity_to_trait(
    n: int, known: KnownTrait, readings: Sequence[MemoryFeatures], likeness: MemorySimilarity
) -> float:
    """Return how well a memory fits a trait: how alike it is to what shows it, or by the sentence alone.

    Where an encoder looks it is like most of that too, not on average alone: what fits one half of a trait that was
    begun with memories of two behaviours would make it no better.
    """
    one = readings[n]
    if known.members:
        mean = likeness.mean(n, known.members)
        holds = {"ended", "negated"}.isdisjoint(one.marks) and not one.behaviours.isdisjoint(known.behaviours)
        if likeness.by_words:
            return mean
        return SURE if holds and len(readings) < FEW else min(mean, _like_most(n, known.members, likeness))
    return float(bool(one.behaviours & known.behaviours)) or 0.4 * len(one.stems & known.stems)


def dissimilar_memories(known: KnownTrait, likeness: MemorySimilarity) -> frozenset[int]:
    """Return what shows a trait and is not like most of the rest; nothing where words alone are compared."""
    if likeness.by_words or len(known.members) < MIN_MEMORIES:
        return frozenset()
    others = {n: [other for other in known.members if other != n] for n in known.members}
    return frozenset(n for n in known.members if _like_most(n, others[n], likeness) < MISFIT)


def _like_most(n: int, others: Sequence[int], likeness: MemorySimilarity) -> float:
    """Return how alike a memory is, at least, to the `MOST_OF` others that are most like it."""
    alike = np.sort(likeness.alike[n, list(others)])[::-1]
    return float(alike[ceil(MOST_OF * len(alike) - 1e-9) - 1])


NEAR: Final = 0.3
"""How alike on average two groups are that are still looked at as one."""

SMALL: Final = 3
LARGE: Final = 6
TWICE_AS_MANY: Final = 0.5
"""The least group, the one from which on more memories make no difference, and how much more alike those of one must be
that is twice as large: three and three may be two behaviours taken for one. Fitted with `ONE_FIELD` by logistic
regression on the groups of the readable labelled users, each author's judged by those of the others."""

ONE_FIELD: Final = 0.2
"""How much less alike they may be that the tables know to be of one field of life; less where only some are."""

SHOWS: Final = 0.1
SURE_GROUP: Final = 3.0
"""How much less alike they may be for each unit of the log odds that they show a behaviour, on average; beyond `SURE`
more make no difference."""

STRAY: Final = 0.85
"""How alike the weakest member is at least, as a share of what the others are on average.

On six readable sets of labelled users nothing from .7 to .95 changed what was found, and half of the memories of
sensitive matters that nobody had recognised as such fell out of the evidence."""


@dataclass(frozen=True, slots=True)
class Group:
    """Places of memories, and how alike each two of them are on average."""

    members: Sequence[int]
    alike: float


def average_linkage(likeness: MemorySimilarity, free: Sequence[bool]) -> list[Group]:
    """Return every group that forms when memories are joined one after the other, those most alike on average first.

    It is average linkage (Sokal & Michener 1958), the whole of two groups compared at every step; what is near nothing
    is left out before. A group holds those it was made of. Time goes with the square of those that are near something.
    """
    places = np.flatnonzero(np.array(free, np.bool_))
    alike = likeness.alike[np.ix_(places, places)]
    alike = np.round((alike + alike.T) / 2, 4)
    np.fill_diagonal(alike, -np.inf)
    near = np.flatnonzero(alike.max(axis=1, initial=-np.inf) >= NEAR)
    alike, places = alike[np.ix_(near, near)], places[near]
    groups = {n: [int(place)] for n, place in enumerate(places)}
    total = dict.fromkeys(groups, 0.0)  # of all pairs in each
    found: list[Group] = []
    bound = alike.max(axis=1, initial=-np.inf)  # of what each is most like: an average is never above its parts
    while len(groups) > 1 and bound.max() >= NEAR:
        one = int(bound.argmax())  # the earliest of those that are as alike: memories stand in the order of time
        other = int(alike[one].argmax())
        if alike[one, other] < bound[one]:
            bound[one] = alike[one, other]
            continue
        sizes = len(groups[one]), len(groups[other])
        total[one] += total[other] + float(alike[one, other]) * sizes[0] * sizes[1]
        mean = np.round((sizes[0] * alike[one] + sizes[1] * alike[other]) / sum(sizes), 6)
        mean[[one, other]] = -np.inf
        alike[one], alike[:, one] = mean, mean
        alike[other], alike[:, other] = -np.inf, -np.inf
        bound = np.maximum(bound, mean)
        bound[[one, other]] = mean.max(), -np.inf
        groups[one] += groups.pop(other)
        size = len(groups[one])
        found.append(Group(sorted(groups[one]), total[one] / (size * (size - 1) / 2)))
    return found


def largest_groups(groups: Iterable[Group], holds: Callable[[Group], bool]) -> list[Group]:
    """Return the groups that hold together and are in no larger one that does, of groups in the order they formed."""
    taken: set[int] = set()
    found = []
    for one in reversed(list(groups)):
        if taken.isdisjoint(one.members) and holds(one):
            taken.update(one.members)
            found.append(one)
    return sorted(found, key=lambda group: group.members[0])


def group_score(group: Group, readings: Sequence[MemoryFeatures]) -> float:
    """Return how alike the members of a group are, more and less as its size, the tables and their odds say."""
    size = min(len(group.members), LARGE)
    shown = sum(min(max(readings[n].odds, -SURE_GROUP), SURE_GROUP) for n in group.members) / len(group.members)
    field = ONE_FIELD * _one_field(group, readings)
    return group.alike + field + SHOWS * shown - TWICE_AS_MANY * log2(size / SMALL)


def drop_outliers(members: Sequence[int], likeness: MemorySimilarity) -> list[int]:
    """Leave out, one after the other, those that are less alike to the rest than `STRAY` says; three are left."""
    kept = sorted(members)
    while len(kept) > SMALL:
        alike = {n: likeness.mean(n, [other for other in kept if other != n]) for n in kept}
        weakest = min(kept, key=lambda n: (alike[n], n))
        if alike[weakest] * (len(kept) - 1) >= STRAY * (sum(alike.values()) - alike[weakest]):
            break
        kept.remove(weakest)
    return kept


def _one_field(group: Group, readings: Sequence[MemoryFeatures]) -> float:
    """Return the share of the members that the tables know to be of the commonest field of life."""
    tables = the_tables()
    fields = [{tables.behaviours[name].field for name in readings[n].behaviours} for n in group.members]
    named = set().union(*fields)
    return max((sum(name in one for one in fields) for name in named), default=0) / len(fields)


MIN_PLACES: Final = 3
"""Sessions that a behaviour shows in: what is said again and again in one is one occasion, and three are asked for."""

MAX_MEMBERS: Final = 40
"""Memories that a new trait cites; there may be thousands, and forty show it."""


def is_recurring(members: Sequence[MemoryFeatures]) -> bool:
    """Return whether memories show something often enough: `MIN_MEMORIES` of what was done, or is said to be so.

    What is so ("the salsa is too sweet") does not make what was done twice ("salsa last night") a habit, unless it
    says that it is one. What is so has to name one behaviour. They are of `MIN_PLACES` sessions.
    """
    done = sum(one.kind not in STATED or one.habit for one in members)
    enough = done >= MIN_MEMORIES or (len(members) - done >= MIN_MEMORIES and bool(behaviours_of(members)))
    return enough and len({one.place for one in members}) >= MIN_PLACES


def most_central(members: Sequence[int], likeness: MemorySimilarity) -> list[int]:
    """Return the `MAX_MEMBERS` that are most like the others, in their order."""
    if len(members) <= MAX_MEMBERS:
        return list(members)
    kept = set(sorted(members, key=lambda n: -round(likeness.mean(n, members), 4))[:MAX_MEMBERS])
    return [n for n in members if n in kept]


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
    enough = 1 if len(known.stems) <= FEW_WORDS else 2
    named = shared or len(one.stems & known.stems) >= enough
    if "ended" in one.marks and (named or (known.members and likeness.mean(n, known.members) >= ABOUT)):
        return True
    if known.opposites & one.behaviours and not shared:
        return "negated" not in one.marks
    return shared and "negated" in one.marks and not known.denied
