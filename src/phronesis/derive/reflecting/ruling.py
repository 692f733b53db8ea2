"""Reflection by rules: what ``by_rules`` finds, in the form that the nine steps take."""

from dataclasses import dataclass

from phronesis.core.entries import Entry
from phronesis.core.relations import Origin
from phronesis.core.traits.operations import Reconsidered
from phronesis.derive.handler import Bench
from phronesis.derive.reflecting.by_rules import RULES_VERSION, reconsider, reflect
from phronesis.derive.reflecting.likeness import Likeness
from phronesis.derive.reflecting.material import Material, open_traits, seen_memory, seen_trait
from phronesis.derive.reflecting.minds import Thought
from phronesis.derive.reflecting.round import Round
from phronesis.derive.reflecting.sifting import Guard


@dataclass(frozen=True, slots=True)
class Ruling:
    """The mind of rules. Precision comes before recall: what is not plain is left alone."""

    likeness: Likeness
    guard: Guard

    @property
    def name(self) -> str:
        """Its version."""
        return RULES_VERSION

    @property
    def origin(self) -> Origin:
        """By rule."""
        return "rule"

    def wishes(self, bench: Bench, entry: Entry, material: Material) -> Thought:
        """Compare the new memories with one another, with earlier ones, and with the traits."""
        memories = material.latest()
        standing = open_traits(material)
        traits = [seen_trait(trait, material.evidence.get(trait.id, ()), entry.recorded_at) for trait in standing]
        found = reflect(
            [seen_memory(memory) for memory in memories], material.new, traits,
            cosine=self.likeness.among(bench, memories),
            sensitive=lambda text: self.guard.of_trait(text, ()) is not None,
        )  # fmt: skip
        # What is wished of a trait is found anew where the trait is: an erasure may have made it another one.
        return Thought(wishes=found, made_by=RULES_VERSION, stands_on=sorted({trait.entry_id for trait in standing}))

    def reconsider(
        self, _bench: Bench, entry: Entry, work: Round, trait_id: str
    ) -> tuple[Reconsidered | None, Thought]:
        """Weigh what supports a trait against what contradicts it."""
        rows = work.rows.get(trait_id, [])
        trait = seen_trait(work.traits[trait_id], rows, entry.recorded_at)
        sides = [[seen_memory(memory) for memory in work.evidence(ids)]
                 for ids in (trait.supporting, trait.contradicting)]  # fmt: skip
        return reconsider(trait, *sides), Thought(made_by=RULES_VERSION)
