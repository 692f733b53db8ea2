"""Steps 2 and 3: trends begin, are confirmed, and become candidates or expire (requirements NM-04, NM-08).

Confirming comes before expiring, and counts inside the window alone; the fold promotes at the second confirmation. So a
trend never waits between two reflections for a border that has passed.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from phronesis.core.instants import isoformat, parse_moment
from phronesis.core.items import Item
from phronesis.core.traits.operations import LONG_WINDOW, SHORT_WINDOW, NewTrend, Reinforcement
from phronesis.core.traits.recalling import SIDE_OF
from phronesis.core.traits.strength import TREND, WINDOW
from phronesis.derive.reflecting.round import NO_NEW_EVIDENCE, NO_WORDS, TAKEN_BACK, Round, context_of

OPERATION: Final = "new_trends"
KNOWN: Final = "known"
"""The rule that a trait of the same words is there already."""


def is_trend(trait: Item) -> bool:
    """Whether a trait is a trend still."""
    return trait.stage == TREND


def begin_trends(work: Round, wishes: Iterable[NewTrend]) -> None:
    """Make a trend of each wish that names memories; one in the words of a trait that is there confirms that."""
    for wish in wishes:
        content = wish.content.strip()
        memories = work.evidence(wish.evidence_ids)
        if not content:
            work.refuse(OPERATION, NO_WORDS, "a trend says nothing")
        elif not memories:
            work.refuse(OPERATION, NO_NEW_EVIDENCE, "none of its evidence is a memory of this user", content)
        elif (known := work.same_words(content)) is not None:
            confirm(work, Reinforcement(trait_id=known, new_evidence_ids=wish.evidence_ids), operation=OPERATION)
        elif work.taken_back(content, {memory.id for memory in memories}):
            work.refuse(OPERATION, TAKEN_BACK, "a person took it back", content)
        else:
            window = _window(work.entry.recorded_at, wish.window_days)
            made = work.begin(content, memories, subtype="behavior", context=context_of(wish.context), window=window)
            work.count(made, memories, "support", "C")


def confirm_trends(work: Round, wishes: Iterable[Reinforcement]) -> None:
    """Carry out the reinforcements that name trends; those of other traits come later."""
    for wish in wishes:
        trait = work.traits.get(wish.trait_id)
        if trait is not None and is_trend(trait):
            confirm(work, wish, operation="reinforcements")


def confirm(work: Round, wish: Reinforcement, *, operation: str) -> None:
    """Count new memories for a trait: one reinforcement, however many they are."""
    trait = work.traits[wish.trait_id]
    memories = work.evidence(wish.new_evidence_ids, but=work.known(wish.trait_id))
    if not memories:
        reason = "none of its evidence is a memory that does not count for the trait already"
        work.refuse(operation, NO_NEW_EVIDENCE, reason, trait.content)
        return
    work.count(wish.trait_id, memories, "support", wish.quality_grade)
    work.tally("traits_reinforced", wish.trait_id)
    _lift_whole(work, trait, memories, wish)
    if is_trend(trait) and not is_trend(work.traits[wish.trait_id]):
        work.counts["traits_promoted"] += 1


def _lift_whole(work: Round, side: Item, memories: Sequence[Item], wish: Reinforcement) -> None:
    """Reinforce with a side of a trait the trait itself: what shows in one situation shows."""
    whole = str(side.data.get(SIDE_OF))
    if whole in work.traits:
        known = work.known(whole)
        work.count(whole, [one for one in memories if one.id not in known], "support", wish.quality_grade)


def expire_trends(work: Round) -> None:
    """Dissolve the trends whose window ended unconfirmed."""
    for trait_id, trait in list(work.traits.items()):
        if is_trend(trait) and work.entry.recorded_at > _end(trait):
            work.end(trait_id, "dissolved", "its window ended")


def _window(start: datetime, days: int) -> dict[str, Any]:
    length = SHORT_WINDOW if days == SHORT_WINDOW else LONG_WINDOW
    return {"start": isoformat(start), "end": isoformat(start + timedelta(days=length)), "days": length}


def _end(trait: Item) -> datetime:
    return parse_moment(trait.data[WINDOW]["end"], field="window.end")
