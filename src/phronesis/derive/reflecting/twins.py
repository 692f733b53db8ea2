"""What a reflection wishes twice, or again in other words, found before it is carried out (requirement NM-06)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from phronesis.core.items import Item
from phronesis.core.traits.operations import NewBehavior, NewTrend, Reinforcement, Upgrade, Wishes
from phronesis.core.traits.records import RefusedWish
from phronesis.core.traits.strength import MIN_MEMORIES
from phronesis.derive.reflecting.likeness import Likeness
from phronesis.derive.reflecting.material import Material, open_traits
from phronesis.derive.reflecting.trends import KNOWN, is_trend
from phronesis.derive.reflecting.upgrades import OPERATION

_SAID: Final = "a trait, or an upgrade before it, says the same in other words"

Fresh = NewTrend | NewBehavior


def without_twins(
    likeness: Likeness, tenant: str, wishes: Wishes, material: Material
) -> tuple[Wishes, list[RefusedWish]]:
    """Make reinforcements of new traits that are there already in other words, and one of those wished twice.

    A behaviour of enough memories takes the place of a trend that says the same, with the trend's memories. Upgrades
    that say what is there are refused, as those in the same words are. Without an encoder nothing changes.
    """
    known = open_traits(material)
    fresh: list[Fresh] = [*wishes.new_trends, *wishes.new_behaviors]
    twins = likeness.twins(tenant, [one.content for one in fresh], [trait.content for trait in known])
    kept: dict[int, Fresh] = {}
    again: list[Reinforcement] = []
    for place, (wish, twin) in enumerate(zip(fresh, twins, strict=True), start=len(known)):
        if twin in kept:
            kept[twin] = _both(kept[twin], wish)
        elif twin is None or twin >= len(known):
            kept[place] = wish
        elif _enough(wish) and is_trend(known[twin]):
            rows = material.evidence.get(known[twin].id, ())
            kept[place] = _with(wish, [row.source_key for row in rows if row.polarity == "support"])
        else:
            again.append(_as_reinforcement(wish, known[twin]))
    upgrades, refused = _once(likeness, tenant, wishes.upgrades, material.traits)
    return replace(
        wishes, new_trends=[one for one in kept.values() if isinstance(one, NewTrend)],
        new_behaviors=[one for one in kept.values() if isinstance(one, NewBehavior)],
        reinforcements=[*wishes.reinforcements, *again], upgrades=upgrades,
    ), refused  # fmt: skip


def _both(earlier: Fresh, later: Fresh) -> Fresh:
    """Give one wish for two that say the same: the behaviour, where one is and has enough memories."""
    if isinstance(earlier, NewTrend) and _enough(later):
        return _with(later, earlier.evidence_ids)
    return _with(earlier, later.evidence_ids)


def _enough(wish: Fresh) -> bool:
    return isinstance(wish, NewBehavior) and len(set(wish.evidence_ids)) >= MIN_MEMORIES


def _with(wish: Fresh, more: Iterable[str]) -> Fresh:
    return replace(wish, evidence_ids=list(dict.fromkeys([*wish.evidence_ids, *more])))


def _as_reinforcement(wish: Fresh, trait: Item) -> Reinforcement:
    grade = {"quality_grade": wish.quality_grade} if isinstance(wish, NewBehavior) else {}
    return Reinforcement(trait_id=trait.id, new_evidence_ids=wish.evidence_ids, **grade)


def _once(
    likeness: Likeness, tenant: str, wishes: Sequence[Upgrade], traits: Mapping[str, Item]
) -> tuple[list[Upgrade], list[RefusedWish]]:
    """Give the upgrades that say something new among traits of what they make, and the refusals of the others."""
    kept: dict[int, Upgrade] = {}
    for subtype in dict.fromkeys(wish.new_subtype for wish in wishes):
        known = [one.content for one in traits.values() if one.live and one.data["subtype"] == subtype]
        mine = [place for place, wish in enumerate(wishes) if wish.new_subtype == subtype]
        twins = likeness.twins(tenant, [wishes[place].new_content for place in mine], known)
        kept |= {place: wishes[place] for place, twin in zip(mine, twins, strict=True) if twin is None}
    refused = [
        RefusedWish(operation=OPERATION, rule=KNOWN, reason=_SAID, content=wish.new_content)
        for place, wish in enumerate(wishes) if place not in kept
    ]  # fmt: skip
    return [kept[place] for place in sorted(kept)], refused
