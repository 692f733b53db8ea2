"""One reflection by rules: what the new memories say of the traits there are, and which new ones they show."""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from phronesis.core.confidence import Subtype
from phronesis.traits.by_rules.clusters import (
    FIT,
    MAX_MEMBERS,
    MIN_PLACES,
    SMALL,
    Group,
    KnownTrait,
    average_linkage,
    fits,
    grown,
    known_traits,
    largest,
    misfits,
    most_telling,
    without_strays,
    worth,
)
from phronesis.traits.by_rules.memory_features import Code, MemoryFeatures, read_all, shows, the_tables, with_odds
from phronesis.traits.by_rules.revision import contradictions_of, find_contradictions, grade_of
from phronesis.traits.by_rules.similarity import Cosine, MemorySimilarity, by_pieces, likeness_of
from phronesis.traits.by_rules.statement import behaviours_of, context_of, statement_of
from phronesis.traits.laws.records import (
    GENERAL,
    MemoryInput,
    NewBehavior,
    ProposedOperations,
    Reinforcement,
    TraitInput,
    Upgrade,
)
from phronesis.traits.laws.strength import MIN_MEMORIES

# What several traits point to: behaviours to a preference, preferences to a core trait.

FOR_PREFERENCE: Final = 0.5
FOR_CORE: Final = 0.6
"""Least confidence of the traits that are taken together (NM-08)."""

LEAST: Final = 2
"""Traits that point to one tendency."""

INHERITED: Final = 0.5
"""Share of the evidence of those below that a trait above has when it was made of them."""


def upgrades_of(traits: Sequence[KnownTrait]) -> list[Upgrade]:
    """Return the upgrades that are due, preferences first; a trait that was made of the same ones is not made again."""
    table = the_tables()
    behaviours = _grouped(traits, "behavior", FOR_PREFERENCE)
    found = [
        up
        for domain, those in behaviours.items()
        if (
            up := _upgrade(
                traits,
                those,
                say=table.fields[domain].likes,
                subtype="preference",
                context=table.fields[domain].context,
            )
        )
        is not None
    ]
    cores: dict[str, list[KnownTrait]] = {}
    for domain, those in _grouped(traits, "preference", FOR_CORE).items():
        cores.setdefault(table.fields[domain].core, []).extend(those)
    for name in sorted(cores):
        up = _upgrade(traits, cores[name], say=table.cores[name].say, subtype="core", context=GENERAL, core=name)
        found += [up] if up is not None else []
    return found


def _grouped(traits: Sequence[KnownTrait], subtype: str, least: float) -> dict[str, list[KnownTrait]]:
    """Return the traits of a subtype that are sure enough, by the domain most of their behaviours lie in."""
    table = the_tables()
    likes = {say: name for name, one in table.fields.items() for say in one.likes.values()}
    found: dict[str, list[KnownTrait]] = {}
    for known in traits:
        trait = known.trait
        if trait.subtype != subtype or trait.stage == "trend" or (trait.confidence or 0.0) < least:
            continue
        domains = sorted(table.behaviours[name].field for name in known.said.behaviours or known.behaviours)
        domain = likes.get(trait.content) or max(domains, key=domains.count, default=None)
        if domain is not None:
            found.setdefault(domain, []).append(known)
    return {name: found[name] for name in sorted(found)}


def _upgrade(
    traits: Sequence[KnownTrait],
    those: Sequence[KnownTrait],
    *,
    say: Mapping[Code, str],
    subtype: Subtype,
    context: str,
    core: str | None = None,
) -> Upgrade | None:
    evidence = frozenset[int]().union(*(one.evidence for one in those))
    if len({one.trait.content for one in those}) < LEAST:
        return None
    for other in traits:
        made = other.trait.content in say.values() or len(other.evidence & evidence) > INHERITED * len(evidence)
        if other.trait.subtype == subtype and made:
            return None
    code: Code = "zh" if 2 * sum(one.said.code == "zh" for one in those) >= len(those) else "en"
    listed = ("；" if code == "zh" else "; ").join(one.trait.content for one in those)
    return Upgrade(
        from_trait_ids=[one.trait.id for one in those],
        new_content=say[code],
        new_subtype=subtype,
        reasoning=f"都指向同一倾向：{listed}" if code == "zh" else f"These point the same way: {listed}",
        context=context,
        facet=None if core is None else the_tables().cores[core].facet,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarityLevels:
    """How alike the members of a behaviour are on average, and new evidence is to them.

    ``near`` is how alike the first two are, and ``bare`` each to the others on average where no table knows what is
    done; both where words alone are compared. By meaning ``close`` is what a group must be worth (`worth`).
    """

    close: float
    fit: float
    bare: float = 0.0
    near: float = 0.0


BY_WORDS: Final = SimilarityLevels(near=0.85, close=0.62, bare=1.0, fit=FIT)
BY_PIECES: Final = SimilarityLevels(close=1.2, fit=1.2)
BY_MEANING: Final = SimilarityLevels(close=0.65, fit=1.2)
"""Of few memories, by the words that they share; by the pieces of words; and by an encoder. The last two were chosen on
readable labelled users (``phronesis bench traits``)."""


@dataclass(frozen=True, slots=True)
class _ReflectionPass:
    """What one reflection looks at."""

    readings: Sequence[MemoryFeatures]
    likeness: MemorySimilarity
    fresh: Sequence[int]
    traits: Sequence[KnownTrait]
    shown: AbstractSet[int]
    held: AbstractSet[int]
    sensitive: AbstractSet[int]
    levels: SimilarityLevels


def reflect(
    memories: Sequence[MemoryInput],
    new: AbstractSet[str],
    traits: Sequence[TraitInput],
    *,
    cosine: Cosine | None = None,
    sensitive: Callable[[str], bool] = lambda _: False,
) -> ProposedOperations:
    """Give what a reflection wishes, seen the memories that may count, the ids that are new, and the traits that live.

    ``cosine`` gives the cosines of the vectors of ids, NaN where there is none.
    ``sensitive`` tells which texts speak of what is nobody's business: their memories show nothing but what such
    memories alone show, and whether that may be told is for others to judge. The order of what is given is of no
    account, and ids in the answer are of ``memories`` and ``traits``.
    """
    readings = with_odds(read_all(memories))
    fresh = [n for n, one in enumerate(readings) if one.id in new]
    live = sorted(traits, key=lambda one: one.id)
    places = {one.id: n for n, one in enumerate(readings)}
    known = known_traits(live, readings, places)
    habits = [sorted(one.evidence) for one in known]
    likeness = likeness_of(readings, (cosine or by_pieces(readings)) if fresh else None, habits, spelt=cosine is None)
    held = frozenset[int]().union(*(one.evidence - misfits(one, likeness) for one in known))
    shown = {n for n, one in enumerate(readings) if shows(one)}
    hidden = {n for n in shown if n not in held and (readings[n].private or sensitive(readings[n].text))}
    levels = BY_WORDS if likeness.alike is None else BY_PIECES if cosine is None else BY_MEANING
    this = _ReflectionPass(readings, likeness, fresh, known, shown, held, hidden, levels)
    against = contradictions_of(known, readings, likeness, fresh)
    spoken = {n for one in against.values() for n in one}
    reinforced = _reinforcements(this, spoken)
    used = spoken | {n for those in reinforced.values() for n in those}
    return ProposedOperations(
        new_behaviors=_behaviours(this, used),
        reinforcements=[
            Reinforcement(
                trait_id=one.trait.id,
                new_evidence_ids=[readings[n].id for n in reinforced[one.trait.id]],
                quality_grade=grade_of(
                    [readings[n] for n in reinforced[one.trait.id]], [readings[n] for n in one.members]
                ),
            )
            for one in known
            if one.trait.id in reinforced
        ],
        contradictions=find_contradictions(against, readings),
        upgrades=upgrades_of(known),
    )


def _reinforcements(this: _ReflectionPass, spoken: AbstractSet[int]) -> dict[str, list[int]]:
    """Return the new memories of each trait.

    Each belongs to the one it fits best, a behaviour before what it led to.
    """
    found: dict[str, list[int]] = {}
    evidence = frozenset[int]().union(*(one.evidence for one in this.traits))
    for n in this.fresh:
        if n not in this.shown or n in spoken or n in evidence or n in this.sensitive:
            continue
        ranked = sorted(
            (one.trait.subtype != "behavior", -round(fit, 4), one.trait.id)
            for one in this.traits
            if (fit := fits(n, one, this.readings, this.likeness)) >= this.levels.fit
        )
        if ranked:
            found.setdefault(ranked[0][2], []).append(n)
    return found


def _behaviours(this: _ReflectionPass, used: AbstractSet[int]) -> list[NewBehavior]:
    """Return the clusters that hold something new and are no trait's evidence, or do not fit the rest of it."""
    free = [n in this.shown and n not in used and n not in this.held for n in range(len(this.readings))]
    said: dict[tuple[str, bool], list[int]] = {}
    for hidden in (False, True):
        for cluster in _clusters(this, free, sensitive=hidden):
            words = statement_of([this.readings[n] for n in cluster])
            said.setdefault((words, hidden), []).extend(cluster)  # what is said in the same words is one behaviour
    found = []
    for (words, _), cluster in said.items():
        members = [this.readings[n] for n in sorted(cluster)[:MAX_MEMBERS]]
        found.append(
            NewBehavior(
                content=words,
                evidence_ids=[one.id for one in members],
                context=context_of(members),
                quality_grade=grade_of(members[1:], members[:1]),
            )
        )
    return found


def _clusters(this: _ReflectionPass, free: Sequence[bool], *, sensitive: bool) -> list[list[int]]:
    """Return the clusters of memories that are sensitive, or of those that are not."""
    these = [one and (n in this.sensitive) == sensitive for n, one in enumerate(free)]
    fresh = {n for n in this.fresh if these[n]}
    if not fresh:
        return []
    if this.likeness.alike is not None:
        groups = largest(average_linkage(this.likeness, these), lambda one: _holds(this, one))
        kept = [without_strays(one.members, this.likeness) for one in groups]
        return [most_telling(one, this.likeness) for one in kept if not fresh.isdisjoint(one) and _recurs(this, one)]
    clusters = grown(
        this.readings,
        this.likeness,
        seeds=sorted(fresh),
        free=these,
        near=this.levels.near,
        close=this.levels.close,
        least=MIN_MEMORIES,
    )
    return [
        one for one in clusters if _names_behaviour(this, one) or _least_mean(this.likeness, one) >= this.levels.bare
    ]


def _holds(this: _ReflectionPass, group: Group) -> bool:
    """Return whether a group shows one behaviour."""
    enough = len(group.members) >= SMALL and _recurs(this, group.members)
    return enough and worth(group, this.readings) >= this.levels.close


def _recurs(this: _ReflectionPass, members: Sequence[int]) -> bool:
    return len({this.readings[n].place for n in members}) >= MIN_PLACES


def _names_behaviour(this: _ReflectionPass, members: Sequence[int]) -> bool:
    return bool(behaviours_of([this.readings[n] for n in members]))


def _least_mean(likeness: MemorySimilarity, members: Sequence[int]) -> float:
    return min(likeness.mean(n, [other for other in members if other != n]) for n in members)
