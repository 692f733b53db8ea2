"""Reflection by rules (stand-in until the reflector is merged): memories that state the same."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final

from phronesis.core.statements import plain_form
from phronesis.core.traits.operations import NewBehavior, Reconsidered, Reinforcement, Wishes
from phronesis.core.traits.seen import SeenMemory, SeenTrait
from phronesis.core.traits.strength import MIN_MEMORIES

RULES_VERSION: Final = "reflection-rules/2"


def reflect(
    memories: Sequence[SeenMemory], new: AbstractSet[str], traits: Sequence[SeenTrait], *, cosine: Any = None
) -> Wishes:
    """Group the memories that state the same."""
    del cosine
    groups: dict[str, list[SeenMemory]] = {}
    for memory in memories:
        groups.setdefault(plain_form(memory.content), []).append(memory)
    made, again = [], []
    for group in groups.values():
        ids = [memory.id for memory in group]
        if not new & set(ids):
            continue
        holder = next((trait for trait in traits if set(trait.supporting) & set(ids)), None)
        if holder is not None:
            again.append(Reinforcement(trait_id=holder.id, new_evidence_ids=ids))
        elif len(ids) >= MIN_MEMORIES:
            made.append(NewBehavior(content=group[0].content, evidence_ids=ids))
    return Wishes(new_behaviors=made, reinforcements=again)


def reconsider(
    _trait: SeenTrait, _supporting: Sequence[SeenMemory], _contradicting: Sequence[SeenMemory]
) -> Reconsidered:
    """Give the trait up."""
    return Reconsidered(action="dissolve", reasoning="contradicted")
