"""Search claims in an external index, open it and check it. It proposes candidates; the database filters and scores."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from phronesis.config import read_key
from phronesis.config.plugins import INDEXES, find_plugins, load_plugin
from phronesis.core.items import Item
from phronesis.core.results import Check, Degraded, Evidence, Match, SearchResult, Source
from phronesis.engine.doctor import WORK, check_of
from phronesis.engine.erasure import OutsideErasure
from phronesis.engine.plugin import Platform
from phronesis.errors import IndexUnavailable, ModelError
from phronesis.index.projections import match_id, part_name
from phronesis.index.tokens import tokenize
from phronesis.models.embedder import Embedder
from phronesis.models.embedders import Embedders
from phronesis.reasoning.external_mirror import Mirror, parent_of
from phronesis.reasoning.laws.records import CLAIM
from phronesis.reasoning.policy_section import ReasoningPolicy
from phronesis.recall.as_of import visible_lanes
from phronesis.recall.evidence import snippet, sources_of, with_related
from phronesis.recall.query import Query, Search
from phronesis.recall.scoring.weights import on_scale
from phronesis.store.database import Database, Unit
from phronesis.store.deltas import followed_spaces
from phronesis.store.dialects import Vector
from phronesis.store.documents import DocumentRow, documents_of_items, read_vectors
from phronesis.store.eligible import eligible_items
from phronesis.store.lanes import Lane, active_model

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
"""Factor by which the request grows when too few remained; applied once."""

PAUSE_SECONDS: Final = 10.0
"""Seconds for which an unreachable index is not tried again, so that searches do not wait for it."""


@dataclass(frozen=True, slots=True)
class _ClaimRow:
    """A found claim as the database holds it."""

    item: Item
    lane: Lane
    row: DocumentRow
    cosine: float


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
        """Return the evidence for a query, best first; ``score`` is the cosine of the best claim."""
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
            lanes = visible_lanes(unit, query.scope)
            encoder = self._encoder(unit)
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
        limit = max(FEWEST, CLAIMS_EACH * query.limit)
        while lanes:
            ids = space.nearest(vector, asked, limit=limit)
            with self.database.transaction(tenant, "read") as unit:
                model = active_model(unit)
                if model is None or model[0] != encoder.name:
                    return self.native.search(tenant, query)  # embedded anew meanwhile
                lanes = visible_lanes(unit, query.scope)
                found = [one for lane in lanes for one in _true(unit, lane, query, ids, (model[0], vector))]
                if len({one.item.id for one in found}) >= query.limit or len(ids) < limit:
                    return self._result(unit, lanes, query, found)
            limit *= MORE
        return SearchResult((), abstained=True)

    def _encoder(self, unit: Unit) -> Embedder | None:
        active = active_model(unit)
        return self.embedders.default if active is None else self.embedders.named(active[0])

    def _result(self, unit: Unit, lanes: Sequence[Lane], query: Query, found: Sequence[_ClaimRow]) -> SearchResult:
        ranked = sorted(found, key=lambda one: (-one.cosine, -one.item.recorded_at.timestamp(), one.row.id))
        groups: dict[str, list[_ClaimRow]] = {}
        for one in ranked:
            groups.setdefault(one.item.id, []).append(one)
        best = list(groups.values())[: query.limit]
        sources: dict[str, Sequence[Source]] = {}
        for lane in lanes:
            own = [claims[0].item for claims in best if claims[0].lane.lane_id == lane.lane_id]
            sources.update(sources_of(unit, lane.lane_id, own))
        words = [word for word in tokenize(query.text) if len(word) > 1]
        usual = float(np.mean([one.cosine for one in ranked])) if ranked else 0.0
        out = []
        for claims in best:
            met = [claims[0], *(one for one in claims[1:] if _is_match(one, words, usual))]
            matched = tuple(_match(one, words) for one in met)
            cosine = round(claims[0].cosine, 6)
            why, score = ({"dense": cosine} if query.explain else None), max(0.0, cosine)
            out.append(Evidence(claims[0].item, score, matched, tuple(sources[claims[0].item.id]), why=why))
        related = with_related(unit, lanes, out, query)
        explained = {"channels": ["dense"], "index": self.mirror.index.name} if query.explain else None
        return SearchResult(on_scale(related, abstained=not related), abstained=not related, explain=explained)


def _true(unit: Unit, lane: Lane, query: Query, ids: Sequence[str], asked: tuple[str, Vector]) -> list[_ClaimRow]:
    """Return the claims among ``ids`` that this lane holds, that may be shown, and whose text is current.

    Similarity is computed from the vectors in the database.
    """
    shown = {item.id: item for item in eligible_items(unit, lane, query.wanted, {parent_of(one) for one in ids})}
    wanted = set(ids)
    rows = [
        row
        for row in documents_of_items(unit, lane.lane_id, list(shown))
        if row.current_to is None and part_name(row.part) == CLAIM and match_id(row.item_id, row.part) in wanted
    ]
    model, vector = asked
    found = {
        one.document_id: one.embedding for one in read_vectors(unit, lane.lane_id, model, [row.id for row in rows])
    }
    return [_ClaimRow(shown[row.item_id], lane, row, _cosine(vector, found[row.id])) for row in rows if row.id in found]


def _cosine(one: Vector, other: Vector) -> float:
    lengths = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(one @ other) / lengths if lengths else 0.0


def _is_match(claim: _ClaimRow, words: Sequence[str], usual: float) -> bool:
    """Return whether a further claim of an item matches the query: by a word, or closer than a usual result."""
    return claim.cosine > usual or not set(words).isdisjoint(tokenize(claim.row.text or ""))


def _match(found: _ClaimRow, words: Sequence[str]) -> Match:
    return Match(
        id=match_id(found.item.id, found.row.part),
        part=found.row.part,
        snippet=snippet(found.row.text or "", words),
        distance=round(1.0 - found.cosine, 6),
    )


# What the spine asks of an external index: to forget what was erased, and whether it is in step.


def outside_eraser(mirror: Mirror | None, database: Database) -> Callable[[str, Sequence[int]], OutsideErasure]:
    """Return the function that removes from the index what was erased in some lanes of a tenant."""

    def erase(tenant: str, lane_ids: Sequence[int]) -> OutsideErasure:
        if mirror is None:
            with database.transaction(tenant, "read") as unit:
                return OutsideErasure(beyond=(UNKNOWN_INDEX,) if followed_spaces(unit) else ())
        index = mirror.index
        try:
            strange = mirror.after_erasure(tenant, lane_ids)
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
        found = mirror.standing(tenant)
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
