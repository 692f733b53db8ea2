"""Reflection steps 2, 3, 5 and 6: trends, their promotion and expiry (NM-04, NM-08), and upgrades of traits (NM-07).

A model or rules name the traits that point to one tendency; code checks the conditions. Behaviours become a preference,
preferences a core trait. The original traits stay, joined to the new one, which has all their evidence, for and
against: it begins 0.1 above the best confidence among them, and at stage emerging at most until memories of its own
reinforce it.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from phronesis.core.items import Item
from phronesis.core.relations import Edge
from phronesis.core.timestamps import isoformat, parse_moment
from phronesis.traits.laws.records import LONG_WINDOW, SHORT_WINDOW, NewTrend, Reinforcement, Upgrade
from phronesis.traits.laws.strength import SIDE_OF, TREND, WINDOW, confidence_at
from phronesis.traits.reflection_state import (
    NO_NEW_EVIDENCE,
    NO_SUCH_TRAIT,
    NO_WORDS,
    SIDES,
    TAKEN_BACK,
    ReflectionState,
    context_of,
)

# Steps 2 and 3: new trends, their confirmation, promotion and expiry (requirements NM-04, NM-08).

NEW_TRENDS: Final = "new_trends"
KNOWN: Final = "known"
"""Rule that a trait with the same text exists already."""


def is_trend(trait: Item) -> bool:
    """Return whether a trait is still a trend."""
    return trait.stage == TREND


def begin_trends(work: ReflectionState, wishes: Iterable[NewTrend]) -> None:
    """Create a trend for each operation that names memories.

    If its text is that of an existing trait, confirm that one.
    """
    for wish in wishes:
        content = wish.content.strip()
        memories = work.evidence(wish.evidence_ids)
        if not content:
            work.refuse(NEW_TRENDS, NO_WORDS, "a trend says nothing")
        elif not memories:
            work.refuse(NEW_TRENDS, NO_NEW_EVIDENCE, "none of its evidence is a memory of this user", content)
        elif (known := work.same_words(content)) is not None:
            confirm(work, Reinforcement(trait_id=known, new_evidence_ids=wish.evidence_ids), operation=NEW_TRENDS)
        elif work.taken_back(content, {memory.id for memory in memories}):
            work.refuse(NEW_TRENDS, TAKEN_BACK, "a person took it back", content)
        else:
            window = _window(work.entry.recorded_at, wish.window_days)
            made = work.begin(content, memories, subtype="behavior", context=context_of(wish.context), window=window)
            work.count(made, memories, "support", "C")


def confirm_trends(work: ReflectionState, wishes: Iterable[Reinforcement]) -> None:
    """Apply the reinforcements that name trends; those of other traits come later."""
    for wish in wishes:
        trait = work.traits.get(wish.trait_id)
        if trait is not None and is_trend(trait):
            confirm(work, wish, operation="reinforcements")


def confirm(work: ReflectionState, wish: Reinforcement, *, operation: str) -> None:
    """Count new memories for a trait: one reinforcement, whatever their number."""
    trait = work.traits[wish.trait_id]
    memories = work.evidence(wish.new_evidence_ids, but=work.known(wish.trait_id))
    if not memories:
        reason = "none of its evidence is a memory that does not count for the trait already"
        work.refuse(operation, NO_NEW_EVIDENCE, reason, trait.content)
        return
    work.count(wish.trait_id, memories, "support", wish.quality_grade)
    work.tally("traits_reinforced", wish.trait_id)
    _reinforce_parent_trait(work, trait, memories, wish)
    if is_trend(trait) and not is_trend(work.traits[wish.trait_id]):
        work.counts["traits_promoted"] += 1


def _reinforce_parent_trait(work: ReflectionState, side: Item, memories: Sequence[Item], wish: Reinforcement) -> None:
    """Reinforce the trait of a reinforced side: what shows in one situation shows in general."""
    whole = str(side.data.get(SIDE_OF))
    if whole in work.traits:
        known = work.known(whole)
        work.count(whole, [one for one in memories if one.id not in known], "support", wish.quality_grade)


def expire_trends(work: ReflectionState) -> None:
    """Dissolve the trends whose window ended without confirmation."""
    for trait_id, trait in list(work.traits.items()):
        if is_trend(trait) and work.entry.recorded_at > parse_moment(trait.data[WINDOW]["end"], field="window.end"):
            work.end(trait_id, "dissolved", "its window ended")


def _window(start: datetime, days: int) -> dict[str, Any]:
    length = SHORT_WINDOW if days == SHORT_WINDOW else LONG_WINDOW
    return {"start": isoformat(start), "end": isoformat(start + timedelta(days=length)), "days": length}


OPERATION: Final = "upgrades"
PARENT: Final = "parent_of"
"""Type of the edge from an upgrade to its source traits."""

FROM: Final = {"preference": ("behavior", 0.5), "core": ("preference", 0.6)}
"""Subtype of an upgrade, mapped to that of its sources and their minimum confidence (NM-07)."""

MIN_TRAITS: Final = 2
RISE: Final = 0.1
"""Confidence by which an upgrade begins above the best of its two or more sources (NM-07)."""

TOO_FEW: Final = "too_few_traits"
TOO_UNSURE: Final = "too_unsure"
WRONG_SUBTYPE: Final = "wrong_subtype"


def upgrade(work: ReflectionState, wishes: Iterable[Upgrade], *, subtype: str) -> None:
    """Apply the upgrades to one subtype."""
    for wish in wishes:
        if wish.new_subtype == subtype:
            refusal = _refusal(work, wish)
            if refusal is None:
                _make(work, wish)
            else:
                work.refuse(OPERATION, *refusal, wish.new_content)


def refuse_others(work: ReflectionState, wishes: Iterable[Upgrade]) -> None:
    """Refuse upgrades to unknown subtypes."""
    for wish in wishes:
        if wish.new_subtype not in FROM:
            reason = f"a trait becomes a preference or core, not {wish.new_subtype}"
            work.refuse(OPERATION, WRONG_SUBTYPE, reason, wish.new_content)


def _refusal(work: ReflectionState, wish: Upgrade) -> tuple[str, str] | None:
    """Return the rule that an upgrade breaks, and how; None if it is valid."""
    wanted, least = FROM[wish.new_subtype]
    members = _members(work, wish)
    if not wish.new_content.strip():
        return NO_WORDS, "an upgrade says nothing"
    if len(members) < len(set(wish.from_trait_ids)):
        return NO_SUCH_TRAIT, "some of its traits are not there, or live no more"
    if len(members) < MIN_TRAITS:
        return TOO_FEW, f"it is made of {len(members)} traits, and needs {MIN_TRAITS}"
    if any(trait.data["subtype"] != wanted or is_trend(trait) for trait in members):
        return WRONG_SUBTYPE, f"a {wish.new_subtype} is made of traits of subtype {wanted}"
    low = [trait for trait in members if _confidence(work, trait) < least]
    if low:
        return TOO_UNSURE, f"{len(low)} of its traits are below {least}"
    if work.same_words(wish.new_content) is not None or _was_made(work, wish):
        return KNOWN, "the same traits, or the same words, made one already"
    ids = frozenset().union(*(work.supporting(trait.id) for trait in members))
    if work.taken_back(wish.new_content, ids, subtype=wish.new_subtype):
        return TAKEN_BACK, "a person took it back"
    return None


def _make(work: ReflectionState, wish: Upgrade) -> None:
    members = _members(work, wish)
    best = max(_confidence(work, trait) for trait in members)
    rows = [row for trait in members for row in work.rows.get(trait.id, ()) if row.polarity in ("support", "contra")]
    memories = work.evidence(row.source_key for row in rows if row.polarity == "support")
    contexts = {trait.data["context"] for trait in members}
    made = work.begin(
        wish.new_content.strip(),
        memories,
        subtype=wish.new_subtype,
        of=members,
        context=context_of(wish.context or (contexts.pop() if len(contexts) == 1 else None)),
        begun={"confidence": round(min(1.0, best + RISE), 6), "cap": "emerging"},
        children=sorted(trait.id for trait in members),
        reasoning=wish.reasoning.strip() or None,
        facet=(wish.facet or "personality") if wish.new_subtype == "core" else None,
    )
    work.inherit(made, rows)
    work.edges += [
        Edge(
            type=PARENT,
            from_kind="item",
            from_id=made,
            to_kind="item",
            to_id=trait.id,
            entry_id=work.entry.id,
            origin=work.origin,
        )
        for trait in members
    ]
    work.counts["traits_promoted"] += len(members)


def _members(work: ReflectionState, wish: Upgrade) -> Sequence[Item]:
    """Return the live source traits of an upgrade.

    Subtypes only rise, so an upgrade cannot contain itself.
    """
    listed = [work.traits[one] for one in dict.fromkeys(wish.from_trait_ids) if one in work.traits]
    return [trait for trait in listed if not trait.data.get(SIDES)]


def _was_made(work: ReflectionState, wish: Upgrade) -> bool:
    wanted = set(wish.from_trait_ids)
    return any(wanted <= set(trait.data.get("children", ())) for trait in work.traits.values())


def _confidence(work: ReflectionState, trait: Item) -> float:
    return confidence_at(trait, work.entry.recorded_at) or 0.0
