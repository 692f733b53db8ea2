"""The memory of a crew, of CrewAI, over a Memory.

``Crew(agents=…, tasks=…, memory=PhronesisMemory(memory, user_id="lin"))``. No model is called: a record is kept as it
is given, and recall searches the Memory, also for what was said outside the crew.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Final, Literal, cast

from crewai.memory.storage.backend import StorageBackend
from crewai.memory.types import MemoryMatch, MemoryRecord, ScopeInfo
from crewai.memory.unified_memory import Memory as CrewMemory
from crewai.memory.utils import join_scope_paths

from phronesis.adapters.framework_storage import ItemNaming, KeyedItems
from phronesis.core.items import Item
from phronesis.memory import Memory

_NAMING: Final = ItemNaming(subject="CrewAI memory", prefix="crewai", member="record_id")
_FORM: Final = "crewai"
"""The metadata key of a record's own form, which is JSON."""

_OVERSAMPLE: Final = 4
"""How many times more memories than asked are searched where a scope, a category or privacy leaves some out."""


class PhronesisStorage(StorageBackend):
    """CrewAI's ``StorageBackend`` without search by vector: `PhronesisMemory` searches by text."""

    def __init__(self, memory: Memory, *, user_id: str | None = None, namespace: str = "crewai") -> None:
        self.items = KeyedItems(memory, _NAMING, user_id=user_id, namespace=namespace)

    def __deepcopy__(self, memo: dict[int, Any]) -> "PhronesisStorage":
        """Return itself: a copy of a crew has the same memory."""
        _ = memo
        return self

    def save(self, records: Sequence[MemoryRecord]) -> None:
        """Keep records; one with an id that is kept already replaces it, and its history stays."""
        for record in records:
            self.items.put(record.id, record.content, {_FORM: record.model_dump_json()})

    def update(self, record: MemoryRecord) -> None:
        """Replace a record."""
        self.save([record])

    def search(self, query_embedding: list[float], **asked: Any) -> list[tuple[MemoryRecord, float]]:
        """Refuse: a Memory makes vectors of its own."""
        raise NotImplementedError("a Memory is searched by text: give the crew memory=PhronesisMemory(…)")

    def get_record(self, record_id: str) -> MemoryRecord | None:
        """Return a record, or None."""
        item = self.items.find(record_id)
        return None if item is None else record_of(item)

    def delete(
        self,
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        record_ids: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
    ) -> int:
        """Archive the records that meet all that is given; return how many."""
        wanted = (metadata_filter or {}).items()
        before = older_than if older_than is None or older_than.tzinfo is None else _naive(older_than)
        gone = [
            record.id
            for record in self._within(scope_prefix, categories)
            if (record_ids is None or record.id in record_ids)
            and (before is None or record.created_at < before)
            and all(record.metadata.get(name) == value for name, value in wanted)
        ]
        return sum(self.items.remove(record_id) for record_id in gone)

    def reset(self, scope_prefix: str | None = None) -> None:
        """Archive the records of a scope."""
        self.delete(scope_prefix)

    def list_records(self, scope_prefix: str | None = None, limit: int = 200, offset: int = 0) -> list[MemoryRecord]:
        """Return the records of a scope, newest first."""
        found = sorted(self._within(scope_prefix), key=lambda record: record.created_at, reverse=True)
        return found[offset:][:limit]

    def count(self, scope_prefix: str | None = None) -> int:
        """Return how many records a scope has."""
        return sum(1 for _ in self._within(scope_prefix))

    def list_categories(self, scope_prefix: str | None = None) -> dict[str, int]:
        """Return how many records each category has."""
        named = [category for record in self._within(scope_prefix) for category in record.categories]
        return {category: named.count(category) for category in dict.fromkeys(named)}

    def list_scopes(self, parent: str = "/") -> list[str]:
        """Return the scopes right below another."""
        above = parent.rstrip("/") + "/"
        below = (record.scope.removeprefix(above).partition("/")[0] for record in self._within(parent))
        return sorted({above + name for name in below if name})

    def get_scope_info(self, scope: str) -> ScopeInfo:
        """Return what a scope holds."""
        records = list(self._within(scope))
        times = [record.created_at for record in records]
        return ScopeInfo(
            path=scope.rstrip("/") or "/",
            record_count=len(records),
            categories=sorted({category for record in records for category in record.categories}),
            oldest_record=min(times, default=None),
            newest_record=max(times, default=None),
            child_scopes=self.list_scopes(scope),
        )

    def _within(self, scope_prefix: str | None, categories: list[str] | None = None) -> Iterator[MemoryRecord]:
        for item in self.items.every():
            record = record_of(item)
            if _lies(record, scope_prefix) and _has_one(record, categories):
                yield record


class PhronesisMemory(CrewMemory):
    """CrewAI's unified ``Memory``: its scopes, slices and tools, with the storage and the recall of Phronesis.

    Agents read the memories of ``user_id`` and of ``namespace``, whoever recorded them, and write records there.
    """

    def __init__(
        self, memory: Memory, *, user_id: str | None = None, namespace: str = "crewai", **options: Any
    ) -> None:
        storage = PhronesisStorage(memory, user_id=user_id, namespace=namespace)
        super().__init__(storage=storage, embedder=lambda texts: [[] for _ in texts], **options)

    def extract_memories(self, content: str) -> list[str]:
        """Return the text itself: the result of a task is one memory."""
        return [content] if content.strip() else []

    def remember(self, content: str, **given: Any) -> MemoryRecord | None:
        """Keep a text with the scope, categories and other fields that are given."""
        return next(iter(self.remember_many([content], **given)), None)

    def remember_many(self, contents: list[str], **given: Any) -> list[MemoryRecord]:
        """Keep texts, and return their records at once."""
        if self.read_only:
            return []
        given.pop("agent_role", None)
        root = given.pop("root_scope", None) or self.root_scope
        fields = {name: value for name, value in given.items() if value is not None}
        fields["scope"] = join_scope_paths(root, fields.get("scope"))
        records = [MemoryRecord(content=content, **fields) for content in contents]
        self._records.save(records)
        return records

    def recall(
        self,
        query: str,
        *,
        scope: str | None = None,
        categories: list[str] | None = None,
        limit: int = 10,
        depth: Literal["shallow", "deep"] = "deep",
        source: str | None = None,
        include_private: bool = False,
    ) -> list[MemoryMatch]:
        """Return what bears on a query, best first; both depths are one search. Nothing where nothing bears."""
        _ = depth
        inside = join_scope_paths(self.root_scope, scope) if scope or self.root_scope else None
        items = self._records.items
        if not query.strip():
            return []
        found = items.memory.search(query, limit=limit * _OVERSAMPLE, **{**items.scope, "kinds": None})
        matches = [MemoryMatch(record=record_of(one.item), score=one.score) for one in found if not found.abstained]
        return [
            match
            for match in matches
            if _lies(match.record, inside)
            and _has_one(match.record, categories)
            and (not match.record.private or include_private or (source is not None and match.record.source == source))
        ][:limit]

    @property
    def _records(self) -> PhronesisStorage:
        return cast("PhronesisStorage", self._storage)


def record_of(item: Item) -> MemoryRecord:
    """Return an item as a record: a crew's own form with the text of today, or a record of the root scope."""
    if _FORM in item.metadata:
        kept = MemoryRecord.model_validate_json(item.metadata[_FORM])
        return kept.model_copy(update={"content": item.content})
    return MemoryRecord(id=item.id, content=item.content, created_at=_naive(item.occurred_at or item.recorded_at))


def _lies(record: MemoryRecord, scope: str | None) -> bool:
    path = (scope or "").rstrip("/")
    return not path or record.scope == path or record.scope.startswith(f"{path}/")


def _has_one(record: MemoryRecord, categories: list[str] | None) -> bool:
    return not categories or any(category in record.categories for category in categories)


def _naive(moment: datetime) -> datetime:
    """Return a time as CrewAI keeps it: UTC without an offset."""
    return moment.astimezone(UTC).replace(tzinfo=None)
