"""Groups into which memories fall by an encoder: which there are, and which of them show one behaviour."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import log2
from typing import Final

import numpy as np

from phronesis.derive.reflecting.by_rules.likeness import Likeness
from phronesis.derive.reflecting.by_rules.reading import Reading
from phronesis.derive.reflecting.by_rules.tables import the_tables

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
SURE: Final = 3.0
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


def linked(likeness: Likeness, free: Sequence[bool]) -> list[Group]:
    """Give every group that forms when memories are joined one after the other, those most alike on average first.

    It is average linkage (Sokal & Michener 1958), the whole of two groups compared at every step; what is near nothing
    is left out before. A group holds those it was made of. Time goes with the square of those that are near something.
    """
    places = np.flatnonzero(np.array(free, np.bool_))
    alike = np.zeros((len(places), len(places)), np.float32)
    for n, place in enumerate(places):
        alike[n] = likeness.row(int(place))[places]
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


def largest(groups: Iterable[Group], holds: Callable[[Group], bool]) -> list[Group]:
    """Give the groups that hold together and are in no larger one that does, of groups in the order they formed."""
    taken: set[int] = set()
    found = []
    for one in reversed(list(groups)):
        if taken.isdisjoint(one.members) and holds(one):
            taken.update(one.members)
            found.append(one)
    return sorted(found, key=lambda group: group.members[0])


def worth(group: Group, readings: Sequence[Reading]) -> float:
    """Give how alike the members of a group are, more and less as its size, the tables and their odds say."""
    size = min(len(group.members), LARGE)
    shown = sum(min(max(readings[n].odds, -SURE), SURE) for n in group.members) / len(group.members)
    field = ONE_FIELD * _one_field(group, readings)
    return group.alike + field + SHOWS * shown - TWICE_AS_MANY * log2(size / SMALL)


def without_strays(members: Sequence[int], likeness: Likeness) -> list[int]:
    """Leave out, one after the other, those that are less alike to the rest than `STRAY` says; three are left."""
    kept = sorted(members)
    while len(kept) > SMALL:
        alike = {n: likeness.mean(n, [other for other in kept if other != n]) for n in kept}
        weakest = min(kept, key=lambda n: (alike[n], n))
        if alike[weakest] * (len(kept) - 1) >= STRAY * (sum(alike.values()) - alike[weakest]):
            break
        kept.remove(weakest)
    return kept


def _one_field(group: Group, readings: Sequence[Reading]) -> float:
    """Give the share of the members that the tables know to be of the commonest field of life."""
    tables = the_tables()
    fields = [{tables.behaviours[name].domain for name in readings[n].behaviours} for n in group.members]
    named = set().union(*fields)
    return max((sum(name in one for one in fields) for name in named), default=0) / len(fields)
