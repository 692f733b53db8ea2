"""Restatements: of two results that say nearly the same, the later comes first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from phronesis.core.fusion.relevance import SIGNALS
from phronesis.core.items import Item
from phronesis.core.results import Evidence
from phronesis.index.tokens import search_terms, tokenize, wholes

COMPARED: Final = 30
"""Results that are compared with each other: what a reader looks at."""

MAX_CHARACTERS: Final = 400
"""Characters of a text that may restate or be restated: two sentences. A longer one says several things."""

SHARED: Final = 0.4
"""The share of the longer one's terms that two texts share of which the later restates the earlier; of the earlier
one's terms where an identifier is among those shared."""

RESTATES: Final = "restates"
"""What ``why`` calls the share that a later statement gets for restating an earlier one."""

FEWEST: Final = 3
"""Shared terms below which two texts are alike by chance; one fewer where not all of them are the question's own."""

ANSWERING: Final = 0.5
"""The share of the question's terms in the earlier text that the later one must hold too, where no identifier says that
both are about the same thing: what holds fewer answers another question."""


def latest_first(found: Sequence[Evidence], question: str) -> list[Evidence]:
    """Give the evidence with a later statement before the earlier one that it restates with other words.

    A correction repeats most of what it corrects and adds what is right. What moves up takes the score of the place.
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
                continue  # an identifier or number that the question names stands in the earlier one alone
            if _restates(later, earlier, asked):
                order.insert(order.index(other), order.pop(place))
                evidence[one] = _raised(evidence[one], evidence[other])
                break
    return [evidence[one] for one in order]


@dataclass(frozen=True, slots=True)
class _Text:
    """What is compared of a result: who said it and when, its terms, and the identifiers among its words."""

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


def _raised(later: Evidence, earlier: Evidence) -> Evidence:
    """Give a result with the score of another, which ``why`` names as what restating it brings."""
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
    """Give who said it; what was taken from messages is the user's."""
    said = item.kind == "message"
    return item.user_id, item.namespace, item.role if said else "user", item.name if said else None


def _moment(item: Item) -> tuple[object, ...]:
    at = item.occurred_at or item.recorded_at
    return at, item.recorded_at, -1 if item.position is None else item.position
