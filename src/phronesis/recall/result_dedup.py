"""Restatements and repeats in a result: the later of two near-identical results comes first; duplicates are dropped."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from phronesis.core.items import CORRECTED, Item
from phronesis.core.results import Evidence
from phronesis.core.statements import plain_form
from phronesis.index.tokens import search_terms, tokenize, wholes
from phronesis.recall.deduplication import SIGNALS
from phronesis.recall.evidence import known_evidence
from phronesis.store.database import Unit
from phronesis.store.relations import origins_of

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
    named = asked.intersection(wholes(question)) | {term for term in asked if _holds_figures(term)}
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


def _holds_figures(term: str) -> bool:
    return any(map(str.isdigit, term))


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
