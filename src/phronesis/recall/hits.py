"""From ranked places to hits: the best row of each item, diversified by session and document; and merging of stores.

Restatements and repeats: the later of two near-identical results comes first, and duplicates are dropped.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from phronesis.core.items import CORRECTED, Item
from phronesis.core.results import Evidence, SearchResult
from phronesis.core.retrieval_plan import Store
from phronesis.core.statements import plain_form
from phronesis.index.tokens import search_terms, tokenize, wholes
from phronesis.recall.evidence import known_evidence
from phronesis.recall.fusion import Part, candidates_of
from phronesis.recall.scoring.lane_arrays import Floats, Layout
from phronesis.recall.scoring.ranking import Ranked
from phronesis.recall.scoring.signals import Signals
from phronesis.recall.scoring.weights import COVERED, MENTIONED, OUTLYING, SIGNALS, TIMED, at_least, diversify, on_scale
from phronesis.store.database import Unit
from phronesis.store.relations import origins_of
from phronesis.store.schema import HOMES, home_of

# Removing repeats: an item and its source message, or a message and its repetitions.


def said_in(unit: Unit, lane_id: int, items: Sequence[Item], *, as_of: int | None) -> dict[str, frozenset[str]]:
    """Return, by item, the lane's source messages (ids of items) of extracted items.

    An item that was corrected since, or whose message was, has no source message here: the two say different things.
    """
    corrected = {item.id for item in items if CORRECTED in item.data}
    return {
        item: frozenset({item}) if item in corrected or corrected & found else found
        for item, found in _origins(unit, lane_id, items, as_of=as_of).items()
    }


def _origins(unit: Unit, lane_id: int, items: Sequence[Item], *, as_of: int | None) -> dict[str, frozenset[str]]:
    taken = [item.id for item in items if item.kind != "message"]
    found = origins_at(unit, lane_id, taken, as_of) if taken else {}
    return {item: frozenset(messages) for item, messages in found.items()}


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
            words = (item.user_id, item.namespace, item.role, item.name, item.quarantine, plain_form(item.content))
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
    texts = {one.item.id: _Text.of(one.item) for one in found[:COMPARED] if _comparable(one.item)}
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
                evidence[one] = _raise_score(evidence[one], evidence[other])
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
        own = frozenset(wholes(item.content))
        return cls(_speaker(item), _moment(item), own.union(tokenize(item.content)), own)


def _raise_score(later: Evidence, earlier: Evidence) -> Evidence:
    """Return a result with the score of another; ``why`` shows the difference as the restatement's share."""
    why = later.why
    if why is not None and earlier.why is not None:
        why = {**why, RESTATES: round(_sum(earlier.why) - _sum(why), 6)}
    return replace(later, score=max(earlier.score, later.score), why=why)


def _sum(why: Mapping[str, float]) -> float:
    return sum(share for name, share in why.items() if name not in SIGNALS)


def _comparable(item: Item) -> bool:
    return len(item.content) <= MAX_CHARACTERS and (item.kind == "message" or item.key is None)


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


def _speaker(item: Item) -> tuple[str | None, str | None, str | None, str | None]:
    """Return the speaker of an item; for extracted items the user."""
    said = item.kind == "message"
    return item.user_id, item.namespace, item.role if said else "user", item.name if said else None


def _moment(item: Item) -> tuple[object, ...]:
    at = item.occurred_at or item.recorded_at
    return at, item.recorded_at, -1 if item.position is None else item.position


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
    def met(self) -> bool:
        """Return whether it contains a word of the question, or stands out by similarity."""
        return self.coverage > 0.0 or self.shares.get("dense", 0.0) > 0.0


@dataclass(frozen=True, slots=True)
class Choice:
    """Limits of hit selection: how many, the crowding penalty per session, and whether to report ``every`` row."""

    limit: int
    crowding: float
    every: bool = False


def best_hits(
    lanes: Sequence[tuple[Layout, Sequence[str]]], signals: Sequence[Signals], ranked: Sequence[Ranked], choice: Choice
) -> list[Hit]:
    """Return the best rows, one for each item, after the crowding penalty; of equals the later one first.

    ``lanes`` are layouts, each with the item ids of its rows.
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
    picked = diversify([one[0] for one in leading], groups, crowding=choice.crowding, limit=choice.limit)
    more = [found[1:] for found in best.values()] if choice.every else None
    told = [_ReportedValues.of(*one) for one in zip(signals, ranked, strict=True)]

    def others(at: int) -> list[Hit]:
        made = (told[found[1]].hit(found) for found in more[at]) if more is not None else ()
        return [one for one in made if one.met]

    return [told[leading[at][1]].hit(leading[at], loss, others(at)) for at, loss in picked]


@dataclass(frozen=True, slots=True)
class _ReportedValues:
    """Reported values of a lane's candidates: one row of ``table`` each, shares in the order of names."""

    signals: Signals
    ranked: Ranked
    names: Sequence[str]
    table: Floats

    @classmethod
    def of(cls, signals: Signals, ranked: Ranked) -> "_ReportedValues":
        return cls(signals, ranked, list(ranked.shares), np.stack(list(ranked.shares.values()), axis=1))

    def hit(self, found: _Scored, loss: float = 0.0, others: Sequence[Hit] = ()) -> Hit:
        score, n, place, at, row, _ = found
        shares = dict(zip(self.names, self.table[at].tolist(), strict=True))
        if loss:
            shares[CROWDED] = -loss
        return Hit(
            n,
            row,
            score - loss,
            float(self.ranked.base[at]) - loss,
            shares,
            float(self.signals.coverage[place]),
            _cosine(self.signals, place),
            signals_at(self.signals, place),
            others,
        )


def _cosine(signals: Signals, place: int) -> float | None:
    dense, embedded = signals.lane.dense, signals.lane.embedded
    return float(dense[place]) if dense is not None and embedded is not None and embedded[place] else None


# Which stores a search covers, and how their results are merged.


def stores_of(kinds: Sequence[str] | None) -> tuple[Store, ...]:
    """Return the stores that hold some kinds; all of them if none are named. Memory comes first."""
    named = {home_of(kind).store for kind in kinds} if kinds else {home.store for home in HOMES}
    return tuple(home.store for home in HOMES if home.store in named)


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
    return result if explain else without_why(result)


def drop_below(result: SearchResult, least: float | None) -> SearchResult:
    """Return a result without scores below ``least``; if nothing is left, it abstains."""
    if least is None:
        return result
    kept = at_least(result.evidence, least)
    return replace(result, evidence=kept, abstained=result.abstained or not kept)


def without_why(result: SearchResult) -> SearchResult:
    """Return a result whose evidence has no ``why``."""
    return replace(result, evidence=tuple(replace(one, why=None) for one in result))
