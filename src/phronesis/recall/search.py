"""Search: words, meaning, neighbours, speakers and names, fused and explained."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from phronesis.core.entities import normal_name
from phronesis.core.fusion import DEFAULT_WEIGHTS, Channels, Fused, Weights, fuse
from phronesis.core.items import Item
from phronesis.core.lexical import bm25, coverage
from phronesis.core.results import Degraded, Evidence, Match, SearchResult
from phronesis.core.scope import Scope
from phronesis.errors import ModelError
from phronesis.index.tokens import term_hash, tokenize
from phronesis.models.embedder import Embedder
from phronesis.models.embedders import Embedders
from phronesis.recall.evidence import snippet, sources_of
from phronesis.recall.lanes import visible_lanes
from phronesis.recall.past import held_at, known_at
from phronesis.recall.related import Asked, with_related
from phronesis.recall.relational import Named, mentioned_items, named_in, names_in
from phronesis.recall.scope_index import LaneIndex, ScopeIndexes
from phronesis.storage.database import Database, Unit
from phronesis.storage.documents import active_model, document_texts, read_vectors, stacked
from phronesis.storage.eligible import Wanted, eligible_ids
from phronesis.storage.items import read_items
from phronesis.storage.lanes import Lane

RESCORED: Final = 50
"""Rows whose cosine is computed again from the stored halves: restores recall@10 1.0 after int8
(tests/unit/core/test_vectors.py)."""

OVERFETCH: Final = 3
"""Candidates read for each result when their history decides whether they are shown."""

OUTLIER: Final = 3.0
"""Standard deviations above the scope's mean from which a cosine alone counts as support."""


@dataclass(frozen=True, slots=True)
class Query:
    """A checked search."""

    text: str
    scope: Scope
    wanted: Wanted
    limit: int
    explain: bool = False


@dataclass(frozen=True, slots=True)
class _Hit:
    lane: int
    row: int
    score: float
    shares: Mapping[str, float]
    coverage: float
    cosine: float | None


@dataclass(slots=True)
class _Lane:
    """One lane while a query runs: its index, what may be shown of it, and what the channels said."""

    lane: Lane
    index: LaneIndex
    mask: npt.NDArray[np.bool_]
    channels: Channels
    covered: npt.NDArray[np.float32]


@dataclass(slots=True)
class Searcher:
    """Answers queries over the lanes a scope sees. Thread-safe; it never writes."""

    database: Database
    embedders: Embedders
    indexes: ScopeIndexes
    weights: Weights = DEFAULT_WEIGHTS

    def search(self, tenant: str, query: Query) -> SearchResult:
        """Give the evidence for a query, best first, from the lanes that its scope sees and no other."""
        while True:
            encoder = self.embedders.serving(tenant)
            vector, degraded = _encoded(encoder, query.text)
            with self.database.transaction(tenant, "read") as unit, self.indexes.lock:
                model = active_model(unit)
                if model is not None and self.embedders.moved(tenant, model[0]):
                    continue  # reembedded since the last search: the question is encoded again
                if encoder is None or vector is None or (model is not None and model[0] != encoder.name):
                    model = None  # vectors of a model that is not loaded here: words alone decide
                lanes = self._lanes(unit, query, vector, model)
                if not lanes:
                    return SearchResult((), abstained=True, degraded=degraded)
                hits = _best(lanes, fuse([lane.channels for lane in lanes], self.weights), query)
                evidence = self._evidence(unit, lanes, hits, query)
                explained = _explained(lanes, encoder.name if encoder is not None else None) if query.explain else None
                return SearchResult(tuple(evidence), abstained=_abstains(hits), explain=explained, degraded=degraded)

    def _lanes(
        self, unit: Unit, query: Query, vector: npt.NDArray[np.float32] | None, model: tuple[str, int] | None
    ) -> list[_Lane]:
        names = names_in(query.text)
        pairs = [(lane, self.indexes.of(unit, lane, history=query.wanted.past))
                 for lane in visible_lanes(unit, query.scope)]  # fmt: skip
        pairs = [(lane, index) for lane, index in pairs if index.document_ids]
        spoken = {name for name in names if any(name in index.speakers for _, index in pairs)}
        # A speaker's name says who, not what: the words of the question are scored without it.
        terms = [term_hash(term) for term in tokenize(_without(query.text, spoken))] or [
            term_hash(term) for term in tokenize(query.text)
        ]
        lexicals = [index.lexical for _, index in pairs]
        scores, covered = bm25(lexicals, terms), coverage(lexicals, terms)
        out: list[_Lane] = []
        for n, (lane, index) in enumerate(pairs):
            dense, embedded = self._dense(unit, index, vector, model)
            before, after = index.beside()
            named = named_in(unit, lane.lane_id, names)
            speaking = [one for one in named if any(name in index.speakers for name in one.names)]
            channels = Channels(
                lexical=scores[n],
                alive=index.lexical.alive,
                before=before,
                after=after,
                dense=dense,
                embedded=embedded,
                speaker=_speaker(index, speaking),
                mention=_rows_of(index, mentioned_items(unit, lane.lane_id, [o for o in named if o not in speaking])),
            )
            out.append(_Lane(lane, index, _shown(unit, lane, index, query.wanted), channels, covered[n]))
        return out

    def _dense(
        self, unit: Unit, index: LaneIndex, vector: npt.NDArray[np.float32] | None, model: tuple[str, int] | None
    ) -> tuple[npt.NDArray[np.float32] | None, npt.NDArray[np.bool_] | None]:
        if vector is None or model is None:
            return None, None
        index.load_vectors(unit, *model)
        if index.vectors is None or index.vectors.row_count == 0:
            return None, None
        scores, present = index.vectors.cosines(vector)
        missing = len(index.document_ids) - len(scores)
        scores, present = np.pad(scores, (0, missing)), np.pad(present, (0, missing))
        ranked = np.where(present, scores, -2.0)
        top = np.argpartition(-ranked, RESCORED)[:RESCORED] if len(ranked) > RESCORED else np.arange(len(ranked))
        rows = {row.document_id: row for row in read_vectors(
            unit, index.lane_id, model[0], [index.document_ids[n] for n in top if present[n]]
        )}  # fmt: skip
        exact = [n for n in top if index.document_ids[n] in rows]
        if exact:
            halves = stacked([rows[index.document_ids[n]] for n in exact])
            lengths = np.linalg.norm(halves, axis=1) * np.linalg.norm(vector)
            scores[exact] = np.divide(halves @ vector, lengths, out=np.zeros(len(exact), np.float32), where=lengths > 0)
        return scores, present

    def _evidence(self, unit: Unit, lanes: Sequence[_Lane], hits: Sequence[_Hit], query: Query) -> list[Evidence]:
        items: dict[str, Item] = {}
        sources: dict[str, Any] = {}
        for n, lane in enumerate(lanes):
            ids = [lane.index.item_ids[hit.row] for hit in hits if hit.lane == n]
            found = list(read_items(unit, lane.lane, ids).values())
            if query.wanted.as_of is not None:
                found = [item for item in known_at(unit, lane.lane.lane_id, found, query.wanted.as_of) if item.live]
                if query.wanted.valid_at is not None:
                    found = [item for item in found if held_at(item, query.wanted.valid_at)]
            items.update({item.id: item for item in found})
            sources.update(sources_of(unit, lane.lane.lane_id, found))
        found_in = [(lanes[hit.lane].index, hit.row) for hit in hits]
        texts = document_texts(unit, {index.document_ids[row]: index.item_ids[row] for index, row in found_in})
        words = [word for word in tokenize(query.text) if len(word) > 1]
        out: list[Evidence] = []
        for hit in hits:
            index = lanes[hit.lane].index
            item = items.get(index.item_ids[hit.row])
            if item is None or len(out) == query.limit:
                continue
            document = index.document_ids[hit.row]
            match = Match(
                id=document, part=index.parts[hit.row], snippet=snippet(texts.get(document, item.content), words),
                distance=round(1.0 - (hit.coverage if hit.cosine is None else hit.cosine), 6),
            )  # fmt: skip
            why = {name: round(share, 6) for name, share in hit.shares.items()} if query.explain else None
            out.append(Evidence(item, round(hit.score, 6), (match,), tuple(sources[item.id]), why=why))
        return with_related(unit, [lane.lane for lane in lanes], out, Asked(query.text, query.wanted, query.limit))


def _explained(lanes: Sequence[_Lane], encoder: str | None) -> dict[str, Any]:
    return {
        "channels": sorted({name for lane in lanes for name, value in (
            ("lexical", lane.channels.lexical), ("dense", lane.channels.dense),
            ("speaker", lane.channels.speaker), ("mention", lane.channels.mention)) if value is not None}),
        "embedder": encoder,
        "lanes": [{"user_id": lane.lane.user_id, "namespace": lane.lane.namespace,
                   "documents": lane.index.lexical.doc_count,
                   "without_vector": len(lane.index.unembedded) if encoder is not None else None}
                  for lane in lanes],
    }  # fmt: skip


def _encoded(encoder: Embedder | None, text: str) -> tuple[npt.NDArray[np.float32] | None, tuple[Degraded, ...]]:
    """Give the question's vector; without it, and said so, when the encoder's server is away."""
    if encoder is None:
        return None, ()
    try:
        return encoder.embed_query(text), ()
    except ModelError as error:
        return None, (Degraded("embed", error.code, "words", encoder.name),)


def _best(lanes: Sequence[_Lane], fused: Sequence[Fused], query: Query) -> list[_Hit]:
    """Give the best rows that may be shown, one for each item; of equals the newer first."""
    wanted = query.limit * (OVERFETCH if query.wanted.as_of is not None else 1)
    hits: list[_Hit] = []
    for n, lane in enumerate(lanes):
        scores = np.where(lane.mask, fused[n].score, -np.inf)
        found = _supported(lane)
        scores = np.where(found, scores, -np.inf)
        count = min(len(scores), 4 * wanted + 16)
        top = np.argpartition(-scores, count - 1)[:count] if count < len(scores) else np.arange(len(scores))
        for row in top.tolist():
            if np.isfinite(scores[row]):
                channels = lane.channels
                has_vector = channels.dense is not None and channels.embedded is not None and channels.embedded[row]
                cosine = float(channels.dense[row]) if has_vector and channels.dense is not None else None
                shares = {name: float(values[row]) for name, values in fused[n].shares.items()}
                hits.append(_Hit(n, row, float(scores[row]), shares, float(lane.covered[row]), cosine))
    hits.sort(key=lambda hit: (-hit.score, hit.lane, -hit.row))
    seen: set[str] = set()
    out: list[_Hit] = []
    for hit in hits:
        item = lanes[hit.lane].index.item_ids[hit.row]
        if item not in seen:
            seen.add(item)
            out.append(hit)
    return out[:wanted]


def _supported(lane: _Lane) -> npt.NDArray[np.bool_]:
    """Rows that any channel found: without a shared word, name or vector there is nothing to show."""
    channels = lane.channels
    found = (channels.lexical > 0) | (channels.embedded if channels.embedded is not None else False)
    for beside in (channels.before, channels.after):
        found |= np.where(beside >= 0, channels.lexical[beside] > 0, False)
    for named in (channels.speaker, channels.mention):
        if named is not None:
            found |= named > 0
    return np.asarray(found, dtype=np.bool_)


def _abstains(hits: Sequence[_Hit]) -> bool:
    """Whether nothing supports an answer: no word of the question is known, and no meaning stands out."""
    outlying = max((hit.shares.get("dense", 0.0) for hit in hits), default=0.0) >= OUTLIER * DEFAULT_WEIGHTS.dense
    named = any(hit.shares.get(name, 0.0) > 0 for hit in hits for name in ("speaker", "mention"))
    return not outlying and not named and max((hit.coverage for hit in hits), default=0.0) == 0.0


def _shown(unit: Unit, lane: Lane, index: LaneIndex, wanted: Wanted) -> npt.NDArray[np.bool_]:
    """Give the mask of rows that may be shown."""
    size = len(index.document_ids)
    mask = np.ones(size, dtype=np.bool_)
    if wanted.kinds is not None:
        kinds = set(wanted.kinds)
        mask &= np.fromiter((kind in kinds for kind in index.kinds), dtype=np.bool_, count=size)
    if wanted.as_of is not None:
        mask &= index.mask_at(wanted.as_of)
    if wanted.narrow:
        allowed = eligible_ids(unit, lane, wanted)
        mask &= np.fromiter((item in allowed for item in index.item_ids), dtype=np.bool_, count=size)
    return mask


def _speaker(index: LaneIndex, speaking: Sequence[Named]) -> npt.NDArray[np.float32] | None:
    """1 for what the one speaker said whom the question names, by any name; silent when it names several or none."""
    if len(speaking) != 1:
        return None
    rows = [row for name in speaking[0].names for row in index.speakers.get(name, ())]
    return _marked(len(index.document_ids), rows)


def _rows_of(index: LaneIndex, item_ids: set[str]) -> npt.NDArray[np.float32] | None:
    if not item_ids:
        return None
    return _marked(len(index.document_ids), [n for n, item in enumerate(index.item_ids) if item in item_ids])


def _marked(size: int, rows: Sequence[int]) -> npt.NDArray[np.float32]:
    out = np.zeros(size, dtype=np.float32)
    out[list(rows)] = 1.0
    return out


def _without(text: str, names: set[str]) -> str:
    words = text.split()
    return (
        " ".join(word for word in words if normal_name(word).strip("?,.!;:'\"’s").strip() not in names)
        if names
        else text
    )
