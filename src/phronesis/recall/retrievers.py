"""Retrievers of memory, of local resources and of another server's (SB-08), and the execution of a plan over them.

A remote server is asked by ``POST {url}/api/v1/retrieve``. The plan is sent without its scope and without its part for
memory: the API key determines which store is searched. The response is bounded, validated field by field and marked as
foreign; any error gives an empty part with the reason.
"""

import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final
from urllib.parse import urlsplit

from phronesis.core.entries import SECTION
from phronesis.core.evidence_pack import EvidencePack
from phronesis.core.ids import REMOTE_PREFIX, Scope, derived_id
from phronesis.core.items import KINDS, Item, Trust
from phronesis.core.results import Degraded, Evidence, Match, SearchResult, Source
from phronesis.core.retrieval_plan import MAX_QUERIES, RetrievalPlan, SubPlan, SubQuery
from phronesis.core.text import replace_unstorable
from phronesis.core.timestamps import optional_micros
from phronesis.errors import AnswerRejected, Closed, InputError, MissingExtra, ModelError, ModelRefused
from phronesis.index.tokens import tokenize
from phronesis.models.call_policy import Limits
from phronesis.models.rerankers import ROLE as RERANK
from phronesis.models.rerankers import Judge
from phronesis.models.transport import Gateway, ModelHttp
from phronesis.recall.fusion import Candidate, Part, candidates_of, fill_places, fuse, reranked
from phronesis.recall.hits import FUSION, shown_text
from phronesis.recall.query import Encodings, Query, Search, SearchOptions
from phronesis.recall.scoring.weights import COVERED, OUTLYING, FusionRules, on_scale
from phronesis.store.eligible import ReadConditions, check_kinds
from phronesis.store.filters import scoped_filters


@dataclass(frozen=True, slots=True)
class RetrieverResult(Part):
    """The result of one retriever: evidence, best first, each with its signals by name in ``why``.

    ``ignored`` lists the plan fields that it could not use; ``abstained`` means that nothing supports an answer.
    """

    evidence: tuple[Evidence, ...] = ()
    abstained: bool = True
    ignored: tuple[str, ...] = ()
    degraded: tuple[Degraded, ...] = ()
    explain: Mapping[str, Any] = field(default_factory=dict)


# Retrieval from this store: conversation memory, and the sections of documents.

MEMORY: Final = "memory"
RESOURCES: Final = "resources"


def retrieve_local(
    searcher: Search, tenant: str, plan: RetrievalPlan, sub: SubPlan, encodings: Encodings
) -> RetrieverResult:
    """Return the results of one store for its part of a plan.

    Sections have no time of utterance: of them the time window is ignored. ``encodings`` holds the query vectors of
    this call. InputError: a filter or a kind is wrong.
    """
    if not sub.queries:
        return RetrieverResult(sub.store, sub.store)
    query = _query(plan, sub, encodings)
    ignored: list[str] = []
    if sub.store == MEMORY:
        query = replace(query, manner=replace(query.manner, window=plan.time))
    else:
        others = query.wanted.kinds is not None and list(query.wanted.kinds) != [SECTION]
        ignored = [name for name, given in (("time", plan.time is not None), ("kinds", others)) if given]
        query = replace(query, wanted=replace(query.wanted, kinds=[SECTION]))
    return _make_result(sub, query, searcher.search(tenant, query), ignored)


def main_query(sub: SubPlan) -> SubQuery:
    """Return the query that is searched in full: the one of the highest weight, of equals the first."""
    return max(sub.queries, key=lambda one: one.weight)


def _query(plan: RetrievalPlan, sub: SubPlan, encodings: Encodings) -> Query:
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
    )
    names = tuple(map(replace_unstorable, plan.entities))  # a plan may come from a caller or a model
    manner = SearchOptions(wordings=others, modes=tuple(sub.modes), names=names, signals=True, encodings=encodings)
    return Query(
        replace_unstorable(main.text), plan.scope, wanted, sub.limit, explain=True, store=sub.store, manner=manner
    )


def _make_result(sub: SubPlan, query: Query, found: SearchResult, ignored: Sequence[str]) -> RetrieverResult:
    passed = list(ignored)
    if "semantic" in sub.modes and "dense" not in found.channels:
        passed.append("modes.semantic")
    if query.manner.names and "relational" not in sub.modes:
        passed.append("entities")
    if len(sub.queries) > MAX_QUERIES:
        passed.append("queries")
    explain: dict[str, Any] = dict(found.explain or {})
    return RetrieverResult(
        sub.store,
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
    matched = []
    for one in found.matched[:1]:
        part = one.part if one.part.startswith("chunk:") else "whole"
        which = part.partition(":")[2]
        mine = _foreign_id(server, item.id) + (f"::chunk::{which}" if which else "")
        matched.append(Match(mine, part, one.snippet[:MAX_READ], one.distance))
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
    held = set(tokenize("\n".join([*own.values(), *data["path"], content])[:MAX_READ]))
    why = {
        **{name: value for name, value in (found.why or {}).items() if name == OUTLYING},
        COVERED: round(len(held.intersection(asked)) / len(asked), 6) if asked else 0.0,
    }
    sources = tuple(
        Source(
            _foreign_id(server, one.entry_id),
            one.source_ref,
            occurred_at=one.occurred_at,
            quote=one.quote and one.quote[:MAX_READ],
        )
        for one in found.sources
    )
    return Evidence(ours, found.score, tuple(matched), sources, why=why)


def _foreign_id(server: str, identity: str) -> str:
    return f"{REMOTE_PREFIX}{derived_id('remote', server, identity)}"


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
    _away_until: float = float("-inf")
    _http: ModelHttp | None = None
    _closed: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def name(self) -> str:
        """``remote:`` and the server's host and port."""
        return f"remote:{urlsplit(self.url).netloc}"

    def retrieve(self, plan: RetrievalPlan, sub: SubPlan) -> RetrieverResult:
        """Return the server's results for a plan's part for resources; empty where it is away."""
        if not sub.queries:
            return RetrieverResult(self.name, RESOURCES)
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
            self._away_until = self.seconds() + PAUSE_SECONDS
            return self._empty_result(UNAVAILABLE)
        asked = set(tokenize(main_query(sub).text))
        found = tuple(foreign(one, server=self.url, asked=asked) for one in pack.evidence[: sub.limit])
        ignored = sorted({name for fields in pack.ignored_fields.values() for name in fields})
        degraded = tuple(replace(one, instead_of=f"{self.name}/{one.instead_of}") for one in pack.degraded)
        return RetrieverResult(
            self.name, RESOURCES, found, pack.abstained or not found, tuple(ignored), degraded, {"url": self.url}
        )

    def close(self) -> None:
        """Close the connections; a running call ends."""
        with self._lock:
            self._closed = True
            if self._http is not None:
                self._http.close()

    def _ask_server(self, plan: RetrievalPlan, sub: SubPlan) -> EvidencePack:
        limits = Limits(self.seconds, self.seconds() + self.timeout, max_bytes=MAX_BYTES)
        outgoing = replace(plan, scope=Scope(), memory=None, kinds=None, limit=sub.limit, share=0.0, degraded=())
        with self._lock:
            if self._closed:
                raise Closed(f"{self.name}: its connections were closed")
            http = self._http = self._http or ModelHttp(Gateway(self.name, self.url, self.api_key))
        return EvidencePack.from_dict(http.post(PATH, outgoing.to_dict(), limits=limits), plan=plan)

    def _empty_result(self, reason: str) -> RetrieverResult:
        away = Degraded(ROLE, reason, WITHOUT, self.name)
        return RetrieverResult(self.name, RESOURCES, degraded=(away,), explain={"url": self.url})


# Executing a plan over its retrievers.


@dataclass(frozen=True, slots=True)
class PlanExecutor:
    """Executes plans over this store and, for resources, a ``remote`` server. It never writes.

    ``judge`` reranks their joint candidates once.
    """

    searcher: Search
    remote: RemoteRetriever | None = None
    rules: FusionRules = field(default_factory=FusionRules)
    judge: Judge | None = None

    def retrieve(self, tenant: str, plan: RetrievalPlan, encodings: Encodings | None = None) -> EvidencePack:
        """Return the evidence for a plan, best first, with sources and the fate of every candidate.

        It abstains if all that were asked do. An unavailable model or server is named in ``degraded``. InputError: a
        kind or a filter of the plan is wrong.
        """
        encodings = Encodings() if encodings is None else encodings
        subs = [sub for sub in (plan.memory, plan.resources) if sub is not None]
        parts = [retrieve_local(self.searcher, tenant, plan, sub, encodings) for sub in subs]
        if self.remote is not None and plan.resources is not None:
            parts.append(self.remote.retrieve(plan, plan.resources))
        rules = replace(self.rules, memory_share=plan.share)
        candidates, away = self._rerank(tenant, plan, rules, candidates_of(parts))
        fused = fuse(candidates, rules, limit=plan.limit)
        abstained = all(part.abstained for part in parts)
        told = {part.name: {**part.explain, "found": len(part.evidence), "abstained": part.abstained} for part in parts}
        reranker = None if self.judge is None else self.judge.name
        return EvidencePack(
            on_scale(fused.evidence, abstained=abstained),
            plan,
            abstained=abstained,
            ignored_fields={part.name: part.ignored for part in parts if part.ignored},
            explain={"retrievers": told, "rules": rules.to_dict(), "reranker": reranker, **fused.to_dict()},
            degraded=(*dict.fromkeys(one for part in parts for one in part.degraded), *away),
        )

    def close(self) -> None:
        """Close the connections to the server."""
        if self.remote is not None:
            self.remote.close()

    def _rerank(
        self, tenant: str, plan: RetrievalPlan, rules: FusionRules, candidates: Sequence[Candidate]
    ) -> tuple[Sequence[Candidate], tuple[Degraded, ...]]:
        """Rerank as many candidates as the reranker takes, of both sides in their ratio; on failure the order stays."""
        if self.judge is None or len(candidates) <= 1:
            return candidates, ()
        read, rest = fill_places(candidates, rules, self.judge.candidates)
        try:
            scores = self.judge.judge(tenant, plan.message, [shown_text(one.evidence) for one in read])
        except ModelError as error:
            return candidates, (Degraded(RERANK, error.code, FUSION, self.judge.name),)
        return reranked([*read, *rest], scores), ()
