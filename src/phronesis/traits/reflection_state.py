"""The in-memory state of a reflection: the traits after each step, and the changes to make.

prepare runs the same steps as apply, to find the traits for which a special reflection is due. Therefore nothing here
reads or writes the store: it works on the result of the scan.
"""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Any, Final

from phronesis.core.changes import Patch
from phronesis.core.entries import Entry
from phronesis.core.ids import item_id
from phronesis.core.items import DEFAULT_IMPORTANCE, Item
from phronesis.core.relations import Edge, EvidenceRow, Origin, Polarity
from phronesis.core.timestamps import isoformat
from phronesis.traits.laws.records import CONTEXTS, GENERAL, RefusedOperation
from phronesis.traits.laws.strength import SIDE_OF, TRAIT, TRAITS_FOLD, Strength, fold_strength
from phronesis.traits.scan import SIDES, ReflectionInput

MAX_CONTENT: Final = 500
"""Maximum characters of a trait: one sentence."""

NO_NEW_EVIDENCE: Final = "no_new_evidence"
NO_SUCH_TRAIT: Final = "no_such_trait"
TAKEN_BACK: Final = "taken_back"
NO_WORDS: Final = "no_words"
"""Rules by which operations are refused; each step adds its own."""


@dataclass(slots=True)
class ReflectionState:
    """The state of one reflection. ``traits`` are the live ones in their current state; ``gone`` the others.

    ``undone`` are the entries of reflections that were rolled back.
    """

    entry: Entry
    origin: Origin
    scope: Mapping[str, Any]
    memories: Mapping[str, Item]
    traits: dict[str, Item]
    gone: Mapping[str, Item]
    undone: AbstractSet[str]
    rows: dict[str, list[EvidenceRow]]
    created: list[Item] = field(default_factory=list)
    added: list[EvidenceRow] = field(default_factory=list)
    patches: list[Patch] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    refused: list[RefusedOperation] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    tallied: set[tuple[str, str]] = field(default_factory=set)

    @classmethod
    def of(cls, material: ReflectionInput, entry: Entry, origin: Origin, scope: Mapping[str, Any]) -> "ReflectionState":
        """Return the initial state from a scan."""
        return cls(
            entry=entry,
            origin=origin,
            scope=scope,
            memories={memory.id: memory for memory in material.memories},
            traits={trait.id: trait for trait in material.traits.values() if trait.live},
            gone={trait.id: trait for trait in material.traits.values() if not trait.live},
            undone=material.undone,
            rows={trait: list(material.evidence.get(trait, ())) for trait in material.traits},
        )

    def strength(self, trait_id: str) -> Strength:
        """Return a trait's strength."""
        return fold_strength(self.traits[trait_id], self._sorted_rows(trait_id))

    def known(self, trait_id: str) -> frozenset[str]:
        """Return the memories that a trait already counts, for or against."""
        return frozenset(row.source_key for row in self.rows.get(trait_id, ()))

    def supporting(self, trait_id: str) -> frozenset[str]:
        """Return the memories that support a trait."""
        return frozenset(row.source_key for row in self.rows.get(trait_id, ()) if row.polarity == "support")

    def evidence(self, ids: Iterable[str], *, but: AbstractSet[str] = frozenset()) -> list[Item]:
        """Return the existing memories among ``ids``, each once, oldest first."""
        found = [self.memories[one] for one in dict.fromkeys(ids) if one in self.memories and one not in but]
        return sorted(found, key=lambda memory: (memory.recorded_at, memory.id))

    def count(self, trait_id: str, memories: Sequence[Item], polarity: Polarity, grade: str | None) -> None:
        """Add memories to the evidence for or against a trait, and recompute its strength."""
        rows = [self._row(trait_id, memory, polarity, grade) for memory in memories]
        self.rows.setdefault(trait_id, []).extend(rows)
        self.added += rows
        self._refold(trait_id)

    def inherit(self, trait_id: str, rows: Iterable[EvidenceRow]) -> None:
        """Give a trait the evidence of others as its initial evidence, including that of ended memories.

        A memory that supports one of them supports the new trait, whatever it says of another.
        """
        told = sorted(rows, key=lambda row: row.polarity != "support")
        by_source = {row.source_key: row for row in reversed(told) if row.source_key not in self.known(trait_id)}
        own = [
            replace(
                row, item_id=trait_id, origin=self.origin, entry_id=self.entry.id, recorded_at=self.entry.recorded_at
            )
            for row in reversed(by_source.values())
        ]
        self.rows.setdefault(trait_id, []).extend(own)
        self.added += own
        self._refold(trait_id)

    def begin(
        self,
        content: str,
        memories: Sequence[Item],
        *,
        subtype: str,
        context: str,
        of: Sequence[Item] = (),
        **data: Any,
    ) -> str:
        """Create a trait from memories, or from traits ``of`` with their memories; return its id.

        Its trust is the lowest among them.
        """
        content = content[:MAX_CONTENT]
        observed = min(memory.occurred_at or memory.recorded_at for memory in (*memories, *of))
        given = {name: value for name, value in data.items() if value is not None}
        trait = Item(
            id=item_id(self.entry.id, TRAIT, f"{form_of(content)}\n{data.get(SIDE_OF) or ''}"),
            kind=TRAIT,
            content=content,
            entry_id=self.entry.id,
            recorded_at=self.entry.recorded_at,
            updated_at=self.entry.recorded_at,
            importance=DEFAULT_IMPORTANCE[TRAIT],
            trust=min(memory.trust for memory in (*memories, *of)),
            source_type="reflection",
            occurred_at=observed,
            valid_from=observed,
            data={
                "subtype": subtype,
                "context": context,
                "first_observed": isoformat(observed),
                "derived_from": "reflection",
                "made_by": self.origin,
                **given,
            },
            **self.scope,
        )
        self.traits[trait.id] = trait
        self.created.append(trait)
        self.counts["traits_created"] += 1
        return trait.id

    def change(self, trait_id: str, fields: Mapping[str, Any], reason: str) -> None:
        """Change fields of a live trait."""
        self.patches.append(Patch(trait_id, fields, reason))
        self.traits[trait_id] = self.traits[trait_id].with_fields(fields)
        self._refold(trait_id)

    def end(self, trait_id: str, how: str, reason: str, *, by: str | None = None) -> None:
        """End a trait: dissolved, or superseded by another."""
        fields = {"ended": how, "ended_by": by or self.entry.id, "valid_to": self.entry.recorded_at}
        self.change(trait_id, fields, reason)
        for side in self.traits[trait_id].data.get(SIDES, ()):
            if side in self.traits:  # it is a trait of its own now
                self.change(side, {f"data.{SIDE_OF}": None}, "the whole of which it was a side ended")
        del self.traits[trait_id]
        self.counts["traits_dissolved"] += how == "dissolved"

    def tally(self, name: str, trait_id: str) -> None:
        """Count an existing trait under a name of `records.COUNTED`, once per round."""
        if (name, trait_id) not in self.tallied and all(made.id != trait_id for made in self.created):
            self.tallied.add((name, trait_id))
            self.counts[name] += 1

    def refuse(self, operation: str, rule: str, reason: str, content: str = "") -> None:
        """Record a refused operation."""
        self.refused.append(
            RefusedOperation(operation=operation, rule=rule, reason=reason, content=content[:MAX_CONTENT])
        )

    def same_words(self, content: str) -> str | None:
        """Return the live trait with the same text, or None; a side before the trait it belongs to."""
        form = form_of(content)
        found = [trait for trait in self.traits.values() if form_of(trait.content) == form]
        return min(found, key=lambda trait: bool(trait.data.get(SIDES))).id if found else None

    def taken_back(self, content: str, evidence: AbstractSet[str], *, subtype: str = "behavior") -> bool:
        """Return whether a person retracted a trait with this text, or one of its subtype with half of this evidence.

        Such a trait is not created again. Only the same subtype is compared by evidence, since an upgrade shares the
        evidence of its sources. A trait that ended with the rollback of its whole reflection may be created again.
        """
        form = form_of(content)
        return any(
            form_of(trait.content) == form
            or (trait.data["subtype"] == subtype and 2 * len(self.supporting(trait.id) & evidence) >= len(evidence) > 0)
            for trait in self.gone.values()
            if (trait.ended == "retracted" or trait.status == "archived") and trait.entry_id not in self.undone
        )

    def _row(self, trait_id: str, memory: Item, polarity: Polarity, grade: str | None) -> EvidenceRow:
        return EvidenceRow(
            item_id=trait_id,
            polarity=polarity,
            source_key=memory.id,
            entry_id=self.entry.id,
            recorded_at=self.entry.recorded_at,
            source_entry_id=memory.entry_id,
            source_item_id=memory.id,
            source_ref=memory.source_ref,
            grade=grade,
            origin=self.origin,
            occurred_at=memory.occurred_at,
        )

    def _sorted_rows(self, trait_id: str) -> list[EvidenceRow]:
        return sorted(self.rows.get(trait_id, ()), key=lambda row: (row.recorded_at, row.identity))

    def _refold(self, trait_id: str) -> None:
        self.traits[trait_id] = TRAITS_FOLD(self.traits[trait_id], self._sorted_rows(trait_id))


def form_of(content: str) -> str:
    """Return a sentence without differences of spelling and full stop: equal forms are the same trait."""
    kept = content[:MAX_CONTENT]
    return " ".join(unicodedata.normalize("NFKC", kept).casefold().split()).rstrip(".。!！")


def context_of(given: str | None) -> str:
    """Return one of the contexts; general for an unknown one."""
    return given if given in CONTEXTS else GENERAL
