"""The handler of ``migrate``, and `Migrator`, which writes one entry per old memory.

One old memory becomes claims, in one entry that can be rolled back (RB-23). The memory is an item of the lane, or is in
the payload if it came from a file; then it is also stored as an item, archived from the start. prepare rewrites it;
apply creates the items of claims, archives the old one and joins them by an edge ``supersedes`` and a source that
quotes the old text whole. A memory that cannot be rewritten changes nothing.
"""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, TypedDict

from phronesis.core.changes import Changes, Patch
from phronesis.core.entries import Entry, Outcome, is_erased, item_timestamps, payload_of
from phronesis.core.ids import LaneName, citation, derived_id, item_id
from phronesis.core.items import DEFAULT_IMPORTANCE, Item, Trust
from phronesis.core.relations import Edge, EvidenceRow
from phronesis.core.results import Degraded
from phronesis.core.serialization import decode, dumps
from phronesis.core.timestamps import parse_moment
from phronesis.engine.edits import Call
from phronesis.engine.handler import DEGRADED_ROLE, Handler, Outcomes, Prepare, PrepareContext
from phronesis.engine.writer import Writer, WriteResult
from phronesis.errors import Erased, IdempotencyConflict, Violation
from phronesis.log.payloads import load_entry
from phronesis.models.structured_client import StructuredClient
from phronesis.reasoning.laws.claim_status import WRITTEN, stated_of, text_of, written_block
from phronesis.reasoning.laws.records import REASONING, MigratedSource, MigrationStatus, TakenOut
from phronesis.reasoning.migration_rewriting import PROMPT_VERSION, RULES, OldMemory, Rewriting, ask, rewrite_by_rules
from phronesis.reasoning.migration_sources import OldRow
from phronesis.store.database import Database
from phronesis.store.deltas import deltas_of_entry
from phronesis.store.lane_view import LaneView
from phronesis.store.log import read_outcomes


class MigratePayload(TypedDict, total=False):
    """The verb ``migrate``: an item of the lane, or the old memory itself with its origin."""

    item_id: str
    content: str
    source_ref: str
    title: str
    scope: str
    run_ids: Sequence[str]
    kind: str
    metadata: dict[str, Any]
    occurred_at: str


MIGRATE: Final = "migrate"

WRITTEN_ROLE: Final = "rewritten"
TAKEN_OUT: Final = "taken_out"
REFUSED: Final = "refused"
"""Roles of outcomes: one for each block, the statements left out, and why a memory stays unchanged."""

SOURCE_TYPE: Final = "migration"
REASON: Final = "rewritten as claims"
_TITLES: Final = ("title", "topic")


@dataclass(frozen=True, slots=True)
class Rewriter:
    """Rewrites old memories, by a model if there is one, and by rules where it gives nothing valid."""

    asker: StructuredClient | None = None

    @property
    def writer(self) -> str:
        """The model or rules, with version; a refusal depends on it."""
        return RULES if self.asker is None else f"{self.asker.name} {PROMPT_VERSION} {RULES}"

    def rewrite(self, tenant: str, old: OldMemory) -> tuple[Rewriting, list[Outcome]]:
        """Return the rewriting of a memory, and the outcomes with the model's answers."""
        made, said = (None, ()) if self.asker is None else ask(self.asker, tenant, old)
        return made or rewrite_by_rules(old), list(said)

    def __call__(self, bench: PrepareContext, entry: Entry) -> Sequence[Outcome]:
        """Prepare an entry; return nothing if the item that it names is gone."""
        payload = payload_of(entry, MigratePayload)
        with bench.view() as view:
            item = view.item(payload["item_id"]) if "item_id" in payload else None
        if item is None and "content" not in payload:
            return ()
        old = memory_of(payload, item, entry_id=entry.id)
        made, said = self.rewrite(bench.tenant, old)
        bodies: dict[str, list[Mapping[str, Any]]] = {
            WRITTEN_ROLE: [{"written": stated_of(block)} for block in made.blocks],
            TAKEN_OUT: [one.to_dict() for one in made.taken_out],
            REFUSED: [{"how": self.writer, **_members(one)} for one in made.violations],
        }
        return said + [
            Outcome(role=role, made_by=made.made_by, body=body, n=n)
            for role, listed in bodies.items()
            for n, body in enumerate(listed)
        ]


def _members(violation: Violation) -> dict[str, Any]:
    return {name: value for name, value in asdict(violation).items() if value is not None}


def memory_of(payload: Mapping[str, Any], item: Item | None, *, entry_id: str) -> OldMemory:
    """Return the memory of an entry: an item of the lane, or the one in its payload."""
    if item is None:
        origin = payload.get("source_ref") or citation(old_id(entry_id))
        return OldMemory(
            text=payload["content"],
            origin=origin,
            title=payload.get("title") or "",
            scope=payload.get("scope"),
            run_ids=payload.get("run_ids", ()),
        )
    title = next((value for name in _TITLES if isinstance(value := item.metadata.get(name), str)), "")
    listed = item.metadata.get("run_ids")
    runs = [item.run_id, item.metadata.get("run_id"), *(listed if isinstance(listed, list) else ())]
    known = tuple(dict.fromkeys(run for run in runs if isinstance(run, str) and run))
    return OldMemory(text=item.content, origin=item.citation, title=title, scope=payload.get("scope"), run_ids=known)


def old_id(entry_id: str) -> str:
    """Return the id of the item that stores the old text of an entry whose memory came from a file."""
    return item_id(entry_id, "old memory", "")


def apply_migrate(view: LaneView, entry: Entry, outcomes: Outcomes) -> Changes:
    """Create the items of claims and archive the old memory; no changes if there are none or it is archived already."""
    payload = payload_of(entry, MigratePayload)
    prepared = outcomes.get(WRITTEN_ROLE, ())
    if is_erased(payload) or not prepared:
        return Changes()
    kept = [] if "item_id" in payload else [_old(view, entry)]
    old = kept[0] if kept else view.item(payload["item_id"])
    if old is None or not (kept or old.live):
        return Changes()
    made = [_make_item(view, entry, old, outcome) for outcome in prepared]
    return Changes(
        items=[*kept, *made],
        patches=[
            *([] if kept else [Patch(old.id, {"status": "archived", "pinned": False}, REASON)]),
            *(Patch(item.id, {}, REASON) for item in made),
        ],
        edges=[Edge.of_items("supersedes", item.id, old.id, entry_id=entry.id) for item in made],
        evidence=[_quote_evidence(entry, item, old) for item in made],
    )


def _old(view: LaneView, entry: Entry) -> Item:
    """Return the item that stores the text of an old memory from a file."""
    payload = payload_of(entry, MigratePayload)
    at = parse_moment(payload["occurred_at"], field="occurred_at") if "occurred_at" in payload else entry.recorded_at
    kind = payload.get("kind", "procedure")
    return Item(
        id=old_id(entry.id),
        kind=kind,
        content=payload["content"],
        metadata=payload.get("metadata") or {},
        importance=DEFAULT_IMPORTANCE[kind],
        status="archived",
        trust=Trust.USER,
        source_type=SOURCE_TYPE,
        source_ref=payload.get("source_ref"),
        **item_timestamps(entry, at),
        **view.scope_fields(),
    )


def _make_item(view: LaneView, entry: Entry, old: Item, outcome: Outcome) -> Item:
    written = outcome.body["written"]
    by_model = outcome.made_by != RULES
    return Item(
        id=item_id(entry.id, REASONING, str(outcome.n)),
        kind=REASONING,
        content="",
        entry_id=entry.id,
        recorded_at=entry.recorded_at,
        updated_at=entry.recorded_at,
        metadata=old.metadata,
        importance=DEFAULT_IMPORTANCE[REASONING],
        trust=min(old.trust, Trust.ASSISTANT if by_model else Trust.USER),
        pinned=old.pinned,
        source_type=SOURCE_TYPE,
        source_ref=old.source_ref,
        agent_id=old.agent_id,
        occurred_at=old.occurred_at,
        valid_from=old.valid_from,
        data={**{name: written[name] for name in WRITTEN if name in written}, "made_by": outcome.made_by},
        **view.scope_fields(),
    )


def _quote_evidence(entry: Entry, item: Item, old: Item) -> EvidenceRow:
    return EvidenceRow(
        item_id=item.id,
        polarity="source",
        source_key=old.id,
        entry_id=entry.id,
        recorded_at=entry.recorded_at,
        source_entry_id=old.entry_id,
        source_item_id=old.id,
        source_ref=old.source_ref,
        span_start=0,
        span_end=len(old.content),
        occurred_at=old.occurred_at,
    )


def handlers(prepare: Prepare | None) -> tuple[Handler, ...]:
    """Return the handler of ``migrate`` with this prepare."""
    return (Handler(verb=MIGRATE, apply=apply_migrate, prepare=prepare),)


# Migration, one entry per memory with its own idempotency key, so that an interrupted call can continue.


@dataclass(frozen=True, slots=True)
class Source:
    """An old memory to migrate: its citation, its text, and the lane and payload of its entry."""

    name: str
    text: str
    lane: LaneName | int
    payload: Mapping[str, Any]
    key: str
    item: Item | None = None

    @classmethod
    def of_item(cls, item: Item, lane: LaneName | int, scope: str | None) -> "Source":
        """Return the source for an item.

        Another version is another source, so a rolled-back migration can be repeated.
        """
        payload = {"item_id": item.id} | ({} if scope is None else {"scope": scope})
        return cls(item.citation, item.content, lane, payload, f"{item.id}:{item.version}", item)

    @classmethod
    def of_row(cls, row: OldRow, lane: LaneName) -> "Source":
        """Return the source for a row of a file."""
        return cls(row.name, str(row.payload["content"]), lane, row.payload, f"{lane}\n{row.natural_key}")


@dataclass(frozen=True, slots=True)
class Migrator:
    """Migrates old memories, or previews the result."""

    database: Database
    rewriter: Rewriter

    def preview(self, tenant: str, source: Source) -> MigratedSource:
        """Return what a memory would become. A model may be asked; nothing is written."""
        made, said = self.rewriter.rewrite(tenant, memory_of(source.payload, source.item, entry_id=""))
        return _source_result(
            source,
            "refused" if made.violations else "would_migrate",
            blocks=[text_of(block) for block in made.blocks],
            by=made.made_by,
            taken_out=tuple(made.taken_out),
            violations=tuple(made.violations),
            degraded=tuple(Degraded(**one.body) for one in said if one.role == DEGRADED_ROLE),
        )

    def migrate(self, writer: Writer, call: Call, source: Source) -> MigratedSource:
        """Record the migration of a memory and return its result; a repeated call returns the same.

        A refused memory is tried again when the rewriter has changed: another model, newer rules. A memory whose text
        was erased since is not.
        """
        try:
            return self._migrate_source(writer, call, source)
        except Erased:
            return _source_result(source, "erased", blocks=())

    def _migrate_source(self, writer: Writer, call: Call, source: Source) -> MigratedSource:
        key = derived_id(MIGRATE, source.key)
        try:
            found, how = self._outcome(call, source, _write(writer, call, source, key))
        except IdempotencyConflict as conflict:  # the same memory with different arguments
            found, how = self._earlier(call, source, str(conflict.details["entry_id"])), None
        if found.status == "refused" and how != self.rewriter.writer:
            anew = derived_id(key, self.rewriter.writer, dumps(source.payload))
            found, _ = self._outcome(call, source, _write(writer, call, source, anew))
        return found

    def _earlier(self, call: Call, source: Source, entry_id: str) -> MigratedSource:
        with self.database.transaction(call.tenant, "read") as unit:
            entry = load_entry(unit, entry_id)
        return self._outcome(call, source, WriteResult(entry, None, repeated=True, pending=False))[0]

    def _outcome(self, call: Call, source: Source, written: WriteResult) -> tuple[MigratedSource, str | None]:
        """Return the result of an entry and, for a refused one, the rewriter that refused it."""
        entry = written.entry
        if written.pending:
            return MigratedSource(source.name, "pending", entry_id=entry.id), None
        with self.database.transaction(call.tenant, "read") as unit:
            rows: dict[str, list[Mapping[str, Any]]] = {}
            for row in read_outcomes(unit, [entry.id])[entry.id]:
                rows.setdefault(row["role"], []).append({"made_by": row["made_by"], **decode(row["body"])})
            deltas = deltas_of_entry(unit, entry.lane_id, entry.id)
        refused = rows.get(REFUSED, [])
        prepared = rows.get(WRITTEN_ROLE, [])
        status: MigrationStatus = "already" if written.repeated or not deltas else "migrated"
        status = "refused" if refused or not prepared else status
        made = [delta.item_id for delta in deltas if delta.op == "create" and delta.evidence_added]
        told = _source_result(
            source,
            status,
            blocks=[text_of(written_block(row["written"])) for row in prepared],
            by=next((str(row["made_by"]) for row in (*prepared, *refused)), ""),
            taken_out=tuple(TakenOut(row["why"], row["text"]) for row in rows.get(TAKEN_OUT, ())),
            violations=tuple(
                Violation(**{name: value for name, value in row.items() if name not in ("made_by", "how")})
                for row in refused
            ),
            degraded=tuple(
                Degraded(*(row[name] for name in ("role", "reason", "by", "instead_of")))
                for row in rows.get(DEGRADED_ROLE, ())
            ),
        )
        how = next((str(row["how"]) for row in refused), None)
        return replace(told, entry_id=entry.id, item_ids=tuple(made)), how


def _source_result(source: Source, status: MigrationStatus, *, blocks: Sequence[str], **more: Any) -> MigratedSource:
    return MigratedSource(source.name, status, blocks=tuple(blocks), diff=_diff(source, blocks), **more)


def _write(writer: Writer, call: Call, source: Source, key: str) -> WriteResult:
    lane, payload = source.lane, source.payload
    return writer.write(
        call.tenant, lane, verb=MIGRATE, payload=payload, actor=call.actor, idempotency_key=key, wait=call.wait
    )


def _diff(source: Source, blocks: Sequence[str]) -> str:
    """Return the old text and the new blocks as a unified diff; empty where nothing would be written."""
    if not blocks:
        return ""
    before, after = source.text.splitlines(), [line for block in blocks for line in block.split("\n")]
    names = {"fromfile": source.name, "tofile": f"{source.name} as claims"}
    return "\n".join(difflib.unified_diff(before, after, **names, n=0, lineterm=""))
