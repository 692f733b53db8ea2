"""Procedural memory: how this user likes the thing done that is asked for now (requirement NM-15).

A procedure is found as any item is, but among many messages on its matter it is one of many, and an agent that is about
to do the thing needs it more than any of them. So those of the user's own are searched by themselves, and come first.
"""

import dataclasses
from collections.abc import Sequence
from typing import Final

from phronesis.core.results import Evidence, SearchResult
from phronesis.recall.browse import items_of
from phronesis.recall.reranking import Search
from phronesis.recall.search import Query
from phronesis.storage.database import Unit
from phronesis.storage.eligible import Wanted
from phronesis.storage.lanes import Lane

PROCEDURE: Final = "procedure"

MAX_PROCEDURES: Final = 3
"""Procedures shown first (this project's choice): a thing is seldom done by more rules than that."""

NEAR: Final = 0.5
"""Share of the best one's score that another must have (this project's choice): what only shares a word with a long
message stays behind what is meant."""


def has_procedures(unit: Unit, lanes: Sequence[Lane], wanted: Wanted) -> bool:
    """Whether a user's own lane holds any procedure: without one nothing more is searched."""
    own = [lane for lane in lanes if lane.user_id is not None]
    return bool(items_of(unit, own, dataclasses.replace(wanted, kinds=(PROCEDURE,)), limit=1))


def bearing_procedures(searcher: Search, tenant: str, query: Query) -> list[Evidence]:
    """Give the user's own procedures that bear on a question, best first."""
    scope = dataclasses.replace(query.scope, own_only=True)
    wanted = dataclasses.replace(query.wanted, kinds=(PROCEDURE,))
    asked = dataclasses.replace(query, scope=scope, wanted=wanted, limit=MAX_PROCEDURES, explain=True)
    found = searcher.search(tenant, asked)
    bearing = [one for one in found if one.item.kind == PROCEDURE and _bears(one, found)]
    return [one for one in bearing if _sum(one) >= NEAR * _sum(bearing[0]) or one is bearing[0]]


def _sum(one: Evidence) -> float:
    return sum((one.why or {}).values())


def _bears(one: Evidence, found: SearchResult) -> bool:
    """Whether it holds a word of the question, or is near to it in meaning where the search does not abstain.

    Abstention is about whether an answer is there; few words of a request stand in a rule, a Chinese one's least.
    """
    why = one.why or {}
    return why.get("coverage", 0.0) > 0 or (why.get("dense", 0.0) > 0 and not found.abstained)
