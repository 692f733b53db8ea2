"""Search documents of reasoning items, one for the item and one per claim (RB-09), and those mirrored externally."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from phronesis.core.items import Item
from phronesis.index.projections import PROSE, OutsideDocument, Part, in_words, match_id, part_name
from phronesis.reasoning.laws.block_format import claim_text, prose_of
from phronesis.reasoning.laws.claim_status import status_of, written_block
from phronesis.store.database import Unit
from phronesis.store.dialects import Vector
from phronesis.store.documents import DocumentRow, documents_of_items, read_vectors
from phronesis.store.lanes import Lane

# Projection of a reasoning item: one document for the whole, one per claim (RB-09).

CLAIM: Final = "claim"
"""Prefix of a claim's part: ``claim:<claim_id>``."""


PROJECTED: Final = ("topic", "claims")
"""Members of ``data`` from which the parts are built: the written state, which verdicts do not change."""


def project_reasoning(item: Item) -> list[Part]:
    """Return the search documents of a reasoning item: its prose, and one part per claim."""
    block = written_block(item.data)
    claims = [Part(f"{CLAIM}:{claim.claim_id}", claim_text(claim), dated=False) for claim in block.claims]
    return [*in_words(prose_of(block), dated=False), *claims]


SEPARATOR: Final = "::"
"""Separator between the parts of a claim document's id."""


@dataclass(frozen=True, slots=True)
class Mirrored:
    """Mirrored documents of some items; ``ids`` are all ids they ever had. ``whole``.

    None still waits for its vector.
    """

    documents: Sequence[OutsideDocument]
    ids: Collection[str]
    whole: bool


def documents_of(unit: Unit, lane: Lane, items: Iterable[Item], *, store: str, model: str) -> Mirrored:
    """Return what an external index must hold of some items of a lane; nothing of items hidden from ordinary reads.

    The item's document has the vector of its text. A text without content has a zero vector and is left out.
    """
    by_id = {item.id: item for item in items}
    rows = documents_of_items(unit, lane.lane_id, list(by_id))
    current = [row for row in rows if row.current_to is None and by_id[row.item_id].live]
    found = read_vectors(unit, lane.lane_id, model, [row.id for row in current])
    vectors = {row.document_id: row.embedding for row in found}
    common = {"tenant": unit.tenant, "store": store, "lane": str(lane.lane_id)}
    out = []
    for row in current:
        vector = vectors.get(row.id)
        if vector is not None and np.any(vector) and _is_mirrored(row.part):
            out.append(_document(by_id[row.item_id], row, vector, common))
    ids = {match_id(row.item_id, row.part) for row in rows if _is_mirrored(row.part)} | by_id.keys()
    return Mirrored(out, ids, whole=len(vectors) == len(current))


def parent_of(document_id: str) -> str:
    """Return the item id contained in a document's id."""
    return document_id.partition(SEPARATOR)[0]


def _is_mirrored(part: str) -> bool:
    """Return whether a part is mirrored: claims, and the first chunk of a text for its item."""
    return part_name(part) == CLAIM or part in (PROSE, f"{PROSE}:0")


def _document(item: Item, row: DocumentRow, vector: Vector, common: dict[str, Any]) -> OutsideDocument:
    facts = {**common, "kind": item.kind, "version": item.version, "document_id": row.id}
    if item.label is not None:
        facts["scope"] = item.label
    if part_name(row.part) != CLAIM:
        return OutsideDocument(item.id, item.content, {**facts, "doc_type": "item"}, vector)
    claim_id = row.part.partition(":")[2]
    facts |= {
        "doc_type": "claim",
        "parent_mem_id": item.id,
        "claim_id": claim_id,
        "claim_status": status_of(item, claim_id),
    }
    return OutsideDocument(match_id(item.id, row.part), row.text or "", facts, vector)
