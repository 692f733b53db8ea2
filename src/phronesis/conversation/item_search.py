"""Search for the held items that bear on new messages, for the model that reads these."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from phronesis.conversation.extraction.context import FOUND
from phronesis.core.scope import make_scope
from phronesis.core.statements import STATED
from phronesis.engine.handler import PrepareContext
from phronesis.recall.search_options import Query
from phronesis.store.eligible import ReadConditions

if TYPE_CHECKING:
    from phronesis.engine.plugin import Platform

MAX_QUERY: Final = 2_000
"""Characters of the messages that are searched for, the last ones."""


def find_held(platform: "Platform", bench: PrepareContext, text: str) -> Sequence[str]:
    """Return the ids of the held items of a lane that bear on a text, best first."""
    with bench.view() as view:
        scope = make_scope(user_id=view.lane.user_id, namespace=view.lane.namespace)
    query = Query(text[-MAX_QUERY:], scope, ReadConditions(kinds=sorted(STATED)), FOUND)
    return [one.item.id for one in platform.search.search(bench.tenant, query)]
