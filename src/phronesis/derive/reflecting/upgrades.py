"""Steps 5 and 6: behaviours to a preference, preferences to a core trait (requirement NM-07).

A model or rules say which traits point to one tendency; the gates are code's. The traits stay, joined to the new one,
which has all their evidence, for and against: it begins at the best confidence among them and a tenth, and emerging at
most until memories of its own reinforce it.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from phronesis.core.items import Item
from phronesis.core.relations import Edge
from phronesis.core.traits.operations import Upgrade
from phronesis.core.traits.strength import confidence_at
from phronesis.derive.reflecting.material import SIDES
from phronesis.derive.reflecting.round import NO_SUCH_TRAIT, NO_WORDS, TAKEN_BACK, Round, context_of
from phronesis.derive.reflecting.trends import KNOWN, is_trend

OPERATION: Final = "upgrades"
PARENT: Final = "parent_of"
"""The type of the edge from an upgrade to the traits that it was made of."""

FROM: Final = {"preference": ("behavior", 0.5), "core": ("preference", 0.6)}
"""By what a trait becomes: the subtype of those that it is made of, and the least confidence of each (NM-07)."""

MIN_TRAITS: Final = 2
RISE: Final = 0.1
"""An upgrade is made of two traits at least, and begins this much above the best of them (NM-07)."""

TOO_FEW: Final = "too_few_traits"
TOO_UNSURE: Final = "too_unsure"
WRONG_SUBTYPE: Final = "wrong_subtype"


def upgrade(work: Round, wishes: Iterable[Upgrade], *, subtype: str) -> None:
    """Carry out the upgrades to one subtype."""
    for wish in wishes:
        if wish.new_subtype == subtype:
            refusal = _refusal(work, wish)
            if refusal is None:
                _make(work, wish)
            else:
                work.refuse(OPERATION, *refusal, wish.new_content)


def refuse_others(work: Round, wishes: Iterable[Upgrade]) -> None:
    """Refuse upgrades to what there is not."""
    for wish in wishes:
        if wish.new_subtype not in FROM:
            reason = f"a trait becomes a preference or core, not {wish.new_subtype}"
            work.refuse(OPERATION, WRONG_SUBTYPE, reason, wish.new_content)


def _refusal(work: Round, wish: Upgrade) -> tuple[str, str] | None:
    """Give the rule that an upgrade breaks, and how; None when it is lawful."""
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
    if work.same_words(wish.new_content) is not None or _made_before(work, wish):
        return KNOWN, "the same traits, or the same words, made one already"
    ids = frozenset().union(*(work.supporting(trait.id) for trait in members))
    if work.taken_back(wish.new_content, ids, subtype=wish.new_subtype):
        return TAKEN_BACK, "a person took it back"
    return None


def _make(work: Round, wish: Upgrade) -> None:
    members = _members(work, wish)
    best = max(_confidence(work, trait) for trait in members)
    rows = [row for trait in members for row in work.rows.get(trait.id, ()) if row.polarity in ("support", "contra")]
    memories = work.evidence(row.source_key for row in rows if row.polarity == "support")
    contexts = {trait.data["context"] for trait in members}
    made = work.begin(
        wish.new_content.strip(), memories, subtype=wish.new_subtype, of=members,
        context=context_of(wish.context or (contexts.pop() if len(contexts) == 1 else None)),
        begun={"confidence": round(min(1.0, best + RISE), 6), "cap": "emerging"},
        children=sorted(trait.id for trait in members), reasoning=wish.reasoning.strip() or None,
        facet=(wish.facet or "personality") if wish.new_subtype == "core" else None,
    )  # fmt: skip
    work.inherit(made, rows)
    work.edges += [
        Edge(type=PARENT, from_kind="item", from_id=made, to_kind="item", to_id=trait.id, entry_id=work.entry.id,
             origin=work.origin)
        for trait in members
    ]  # fmt: skip
    work.counts["traits_promoted"] += len(members)


def _members(work: Round, wish: Upgrade) -> Sequence[Item]:
    """Give the traits of an upgrade that live. A trait that was made of another is no subtype that fits: no cycles."""
    listed = [work.traits[one] for one in dict.fromkeys(wish.from_trait_ids) if one in work.traits]
    return [trait for trait in listed if not trait.data.get(SIDES)]


def _made_before(work: Round, wish: Upgrade) -> bool:
    wanted = set(wish.from_trait_ids)
    return any(wanted <= set(trait.data.get("children", ())) for trait in work.traits.values())


def _confidence(work: Round, trait: Item) -> float:
    return confidence_at(trait, work.entry.recorded_at) or 0.0
