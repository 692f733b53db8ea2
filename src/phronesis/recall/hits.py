"""From ranked places to hits: the best row of each item, diversified by session and document.

Restatements and repeats: the later of two near-identical results comes first, and duplicates are dropped. Results of
several stores are merged; a reranker reorders the best of a search.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from phronesis.core.items import CORRECTED, Item
from phronesis.core.lazy_loading import lazy_module
from phronesis.core.results import Degraded, Evidence, SearchResult
from phronesis.core.retrieval_plan import Store
from phronesis.core.statements import compared_form
from phronesis.errors import ModelError
from phronesis.index.projections import chunk_start, of_content
from phronesis.index.tokens import search_terms, tokenize, wholes
from phronesis.recall.evidence import known_evidence
from phronesis.recall.fusion import Part, candidates_of
from phronesis.recall.query import Query, Search
from phronesis.recall.scoring.lane_arrays import Layout
from phronesis.recall.scoring.ranking import Ranked
from phronesis.recall.scoring.signals import Signals
from phronesis.recall.scoring.weights import COVERED, MENTIONED, OUTLYING, SIGNALS, TIMED, at_least, diversify, on_scale
from phronesis.store.database import Unit
from phronesis.store.relations import origins_of
from phronesis.store.schema import TABLE_SETS, table_set_of

if TYPE_CHECKING:
    from phronesis.models import rerankers
else:
    rerankers = lazy_module("phronesis.models.rerankers")

# Removing repeats: an item and its source message, or a message and its repetitions.


def source_messages(unit: Unit, lane_id: int, items: Sequence[Item], *, as_of: int | None) -> dict[str, frozenset[str]]:
    """Return, by item, the lane's source messages (ids of items) of extracted items.

    An item that was corrected since, or whose message was, has no source message here: the two say different things.
    """
    corrected = {item.id for item in items if CORRECTED in item.data}
    taken = [item.id for item in items if item.kind != "message"]
    found = origins_at(unit, lane_id, taken, as_of) if taken else {}
    return {
        item: frozenset({item} if item in corrected or corrected.intersection(messages) else messages)
        for item, messages in found.items()
    }


def origins_at(unit: Unit, lane_id: int, ids: Sequence[str], as_of: int | None) -> dict[str, list[str]]:
    """Return the ids of the source items of each item, as known ``as_of`` a time."""
    if as_of is None:
        return origins_of(unit, lane_id, ids)
    out: dict[str, list[str]] = {}
    for item, rows in known_evidence(unit, lane_id, ids, as_of=as_of).items():
        found = sorted(row.source_item_id for row in rows if row.polarity == "source" and row.source_item_id)
        if found:
            out[item] = found
    return out


def deduplicate_messages(ranked: Sequence[str], said: Mapping[str, Collection[str]]) -> list[str]:
    """Return ``ranked`` (ids of items, best first) without those that add no message to the ones before.

    Of an item and its one message the better stays: on conversations with both this found as much as showing both, and
    more than messages alone. An item without a source message is its own source.
    """
    shown: set[str] = set()
    out: list[str] = []
    for one in ranked:
        sources = set(said.get(one) or (one,))
        if not sources <= shown:
            shown |= sources
            out.append(one)
    return out


def repeats(ranked: Iterable[Item]) -> dict[str, list[Item]]:
    """Return, by the id of the best of them, the messages of one speaker with the same text, newest first."""
    found: dict[tuple[object, ...], list[Item]] = {}
    for item in ranked:
        if item.kind == "message":
            words = (item.user_id, item.namespace, item.role, item.name, item.quarantine, compared_form(item.content))
            found.setdefault(words, []).append(item)
    return {
        one[0].id: sorted(one, key=lambda item: item.occurred_at or item.recorded_at, reverse=True)
        for one in found.values()
        if len(one) > 1
    }


COMPARED: Final = 30
"""Number of top results that are compared with each other."""

MAX_CHARACTERS: Final = 400
"""Maximum characters of a text that is compared: two sentences. A longer one says several things."""

SHARED: Final = 0.4
"""Share of common terms above which the later text restates the earlier.

Relative to the longer text's terms; to the earlier one's if an identifier is shared.
"""

RESTATES: Final = "restates"
"""The name in ``why`` of the score change for restating an earlier result."""

FEWEST: Final = 3
"""Number of shared terms below which similarity is chance; one fewer if not all of them are the question's own."""

ANSWERING: Final = 0.5
"""Share of the question's terms in the earlier text that the later one must contain too.

Applies if no identifier shows that both are about the same thing: a text with fewer answers another question.
"""


def latest_first(found: Sequence[Evidence], question: str) -> list[Evidence]:
    """Return the evidence with each later restatement before the earlier statement.

    A correction repeats most of the statement it corrects. A result that moves up takes the score of its new place.
    """
    asked = frozenset(search_terms(question))
    named = asked.intersection(wholes(question)) | {term for term in asked if any(map(str.isdigit, term))}
    items = [one.item for one in found[:COMPARED] if len(one.item.content) <= MAX_CHARACTERS]
    texts = {item.id: _Text.of(item) for item in items if item.kind == "message" or item.key is None}
    evidence = {one.item.id: one for one in found}
    order = list(evidence)
    for one in order[:COMPARED]:
        if one not in texts:
            continue
        later, place = texts[one], order.index(one)
        for other in order[: min(place, COMPARED)]:
            earlier = texts.get(other)
            if earlier is None or not named & earlier.terms <= later.terms:
                continue  # only the earlier text contains an identifier or number of the question
            if _restates(later, earlier, asked):
                order.insert(order.index(other), order.pop(place))
                moved, passed = evidence[one], evidence[other]
                why = moved.why
                if why is not None and passed.why is not None:
                    why = {**why, RESTATES: round(_sum(passed.why) - _sum(why), 6)}
                evidence[one] = replace(moved, score=max(passed.score, moved.score), why=why)
                break
    return [evidence[one] for one in order]


@dataclass(frozen=True, slots=True)
class _Text:
    """A result prepared for comparison: speaker, time, terms, and the identifiers among its words."""

    speaker: tuple[str | None, ...]
    moment: tuple[object, ...]
    terms: frozenset[str]
    wholes: frozenset[str]

    @classmethod
    def of(cls, item: Item) -> "_Text":
        role, name = (item.role, item.name) if item.kind == "message" else ("user", None)
        at, place = item.occurred_at or item.recorded_at, -1 if item.position is None else item.position
        own = frozenset(wholes(item.content))
        return cls(
            (item.user_id, item.namespace, role, name),
            (at, item.recorded_at, place),
            own.union(tokenize(item.content)),
            own,
        )


def _sum(why: Mapping[str, float]) -> float:
    return sum(share for name, share in why.items() if name not in SIGNALS)


def _restates(later: _Text, earlier: _Text, asked: frozenset[str]) -> bool:
    if later.speaker != earlier.speaker or later.moment <= earlier.moment:
        return False
    old, new = earlier.terms, later.terms
    shared = old & new
    named = not shared.isdisjoint(earlier.wholes)
    of = len(old) if named else max(len(old), len(new))
    enough = len(shared) >= FEWEST or (len(shared) == FEWEST - 1 and not shared <= asked)
    answers = named or len(shared & asked) >= ANSWERING * len(old & asked)
    return enough and answers and len(shared) >= SHARED * of and not new <= old


# Signals of one place that mean the same in every scope.


def signals_at(signals: Signals, place: int) -> dict[str, float]:
    """Return the signals of a place by name, without zero ones."""
    covered = float(signals.coverage[place]) * signals.known
    if signals.further is not None:
        covered = max(covered, float(signals.further.covered[place]))
    out = {COVERED: covered}
    lane = signals.lane
    if signals.dense is not None and lane.embedded is not None and lane.embedded[place]:
        out[OUTLYING] = float(signals.dense[place])
    times = [one[place] for one in (signals.within, signals.happened) if one is not None]
    if times:
        out[TIMED] = float(max(times))
    if lane.mention is not None:
        out[MENTIONED] = float(lane.mention[place])
    return {name: round(value, 6) for name, value in out.items() if value}


CROWDED: Final = "crowding"
"""The name in `why` of the penalty for better results of the same session or document."""

_Scored = tuple[float, int, int, int, int, int]
"""A candidate: score, lane, place, index among the lane's candidates, row, and first place of its session."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A found row; ``others`` are further matching rows of its item, where requested.

    ``base`` is its score without bonuses; ``told`` holds the signals reported to a plan (``recall.hits``).
    """

    lane: int
    row: int
    score: float
    base: float
    shares: Mapping[str, float]
    coverage: float
    cosine: float | None
    told: Mapping[str, float]
    others: Sequence["Hit"] = ()

    @property
    def matches_question(self) -> bool:
        """Return whether it contains a word of the question, or stands out by similarity."""
        return self.coverage > 0.0 or self.shares.get("dense", 0.0) > 0.0


def best_hits(
    lanes: Sequence[tuple[Layout, Sequence[str]]],
    signals: Sequence[Signals],
    ranked: Sequence[Ranked],
    *,
    limit: int,
    crowding: float,
    every: bool,
) -> list[Hit]:
    """Return the best rows, one for each item, after the crowding penalty; of equals the later one first.

    ``lanes`` are layouts, each with the item ids of its rows; ``crowding`` is the penalty for each better one of the
    session; with ``every`` a hit has the other matching rows of its item too.
    """
    places = np.concatenate([one.places for one in ranked])
    scores = np.concatenate([one.scores for one in ranked])
    sizes = [len(one.places) for one in ranked]
    lane_of, at = np.repeat(np.arange(len(lanes)), sizes), np.concatenate([np.arange(size) for size in sizes])
    laid = [(layout, one.places) for (layout, _), one in zip(lanes, ranked, strict=True)]
    rows = np.concatenate([layout.rows[there] for layout, there in laid])
    firsts = np.concatenate([layout.first[there] for layout, there in laid])
    order = np.lexsort((-places, lane_of, -scores))
    columns = (scores, lane_of, places, at, rows, firsts)
    named = [item_ids for _, item_ids in lanes]
    best: dict[str, list[_Scored]] = {}
    for found in zip(*(column[order].tolist() for column in columns), strict=True):
        best.setdefault(named[found[1]][found[4]], []).append(found)
    leading = [found[0] for found in best.values()]
    groups = [(one[1], one[5]) for one in leading]
    picked = diversify([one[0] for one in leading], groups, crowding=crowding, limit=limit)
    more = [found[1:] if every else () for found in best.values()]
    tables = [np.stack(list(one.shares.values()), axis=1) for one in ranked]

    def hit(found: _Scored, loss: float = 0.0, others: Sequence[Hit] = ()) -> Hit:
        score, n, place, at, row, _ = found
        signal, shares = signals[n], dict(zip(ranked[n].shares, tables[n][at].tolist(), strict=True))
        if loss:
            shares[CROWDED] = -loss
        dense, embedded = signal.lane.dense, signal.lane.embedded
        cosine = float(dense[place]) if dense is not None and embedded is not None and embedded[place] else None
        base, coverage = float(ranked[n].base[at]) - loss, float(signal.coverage[place])
        return Hit(n, row, score - loss, base, shares, coverage, cosine, signals_at(signal, place), others)

    return [hit(leading[at], loss, [one for one in map(hit, more[at]) if one.matches_question]) for at, loss in picked]


# Which stores a search covers, and how their results are merged.


def stores_of(kinds: Sequence[str] | None) -> tuple[Store, ...]:
    """Return the stores that hold some kinds; all of them if none are named. Memory comes first."""
    named = {table_set_of(kind).store for kind in kinds} if kinds else {home.store for home in TABLE_SETS}
    return tuple(home.store for home in TABLE_SETS if home.store in named)


def merge_stores(results: Mapping[Store, SearchResult], limit: int, *, explain: bool) -> SearchResult:
    """Return the merged results of several stores, by relevance; abstained if all did.

    The results' signals stay in ``why`` only with ``explain``; ``score`` is the relevance, 0 to 1.
    """
    parts = [Part(store, store, result.evidence, result.abstained) for store, result in results.items()]
    ranked = [replace(one.evidence, score=round(one.relevance, 6)) for one in candidates_of(parts)[:limit]]
    told: dict[str, Any] = {store: result.explain for store, result in results.items() if result.explain is not None}
    abstained = all(result.abstained for result in results.values())
    result = SearchResult(
        on_scale(ranked, abstained=abstained),
        abstained=abstained,
        explain=told or None,
        degraded=tuple(dict.fromkeys(one for result in results.values() for one in result.degraded)),
        channels=tuple(sorted({one for found in results.values() for one in found.channels})),
    )
    return result if explain else drop_signals(result)


def drop_below(result: SearchResult, least: float | None) -> SearchResult:
    """Return a result without scores below ``least``; if nothing is left, it abstains."""
    if least is None:
        return result
    kept = at_least(result.evidence, least)
    return replace(result, evidence=kept, abstained=result.abstained or not kept)


def drop_signals(result: SearchResult) -> SearchResult:
    """Return a result whose evidence has no ``why``."""
    return replace(result, evidence=tuple(replace(one, why=None) for one in result))


# Reordering the best results of a search by a reranker.

SHOWN_CHARACTERS: Final = 2_000
"""Characters of a text that the reranker reads: about 500 tokens, as common rerankers were trained on."""

FUSION: Final = "fusion"
"""The fallback named in ``degraded``: the fused order."""


@dataclass(frozen=True, slots=True)
class RerankedSearch:
    """A search whose best candidates are reordered by a reranker. If it fails, the order stays; ``degraded`` says so.

    It changes the order only, not which results are found or whether the search abstains. No transaction is open during
    the call.
    """

    searcher: Search
    judge: "rerankers.Judge"

    def search(self, tenant: str, query: Query) -> SearchResult:
        """Return the evidence for a query; ``score`` and ``why["rerank"]`` are the reranker's, from 0 to 1."""
        whole = replace(query, limit=max(query.limit, self.judge.candidates))
        found = self.searcher.search(tenant, whole)
        if len(found) <= 1:
            return found
        judged = found.evidence[: self.judge.candidates]
        try:
            scores = self.judge.judge(tenant, query.text, [shown_text(one) for one in judged])
        except ModelError as error:
            away = Degraded(rerankers.ROLE, error.code, FUSION, self.judge.name)
            return replace(found, evidence=found.evidence[: query.limit], degraded=(*found.degraded, away))
        ranked = []
        for one, score in sorted(zip(judged, scores, strict=True), key=lambda pair: -pair[1]):
            why = {**(one.why or {}), "rerank": round(score, 6)} if query.explain else one.why
            ranked.append(replace(one, score=round(score, 6), why=why))
        least = ranked[-1].score
        unread = [replace(one, score=min(one.score, least)) for one in found.evidence[len(judged) :]]
        listed = on_scale([*ranked, *unread][: query.limit], abstained=found.abstained)
        return replace(found, evidence=listed)


def shown_text(evidence: Evidence) -> str:
    """Return the matched text: a part with its own text, a chunk of a long text, or the beginning."""
    best = evidence.matched[0] if evidence.matched else None
    if best is not None and not of_content(best.part):
        return best.snippet
    start = 0 if best is None else chunk_start(best.part)
    return evidence.item.content[start : start + SHOWN_CHARACTERS]
