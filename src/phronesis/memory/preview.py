"""Preview what a message would become: the same preparation and laws as in earnest, and nothing is stored."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from phronesis.core.changes import ResolvedChanges
from phronesis.core.entries import Entry, Outcome
from phronesis.core.ids import item_id
from phronesis.core.items import Item
from phronesis.core.lazy_loading import lazy_module
from phronesis.core.previews import Preview, PreviewedProposal
from phronesis.core.proposals import PROPOSALS, Decision, Proposal
from phronesis.core.scope import LaneName
from phronesis.core.timestamps import from_micros, to_micros
from phronesis.engine.writer import WriteResult
from phronesis.log.payloads import as_read
from phronesis.memory.runtime import Runtime
from phronesis.store.lanes import GENESIS, Lane, find_lane
from phronesis.uuid7 import new_id

if TYPE_CHECKING:
    from phronesis.core import statements
else:
    statements = lazy_module("phronesis.core.statements")

VERB = "add"
"""The verb whose handler prepares and applies a preview."""

_NO_LANE = 0
"""The number of a lane of which nothing is stored; those of stored lanes begin at 1."""


def preview_messages(runtime: Runtime, lane_name: LaneName, payload: Mapping[str, Any]) -> Preview:
    """Return what messages would become in a lane as it is interpreted so far."""
    components, tenant = runtime.components, runtime.tenant
    given = {name: value for name, value in payload.items() if value not in (None, {}, [])}
    cleaned, redacted = components.writer.redactor(given)
    with components.database.transaction(tenant, "read") as unit:
        lane = find_lane(unit, lane_name) or Lane(_NO_LANE, lane_name.kind, lane_name.name, 0, 0, 0, 0, 0, GENESIS)
    entry = Entry(
        id=new_id(),
        lane_id=lane.lane_id,
        seq=lane.applied_seq + 1,
        verb=VERB,
        handler_version=components.writer.interpreter.stepper.registry[VERB].version,
        actor="preview",
        recorded_at=from_micros(max(to_micros(components.clock()), lane.last_recorded_at + 1)),
        payload=as_read(cleaned)[0],
        user_id=lane.user_id,
        namespace=lane.namespace,
    )
    applied, held = components.writer.interpreter.preview(tenant, lane, entry)
    written = WriteResult(entry, applied, repeated=False, pending=False, redacted=redacted)
    items, superseded = runtime.learned(written)
    return Preview(
        proposals=_previewed(entry, applied.outcomes.get(PROPOSALS, ()), applied.settled, held),
        items=items,
        superseded=superseded,
        gated=runtime.gated(written),
        degraded=runtime.degraded(written),
    )


def _previewed(
    entry: Entry, outcomes: Sequence[Outcome], settled: ResolvedChanges, held: Mapping[str, Item]
) -> tuple[PreviewedProposal, ...]:
    """Return an extractor's proposals with what would become of each, in the order of the text."""
    found = [(one.made_by, Proposal.from_dict(row)) for one in outcomes for row in one.body["proposals"]]
    found.sort(key=lambda pair: (pair[1].n, pair[1].start))
    return tuple(_with_effect(entry, made_by, one, settled, held) for made_by, one in found)


def _with_effect(
    entry: Entry, made_by: str, one: Proposal, settled: ResolvedChanges, held: Mapping[str, Item]
) -> PreviewedProposal:
    after = {item.id: item for item in (*held.values(), *settled.updated, *settled.created)}
    decision, touched, ends = _effect_of(entry, one, settled)
    return PreviewedProposal(
        content=one.content,
        kind=one.kind,
        subject=one.subject,
        key=one.key,
        value=one.value,
        confidence=one.confidence,
        quote=one.quote,
        extractor=made_by,
        decision=decision,
        item=after.get(touched or ""),
        ends=tuple(held[item] for item in ends if item in held),
        contradicts=tuple(held[item] for item in _disputed(settled, touched) if item in held),
    )


def _disputed(settled: ResolvedChanges, item: str | None) -> list[str]:
    """Return the ids of the items that an item would contradict, whichever side says so."""
    pairs = [(one.from_id, one.to_id) for one in settled.changes.edges if one.type == "contradicts"]
    return list(dict.fromkeys(other for pair in pairs if item in pair for other in pair if other != item))


def _effect_of(entry: Entry, one: Proposal, settled: ResolvedChanges) -> tuple[Decision, str | None, list[str]]:
    """Return the decision on a proposal, the item that it makes or confirms, and the ids of those that it ends."""
    proposed = statements.proposed_item_id(entry.id, one)
    if any(item.id == proposed for item in settled.created):
        edges = [edge for edge in settled.changes.edges if edge.type == "supersedes" and edge.from_id == proposed]
        return ("SUPERSEDE" if edges else "ADD"), proposed, [edge.to_id for edge in edges]
    source = item_id(entry.id, "message", str(one.n))
    said = [
        row
        for row in settled.changes.evidence
        if row.source_item_id == source and (row.span_start, row.span_end) == (one.start, one.end)
    ]
    ends = [row.item_id for row in said if row.polarity == "contra"]
    if ends:
        return "RETRACT", None, ends
    confirmed = next((row.item_id for row in said), None)
    refined = any(delta.item_id == confirmed and "content" in delta.patch for delta in settled.deltas)
    return ("UPDATE" if refined else "NONE"), confirmed, []
