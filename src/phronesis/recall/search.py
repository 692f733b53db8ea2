"""Search: parses a query, scores each lane of the scope, ranks all places, and builds the evidence."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

import numpy as np

from phronesis.core.items import Item
from phronesis.core.results import Evidence, Match, SearchResult
from phronesis.core.retrieval_plan import Store
from phronesis.core.statements import is_over
from phronesis.core.timestamps import from_micros
from phronesis.index.projections import WHOLE, match_id, own_words
from phronesis.index.tokens import tokenize
from phronesis.models.embedder import Embedder
from phronesis.models.embedders import Embedders
from phronesis.recall.as_of import as_known, searched_lanes
from phronesis.recall.asked_keys import find_asked_key
from phronesis.recall.evidence import attach_related, is_about_past, snippet, sources_of
from phronesis.recall.hits import (
    Hit,
    best_hits,
    deduplicate_messages,
    drop_signals,
    latest_first,
    merge_stores,
    repeats,
    source_messages,
    stores_of,
)
from phronesis.recall.query import (
    Asking,
    Query,
    Vector,
    items_under_key,
    mentioned_items,
    named_in,
    read_question,
    speaker_of,
    spoken_names,
)
from phronesis.recall.scope_index import NO_PART, LaneIndex, LaneLayout, ScopeIndexes
from phronesis.recall.scoring.lane_arrays import Floats, Mask, best_of, bonus_constants
from phronesis.recall.scoring.ranking import CANDIDATES, HAPPENED, at_the_time, rank
from phronesis.recall.scoring.signals import LaneInput, Signals, read_signals, voice_of
from phronesis.recall.scoring.weights import (
    A12,
    B12,
    COVERED,
    DIGITS,
    FEW,
    SECTIONS,
    TIMED,
    Formula,
    Support,
    abstains,
    on_scale,
)
from phronesis.store.database import Database, Unit
from phronesis.store.documents import document_texts, read_vectors, stack_embeddings
from phronesis.store.eligible import ReadConditions, eligible_ids
from phronesis.store.items import read_items
from phronesis.store.lanes import Lane
from phronesis.store.schema import MEMORY, RESOURCES, TableSet, table_set_named
from phronesis.traits.laws.strength import TRAIT

RESCORED: Final = 50
"""Number of rows whose cosine is recomputed from the stored half-precision vectors.

It restores recall@10 1.0 after int8 (tests/unit/core/test_vectors.py).
"""

OVERFETCH: Final = 3
"""Candidates read for each result if their history decides whether they are shown."""

SURE: Final = 0.9
"""The score, among few documents, of a result with all known words of a question, or under its key.

This project's choice: below 1, since words unknown to the scope may ask for something else.
"""

SPARE: Final = 2
"""Candidates read for each result otherwise: an item and its source message may be among them, or repetitions."""


@dataclass(frozen=True, slots=True)
class _Lane:
    """One lane during a query: its index, its layout, and a mask of the eligible places."""

    lane: Lane
    index: LaneIndex
    laid: LaneLayout
    shown: Mask


@dataclass(frozen=True, slots=True)
class Formulas:
    """The ranking formulas of memory, without and with vectors; those of document sections are fixed."""

    words: Formula = A12
    dense: Formula = B12

    def of(self, home: TableSet, *, dense: bool) -> Formula:
        """Return the formula of a store."""
        if home is RESOURCES:
            return SECTIONS if dense else A12
        return self.dense if dense else self.words


@dataclass(slots=True)
class Searcher:
    """Answers queries over the lanes that a scope sees. Thread-safe; it never writes."""

    database: Database
    embedders: Embedders
    indexes: ScopeIndexes
    clock: Callable[[], datetime]
    formulas: Formulas = field(default_factory=Formulas)

    def search(self, tenant: str, query: Query) -> SearchResult:
        """Return the evidence for a query, best first, from the lanes that its scope sees."""
        stores = stores_of(query.wanted.kinds) if query.store is None else (query.store,)
        results = self._search_stores(tenant, query, stores)
        found = {store: result for store, result in results.items() if result}
        if len(found) > 1:
            return merge_stores(found, query.limit, explain=query.explain)
        only = next(iter((found or results).values()))
        return only if len(results) == 1 or query.explain else drop_signals(only)

    def _search_stores(self, tenant: str, query: Query, stores: Sequence[Store]) -> dict[Store, SearchResult]:
        """Search the non-empty stores in one transaction; most scopes hold no documents."""
        while True:
            encoder = self.embedders.serving(tenant)
            vector, degraded = query.manner.encoded(self.embedders, encoder, query.text)
            with self.database.transaction(tenant, "read") as unit, self.indexes.lock:
                seen, model = searched_lanes(unit, query.scope)
                if model is not None and self.embedders.note_active_model(tenant, model[0]):
                    continue  # reembedded since the last search: encode the question again
                if encoder is None or vector is None or (model is not None and model[0] != encoder.name):
                    model = None  # the vectors' model is not loaded here: use words alone
                held = {one: lanes for one in stores if (lanes := self._lanes(unit, seen, query, table_set_named(one)))}
                if not held:
                    return {stores[0]: SearchResult((), abstained=True, degraded=degraded)}
                asked = replace(query, manner=replace(query.manner, signals=True)) if len(held) > 1 else query
                return {
                    store: replace(self._find_evidence(unit, lanes, asked, (vector, model), encoder), degraded=degraded)
                    for store, lanes in held.items()
                }

    def _find_evidence(
        self, unit: Unit, lanes: Sequence[_Lane], query: Query, asked: Asking, encoder: Embedder | None
    ) -> SearchResult:
        signals = self._signals(unit, lanes, query, asked)
        formula = self.formulas.of(lanes[0].index.home, dense=any(one.dense is not None for one in signals))
        limit = query.limit * (SPARE if query.wanted.as_of is None else OVERFETCH)
        every = query.wanted.parts is not None
        ranked = rank(signals, [lane.shown for lane in lanes], formula, depth=max(CANDIDATES, 2 * limit))
        laid = [(lane.laid.layout, lane.index.item_ids) for lane in lanes]
        hits = best_hits(laid, signals, ranked, limit=limit, crowding=formula.crowding, every=every)
        evidence = self._evidence(unit, lanes, hits, query, formula, dated=bool(signals[0].question.times))
        explained = _explain(lanes, signals, formula, encoder) if query.explain else None
        abstained = not evidence or _abstains(hits, signals, formula)
        return SearchResult(
            on_scale(evidence, abstained=abstained, support=_support(hits, signals)),
            abstained=abstained,
            explain=explained,
            channels=_channels(signals),
        )

    def _lanes(self, unit: Unit, seen: Sequence[Lane], query: Query, home: TableSet) -> list[_Lane]:
        out = []
        for lane in seen:
            index = self.indexes.of(unit, lane, history=query.wanted.past, home=home)
            laid = index.laid(query.wanted.as_of)
            if len(laid.layout):
                out.append(_Lane(lane, index, laid, _visible_places(unit, lane, index, laid, query.wanted)))
        return out

    def _signals(self, unit: Unit, lanes: Sequence[_Lane], query: Query, vector: Asking) -> list[Signals]:
        now = self.clock() if query.wanted.as_of is None else from_micros(query.wanted.as_of)
        manner, voice = query.manner, voice_of(query.text)
        asked_key = find_asked_key(query.text) if manner.by_name and lanes[0].index.home is MEMORY else None
        names = manner.names_of(query.text)
        speaking = {name for lane in lanes for name in spoken_names(query.text, lane.index.speakers) if manner.by_name}
        days = [day for lane in lanes for day in lane.laid.days]
        inputs = []
        for lane in lanes:
            dense, embedded = self._dense(unit, lane, *vector)
            named, others = named_in(unit, lane.lane.lane_id, names | speaking), []
            for one in named:
                if one.names.isdisjoint(lane.index.speakers):
                    others.append(one)
                else:  # a speaker may be named by an alias
                    speaking |= one.names & names
            speaker, by_name = speaker_of(lane.index, lane.laid, named, speaking, voice)
            mentioned = mentioned_items(unit, lane.lane.lane_id, others)
            under = items_under_key(unit, lane.lane, asked_key, query.wanted) if asked_key is not None else set()
            inputs.append(
                LaneInput(
                    index=lane.index.lexical,
                    layout=lane.laid.layout,
                    properties=lane.laid.properties,
                    dense=dense,
                    embedded=embedded,
                    speaker=speaker,
                    by_name=by_name,
                    mention=_mark_items(lane, mentioned),
                    key=_mark_items(lane, under),
                )
            )
        question = read_question(
            query.text, speakers=speaking, now=now.astimezone(query.zone), days=days, manner=manner
        )
        if lanes[0].index.home is RESOURCES:  # a section's day is the day it was stored
            question = replace(question, times=())
        return read_signals(inputs, question)

    def _dense(
        self, unit: Unit, lane: _Lane, vector: Vector | None, model: tuple[str, int] | None
    ) -> tuple[Floats | None, Mask | None]:
        """Return the cosines by place and a mask of those present; the best are recomputed from the stored vectors."""
        index = lane.index
        if vector is None or model is None:
            return None, None
        index.load_vectors(unit, *model)
        if index.vectors is None or index.vectors.row_count == 0:
            return None, None
        scores, present = index.vectors.cosines(vector)
        missing = len(index.document_ids) - len(scores)
        rows = lane.laid.layout.rows
        if missing:
            scores, present = np.pad(scores, (0, missing)), np.pad(present, (0, missing))
        scores, present = scores[rows], present[rows]
        top = best_of(np.where(present, scores, np.float32(-2)), RESCORED)
        ids = {index.document_ids[rows[n]]: n for n in top if present[n]}
        found = read_vectors(unit, index.lane_id, model[0], list(ids), home=index.home)
        if found:
            exact = [ids[row.document_id] for row in found]
            halves = stack_embeddings(found)
            lengths = np.linalg.norm(halves, axis=1) * np.linalg.norm(vector)
            scores[exact] = np.divide(halves @ vector, lengths, out=np.zeros(len(exact), np.float32), where=lengths > 0)
        return scores, present

    def _evidence(
        self, unit: Unit, lanes: Sequence[_Lane], hits: Sequence[Hit], query: Query, formula: Formula, *, dated: bool
    ) -> list[Evidence]:
        wanted = query.wanted
        items: dict[str, Item] = {}
        sources: dict[str, Any] = {}
        said: dict[str, frozenset[str]] = {}
        for n, lane in enumerate(lanes):
            lane_id, ids = lane.lane.lane_id, [lane.index.item_ids[hit.row] for hit in hits if hit.lane == n]
            found = list(read_items(unit, lane.lane, ids).values())
            if wanted.as_of is not None:
                found = [item for item in as_known(unit, lane_id, found, wanted) if item.live]
            elif wanted.now is not None and not wanted.past:
                found = [item for item in found if not is_over(item, from_micros(wanted.now))]
            items.update({item.id: item for item in found})
            sources.update(sources_of(unit, lane_id, found, as_of=wanted.as_of))
            said.update(source_messages(unit, lane_id, found, as_of=wanted.as_of))
        by_item = {lanes[hit.lane].index.item_ids[hit.row]: hit for hit in hits}
        ranked = [one for one in by_item if one in items]
        again = repeats(items[one] for one in ranked)
        first = {item.id: best for best, group in again.items() for item in group}
        told = {one: {first.get(source, source) for source in said.get(one) or (one,)} for one in ranked}
        hits = [by_item[one] for one in deduplicate_messages(ranked, told)][: query.limit]
        found_in = [(lanes[one.lane].index, one.row) for hit in hits for one in (hit, *hit.others)]
        texts = document_texts(
            unit,
            {index.document_ids[row]: index.item_ids[row] for index, row in found_in if index.parts[row] != WHOLE},
            home=lanes[0].index.home,
        )
        words, out = [word for word in tokenize(query.text) if len(word) > 1], list[Evidence]()
        for hit in hits:
            best = items[lanes[hit.lane].index.item_ids[hit.row]]
            group = again.get(best.id, [best])
            item = group[0]
            matched = tuple(_match(lanes[one.lane].index, one, item, texts, words) for one in (hit, *hit.others))
            why = {name: round(share, 6) for name, share in hit.shares.items()} if query.explain else None
            why = {**(why or {}), **hit.told} if query.manner.signals else why
            told_in = [source for one in group for source in sources[one.id]]
            same = tuple(one.id for one in group[1:])
            score = round(formula.scale.score(hit.score), DIGITS)
            told_once = tuple(told_in) if len(told_in) == 1 else tuple(dict.fromkeys(told_in))
            out.append(Evidence(item, score, matched, told_once, why=why, same=same))
        if not dated and not is_about_past(query.text):
            out = latest_first(out, query.text)
        return attach_related(unit, [lane.lane for lane in lanes], out, query)


def _match(index: LaneIndex, hit: Hit, item: Item, texts: Mapping[str, str], words: Sequence[str]) -> Match:
    part = index.parts[hit.row]
    text = own_words(item, part, texts.get(index.document_ids[hit.row]))
    return Match(
        id=match_id(item.id, part),
        part=part,
        snippet=snippet(text, words),
        distance=round(1.0 - (hit.coverage if hit.cosine is None else hit.cosine), 6),
    )


def _explain(
    lanes: Sequence[_Lane], signals: Sequence[Signals], formula: Formula, encoder: Embedder | None
) -> dict[str, Any]:
    return {
        "channels": list(_channels(signals)),
        "formula": {**formula.to_dict(), "bonuses": bonus_constants()},
        "embedder": encoder.name if encoder is not None else None,
        "lanes": [
            {
                "user_id": lane.lane.user_id,
                "namespace": lane.lane.namespace,
                "documents": len(lane.laid.layout),
                "without_vector": len(lane.index.unembedded) if encoder is not None else None,
            }
            for lane in lanes
        ],
    }


def _channels(signals: Sequence[Signals]) -> tuple[str, ...]:
    used = {"lexical"}
    for one in signals:
        named = {"dense": one.dense, "speaker": one.lane.speaker, "mention": one.lane.mention, "key": one.lane.key}
        used |= {name for name, value in named.items() if value is not None}
    return tuple(sorted(used))


def _abstains(hits: Sequence[Hit], signals: Sequence[Signals], formula: Formula) -> bool:
    found = [Support(hit.base, max(hit.coverage, hit.told.get(COVERED, 0.0)), hit.shares) for hit in hits]
    # A question for a time alone is answered by anything of that time, any other by texts about exactly it.
    dated = any(not one.question.terms and hit.told.get(TIMED) for one in signals for hit in hits)
    dated = dated or any(hit.shares.get(HAPPENED, 0.0) >= at_the_time(signals[0].question) for hit in hits)
    named = dated or any(one.lane.by_name for one in signals)
    return abstains(found, formula, named=named, documents=sum(len(one.words) for one in signals))


def _support(hits: Sequence[Hit], signals: Sequence[Signals]) -> float:
    """Return the minimum score of the best result among few documents, where deviations are meaningless.

    It is proportional to coverage; an item under the requested key counts as full coverage.
    """
    if sum(len(one.words) for one in signals) >= FEW:
        return 0.0
    return SURE * max((1.0 if hit.shares.get("key", 0.0) > 0 else hit.coverage for hit in hits), default=0.0)


def _visible_places(unit: Unit, lane: Lane, index: LaneIndex, laid: LaneLayout, wanted: ReadConditions) -> Mask:
    """Return a mask of the places that may be shown."""
    mask = np.ones(len(laid.layout), dtype=np.bool_)
    if wanted.kinds is not None:
        mask &= np.isin(laid.kinds, [index.kinds[kind] for kind in wanted.kinds if kind in index.kinds])
    if wanted.parts is not None:
        mask &= laid.parts == index.part_names.get(wanted.parts, NO_PART)
    if wanted.exclude_session is not None:
        mask &= ~index.places_of_session(laid, wanted.exclude_session)
    if wanted.narrow:
        mask &= _eligible(unit, lane, index, laid, wanted)
    if wanted.past and wanted.as_of is None and TRAIT in index.kinds:
        # The index also holds traits' earlier versions; a trait that may not be recalled has no current row.
        mask &= (laid.kinds != index.kinds[TRAIT]) | index.current(laid)
    return mask


def _eligible(unit: Unit, lane: Lane, index: LaneIndex, laid: LaneLayout, wanted: ReadConditions) -> Mask:
    """Return a mask of the places whose items the database query selects.

    Without filters and past times the mask is cached until the lane changes.
    """
    if wanted.filters or wanted.past:
        return index.places_of(laid, eligible_ids(unit, lane, wanted))
    question = (tuple(wanted.kinds or ()), tuple(sorted(wanted.attributes.items())))
    return index.remembered(laid, question, lane.applied_seq, lambda: eligible_ids(unit, lane, wanted))


def _mark_items(lane: _Lane, item_ids: set[str]) -> Floats | None:
    """Return 1 at the places of some items; None for no items."""
    return lane.index.places_of(lane.laid, item_ids).astype(np.float32) if item_ids else None
