"""Writing what applying one entry came to, and throwing a lane's derived state away."""

from collections.abc import Sequence

import sqlalchemy as sa

from phronesis.core.changes import Settled
from phronesis.storage import documents as document_store
from phronesis.storage.conversations import write_conversation
from phronesis.storage.database import Unit
from phronesis.storage.deltas import insert_deltas
from phronesis.storage.documents import DocumentRow
from phronesis.storage.homes import HOMES, by_home
from phronesis.storage.items import insert_items, update_items
from phronesis.storage.relations import drop_entities, write_edges, write_entities, write_evidence
from phronesis.storage.resources import write_resources
from phronesis.storage.schema import DERIVED


def write_settled(
    unit: Unit,
    lane_id: int,
    seq: int,
    settled: Settled,
    *,
    documents: Sequence[DocumentRow],
    closed: Sequence[str],
    at: int,
) -> None:
    """Write the state after the entry at ``seq``.

    ``documents`` are the new search documents; ``closed`` the updated items whose current ones end now, at ``at``.
    """
    changes = settled.changes
    insert_items(unit, lane_id, settled.created)
    update_items(unit, settled.updated)
    insert_deltas(unit, lane_id, seq, settled.deltas, {item.id: item.entry_id for item in settled.created})
    if changes.edges or changes.dropped_edges:
        write_edges(unit, lane_id, changes.edges, changes.dropped_edges)
    if changes.evidence or changes.dropped_evidence:
        write_evidence(unit, lane_id, changes.evidence, changes.dropped_evidence)
    if changes.dropped_entities or changes.dropped_mentions:
        drop_entities(unit, lane_id, changes.dropped_entities, changes.dropped_mentions)
    if changes.entities or changes.mentions:
        write_entities(unit, lane_id, changes.entities, changes.mentions)
    if changes.conversation is not None:
        write_conversation(unit, lane_id, changes.conversation, {item.id for item in settled.created})
    if changes.resources is not None:
        write_resources(unit, lane_id, changes.resources)
    if closed:
        kinds = {item.id: item.kind for item in settled.updated}
        for home, ids in by_home((kinds[item_id], item_id) for item_id in closed):
            document_store.close_documents(unit, lane_id, ids, at=at, seq=seq, home=home)
    document_store.insert_documents(unit, lane_id, documents)


def clear_lane(unit: Unit, lane_id: int) -> None:
    """Delete a lane's derived rows and vectors."""
    for table in (*DERIVED, *(home.vectors for home in HOMES)):
        unit.run(sa.delete(table).where(table.c.tenant_id == unit.tenant, table.c.lane_id == lane_id))
