"""The two retrievers of this store: conversation memory, and resources."""

from dataclasses import dataclass, replace
from typing import Any, Final

from phronesis.core.instants import optional_micros
from phronesis.core.items import KINDS
from phronesis.core.plan import MAX_QUERIES, RetrievalPlan, Store, SubPlan, SubQuery
from phronesis.core.resources.records import SECTION
from phronesis.core.results import SearchResult
from phronesis.core.text import storable
from phronesis.recall.manner import Encodings, Manner
from phronesis.recall.reranking import Search
from phronesis.recall.retrieving.port import Retrieved
from phronesis.recall.search import Query
from phronesis.storage.eligible import NO_EXCLUSION, Exclusion, Wanted, check_kinds
from phronesis.storage.filters import scoped_filters

MEMORY: Final = "memory"
RESOURCES: Final = "resources"


@dataclass(frozen=True, slots=True)
class MemoryRetriever:
    """Looks through conversation memory: words, names, vectors, and the time that is asked about."""

    searcher: Search
    name: str = MEMORY
    store: Store = MEMORY

    def retrieve(
        self, tenant: str, plan: RetrievalPlan, encodings: Encodings, exclude: Exclusion = NO_EXCLUSION
    ) -> Retrieved:
        """Give what memory holds for a plan."""
        sub = plan.memory
        if sub is None or not sub.queries:
            return Retrieved(self.name, self.store)
        query = _query(plan, sub, encodings, exclude)
        query = replace(query, manner=replace(query.manner, window=plan.time))
        return _retrieved(self.name, sub, query, self.searcher.search(tenant, query))

    def close(self) -> None:
        """Do nothing: the database is not this retriever's."""


@dataclass(frozen=True, slots=True)
class ResourceRetriever:
    """Looks through the sections of documents. These were not said at a time: the window is passed over."""

    searcher: Search
    name: str = RESOURCES
    store: Store = RESOURCES

    def retrieve(
        self, tenant: str, plan: RetrievalPlan, encodings: Encodings, exclude: Exclusion = NO_EXCLUSION
    ) -> Retrieved:
        """Give what the resources hold for a plan."""
        sub = plan.resources
        if sub is None or not sub.queries:
            return Retrieved(self.name, self.store)
        query = _query(plan, sub, encodings, exclude)
        others = query.wanted.kinds is not None and list(query.wanted.kinds) != [SECTION]
        query = replace(query, wanted=replace(query.wanted, kinds=[SECTION]))
        ignored = [*(["time"] if plan.time is not None else []), *(["kinds"] if others else [])]
        return _retrieved(self.name, sub, query, self.searcher.search(tenant, query), *ignored)

    def close(self) -> None:
        """Do nothing, likewise."""


def main_query(sub: SubPlan) -> SubQuery:
    """Give the wording that is searched whole: the weightiest, of equals the first."""
    return max(sub.queries, key=lambda one: one.weight)


def _query(plan: RetrievalPlan, sub: SubPlan, encodings: Encodings, exclude: Exclusion) -> Query:
    """Give the search of a sub-plan. One wording is searched whole; the others are met by the words of each text.

    To search each of eight whole would take eight times as long and encode eight questions.
    """
    main = main_query(sub)
    others = [one for one in sub.queries[:MAX_QUERIES] if one is not main and one.text != main.text]
    kinds = sub.kinds if sub.kinds is not None else plan.kinds
    filters = sub.filters if sub.filters is not None else plan.filters
    wanted = Wanted(
        kinds=check_kinds(None if kinds is None else list(kinds), KINDS), attributes=plan.scope.attributes,
        filters=None if filters is None else scoped_filters(filters, plan.scope.named),
        as_of=optional_micros(plan.as_of), valid_at=optional_micros(plan.valid_at), exclude=exclude,
    )  # fmt: skip
    names = tuple(map(storable, plan.entities))  # a plan may be a caller's own, or a model's
    manner = Manner(wordings=others, modes=tuple(sub.modes), names=names, signals=True, encodings=encodings)
    return Query(storable(main.text), plan.scope, wanted, sub.limit, explain=True, store=sub.store, manner=manner)


def _retrieved(name: str, sub: SubPlan, query: Query, found: SearchResult, *ignored: str) -> Retrieved:
    passed: list[str] = list(ignored)
    if "semantic" in sub.modes and "dense" not in found.channels:
        passed.append("modes.semantic")
    if query.manner.names and "relational" not in sub.modes:
        passed.append("entities")
    if len(sub.queries) > MAX_QUERIES:
        passed.append("queries")
    explain: dict[str, Any] = dict(found.explain or {})
    return Retrieved(
        name, sub.store, found.evidence, found.abstained, tuple(passed), found.degraded,
        {**explain, "query": query.text, "wordings": [one.text for one in query.manner.wordings]},
    )  # fmt: skip
