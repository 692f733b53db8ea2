"""Grouping what is alike, the same on every machine: ties go by id, never by the order in which things were met."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TypeVar

_Node = TypeVar("_Node", str, int)

Pairs = Mapping[tuple[str, str], float]
"""How alike two ids are; the smaller id stands first."""


def jaccard(first: AbstractSet[_Node], second: AbstractSet[_Node]) -> float:
    """Give shared / all (Jaccard 1901), in [0, 1]; 0 when both are empty."""
    shared = len(first & second)
    return shared / (len(first) + len(second) - shared) if shared else 0.0


def similar_pairs(tokens: Mapping[str, AbstractSet[str]], *, threshold: float) -> dict[tuple[str, str], float]:
    """Give every pair of ids whose tokens' Jaccard similarity is at least ``threshold`` (above 0).

    Only pairs that share a token are looked at, so time goes with the shared tokens and not with the square of ids.
    """
    holders: dict[str, list[str]] = {}
    out: dict[tuple[str, str], float] = {}
    for second in sorted(tokens):
        shared = Counter(first for token in tokens[second] for first in holders.get(token, ()))
        for first in shared:
            similarity = jaccard(tokens[first], tokens[second])
            if similarity >= threshold:
                out[first, second] = similarity
        for token in tokens[second]:
            holders.setdefault(token, []).append(second)
    return out


def components(ids: Iterable[_Node], pairs: Iterable[tuple[_Node, _Node]]) -> list[list[_Node]]:
    """Give the connected components, each sorted, ordered by their smallest id."""
    root = {node: node for node in ids}

    def find(node: _Node) -> _Node:
        while root[node] != node:
            root[node] = root[root[node]]
            node = root[node]
        return node

    for first, second in pairs:
        low, high = sorted((find(first), find(second)))
        root[high] = low
    out: dict[_Node, list[_Node]] = {}
    for node in sorted(root):
        out.setdefault(find(node), []).append(node)
    return list(out.values())


def cohesion(members: Sequence[str], pairs: Pairs) -> dict[str, float]:
    """Give each member's mean similarity to the other members; a pair that is not in ``pairs`` counts 0."""
    total = dict.fromkeys(members, 0.0)
    for (first, second), similarity in sorted(pairs.items()):
        if first in total and second in total:
            total[first] += similarity
            total[second] += similarity
    return {member: value / max(1, len(members) - 1) for member, value in total.items()}


def match_by_overlap(clusters: Sequence[AbstractSet[str]], existing: Mapping[str, AbstractSet[str]]) -> dict[int, str]:
    """Say which existing group each cluster continues: most shared members first, ties by the group's id.

    A group is continued by one cluster at most. A cluster that shares no member with a group that is left is new.
    """
    holders: dict[str, list[str]] = {}
    for group, members in existing.items():
        for member in members:
            holders.setdefault(member, []).append(group)
    shared = Counter(
        (n, group) for n, cluster in enumerate(clusters) for one in cluster for group in holders.get(one, ())
    )
    candidates = sorted((-count, group, n) for (n, group), count in shared.items())
    out: dict[int, str] = {}
    taken: set[str] = set()
    for _, group, n in candidates:
        if n not in out and group not in taken:
            out[n] = group
            taken.add(group)
    return out
