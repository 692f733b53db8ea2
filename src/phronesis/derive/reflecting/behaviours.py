"""Step 4: behaviours begin with three memories, and what is there is reinforced (requirements NM-05, NM-06)."""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from phronesis.core.items import Item
from phronesis.core.traits.operations import NewBehavior, Reinforcement
from phronesis.core.traits.strength import MIN_MEMORIES
from phronesis.derive.reflecting.material import SIDES
from phronesis.derive.reflecting.round import NO_NEW_EVIDENCE, NO_SUCH_TRAIT, NO_WORDS, TAKEN_BACK, Round, context_of
from phronesis.derive.reflecting.trends import confirm, is_trend

OPERATION: Final = "new_behaviors"
TOO_FEW: Final = "too_few_memories"
ONE_CONVERSATION: Final = "one_conversation"

SAME_EVIDENCE: Final = 2 / 3
"""The share of a behaviour's memories that another trait counts already, from which it is the same trait again."""


def begin_behaviours(work: Round, wishes: Iterable[NewBehavior]) -> None:
    """Make a behaviour of each wish that names three memories; one that is there already is reinforced instead.

    A trend is not: the behaviour takes its place.
    """
    for wish in wishes:
        content = wish.content.strip()
        ids = {memory.id for memory in work.evidence(wish.evidence_ids)}
        known = work.same_words(content) or _same_evidence(work, ids)
        if known is not None and is_trend(work.traits[known]) and len(ids) >= MIN_MEMORIES:
            ids, known = ids | work.supporting(known), None  # it takes the trend's place
        fresh = work.evidence(ids, but=_spent(work))
        if not content:
            work.refuse(OPERATION, NO_WORDS, "a behaviour says nothing")
        elif not ids:
            work.refuse(OPERATION, NO_NEW_EVIDENCE, "none of its evidence is a memory of this user", content)
        elif known is not None:
            again = Reinforcement(trait_id=known, new_evidence_ids=wish.evidence_ids, quality_grade=wish.quality_grade)
            confirm(work, again, operation=OPERATION)
        elif len(fresh) < MIN_MEMORIES:
            reason = f"it names {len(fresh)} memories that may count, and a behaviour has {MIN_MEMORIES}"
            work.refuse(OPERATION, TOO_FEW, reason, content)
        elif _of_one_conversation(fresh):
            work.refuse(OPERATION, ONE_CONVERSATION, "all its memories are of one conversation", content)
        elif work.taken_back(content, ids):
            work.refuse(OPERATION, TAKEN_BACK, "a person took it back", content)
        else:
            made = work.begin(content, fresh, subtype="behavior", context=context_of(wish.context))
            work.count(made, fresh, "support", wish.quality_grade)
            _take_up_trends(work, made)


def reinforce(work: Round, wishes: Iterable[Reinforcement], *, trends: AbstractSet[str]) -> None:
    """Carry out the reinforcements of all but ``trends``, which were confirmed before."""
    for wish in wishes:
        if wish.trait_id in trends:
            continue
        if wish.trait_id not in work.traits:
            work.refuse("reinforcements", NO_SUCH_TRAIT, f"there is no trait {wish.trait_id} that lives")
            continue
        confirm(work, wish, operation="reinforcements")


def _same_evidence(work: Round, ids: AbstractSet[str]) -> str | None:
    """Give the behaviour that counts most of these memories already: it is found once more.

    No trend, and a side in the place of what it is one of.
    """
    shares = [
        (len(work.supporting(trait.id) & ids), trait.id) for trait in work.traits.values()
        if not is_trend(trait) and trait.data["subtype"] == "behavior" and not trait.data.get(SIDES)
    ]  # fmt: skip
    most, found = max(shares, default=(0, None))
    return found if ids and most >= SAME_EVIDENCE * len(ids) else None


def _of_one_conversation(memories: Sequence[Item]) -> bool:
    """Tell whether all was said in one session, on one day (NM-13). Of what has no session that is not known.

    A session that goes on for days is many conversations: some callers have one session a user.
    """
    sessions = {memory.session_id for memory in memories}
    days = {(memory.occurred_at or memory.recorded_at).date() for memory in memories}
    return len(sessions) == len(days) == 1 and None not in sessions


def _spent(work: Round) -> frozenset[str]:
    """Give the memories that counted for a behaviour that time dissolved: it begins anew with others."""
    return frozenset().union(
        *(work.supporting(trait.id) for trait in work.gone.values()
          if trait.ended == "dissolved" and not trait.data["strength"]["trend"])
    )  # fmt: skip


def _take_up_trends(work: Round, made: str) -> None:
    """End the trends that the new behaviour is about: half of their memories are its own."""
    own = work.supporting(made)
    for trait_id, trait in list(work.traits.items()):
        mine = work.supporting(trait_id)
        if is_trend(trait) and 2 * len(mine & own) >= len(mine) > 0:
            work.end(trait_id, "superseded", "a behaviour took its place", by=made)
