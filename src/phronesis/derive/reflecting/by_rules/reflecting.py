"""One reflection by rules: what the new memories say of the traits there are, and which new ones they show."""

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from phronesis.core.traits.operations import NewBehavior, Reinforcement, Wishes
from phronesis.core.traits.seen import SeenMemory, SeenTrait
from phronesis.core.traits.strength import MIN_MEMORIES
from phronesis.derive.reflecting.by_rules.clusters import MAX_MEMBERS, grown, most_telling, recurs
from phronesis.derive.reflecting.by_rules.contradicting import contradicted, contradictions_of
from phronesis.derive.reflecting.by_rules.fitting import FIT, Known, fits, known_traits, misfits
from phronesis.derive.reflecting.by_rules.grading import grade_of
from phronesis.derive.reflecting.by_rules.groups import SMALL, Group, largest, linked, without_strays, worth
from phronesis.derive.reflecting.by_rules.likeness import Cosine, Likeness, likeness_of
from phronesis.derive.reflecting.by_rules.reading import Reading, read
from phronesis.derive.reflecting.by_rules.statement import behaviours_of, context_of, statement_of
from phronesis.derive.reflecting.by_rules.upgrading import upgrades_of
from phronesis.derive.reflecting.by_rules.voices import voice_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Levels:
    """How alike the members of a behaviour are on average, and new evidence is to them.

    ``near`` is how alike the first two are, and ``bare`` each to the others on average where no table knows what is
    done; both where words alone are compared. By meaning ``close`` is what a group must be worth (`worth`).
    """

    close: float
    fit: float
    bare: float = 0.0
    near: float = 0.0


BY_WORDS: Final = Levels(near=0.85, close=0.62, bare=1.0, fit=FIT)
BY_ONE: Final = Levels(close=1.0, fit=0.8)
BY_TWO: Final = Levels(close=1.15, fit=1.0)
"""Without an encoder, with one and with two. Fitted on the five readable sets of labelled users (``phronesis bench
traits``); those with encoders so that precision is .9 there. Chosen on four sets, they were judged on the fifth, each
in turn: precision .89, recall .70. With two more is asked since, 1.15 for 1.1: with it no author's users have less than
.85, but for the one set that nothing was tuned on (docs/benchmarks.md)."""


@dataclass(frozen=True, slots=True)
class _Round:
    """What one reflection looks at."""

    readings: Sequence[Reading]
    likeness: Likeness
    fresh: Sequence[int]
    traits: Sequence[Known]
    held: AbstractSet[int]
    sensitive: AbstractSet[int]
    levels: Levels


def reflect(
    memories: Sequence[SeenMemory], new: AbstractSet[str], traits: Sequence[SeenTrait], *,
    cosine: Cosine | None = None, twice: bool = False, sensitive: Callable[[str], bool] = lambda _: False,
) -> Wishes:  # fmt: skip
    """Give what a reflection wishes, seen the memories that may count, the ids that are new, and the traits that live.

    ``cosine`` gives the cosines of the vectors of ids, NaN where there is none; ``twice``: those of two encoders.
    ``sensitive`` tells which texts speak of what is nobody's business: their memories show nothing but what such
    memories alone show, and whether that may be told is for others to judge. The order of what is given is of no
    account, and ids in the answer are of ``memories`` and ``traits``.
    """
    seen = sorted({one.id: one for one in memories}.values(), key=lambda one: (one.at, one.id))
    voice = voice_of(seen)
    readings = [read(one, voice) for one in seen]
    fresh = [n for n, one in enumerate(readings) if one.id in new]
    live = sorted(traits, key=lambda one: one.id)
    places = {one.id: n for n, one in enumerate(readings)}
    known = known_traits(live, readings, places)
    habits = [sorted(one.evidence) for one in known]
    likeness = likeness_of(readings, cosine if fresh else None, habits, twice=twice)
    held = frozenset[int]().union(*(one.evidence - misfits(one, likeness) for one in known))
    hidden = {n for n, one in enumerate(readings) if _shows(one) and n not in held and sensitive(one.text)}
    levels = BY_WORDS if likeness.alike is None else BY_TWO if twice else BY_ONE
    this = _Round(readings, likeness, fresh, known, held, hidden, levels)
    against = contradictions_of(known, readings, likeness, fresh)
    spoken = {n for one in against.values() for n in one}
    reinforced = _reinforcements(this, spoken)
    used = spoken | {n for those in reinforced.values() for n in those}
    return Wishes(
        new_behaviors=_behaviours(this, used),
        reinforcements=[
            Reinforcement(
                trait_id=one.trait.id, new_evidence_ids=[readings[n].id for n in reinforced[one.trait.id]],
                quality_grade=grade_of([readings[n] for n in reinforced[one.trait.id]],
                                       [readings[n] for n in one.members]),
            )
            for one in known if one.trait.id in reinforced
        ],
        contradictions=contradicted(against, readings),
        upgrades=upgrades_of(known),
    )  # fmt: skip


def _reinforcements(this: _Round, spoken: AbstractSet[int]) -> dict[str, list[int]]:
    """Give the new memories of each trait: each belongs to the one it fits best, a behaviour before what it led to."""
    found: dict[str, list[int]] = {}
    evidence = frozenset[int]().union(*(one.evidence for one in this.traits))
    for n in this.fresh:
        if not _shows(this.readings[n]) or n in spoken or n in evidence or n in this.sensitive:
            continue
        ranked = sorted(
            (one.trait.subtype != "behavior", -round(fit, 4), one.trait.id)
            for one in this.traits
            if (fit := fits(n, one, this.readings, this.likeness)) >= this.levels.fit
        )
        if ranked:
            found.setdefault(ranked[0][2], []).append(n)
    return found


def _behaviours(this: _Round, used: AbstractSet[int]) -> list[NewBehavior]:
    """Give the clusters that hold something new and are no trait's evidence, or do not fit the rest of it."""
    free = [_shows(one) and n not in used and n not in this.held for n, one in enumerate(this.readings)]
    said: dict[tuple[str, bool], list[int]] = {}
    for hidden in (False, True):
        for cluster in _clusters(this, free, sensitive=hidden):
            words = statement_of([this.readings[n] for n in cluster])
            said.setdefault((words, hidden), []).extend(cluster)  # what is said in the same words is one behaviour
    found = []
    for (words, _), cluster in said.items():
        members = [this.readings[n] for n in sorted(cluster)[:MAX_MEMBERS]]
        found.append(NewBehavior(
            content=words, evidence_ids=[one.id for one in members], context=context_of(members),
            quality_grade=grade_of(members[1:], members[:1]),
        ))  # fmt: skip
    return found


def _clusters(this: _Round, free: Sequence[bool], *, sensitive: bool) -> list[list[int]]:
    """Give the clusters of memories that are sensitive, or of those that are not."""
    these = [one and (n in this.sensitive) == sensitive for n, one in enumerate(free)]
    fresh = {n for n in this.fresh if these[n]}
    if not fresh:
        return []
    if this.likeness.alike is not None:
        groups = largest(linked(this.likeness, these), lambda one: _holds(this, one))
        kept = [without_strays(one.members, this.likeness) for one in groups]
        return [most_telling(one, this.likeness) for one in kept if not fresh.isdisjoint(one) and _recurs(this, one)]
    clusters = grown(
        this.readings, this.likeness, seeds=sorted(fresh), free=these, near=this.levels.near, close=this.levels.close,
        least=MIN_MEMORIES,
    )  # fmt: skip
    return [one for one in clusters if _known(this, one) or _mean(this.likeness, one) >= this.levels.bare]


def _holds(this: _Round, group: Group) -> bool:
    """Tell whether a group shows one behaviour."""
    enough = len(group.members) >= SMALL and _recurs(this, group.members)
    return enough and worth(group, this.readings) >= this.levels.close


def _recurs(this: _Round, members: Sequence[int]) -> bool:
    return recurs([this.readings[n] for n in members], MIN_MEMORIES)


def _known(this: _Round, members: Sequence[int]) -> bool:
    return bool(behaviours_of([this.readings[n] for n in members]))


def _shows(one: Reading) -> bool:
    return one.barred is None and not one.ended


def _mean(likeness: Likeness, members: Sequence[int]) -> float:
    return min(likeness.mean(n, [other for other in members if other != n]) for n in members)
