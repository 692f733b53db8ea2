"""Retrievers: the port, conversation memory, local resources, and resources of another server (SB-08).

A remote server is asked by ``POST {url}/api/v1/retrieve``. The plan is sent without its scope and without its part for
memory: the API key determines which store is searched. The response is bounded, validated field by field and marked as
foreign; any error gives an empty part with the reason.
"""

import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

from phronesis.core.entries import SECTION
from phronesis.core.evidence_pack import EvidencePack
from phronesis.core.ids import REMOTE_PREFIX, Scope, derived_id
from phronesis.core.items import KINDS, Item, Trust
from phronesis.core.results import Degraded, Evidence, Match, SearchResult, Source
from phronesis.core.retrieval_plan import MAX_QUERIES, RetrievalPlan, Store, SubPlan, SubQuery
from phronesis.core.text import storable
from phronesis.core.timestamps import optional_micros
from phronesis.errors import AnswerRejected, Closed, InputError, MissingExtra, ModelError, ModelRefused
from phronesis.index.tokens import tokenize
from phronesis.models.call_policy import Limits
from phronesis.models.transport import Gateway, ModelHttp
from phronesis.recall.fusion import Part
from phronesis.recall.query import Encodings, Query, Search, SearchOptions
from phronesis.recall.scoring.weights import COVERED, OUTLYING
from phronesis.store.eligible import NO_EXCLUSION, Exclusion, ReadConditions, check_kinds
from phronesis.store.filters import scoped_filters

# The retriever port: input is a plan, output is the evidence found and the fields ignored.


@dataclass(frozen=True, slots=True)
class RetrieverResult:
    """The result of one retriever: evidence, best first, each with its signals by name in ``why``.

    ``ignored`` lists the plan fields that it could not use; ``abstained`` means that nothing supports an answer.
    """

    name: str
    store: Store
    evidence: tuple[Evidence, ...] = ()
    abstained: bool = True
    ignored: tuple[str, ...] = ()
    degraded: tuple[Degraded, ...] = ()
    explain: Mapping[str, Any] = field(default_factory=dict)

    @property
    def part(self) -> Part:
        """The results in the form in which they are fused."""
        return Part(self.name, self.store, self.evidence, self.abstained)


class Retriever(Protocol):
    """Finds evidence in one store. Thread-safe; it does not raise when a model or a server is unavailable."""

    @property
    def name(self) -> str:
        """Its name in ``explain`` and ``ignored_fields``."""
        ...

    @property
    def store(self) -> Store:
        """The store whose part of a plan it executes."""
        ...

    def retrieve(
        self, tenant: str, plan: RetrievalPlan, encodings: Encodings, exclude: Exclusion = NO_EXCLUSION
    ) -> RetrieverResult:
        """Return the results for its part of a plan; empty if the plan has none for it.

        ``encodings`` holds the query vectors of this call; items that match ``exclude`` are left out. InputError: a
        filter or a kind is wrong.
        """
        ...

    def close(self) -> None:
        """Close its connections, if it has any."""
        ...


# The two local retrievers: conversation memory and resources.

MEMORY: Final = "memory"
RESOURCES: Final = "resources"


@dataclass(frozen=True, slots=True)
class MemoryRetriever:
    """Searches conversation memory by words, names, vectors and time."""

    searcher: Search
    name: str = MEMORY
    store: Store = MEMORY

    def retrieve(
        self, tenant: str, plan: RetrievalPlan, encodings: Encodings, exclude: Exclusion = NO_EXCLUSION
    ) -> RetrieverResult:
        """Return memory's results for a plan."""
        sub = plan.memory
        if sub is None or not sub.queries:
            return RetrieverResult(self.name, self.store)
        query = _query(plan, sub, encodings, exclude)
        query = replace(query, manner=replace(query.manner, window=plan.time))
        return _make_result(self.name, sub, query, self.searcher.search(tenant, query))

    def close(self) -> None:
        """Do nothing: the database does not belong to this retriever."""


@dataclass(frozen=True, slots=True)
class ResourceRetriever:
    """Searches the sections of documents. It ignores the time window: sections have no time of utterance."""

    searcher: Search
    name: str = RESOURCES
    store: Store = RESOURCES

    def retrieve(
        self, tenant: str, plan: RetrievalPlan, encodings: Encodings, exclude: Exclusion = NO_EXCLUSION
    ) -> RetrieverResult:
        """Return the resources' results for a plan."""
        sub = plan.resources
        if sub is None or not sub.queries:
            return RetrieverResult(self.name, self.store)
        query = _query(plan, sub, encodings, exclude)
        others = query.wanted.kinds is not None and list(query.wanted.kinds) != [SECTION]
        query = replace(query, wanted=replace(query.wanted, kinds=[SECTION]))
        ignored = [*(["time"] if plan.time is not None else []), *(["kinds"] if others else [])]
        return _make_result(self.name, sub, query, self.searcher.search(tenant, query), *ignored)

    def close(self) -> None:
        """Do nothing: the database does not belong to this retriever."""


def main_query(sub: SubPlan) -> SubQuery:
    """Return the query that is searched in full: the one of the highest weight, of equals the first."""
    return max(sub.queries, key=lambda one: one.weight)


def _query(plan: RetrievalPlan, sub: SubPlan, encodings: Encodings, exclude: Exclusion) -> Query:
    """Return the search of a sub-plan: one query in full, the others matched by words only.

    Searching all eight in full would take eight times as long and encode eight queries.
    """
    main = main_query(sub)
    others = [one for one in sub.queries[:MAX_QUERIES] if one is not main and one.text != main.text]
    kinds = sub.kinds if sub.kinds is not None else plan.kinds
    filters = sub.filters if sub.filters is not None else plan.filters
    wanted = ReadConditions(
        kinds=check_kinds(None if kinds is None else list(kinds), KINDS),
        attributes=plan.scope.attributes,
        filters=None if filters is None else scoped_filters(filters, plan.scope.named),
        as_of=optional_micros(plan.as_of),
        valid_at=optional_micros(plan.valid_at),
        exclude=exclude,
    )
    names = tuple(map(storable, plan.entities))  # a plan may come from a caller or a model
    manner = SearchOptions(wordings=others, modes=tuple(sub.modes), names=names, signals=True, encodings=encodings)
    return Query(storable(main.text), plan.scope, wanted, sub.limit, explain=True, store=sub.store, manner=manner)


def _make_result(name: str, sub: SubPlan, query: Query, found: SearchResult, *ignored: str) -> RetrieverResult:
    passed: list[str] = list(ignored)
    if "semantic" in sub.modes and "dense" not in found.channels:
        passed.append("modes.semantic")
    if query.manner.names and "relational" not in sub.modes:
        passed.append("entities")
    if len(sub.queries) > MAX_QUERIES:
        passed.append("queries")
    explain: dict[str, Any] = dict(found.explain or {})
    return RetrieverResult(
        name,
        sub.store,
        found.evidence,
        found.abstained,
        tuple(passed),
        found.degraded,
        {**explain, "query": query.text, "wordings": [one.text for one in query.manner.wordings]},
    )


# Converting evidence of another server so that it cannot be mistaken for local evidence.

MAX_CONTENT: Final = 20_000
"""Maximum characters of a remote section; only a snippet is shown."""

MAX_READ: Final = 4_000
"""Characters that are searched for the question's words."""

_TEXTS: Final = ("title", "document_id")
_NUMBERS: Final = ("start", "end")
_MAX_PATH: Final = 16
_MAX_NAME: Final = 300


def foreign(found: Evidence, *, server: str, asked: Collection[str]) -> Evidence:
    """Return evidence of ``server`` as a local record; ``asked`` are the question's terms.

    Coverage of the question is computed here, because servers' own figures are not comparable. The standing of its
    cosine is taken from the server, which alone knows it.
    """
    item, theirs = found.item, found.item.data
    own = {name: theirs[name][:_MAX_NAME] for name in _TEXTS if isinstance(theirs.get(name), str)}
    document = own.pop("document_id", None)
    path = theirs.get("path")
    data: dict[str, Any] = {
        **own,
        **{name: theirs[name] for name in _NUMBERS if isinstance(theirs.get(name), int)},
        "path": [one[:_MAX_NAME] for one in path[:_MAX_PATH] if isinstance(one, str)] if isinstance(path, list) else [],
        "document_id": _foreign_id(server, document or item.source_ref or item.id),
        "remote": server,
        "remote_id": item.id,
    }
    content = item.content[:MAX_CONTENT]
    matched = tuple(_foreign_match(one, server, item.id) for one in found.matched[:1])
    ours = Item(
        id=_foreign_id(server, item.id),
        kind=SECTION,
        content=content,
        entry_id=_foreign_id(server, item.entry_id),
        recorded_at=item.recorded_at,
        updated_at=item.updated_at,
        version=item.version,
        trust=Trust.EXTERNAL,
        confidence=item.confidence,
        source_ref=item.source_ref,
        valid_from=item.valid_from,
        valid_to=item.valid_to,
        occurred_at=item.occurred_at,
        data=data,
    )
    why = {
        **{name: value for name, value in (found.why or {}).items() if name == OUTLYING},
        COVERED: _coverage([*own.values(), *data["path"], content], asked),
    }
    return Evidence(ours, found.score, matched, tuple(_source(one, server) for one in found.sources), why=why)


def _foreign_id(server: str, identity: str) -> str:
    return f"{REMOTE_PREFIX}{derived_id('remote', server, identity)}"


def _foreign_match(match: Match, server: str, item_id: str) -> Match:
    part = match.part if match.part == "whole" or match.part.startswith("chunk:") else "whole"
    mine = _foreign_id(server, item_id)
    which = part.partition(":")[2]
    return Match(mine if not which else f"{mine}::chunk::{which}", part, match.snippet[:MAX_READ], match.distance)


def _source(source: Source, server: str) -> Source:
    quote = None if source.quote is None else source.quote[:MAX_READ]
    return Source(_foreign_id(server, source.entry_id), source.source_ref, occurred_at=source.occurred_at, quote=quote)


def _coverage(texts: Collection[str], asked: Collection[str]) -> float:
    if not asked:
        return 0.0
    held = set(tokenize("\n".join(texts)[:MAX_READ]))
    return round(len(held.intersection(asked)) / len(asked), 6)


PATH: Final = "/api/v1/retrieve"

MAX_BYTES: Final = 4 << 20
"""Maximum bytes of one response: forty sections of twenty thousand characters, three bytes each, with metadata."""

PAUSE_SECONDS: Final = 10.0
"""Seconds for which an unreachable server is skipped."""

ROLE: Final = "retrieve"
WITHOUT: Final = "local"
"""The fallback named in ``degraded``: the local retrievers."""

UNAVAILABLE: Final = "remote.unavailable"
REFUSED: Final = "remote.refused"
UNREADABLE: Final = "remote.answer"
"""Reasons for an empty part: unreachable or failing; key or path refused; unreadable response."""


@dataclass(slots=True)
class RemoteRetriever:
    """Queries one server. Thread-safe; connects on first use; close it when done."""

    url: str
    api_key: str | None = field(default=None, repr=False)
    timeout: float = 5.0
    seconds: Callable[[], float] = time.monotonic
    store: Store = RESOURCES
    _away_until: float = float("-inf")
    _http: ModelHttp | None = None
    _closed: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def name(self) -> str:
        """``remote:`` and the server's host and port."""
        return f"remote:{urlsplit(self.url).netloc}"

    def retrieve(
        self,
        tenant: str,  # noqa: ARG002 - the port's
        plan: RetrievalPlan,
        encodings: Encodings,  # noqa: ARG002
        exclude: Exclusion = NO_EXCLUSION,  # noqa: ARG002 - its resources are of no session
    ) -> RetrieverResult:
        """Return the server's results for a plan."""
        sub = plan.resources
        if sub is None or not sub.queries:
            return RetrieverResult(self.name, self.store)
        if self.seconds() < self._away_until:
            return self._empty_result(UNAVAILABLE)
        try:
            pack = self._ask_server(plan, sub)
        except ModelRefused:
            return self._empty_result(REFUSED)
        except MissingExtra as error:
            return self._empty_result(error.code)
        except (AnswerRejected, InputError):  # not JSON, too long, or a wrong field
            return self._empty_result(UNREADABLE)
        except (ModelError, Closed):
            with self._lock:
                self._away_until = self.seconds() + PAUSE_SECONDS
            return self._empty_result(UNAVAILABLE)
        return self._foreign_result(pack, sub)

    def close(self) -> None:
        """Close the connections; a running call ends."""
        with self._lock:
            self._closed = True
            if self._http is not None:
                self._http.close()

    def _ask_server(self, plan: RetrievalPlan, sub: SubPlan) -> EvidencePack:
        limits = Limits(self.seconds, self.seconds() + self.timeout, max_bytes=MAX_BYTES)
        outgoing = replace(plan, scope=Scope(), memory=None, kinds=None, limit=sub.limit, share=0.0, degraded=())
        return EvidencePack.from_dict(self._connect().post(PATH, outgoing.to_dict(), limits=limits), plan=plan)

    def _foreign_result(self, pack: EvidencePack, sub: SubPlan) -> RetrieverResult:
        asked = set(tokenize(main_query(sub).text))
        found = tuple(foreign(one, server=self.url, asked=asked) for one in pack.evidence[: sub.limit])
        ignored = sorted({name for fields in pack.ignored_fields.values() for name in fields})
        degraded = tuple(replace(one, instead_of=f"{self.name}/{one.instead_of}") for one in pack.degraded)
        return RetrieverResult(
            self.name, self.store, found, pack.abstained or not found, tuple(ignored), degraded, {"url": self.url}
        )

    def _empty_result(self, reason: str) -> RetrieverResult:
        away = Degraded(ROLE, reason, WITHOUT, self.name)
        return RetrieverResult(self.name, self.store, degraded=(away,), explain={"url": self.url})

    def _connect(self) -> ModelHttp:
        with self._lock:
            if self._closed:
                raise Closed(f"{self.name}: its connections were closed")
            if self._http is None:
                self._http = ModelHttp(Gateway(self.name, self.url, self.api_key))
            return self._http
