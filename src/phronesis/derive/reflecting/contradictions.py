"""Step 7: contradictions are counted, and a trait that too much contradicts is looked at again (requirement NM-10).

The first contradiction is counted and no more. When over .3 of what was found since speaks against a trait, a special
reflection says what becomes of it: other words, an end, or two sides of one trait, where both are true in different
situations. It may fail: then all stays as it is, and the next reflection asks again.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from phronesis.core.instants import isoformat
from phronesis.core.items import Item
from phronesis.core.relations import EvidenceRow
from phronesis.core.traits.operations import Contradicted, Reconsidered, Side
from phronesis.core.traits.recalling import SIDE_OF
from phronesis.core.traits.strength import confidence_at
from phronesis.derive.reflecting.material import SIDES
from phronesis.derive.reflecting.round import NO_NEW_EVIDENCE, NO_SUCH_TRAIT, NO_WORDS, Round, context_of, form_of
from phronesis.derive.reflecting.trends import is_trend

OPERATION: Final = "contradictions"
SPECIAL: Final = "special_reflection"
"""What a special reflection's wish is called where it is refused."""

DOUBTFUL_SHARE: Final = 0.3
FIRST_FREE: Final = 1
"""A trait is looked at again when more than this share of what was found speaks against it, but not for the first
contradiction (NM-10)."""

CORRECTED: Final = "corrected"
"""The member of a trait's ``data`` that says which fields a person wrote: no reflection writes over them."""

ONE_SIDED: Final = "one_sided"
_NO_SIDES: Final = 2
_EVEN: Final = 0.5


def contradict(work: Round, wishes: Iterable[Contradicted]) -> None:
    """Count what speaks against traits: one contradiction each, strong where several memories say it."""
    for wish in wishes:
        trait = work.traits.get(wish.trait_id)
        if trait is None:
            work.refuse(OPERATION, NO_SUCH_TRAIT, f"there is no trait {wish.trait_id} that lives")
            continue
        memories = work.evidence(wish.contradicting_evidence_ids, but=work.known(wish.trait_id))
        if not memories:
            reason = "none of its evidence is a memory that does not count for or against the trait already"
            work.refuse(OPERATION, NO_NEW_EVIDENCE, reason, trait.content)
            continue
        work.count(wish.trait_id, memories, "contra", None)
        work.tally("traits_contradicted", wish.trait_id)


def doubtful(work: Round) -> list[str]:
    """Give the traits that a special reflection is due for, oldest first; none that a person wrote."""
    return [trait_id for trait_id, trait in work.traits.items()
            if not trait.data.get(SIDES) and not trait.data.get(CORRECTED) and _doubted(work, trait)]  # fmt: skip


def _doubted(work: Round, trait: Item) -> bool:
    strength = work.strength(trait.id)
    against, found = strength.contradictions, strength.contradictions + strength.reinforcements
    return not is_trend(trait) and against > FIRST_FREE and against / found > DOUBTFUL_SHARE


def reconsider(work: Round, trait_id: str, said: Reconsidered) -> None:
    """Carry out what a special reflection made of a trait, where it is due still."""
    trait = work.traits.get(trait_id)
    if trait is None or trait_id not in doubtful(work):
        return
    if said.action == "dissolve":
        work.end(trait_id, "dissolved", said.reasoning or "contradicted")
    elif said.action == "modify":
        _modify(work, trait, said)
    else:
        _split(work, trait, said)


def _modify(work: Round, trait: Item, said: Reconsidered) -> None:
    """Say a trait in other words. Its confidence is that of what supports it: the rest is settled by the new words."""
    content = said.new_content.strip()
    if not content or content == trait.content:
        work.refuse(SPECIAL, NO_WORDS, "it gives no other words", trait.content)
        return
    work.change(trait.id, {"content": content, **_settled(work)}, said.reasoning or "contradicted")
    work.counts["traits_modified"] += 1


def _split(work: Round, trait: Item, said: Reconsidered) -> None:
    """Make two sides of a trait: what supported it is one side's, what contradicted it the other's."""
    sides = _sides(work, trait, said.sides)
    if len(sides) < _NO_SIDES:
        work.refuse(SPECIAL, ONE_SIDED, "it does not name two sides, each with memories", trait.content)
        return
    content = said.new_content.strip() or "; ".join(side.content for side, _ in sides)
    work.change(trait.id, {"content": content, **_settled(work)}, said.reasoning or "depends on the situation")
    begun = {
        "confidence": _kept(work, trait.id),
        "cap": "core" if work.strength(trait.id).reinforcements else "candidate",
    }
    made = []
    for n, (side, rows) in enumerate(sides):
        memories = work.evidence(row.source_key for row in rows)
        made.append(
            work.begin(side.content.strip(), memories, subtype=trait.data["subtype"], context=context_of(side.context),
                       of=[] if memories else [trait], begun=begun if n == 0 else None, **{SIDE_OF: trait.id})
        )  # fmt: skip
        work.inherit(made[-1], [replace(row, polarity="support") for row in rows])  # against the whole, for this side
    work.change(trait.id, {f"data.{SIDES}": made}, said.reasoning or "depends on the situation")
    work.counts["traits_modified"] += 1


def _sides(work: Round, trait: Item, given: Sequence[Side]) -> list[tuple[Side, list[EvidenceRow]]]:
    """Give the two sides with their evidence, that of the trait's old words first."""
    rows = work.rows.get(trait.id, [])
    by_words = {form_of(side.content): side for side in given if side.content.strip()}
    named = [*by_words.values()][:_NO_SIDES]
    if len(named) < _NO_SIDES:
        return []
    chosen = [_named(rows, side) for side in named]
    if not any(chosen):
        chosen = [_half(rows, "support"), _half(rows, "contra")]
    chosen = [
        found or _half(rows, "support" if _against(other) > _EVEN else "contra")  # what the other side is not
        for found, other in zip(chosen, chosen[::-1], strict=True)
    ]
    pairs = sorted(zip(named, chosen, strict=True), key=lambda pair: _against(pair[1]))
    return [(side, found) for side, found in pairs if found]


def _half(rows: Sequence[EvidenceRow], polarity: str) -> list[EvidenceRow]:
    return [row for row in rows if row.polarity == polarity]


def _named(rows: Sequence[EvidenceRow], side: Side) -> list[EvidenceRow]:
    return [row for row in rows if row.source_key in set(side.evidence_ids)]


def _against(rows: Sequence[EvidenceRow]) -> float:
    return len(_half(rows, "contra")) / len(rows) if rows else 0.0


def _settled(work: Round) -> dict[str, Any]:
    return {"data.settled": isoformat(work.entry.recorded_at)}


def _kept(work: Round, trait_id: str) -> float:
    return round(confidence_at(work.traits[trait_id], work.entry.recorded_at) or 0.0, 6)
