"""The verb that rewrites old memories in free text as claims."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from phronesis.core.ids import parse_id
from phronesis.core.reasoning.migrated import MigratedSource, MigrationResult
from phronesis.core.scope import LaneName, make_scope
from phronesis.core.text import check_id
from phronesis.derive.migrating.migrator import Source
from phronesis.derive.migrating.sources import MARKED, MIGRATED_KINDS, held, rows_of
from phronesis.errors import InputError
from phronesis.memory.inside import Inside
from phronesis.recall.browse import find_item
from phronesis.storage.eligible import check_kinds
from phronesis.truth import inputs

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is."""


class Migrating(Inside):
    """migrate_memories."""

    def migrate_memories(
        self,
        memories: Iterable[str | Mapping[str, Any]] | None = None,
        *,
        ids: Sequence[str] | None = None,
        kinds: Sequence[str] | None = None,
        filters: Mapping[str, Any] | None = None,
        user_id: str | None = None,
        namespace: str | None = None,
        scope: str | None = None,
        dry_run: bool = False,
        actor: str = "agent",
        on_progress: Progress | None = None,
    ) -> MigrationResult:
        """Rewrite old memories in free text as items of claims, by the model of the role ``migrate`` or by rules.

        ``memories`` are those of a file: texts, or mappings ``{content, id?, title?, metadata?, created_at?, run_ids?,
        kind?}``. Without them items of the lane are rewritten: those of ``ids``, or of ``kinds`` and ``filters``; by
        default those whose metadata say ``kind: reasoning``. ``scope`` becomes the SCOPE line. The old text stays:
        archived, quoted by what was made of it, and each entry is taken back by ``rollback``. What the gate of claims
        would refuse is left as it is, and told with every violation. Called again, it goes on where it stopped.
        ``dry_run`` shows what would become of each, with a diff, and writes nothing.
        """
        lane = make_scope(user_id=user_id, namespace=namespace).write_lane
        call = self._call(actor, None, True)
        named = None if scope is None else check_id(scope, field="scope")
        dry = inputs.flag(dry_run, field="dry_run")
        if memories is not None and (ids, kinds, filters) != (None, None, None):
            raise InputError("memories are those of a file; ids, kinds and filters choose items of the store: give one"
                             " or the other", field="memories")  # fmt: skip
        if not dry:
            self._drain()
        if memories is not None:
            rows = rows_of(memories, scope=named, now=self._open_stages().clock())
            sources = [Source.of_row(row, lane) for row in rows]
        else:
            sources = self._chosen(lane, ids, kinds, filters, named)
        done: list[MigratedSource] = []
        for n, source in enumerate(sources):
            if on_progress is not None:
                on_progress("rewriting memories", n, len(sources))
            migrator = self._open_stages().migrator
            done.append(migrator.preview(self._tenant, source) if dry else migrator.migrate(call, source))
        self._wake(pending=any(one.status == "pending" for one in done))
        return MigrationResult(tuple(done), dry)

    def _chosen(
        self,
        lane: LaneName,
        ids: Sequence[str] | None,
        kinds: Sequence[str] | None,
        filters: Mapping[str, Any] | None,
        scope: str | None,
    ) -> list[Source]:
        """Give the items that a call means, oldest first."""
        wanted = check_kinds(kinds, MIGRATED_KINDS)
        chosen = MARKED if (kinds, filters) == (None, None) else filters
        asked = self._wanted(kinds=wanted or list(MIGRATED_KINDS), filters=chosen)
        with self._open_stages().database.transaction(self._tenant, "read") as unit:
            if ids is None:
                return [Source.of_item(item, lane, scope) for item in held(unit, lane, asked)]
            if (kinds, filters) != (None, None) or isinstance(ids, str):
                raise InputError("ids is a list that names the items itself; leave kinds and filters out", field="ids")
            found = [find_item(unit, parse_id(one, field="ids")) for one in ids]
        for _, item in found:
            if item.kind not in MIGRATED_KINDS:
                raise InputError(f"ids: {item.id} is of kind {item.kind}, whose words are no free text", field="ids")
        return [Source.of_item(item, of.lane_id, scope) for of, item in found]
