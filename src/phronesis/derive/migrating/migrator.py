"""Migrating memory by memory: an entry each, under a key of its own, so that a call that was killed goes on."""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from phronesis.core.canonical import decode, dumps
from phronesis.core.ids import derived_id
from phronesis.core.items import Item
from phronesis.core.reasoning.block import text_of
from phronesis.core.reasoning.migrated import MigratedSource, MigrationStatus, TakenOut
from phronesis.core.reasoning.standing import written_block
from phronesis.core.results import Degraded
from phronesis.core.scope import LaneName
from phronesis.derive.editor import Call
from phronesis.derive.handler import DEGRADED_ROLE
from phronesis.derive.migrating.migrate import MIGRATE, REFUSED, TAKEN_OUT, WRITTEN_ROLE, Rewriter, memory_of
from phronesis.derive.migrating.sources import OldRow
from phronesis.derive.writer import Writer, Written
from phronesis.errors import Erased, IdempotencyConflict, Violation
from phronesis.storage.database import Database
from phronesis.storage.deltas import deltas_of_entry
from phronesis.storage.log import read_outcomes
from phronesis.truth.reader import load_entry

_DIFF_CONTEXT: Final = 0


@dataclass(frozen=True, slots=True)
class Source:
    """An old memory on its way: how it is told of, its words, where its entry goes and what that says."""

    name: str
    text: str
    lane: LaneName | int
    payload: Mapping[str, Any]
    key: str
    item: Item | None = None

    @classmethod
    def of_item(cls, item: Item, lane: LaneName | int, scope: str | None) -> "Source":
        """Give an item of a lane; of another version it is another source, so that what was taken back comes anew."""
        payload = {"item_id": item.id} | ({} if scope is None else {"scope": scope})
        return cls(item.citation, item.content, lane, payload, f"{item.id}:{item.version}", item)

    @classmethod
    def of_row(cls, row: OldRow, lane: LaneName) -> "Source":
        """Give a row of a file."""
        return cls(row.name, str(row.payload["content"]), lane, row.payload, f"{lane}\n{row.natural_key}")


@dataclass(frozen=True, slots=True)
class Migrator:
    """Rewrites old memories, or shows what it would make of them."""

    database: Database
    writer: Writer
    rewriter: Rewriter

    def preview(self, tenant: str, source: Source) -> MigratedSource:
        """Give what would become of a memory. A model is asked, and nothing is written."""
        made, said = self.rewriter.rewrite(tenant, memory_of(source.payload, source.item, entry_id=""))
        return self._told(
            source, "refused" if made.violations else "would_migrate",
            blocks=[text_of(block) for block in made.blocks], by=made.made_by, taken_out=tuple(made.taken_out),
            violations=tuple(made.violations),
            degraded=tuple(Degraded(**one.body) for one in said if one.role == DEGRADED_ROLE),
        )  # fmt: skip

    def migrate(self, call: Call, source: Source) -> MigratedSource:
        """Record the migration of a memory and give what came of it; again the same where it was done before.

        One that was refused is tried again when somebody else rewrites now: another model, newer rules. One whose words
        were erased since stays so.
        """
        try:
            return self._migrated(call, source)
        except Erased:
            return self._told(source, "erased", blocks=())

    def _migrated(self, call: Call, source: Source) -> MigratedSource:
        key = derived_id(MIGRATE, source.key)
        try:
            found, how = self._outcome(call, source, self._write(call, source, key))
        except IdempotencyConflict as conflict:  # the same memory, told of otherwise
            found, how = self._earlier(call, source, str(conflict.details["entry_id"])), None
        if found.status == "refused" and how != self.rewriter.how:
            anew = derived_id(key, self.rewriter.how, dumps(source.payload))
            found, _ = self._outcome(call, source, self._write(call, source, anew))
        return found

    def _earlier(self, call: Call, source: Source, entry_id: str) -> MigratedSource:
        with self.database.transaction(call.tenant, "read") as unit:
            entry = load_entry(unit, entry_id)
        return self._outcome(call, source, Written(entry, None, repeated=True, pending=False))[0]

    def _write(self, call: Call, source: Source, key: str) -> Written:
        return self.writer.write(
            call.tenant, source.lane, verb=MIGRATE, payload=source.payload, actor=call.actor, idempotency_key=key,
            wait=call.wait,
        )  # fmt: skip

    def _outcome(self, call: Call, source: Source, written: Written) -> tuple[MigratedSource, str | None]:
        """Give what came of an entry, and of a refused one who refused it."""
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
        status: MigrationStatus = "migrated"
        if refused or not prepared:
            status = "refused"
        elif written.repeated or not deltas:
            status = "already"
        made = [delta.item_id for delta in deltas if delta.op == "create" and delta.evidence_added]
        told = self._told(
            source, status, blocks=[text_of(written_block(row["written"])) for row in prepared],
            by=next((str(row["made_by"]) for row in (*prepared, *refused)), ""),
            taken_out=tuple(TakenOut(row["why"], row["text"]) for row in rows.get(TAKEN_OUT, ())),
            violations=tuple(_violation(row) for row in refused),
            degraded=tuple(_degraded(row) for row in rows.get(DEGRADED_ROLE, ())),
        )  # fmt: skip
        how = next((str(row["how"]) for row in refused), None)
        return replace(told, entry_id=entry.id, item_ids=tuple(made)), how

    def _told(self, source: Source, status: MigrationStatus, *, blocks: Sequence[str], **more: Any) -> MigratedSource:
        return MigratedSource(source.name, status, blocks=tuple(blocks), diff=_diff(source, blocks), **more)


def _diff(source: Source, blocks: Sequence[str]) -> str:
    """Give the old text and the new blocks as a unified diff; nothing where nothing would be written."""
    if not blocks:
        return ""
    after = [line for block in blocks for line in block.split("\n")]
    lines = difflib.unified_diff(
        source.text.splitlines(), after, fromfile=source.name, tofile=f"{source.name} as claims", n=_DIFF_CONTEXT,
        lineterm="",
    )  # fmt: skip
    return "\n".join(lines)


def _violation(row: Mapping[str, Any]) -> Violation:
    return Violation(**{name: value for name, value in row.items() if name not in ("made_by", "how")})


def _degraded(row: Mapping[str, Any]) -> Degraded:
    return Degraded(**{name: row[name] for name in ("role", "reason", "by", "instead_of")})
