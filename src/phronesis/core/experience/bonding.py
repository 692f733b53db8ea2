"""What merges and splits ask of pairs of events, kept small and free of contradictions (EMB-15).

Being together is transitive: a group is a chain of pairs, one fewer than its members, and two groups are kept apart by
one pair. No pair is apart within what pairs put together; what is said last wins.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

from phronesis.core.clustering import components
from phronesis.core.experience.grouping import Bonds

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Drawn:
    """Pairs of events that must be together, and that must be apart; the smaller id first."""

    together: frozenset[Pair] = frozenset()
    apart: frozenset[Pair] = frozenset()

    @property
    def ids(self) -> frozenset[str]:
        """The events that any pair names."""
        return frozenset(one for pair in (*self.together, *self.apart) for one in pair)

    def part_of(self) -> dict[str, int]:
        """Give the number of the group of each event that a pair names."""
        groups = components(self.ids, self.together)
        return {one: n for n, group in enumerate(groups) for one in group}


def merged(ids: Collection[str], drawn: Drawn) -> Drawn:
    """Put events together: one chain, and no pair within what it joins stays apart."""
    together = drawn.together | _chain(ids)
    return _consistent(Drawn(together, drawn.apart))


def parted(parts: Sequence[Collection[str]], drawn: Drawn) -> Drawn:
    """Put each part together and the parts asunder; an event is in one part at most.

    Pairs across parts go. Events that are in no part, and were together with events of several, stay with the largest.
    """
    place = {one: n for n, part in enumerate(parts) for one in part}
    torn = {pair for pair in drawn.together if len({place[one] for one in pair if one in place}) > 1}
    kept = set(drawn.together - torn)
    outside = components(
        {one for pair in kept for one in pair if one not in place},
        [pair for pair in kept if not place.keys() & set(pair)],
    )
    home = {one: n for n, group in enumerate(outside) for one in group}
    reached: dict[int, set[int]] = {}
    crossing = [(pair, *_ends(pair, place, home)) for pair in kept if len(place.keys() & set(pair)) == 1]
    for _, part, group in crossing:
        reached.setdefault(group, set()).add(part)
    stays = {group: max(found, key=lambda n: (len(parts[n]), -n)) for group, found in reached.items()}
    kept -= {pair for pair, part, group in crossing if stays[group] != part}
    chains = frozenset[Pair]().union(*(_chain(part) for part in parts))
    borders = {_pair(one, other) for one, other in combinations([min(part) for part in parts], 2)}
    return _consistent(Drawn(frozenset(kept) | chains, drawn.apart | borders))


def resolved(drawn: Drawn, rows: Mapping[str, int], group_of: Mapping[int, int]) -> Bonds:
    """Give the bonds among rows: only within one group of labels, past events that are not there.

    ``rows`` are those of the events that are there; ``group_of`` the group of each row. An event that changed sides
    does not pull the others along, and leaves them together.
    """
    part_of = drawn.part_of()
    held: dict[tuple[int, int], list[int]] = {}
    for one in sorted(rows.keys() & part_of.keys(), key=rows.__getitem__):
        held.setdefault((part_of[one], group_of[rows[one]]), []).append(rows[one])
    together = [pair for found in held.values() for pair in pairwise(found)]
    apart = set()
    for one, other in sorted(drawn.apart):
        for group in set(group_of.values()):
            here, there = held.get((part_of[one], group)), held.get((part_of[other], group))
            if here and there and here is not there:
                apart.add((min(here[0], there[0]), max(here[0], there[0])))
    return Bonds(together=tuple(sorted(together)), apart=tuple(sorted(apart)))


def _consistent(drawn: Drawn) -> Drawn:
    part_of = drawn.part_of()
    apart = frozenset((one, other) for one, other in drawn.apart if part_of[one] != part_of[other])
    return Drawn(drawn.together, apart)


def _ends(pair: Pair, place: Mapping[str, int], home: Mapping[str, int]) -> tuple[int, int]:
    inner, outer = pair if pair[0] in place else (pair[1], pair[0])
    return place[inner], home[outer]


def _pair(one: str, other: str) -> Pair:
    return (one, other) if one < other else (other, one)


def _chain(ids: Iterable[str]) -> frozenset[Pair]:
    return frozenset(pairwise(sorted(set(ids))))
