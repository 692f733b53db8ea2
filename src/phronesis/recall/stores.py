"""Which stores a search looks through, and one order of what several gave.

Memory and resources have each an index and statistics of their own: a manual's terms are not weighed by how rare they
are in talk, nor talk's by manuals. So their scores are no scores of one scale, and where both find something, results
are ordered by relevance (``core.fusion.relevance``).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from phronesis.core.fusion.candidates import Part, candidates_of
from phronesis.core.plan import Store
from phronesis.core.results import SearchResult
from phronesis.core.scoring.scale import at_least, on_scale
from phronesis.storage.homes import HOMES, home_of


def stores_of(kinds: Sequence[str] | None) -> tuple[Store, ...]:
    """Give the stores that hold some kinds; all of them where none are named. Memory comes first."""
    named = {home_of(kind).store for kind in kinds} if kinds else {home.store for home in HOMES}
    return tuple(home.store for home in HOMES if home.store in named)


def merged(results: Mapping[Store, SearchResult], limit: int, *, explain: bool) -> SearchResult:
    """Give what searches of several stores found, by relevance; it abstained where each did.

    The results have signals in ``why``, which stay there only with ``explain``; ``score`` is the relevance, 0 to 1.
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
    )  # fmt: skip
    return result if explain else without_why(result)


def scored(result: SearchResult, least: float | None) -> SearchResult:
    """Give a result without what scores less than ``least``; where nothing is left, it supports no answer."""
    if least is None:
        return result
    kept = at_least(result.evidence, least)
    return replace(result, evidence=kept, abstained=result.abstained or not kept)


def without_why(result: SearchResult) -> SearchResult:
    """Give a result whose evidence does not say how it was found."""
    return replace(result, evidence=tuple(replace(one, why=None) for one in result))
