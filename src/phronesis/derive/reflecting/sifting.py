"""What is never inferred: traits on sensitive matters are taken out before anything is made of them (NM-15).

Their words are not kept either: neither with the refusal, nor where a model's answers are kept as it gave them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, Protocol

from phronesis.core.entries import Outcome
from phronesis.core.traits.operations import Reconsidered, Wishes
from phronesis.core.traits.records import RefusedWish
from phronesis.derive.reflecting.material import Material

SENSITIVE: Final = "sensitive"
"""The rule. What was to be said is not kept with the refusal: it would be remembered there."""


class Finding(Protocol):
    """What a guard found."""

    @property
    def topic(self) -> str:
        """The sensitive topic that a text speaks of."""
        ...


class Guard(Protocol):
    """Knows sensitive matters (``sensitive.Guard``)."""

    @property
    def version(self) -> str:
        """What its findings are said to be made by."""
        ...

    def of_trait(self, content: str, evidence: Sequence[str]) -> Finding | None:
        """Say what sensitive topic a trait in these words, with this evidence, speaks of; None: none."""
        ...


def sift(guard: Guard, wishes: Wishes, material: Material) -> tuple[Wishes, list[RefusedWish]]:
    """Give the wishes that speak of nothing sensitive, and the refusals of the others."""
    words = {memory.id: memory.content for memory in material.memories}
    traits = {trait.id: trait.content for trait in material.traits.values()}
    refused: list[RefusedWish] = []

    def passes(operation: str, content: str, ids: Sequence[str], said: Mapping[str, str] = words) -> bool:
        finding = guard.of_trait(content, [said[one] for one in ids if one in said])
        if finding is not None:
            refused.append(_refusal(operation, finding))
        return finding is None

    kept = Wishes(
        new_trends=[one for one in wishes.new_trends if passes("new_trends", one.content, one.evidence_ids)],
        new_behaviors=[one for one in wishes.new_behaviors if passes("new_behaviors", one.content, one.evidence_ids)],
        reinforcements=wishes.reinforcements,
        contradictions=wishes.contradictions,
        upgrades=[
            one for one in wishes.upgrades
            if passes("upgrades", one.new_content, one.from_trait_ids, traits)
            and (not one.reasoning or passes("upgrades", one.reasoning, ()))
        ],
    )  # fmt: skip
    return kept, refused


def sensitive_words(guard: Guard, said: Reconsidered) -> RefusedWish | None:
    """Give the refusal of what a special reflection said where it speaks of something sensitive."""
    for text in (said.new_content, said.reasoning, *(side.content for side in said.sides)):
        finding = guard.of_trait(text, []) if text else None
        if finding is not None:
            return _refusal("special_reflection", finding)
    return None


def withheld(guard: Guard, answers: Sequence[Outcome], *, refused: bool) -> list[Outcome]:
    """Give a model's answers as they may be kept: without their text where something in them was refused.

    What was no answer at all, or only asked for searches, has no wishes to sift: there the text itself is looked at.
    """
    return [
        replace(one, body={**one.body, "text": "", "withheld": SENSITIVE})
        if one.body["text"] and (refused or guard.of_trait(one.body["text"], ()) is not None) else one
        for one in answers
    ]  # fmt: skip


def _refusal(operation: str, finding: Finding) -> RefusedWish:
    return RefusedWish(operation=operation, rule=SENSITIVE, reason=f"it speaks of {finding.topic}")
