"""Reflection steps 2 to 4: trends, their promotion and expiry (NM-04, NM-08), behaviours and reinforcements (NM-05).

Also deduplication of proposals (NM-06) and links between memories (NM-15).
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import datetime, timedelta
from math import log, sqrt
from typing import TYPE_CHECKING, Any, Final

from phronesis.core.changes import Patch
from phronesis.core.items import Item
from phronesis.core.relations import Edge
from phronesis.core.timestamps import isoformat, parse_moment
from phronesis.index.tokens import tokenize
from phronesis.traits.laws.records import (
    LONG_WINDOW,
    SHORT_WINDOW,
    NewBehavior,
    NewTrend,
    ProposedOperations,
    RefusedOperation,
    Reinforcement,
    Upgrade,
)
from phronesis.traits.laws.strength import MIN_MEMORIES, SIDE_OF, TREND, WINDOW
from phronesis.traits.reflection_state import (
    NO_NEW_EVIDENCE,
    NO_SUCH_TRAIT,
    NO_WORDS,
    SIDES,
    TAKEN_BACK,
    Link,
    ReflectionInput,
    ReflectionState,
    context_of,
    open_traits,
)

if TYPE_CHECKING:
    from phronesis.traits.strategies import TextSimilarity

# Steps 2 and 3: new trends, their confirmation, promotion and expiry (requirements NM-04, NM-08).

NEW_TRENDS: Final = "new_trends"
KNOWN: Final = "known"
"""Rule that a trait with the same text exists already."""


def is_trend(trait: Item) -> bool:
    """Return whether a trait is still a trend."""
    return trait.stage == TREND


def begin_trends(work: ReflectionState, proposed: Iterable[NewTrend]) -> None:
    """Create a trend for each operation that names memories, or confirm the existing one with the same text."""
    for proposal in proposed:
        content = proposal.content.strip()
        memories = work.evidence(proposal.evidence_ids)
        if not content:
            work.refuse(NEW_TRENDS, NO_WORDS, "a trend says nothing")
        elif not memories:
            work.refuse(NEW_TRENDS, NO_NEW_EVIDENCE, "none of its evidence is a memory of this user", content)
        elif (known := work.find_same_text(content)) is not None:
            confirm(work, Reinforcement(trait_id=known, new_evidence_ids=proposal.evidence_ids), operation=NEW_TRENDS)
        elif work.was_retracted(content, {memory.id for memory in memories}):
            work.refuse(NEW_TRENDS, TAKEN_BACK, "a person took it back", content)
        else:
            window = _window(work.entry.recorded_at, proposal.window_days)
            made = work.begin(
                content, memories, subtype="behavior", context=context_of(proposal.context), window=window
            )
            work.count(made, memories, "support", "C")


def confirm_trends(work: ReflectionState, proposed: Iterable[Reinforcement]) -> None:
    """Apply the reinforcements that name trends; those of other traits come later."""
    for proposal in proposed:
        trait = work.traits.get(proposal.trait_id)
        if trait is not None and is_trend(trait):
            confirm(work, proposal, operation="reinforcements")


def confirm(work: ReflectionState, proposal: Reinforcement, *, operation: str) -> None:
    """Count new memories for a trait: one reinforcement, whatever their number."""
    trait = work.traits[proposal.trait_id]
    memories = work.evidence(proposal.new_evidence_ids, but=work.known(proposal.trait_id))
    if not memories:
        reason = "none of its evidence is a memory that does not count for the trait already"
        work.refuse(operation, NO_NEW_EVIDENCE, reason, trait.content)
        return
    work.count(proposal.trait_id, memories, "support", proposal.quality_grade)
    work.tally("traits_reinforced", proposal.trait_id)
    whole = str(trait.data.get(SIDE_OF))
    if whole in work.traits:  # what shows in one situation shows in general
        news = [one for one in memories if one.id not in work.known(whole)]
        work.count(whole, news, "support", proposal.quality_grade)
    if is_trend(trait) and not is_trend(work.traits[proposal.trait_id]):
        work.counts["traits_promoted"] += 1


def expire_trends(work: ReflectionState) -> None:
    """Dissolve the trends whose window ended without confirmation."""
    for trait_id, trait in list(work.traits.items()):
        if is_trend(trait) and work.entry.recorded_at > parse_moment(trait.data[WINDOW]["end"], field="window.end"):
            work.end(trait_id, "dissolved", "its window ended")


def _window(start: datetime, days: int) -> dict[str, Any]:
    length = SHORT_WINDOW if days == SHORT_WINDOW else LONG_WINDOW
    return {"start": isoformat(start), "end": isoformat(start + timedelta(days=length)), "days": length}


# Step 4: behaviours and their reinforcement (NM-05).

NEW_BEHAVIOURS: Final = "new_behaviors"
TOO_FEW: Final = "too_few_memories"
ONE_CONVERSATION: Final = "one_conversation"

SAME_EVIDENCE: Final = 2 / 3
"""Share of a behaviour's memories already counted by another trait, from which it is the same trait."""


def begin_behaviours(work: ReflectionState, proposed: Iterable[NewBehavior]) -> None:
    """Create a behaviour for each operation that names three memories, or reinforce the existing one.

    A trend with the same words is replaced by the behaviour.
    """
    for proposal in proposed:
        content = proposal.content.strip()
        ids = {memory.id for memory in work.evidence(proposal.evidence_ids)}
        known = work.find_same_text(content) or _same_evidence(work, ids)
        if known is not None and is_trend(work.traits[known]) and len(ids) >= MIN_MEMORIES:
            ids, known = ids | work.supporting(known), None  # it replaces the trend
        fresh = work.evidence(ids, but=_dissolved_evidence(work))
        if not content:
            work.refuse(NEW_BEHAVIOURS, NO_WORDS, "a behaviour says nothing")
        elif not ids:
            work.refuse(NEW_BEHAVIOURS, NO_NEW_EVIDENCE, "none of its evidence is a memory of this user", content)
        elif known is not None:
            again = Reinforcement(
                trait_id=known, new_evidence_ids=proposal.evidence_ids, quality_grade=proposal.quality_grade
            )
            confirm(work, again, operation=NEW_BEHAVIOURS)
        elif len(fresh) < MIN_MEMORIES:
            reason = f"it names {len(fresh)} memories that may count, and a behaviour has {MIN_MEMORIES}"
            work.refuse(NEW_BEHAVIOURS, TOO_FEW, reason, content)
        elif _of_one_conversation(fresh):
            work.refuse(NEW_BEHAVIOURS, ONE_CONVERSATION, "all its memories are of one conversation", content)
        elif work.was_retracted(content, ids):
            work.refuse(NEW_BEHAVIOURS, TAKEN_BACK, "a person took it back", content)
        else:
            made = work.begin(content, fresh, subtype="behavior", context=context_of(proposal.context))
            work.count(made, fresh, "support", proposal.quality_grade)
            _supersede_trends(work, made)


def reinforce(work: ReflectionState, proposed: Iterable[Reinforcement], *, trends: AbstractSet[str]) -> None:
    """Apply the reinforcements of all traits but ``trends``, which were confirmed before."""
    for proposal in proposed:
        if proposal.trait_id in trends:
            continue
        if proposal.trait_id in work.traits:
            confirm(work, proposal, operation="reinforcements")
        else:
            work.refuse("reinforcements", NO_SUCH_TRAIT, f"there is no trait {proposal.trait_id} that lives")


def _same_evidence(work: ReflectionState, ids: AbstractSet[str]) -> str | None:
    """Return the behaviour that already counts most of these memories, or None.

    Trends are excluded, and a side is returned instead of the trait it belongs to.
    """
    shares = [
        (len(work.supporting(trait.id) & ids), trait.id)
        for trait in work.traits.values()
        if not is_trend(trait) and trait.data["subtype"] == "behavior" and not trait.data.get(SIDES)
    ]
    most, found = max(shares, default=(0, None))
    return found if ids and most >= SAME_EVIDENCE * len(ids) else None


def _of_one_conversation(memories: Sequence[Item]) -> bool:
    """Return whether all memories come from one session on one day (NM-13); False if one has no session.

    A session of several days counts as several conversations: some callers use one session per user.
    """
    sessions = {memory.session_id for memory in memories}
    days = {(memory.occurred_at or memory.recorded_at).date() for memory in memories}
    return len(sessions) == len(days) == 1 and None not in sessions


def _dissolved_evidence(work: ReflectionState) -> frozenset[str]:
    """Return the memories of behaviours that dissolved by decay: a new behaviour needs others."""
    ended = [trait for trait in work.gone.values() if trait.ended == "dissolved"]
    return frozenset().union(*(work.supporting(one.id) for one in ended if not one.data["strength"]["trend"]))


def _supersede_trends(work: ReflectionState, made: str) -> None:
    """Supersede the trends that share at least half of their memories with the new behaviour."""
    own = work.supporting(made)
    for trait_id, trait in list(work.traits.items()):
        mine = work.supporting(trait_id)
        if is_trend(trait) and 2 * len(mine & own) >= len(mine) > 0:
            work.end(trait_id, "superseded", "a behaviour took its place", by=made)


# Deduplication: operations that repeat one another or an existing trait in other words (requirement NM-06).

_SAID: Final = "a trait, or an upgrade before it, says the same in other words"

Fresh = NewTrend | NewBehavior


def merge_duplicate_traits(
    likeness: "TextSimilarity", tenant: str, proposed: ProposedOperations, material: ReflectionInput
) -> tuple[ProposedOperations, list[RefusedOperation]]:
    """Turn new traits that repeat existing ones in other words into reinforcements, and merge duplicate proposals.

    A behaviour of enough memories replaces a trend that says the same, and takes its memories. Upgrades that repeat an
    existing trait are refused. Without an encoder nothing changes.
    """
    known = open_traits(material)
    fresh: list[Fresh] = [*proposed.new_trends, *proposed.new_behaviors]
    twins = likeness.duplicate_indexes(tenant, [one.content for one in fresh], [trait.content for trait in known])
    kept: dict[int, Fresh] = {}
    again: list[Reinforcement] = []
    for place, (proposal, twin) in enumerate(zip(fresh, twins, strict=True), start=len(known)):
        if twin in kept:  # of a trend and a behaviour of enough memories the behaviour stays
            first, later = kept[twin], proposal
            if isinstance(first, NewTrend) and _has_enough(later):
                first, later = later, first
            kept[twin] = _with_evidence(first, later.evidence_ids)
        elif twin is None or twin >= len(known):
            kept[place] = proposal
        elif _has_enough(proposal) and is_trend(known[twin]):
            rows = material.evidence.get(known[twin].id, ())
            kept[place] = _with_evidence(proposal, [row.source_key for row in rows if row.polarity == "support"])
        else:
            grade = {"quality_grade": proposal.quality_grade} if isinstance(proposal, NewBehavior) else {}
            again.append(Reinforcement(trait_id=known[twin].id, new_evidence_ids=proposal.evidence_ids, **grade))
    upgrades, refused = _drop_repeated(likeness, tenant, proposed.upgrades, material.traits)
    return replace(
        proposed,
        new_trends=[one for one in kept.values() if isinstance(one, NewTrend)],
        new_behaviors=[one for one in kept.values() if isinstance(one, NewBehavior)],
        reinforcements=[*proposed.reinforcements, *again],
        upgrades=upgrades,
    ), refused


def _has_enough(proposal: Fresh) -> bool:
    return isinstance(proposal, NewBehavior) and len(set(proposal.evidence_ids)) >= MIN_MEMORIES


def _with_evidence(proposal: Fresh, more: Iterable[str]) -> Fresh:
    return replace(proposal, evidence_ids=list(dict.fromkeys([*proposal.evidence_ids, *more])))


def _drop_repeated(
    likeness: "TextSimilarity", tenant: str, proposed: Sequence[Upgrade], traits: Mapping[str, Item]
) -> tuple[list[Upgrade], list[RefusedOperation]]:
    """Return the upgrades that say something new among traits of their subtype, and the refusals of the others."""
    kept: dict[int, Upgrade] = {}
    for subtype in dict.fromkeys(proposal.new_subtype for proposal in proposed):
        known = [one.content for one in traits.values() if one.live and one.data["subtype"] == subtype]
        mine = [place for place, proposal in enumerate(proposed) if proposal.new_subtype == subtype]
        twins = likeness.duplicate_indexes(tenant, [proposed[place].new_content for place in mine], known)
        kept |= {place: proposed[place] for place, twin in zip(mine, twins, strict=True) if twin is None}
    refused = [
        RefusedOperation(operation="upgrades", rule=KNOWN, reason=_SAID, content=proposal.new_content)
        for place, proposal in enumerate(proposed)
        if place not in kept
    ]
    return [kept[place] for place in sorted(kept)], refused


# Lateral links between new memories and earlier ones on the same subject (requirement NM-15).

MOST_LINKS: Final = 2
"""Maximum links of one new memory, to the most similar ones."""

LINKED: Final = 0.35
"""Minimum similarity of a link: one or two rare words of a short sentence are shared."""

COMMON: Final = 0.2
"""Share of the memories above which a word is ignored as common, if there are more than `FEW`."""

FEW: Final = 20
"""Number of memories up to which no word is common."""


def links_of(memories: Sequence[Item], new: AbstractSet[str]) -> list[Link]:
    """Return the links of new memories to earlier ones, oldest first, the most similar of each."""
    weights = _word_weights(memories)
    holders: dict[str, list[int]] = {}
    out: list[Link] = []
    for n, memory in enumerate(memories):
        if memory.id in new:
            out += _nearest(n, memories, weights, holders)
        for word in weights[n]:
            holders.setdefault(word, []).append(n)
    return out


def join(work: ReflectionState, links: Sequence[Sequence[object]]) -> None:
    """Create the edges between memories that still exist."""
    for link in links:
        start, end, weight = map(str, link)
        if start in work.memories and end in work.memories:
            work.patches.append(Patch(start, {}, "linked"))
            work.edges.append(Edge.of_items("similar", start, end, entry_id=work.entry.id, weight=float(weight)))


def _nearest(
    n: int, memories: Sequence[Item], weights: Sequence[Mapping[str, float]], holders: Mapping[str, Sequence[int]]
) -> list[Link]:
    scores: dict[int, float] = {}
    for word, weight in weights[n].items():
        for other in holders.get(word, ()):
            scores[other] = scores.get(other, 0.0) + weight * weights[other][word]
    ranked = sorted(((round(score, 4), other) for other, score in scores.items()), key=lambda one: (-one[0], one[1]))
    return [
        Link(memories[n].id, memories[other].id, min(1.0, score))
        for score, other in ranked[:MOST_LINKS]
        if score >= LINKED
    ]


def _word_weights(memories: Sequence[Item]) -> list[dict[str, float]]:
    """Return each memory's word weights, normalised to length 1."""
    words = [Counter(tokenize(memory.content)) for memory in memories]
    found = Counter(word for counted in words for word in counted)
    most = max(FEW, COMMON * len(memories))
    seldom = {word: log(1 + len(memories) / count) for word, count in found.items() if count <= most}
    out = []
    for counted in words:
        weights = {word: (1 + log(times)) * seldom[word] for word, times in counted.items() if word in seldom}
        length = sqrt(sum(weight * weight for weight in weights.values())) or 1.0
        out.append({word: weight / length for word, weight in weights.items()})
    return out
