"""Reflection without a language model: what new memories say of the traits there are, and which new ones they show."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import partial
from typing import Final

from phronesis.core.confidence import Subtype
from phronesis.models.text_features import has_han
from phronesis.traits import clusters
from phronesis.traits.laws.records import (
    GENERAL,
    Facet,
    MemoryInput,
    NewBehavior,
    ProposedOperations,
    Reinforcement,
    TraitContradiction,
    TraitInput,
    TraitRevision,
    TraitSide,
    Upgrade,
)
from phronesis.traits.memory_features import (
    Code,
    MemoryFeatures,
    add_odds,
    behaviours_of,
    clause_of,
    context_of,
    language_of,
    opposites_of,
    read,
    read_all,
    shares_words,
    shows,
    statement_of,
    the_tables,
    trait_sentence,
    weaken_wording,
)
from phronesis.traits.similarity import Cosine, MemorySimilarity, likeness_of

RULES_VERSION: Final = "reflection-rules/12"
"""Rises when the tables or the rules change what they find."""

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
    one, other = (the_tables().situations[name].say[code] for name in (here, there))
    why = f"{one}与{other}不同" if code == "zh" else f"It differs {one} and {other}"
    return TraitRevision(action="split", reasoning=why, sides=sides)


def _mark_of(those: Sequence[MemoryFeatures], others: Sequence[MemoryFeatures]) -> str | None:
    """Return the situation that marks one side: most of its memories show it, and hardly any of the other."""
    situations = the_tables().situations
    counts = Counter(name for one in those for name in one.situations if situations[name].side)
    against = Counter(name for one in others for name in one.situations)
    most, least = SELDOM * len(others), MOSTLY * len(those)
    marked = [name for name, count in counts.items() if count >= least and against[name] <= most]
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
    if any("ended" in one.marks and all(one.at >= other.at for other in pro) for one in contra):
        why = "较新的记忆表明已经不再如此" if code == "zh" else "A newer memory says that it has ended"
    elif len(contra) >= len(pro):
        why = "相反的记忆不少于支持的记忆" if code == "zh" else "No less speaks against it than for it"
    else:
        return None
    return TraitRevision(action="dissolve", reasoning=why)


def _softer(trait: TraitInput, code: Code) -> TraitRevision:
    """Say it in a lower degree; what is said so already is given up."""
    if (content := weaken_wording(trait.content, code)) is None:
        why = "已无更弱的说法" if code == "zh" else "It cannot be said any weaker"
        return TraitRevision(action="dissolve", reasoning=why)
    why = "有些记忆与之相反" if code == "zh" else "Some memories say the opposite"
    return TraitRevision(action="modify", reasoning=why, new_content=content)


FOR_PREFERENCE: Final = 0.5
FOR_CORE: Final = 0.6
"""Least confidence of the traits that are taken together (NM-08)."""

LEAST: Final = 2
"""Traits that point to one tendency: behaviours to a preference, preferences to a core trait."""

INHERITED: Final = 0.5
"""Share of the evidence of those below that a trait above has when it was made of them."""


def upgrades_of(traits: Sequence[clusters.KnownTrait]) -> list[Upgrade]:
    """Return the upgrades that are due, preferences first; a trait that was made of the same ones is not made again."""
    table = the_tables()
    found = []
    for domain, those in _grouped(traits, "behavior", FOR_PREFERENCE).items():
        field = table.fields[domain]
        found.append(_upgrade(traits, those, say=field.likes, subtype="preference", context=field.context))
    cores: dict[str, list[clusters.KnownTrait]] = {}
    for domain, those in _grouped(traits, "preference", FOR_CORE).items():
        cores.setdefault(table.fields[domain].core, []).extend(those)
    for name in sorted(cores):
        core = table.cores[name]
        found.append(_upgrade(traits, cores[name], say=core.say, subtype="core", context=GENERAL, facet=core.facet))
    return [upgrade for upgrade in found if upgrade is not None]


def _grouped(traits: Sequence[clusters.KnownTrait], subtype: str, least: float) -> dict[str, list[clusters.KnownTrait]]:
    """Return the traits of a subtype that are sure enough, by the domain most of their behaviours lie in."""
    table = the_tables()
    likes = {say: name for name, one in table.fields.items() for say in one.likes.values()}
    found: dict[str, list[clusters.KnownTrait]] = {}
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
    traits: Sequence[clusters.KnownTrait],
    those: Sequence[clusters.KnownTrait],
    *,
    say: Mapping[Code, str],
    subtype: Subtype,
    context: str,
    facet: Facet | None = None,
) -> Upgrade | None:
    evidence = frozenset[int]().union(*(one.evidence for one in those))
    made = any(
        other.trait.content in say.values() or len(other.evidence & evidence) > INHERITED * len(evidence)
        for other in traits
        if other.trait.subtype == subtype
    )
    if made or len({one.trait.content for one in those}) < LEAST:
        return None
    code = language_of([one.said for one in those])
    listed = ("；" if code == "zh" else "; ").join(one.trait.content for one in those)
    return Upgrade(
        from_trait_ids=[one.trait.id for one in those],
        new_content=say[code],
        new_subtype=subtype,
        reasoning=f"都指向同一倾向：{listed}" if code == "zh" else f"These point the same way: {listed}",
        context=context,
        facet=facet,
    )


@dataclass(frozen=True, slots=True)
class _ReflectionPass:
    """What one reflection looks at."""

    readings: Sequence[MemoryFeatures]
    likeness: MemorySimilarity
    fresh: Sequence[int]
    traits: Sequence[clusters.KnownTrait]
    shown: AbstractSet[int]
    held: AbstractSet[int]
    sensitive: AbstractSet[int]


def reflect(
    memories: Sequence[MemoryInput],
    new: AbstractSet[str],
    traits: Sequence[TraitInput],
    *,
    cosine: Cosine | None = None,
    sensitive: Callable[[str], bool] = lambda _: False,
) -> ProposedOperations:
    """Give what a reflection wishes, seen the memories that may count, the ids that are new, and the traits that live.

    ``cosine`` gives the cosines of the vectors of ids, NaN where there is none. ``sensitive`` tells which texts speak
    of what is nobody's business: their memories show nothing but what such memories alone show, and whether that may be
    told is for others to judge. The order of what is given is of no account.
    """
    readings = add_odds(read_all(memories))
    fresh = [n for n, one in enumerate(readings) if one.id in new]
    known = clusters.known_traits(sorted(traits, key=lambda one: one.id), readings)
    habits = [sorted(one.evidence) for one in known]
    likeness = likeness_of(readings, cosine, habits)
    held = frozenset[int]().union(*(one.evidence - clusters.dissimilar_memories(one, likeness) for one in known))
    shown = {n for n, one in enumerate(readings) if shows(one)}
    hidden = {n for n in shown if n not in held and (readings[n].private or sensitive(readings[n].text))}
    this = _ReflectionPass(readings, likeness, fresh, known, shown, held, hidden)
    against = clusters.contradictions_of(known, readings, likeness, fresh)
    spoken = {n for one in against.values() for n in one}
    reinforced = _reinforcements(this, spoken)
    used = spoken | {n for those in reinforced.values() for n in those}
    return ProposedOperations(
        new_behaviors=_behaviours(this, used),
        reinforcements=[
            Reinforcement(
                trait_id=one.trait.id,
                new_evidence_ids=[memory.id for memory in news],
                quality_grade=clusters.grade_of(news, [readings[n] for n in one.members]),
            )
            for one in known
            if (news := [readings[n] for n in reinforced.get(one.trait.id, ())])
        ],
        contradictions=[
            TraitContradiction(trait_id=trait, contradicting_evidence_ids=[readings[n].id for n in against[trait]])
            for trait in sorted(against)
        ],
        upgrades=upgrades_of(known),
    )


def _reinforcements(this: _ReflectionPass, spoken: AbstractSet[int]) -> dict[str, list[int]]:
    """Return the new memories of each trait: each is of the one it fits best, a behaviour before what it led to."""
    found: dict[str, list[int]] = {}
    evidence = frozenset[int]().union(*(one.evidence for one in this.traits))
    for n in this.fresh:
        if n not in this.shown or n in spoken or n in evidence or n in this.sensitive:
            continue
        ranked = sorted(
            (one.trait.subtype != "behavior", -round(fit, 4), one.trait.id)
            for one in this.traits
            if (fit := clusters.similarity_to_trait(n, one, this.readings, this.likeness)) >= this.likeness.levels.fit
        )
        if ranked:
            found.setdefault(ranked[0][2], []).append(n)
    return found


def _behaviours(this: _ReflectionPass, used: AbstractSet[int]) -> list[NewBehavior]:
    """Return the clusters that hold something new and are no trait's evidence, or do not fit the rest of it."""
    free = [n in this.shown and n not in used and n not in this.held for n in range(len(this.readings))]
    said: dict[tuple[str, bool], list[int]] = {}  # what is said in the same words is one behaviour
    for hidden in (False, True):
        for cluster in _clusters(this, free, sensitive=hidden):
            said.setdefault((statement_of([this.readings[n] for n in cluster]), hidden), []).extend(cluster)
    found = []
    for (words, _), cluster in said.items():
        members = [this.readings[n] for n in sorted(cluster)[: clusters.MAX_MEMBERS]]
        ids, grade = [one.id for one in members], clusters.grade_of(members[1:], members[:1])
        found.append(NewBehavior(content=words, evidence_ids=ids, context=context_of(members), quality_grade=grade))
    return found


def _clusters(this: _ReflectionPass, free: Sequence[bool], *, sensitive: bool) -> list[list[int]]:
    """Return the clusters of memories that are sensitive, or of those that are not."""
    these = [one and (n in this.sensitive) == sensitive for n, one in enumerate(free)]
    fresh = {n for n in this.fresh if these[n]}
    if not fresh:
        return []
    groups = clusters.largest_groups(clusters.average_linkage(this.likeness, these), partial(_is_behaviour, this))
    kept = [one.members for one in groups]
    if not this.likeness.by_words:  # of few memories each counts
        kept = [clusters.drop_outliers(one, this.likeness) for one in kept]
    return [
        clusters.most_central(one, this.likeness) for one in kept if not fresh.isdisjoint(one) and _recurs(this, one)
    ]


def _is_behaviour(this: _ReflectionPass, group: clusters.Group) -> bool:
    """Return whether a group shows one behaviour."""
    if len(group.members) < clusters.SMALL or not _recurs(this, group.members):
        return False
    levels, members = this.likeness.levels, [this.readings[n] for n in group.members]
    if this.likeness.by_words:
        return clusters.is_recurring(members) and group.alike >= (
            levels.close if behaviours_of(members) else levels.bare
        )
    return clusters.group_score(group, this.readings) >= levels.close


def _recurs(this: _ReflectionPass, members: Sequence[int]) -> bool:
    return len({this.readings[n].place for n in members}) >= clusters.MIN_PLACES
