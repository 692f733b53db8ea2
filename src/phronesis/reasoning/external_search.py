"""Search claims in an external index, open it and check it. It names candidates; the database filters and scores."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from phronesis.config import read_key
from phronesis.config.plugins import INDEXES, find_plugins, load_plugin
from phronesis.core.results import Check, Degraded, SearchResult
from phronesis.engine.doctor import WORK, check_of
from phronesis.engine.erasure import OutsideErasure
from phronesis.engine.plugin import Platform
from phronesis.errors import IndexUnavailable, ModelError
from phronesis.models.embedders import Embedders
from phronesis.reasoning.external_mirror import Mirror, parent_of
from phronesis.reasoning.laws.records import CLAIM
from phronesis.reasoning.policy_section import ReasoningPolicy
from phronesis.recall.as_of import visible_lanes
from phronesis.recall.query import Query, Search
from phronesis.store.database import Database
from phronesis.store.deltas import followed_spaces
from phronesis.store.filters import MAX_MEMBERS
from phronesis.store.lanes import active_model

ROLE: Final = "index"
NATIVE: Final = "native"
"""Name of the fallback when the external index does not answer: the database itself."""

NO_ENCODER: Final = "index.no_encoder"
"""Reason for not using the index when there are no vectors."""

WHEN_REACHED: Final = "what was erased is taken away there by the next flush, worker or mem_search that reaches it"
UNKNOWN_INDEX: Final = "an index outside the database that held copies, and that this process was not told of"

CLAIMS_EACH: Final = 4
"""Candidates requested per result: an item has at most ten claims, and a query seldom matches more than four."""

FEWEST: Final = 40
"""Minimum number of candidates requested, so that enough remain after filtering."""

MORE: Final = 4
"""Factor by which the request grows when too few remained; applied once, then the database searches alone."""

PAUSE_SECONDS: Final = 10.0
"""Seconds for which an unreachable index is not tried again, so that searches do not wait for it."""


@dataclass(slots=True)
class MirroredSearch:
    """Search of claims through an external index; all other searches, and those it cannot answer, use ``native``."""

    native: Search
    mirror: Mirror
    database: Database
    embedders: Embedders
    seconds: Callable[[], float] = time.monotonic
    _away_until: float = float("-inf")

    def search(self, tenant: str, query: Query) -> SearchResult:
        """Return the evidence for a query, best first, among the items whose claims the index finds nearest."""
        if query.wanted.parts != CLAIM or query.wanted.past:
            return self.native.search(tenant, query)
        reason = IndexUnavailable.code
        if self.seconds() >= self._away_until:
            try:
                found = self._answer(tenant, query)
            except (IndexUnavailable, ModelError) as error:
                reason = error.code
                if isinstance(error, IndexUnavailable):
                    self._away_until = self.seconds() + PAUSE_SECONDS
            else:
                if found is not None:
                    return found
                reason = NO_ENCODER
        answered = self.native.search(tenant, query)
        away = Degraded(ROLE, reason, NATIVE, self.mirror.index.name)
        return replace(answered, degraded=(*answered.degraded, away))

    def _answer(self, tenant: str, query: Query) -> SearchResult | None:
        """Return the result; None if the query has no vector."""
        with self.database.transaction(tenant, "read") as unit:
            lanes, active = visible_lanes(unit, query.scope), active_model(unit)
        encoder = self.embedders.default if active is None else self.embedders.named(active[0])
        if encoder is None:
            return None
        self.mirror.follow(tenant, [lane.lane_id for lane in lanes])
        where = self.mirror.space_of(tenant, encoder.name)
        if where is None:  # no vectors yet, or all were replaced meanwhile
            return self.native.search(tenant, query)
        space, store = where
        vector = self.embedders.question(encoder, query.text)
        if not np.any(vector):
            return None
        asked = {"store": [store], "doc_type": [CLAIM]}
        if not query.scope.across_tenant:
            asked["lane"] = [str(lane.lane_id) for lane in lanes]
        if "label" in query.wanted.attributes:
            asked["scope"] = [query.wanted.attributes["label"]]
        if not lanes:
            return SearchResult((), abstained=True)
        least = max(FEWEST, CLAIMS_EACH * query.limit)
        for limit in (least, MORE * least):
            ids = space.nearest(vector, asked, limit=limit)
            found = self.native.search(tenant, _among(query, ids))
            if len(found) >= query.limit or len(ids) < limit:
                return replace(found, explain=found.explain and {**found.explain, "index": self.mirror.index.name})
        return self.native.search(tenant, query)  # the query's filters leave too few of the nearest


def _among(query: Query, ids: Iterable[str]) -> Query:
    """Return a query for the items of some claims alone."""
    among = {"id": {"in": list(dict.fromkeys(map(parent_of, ids)))[:MAX_MEMBERS]}}
    given = query.wanted.filters
    return replace(query, wanted=replace(query.wanted, filters=among if given is None else {"AND": [given, among]}))


# What the spine asks of an external index: to forget what was erased, and whether it is in step.


def index_eraser(mirror: Mirror | None, database: Database) -> Callable[[str, Sequence[int]], OutsideErasure]:
    """Return the function that removes from the index what was erased in some lanes of a tenant."""

    def erase(tenant: str, lane_ids: Sequence[int]) -> OutsideErasure:
        if mirror is None:
            with database.transaction(tenant, "read") as unit:
                return OutsideErasure(beyond=(UNKNOWN_INDEX,) if followed_spaces(unit) else ())
        index = mirror.index
        try:
            strange = mirror.remove_erased(tenant, lane_ids)
        except IndexUnavailable as error:
            outstanding = (f"{index.name}: {error.message}; {WHEN_REACHED}",)
            return OutsideErasure(outstanding=outstanding, beyond=index.beyond)
        return OutsideErasure(residue=(f"{index.name}: {strange} documents",) if strange else (), beyond=index.beyond)

    return erase


def open_mirror(platform: Platform) -> Mirror:
    """Return what keeps the index of the policy in step, or the one given; InputError if its key is not set."""
    index = platform.index
    if index is None:
        own = platform.policy.of(ReasoningPolicy).reasoning.index
        token = read_key(own.api_key_env, what="the index of claims", field="policy.reasoning.index.api_key_env")
        make = load_plugin(find_plugins(INDEXES)[own.backend])
        index = make(path=own.path, url=own.url, collection=own.collection, token=token, timeout=own.timeout)
    return Mirror(platform.database, platform.vectorizer, index)


def check_index(mirror: Mirror | None, tenant: str) -> Iterator[Check]:
    """Report where claims are searched, and the lag and correctness of an external index."""
    if mirror is None:
        yield Check("index", ok=True, detail="claims are searched in the database itself")
        return
    name = mirror.index.name
    try:
        found = mirror.compare(tenant)
    except IndexUnavailable as error:
        remedy = "mend the cause; until then the database answers"
        yield replace(check_of(error, "index", remedy), level="warning")
        return
    detail = (
        f"claims are searched in {name}: {found.documents} documents, {found.behind} lanes not followed to their"
        f" end, {found.missing} documents missing or altered, {found.strange} that belong to nothing"
    )
    if found.behind:
        code, remedy, command = "index.behind", "call flush()", WORK
    else:
        command = "phronesis store rebuild --claims"
        code, remedy = "index.differs", "call reasoning.rebuild_index()"
    is_right = not found.behind and not found.missing + found.strange
    yield Check("index", is_right, detail, remedy, level="warning", code=code, command=command)
