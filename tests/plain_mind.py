"""A mind for tests of the steps: memories that state the same are a behaviour, and nothing is sensitive."""

from typing import Any

from phronesis.config import SensitiveRules
from phronesis.core.relations import Origin
from phronesis.engine.content_guards import Guard
from phronesis.models.embedders import Embedders
from phronesis.traits.laws.records import NewBehavior, ProposedOperations, Reinforcement, TraitRevision
from phronesis.traits.laws.strength import MIN_MEMORIES
from phronesis.traits.reflection import ReflectionPreparer
from phronesis.traits.reflection_state import ReflectionInput, open_traits
from phronesis.traits.strategies import StrategyResult, TextSimilarity


class PlainMind:
    """Groups memories by what they say; a test may set ``then`` to what it wishes instead, once."""

    name = "plain/1"
    origin: Origin = "rule"

    def __init__(self) -> None:
        self.then: list[ProposedOperations] = []
        self.special: TraitRevision | None = None
        self.away = False

    def propose(self, _bench: Any, _entry: Any, material: ReflectionInput, _sensitive: Any) -> StrategyResult:
        """Give what the memories come to; nothing while it is ``away``, as a model is that does not answer."""
        if self.away:
            return StrategyResult(proposed=None, made_by=self.name, error="model.unavailable")
        return StrategyResult(proposed=self.then.pop(0) if self.then else _grouped(material), made_by=self.name)

    def reconsider(
        self, _bench: Any, _entry: Any, _work: Any, _trait_id: str
    ) -> tuple[TraitRevision | None, StrategyResult]:
        """Give what a test set."""
        return self.special, StrategyResult(made_by=self.name)


NOTHING_GUARDED = Guard(SensitiveRules(topics=()))


def reflecting(mind: PlainMind) -> ReflectionPreparer:
    """Give how such a mind reflects, without an encoder."""
    return ReflectionPreparer(mind, NOTHING_GUARDED, TextSimilarity(Embedders(None)))


def _grouped(material: ReflectionInput) -> ProposedOperations:
    groups: dict[str, list[str]] = {}
    for memory in material.memories:
        groups.setdefault(" ".join(str(memory.value or memory.content).casefold().split()), []).append(memory.id)
    words = {memory.id: memory.content for memory in material.memories}
    made, again = [], []
    for ids in groups.values():
        if not material.new & set(ids):
            continue
        holders = [
            trait.id
            for trait in open_traits(material)
            if {row.source_key for row in material.evidence.get(trait.id, ())} & set(ids)
        ]
        if holders:
            again.append(Reinforcement(trait_id=holders[0], new_evidence_ids=ids))
        elif len(ids) >= MIN_MEMORIES:
            made.append(NewBehavior(content=words[ids[0]], evidence_ids=ids))
    return ProposedOperations(new_behaviors=made, reinforcements=again)


def install(memory: Any) -> PlainMind:
    """Let a Memory reflect with such a mind, whatever its policy says."""
    mind = PlainMind()
    handler = memory.admin.components.writer.interpreter.stepper.registry["reflect"]
    object.__setattr__(handler, "prepare", reflecting(mind))  # every registry of the Memory holds this one
    return mind
