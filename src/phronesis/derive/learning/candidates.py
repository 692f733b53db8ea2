"""Which items a learn may judge and update (RB-17): what the run used or cited, and what is found by its FACTS."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from phronesis.core.entries import Entry
from phronesis.core.ids import parse_id
from phronesis.core.items import Item
from phronesis.core.reasoning.records import REASONING
from phronesis.core.reasoning.runs import Run
from phronesis.core.scope import DEFAULT_NAMESPACE, Scope
from phronesis.core.text import storable
from phronesis.derive.learning.before import items_before
from phronesis.errors import InputError
from phronesis.index.reasoning import CLAIM
from phronesis.recall.reranking import Search
from phronesis.recall.search import Query
from phronesis.storage.eligible import Wanted
from phronesis.storage.lane_view import LaneView
from phronesis.storage.lanes import Lane

MAX_CANDIDATES: Final = 24
"""Items that a learn looks at (RB-17)."""

SEARCHED: Final = 1_000_000
"""Characters of a run's raw text in which citations are looked for, and as many of its output and trace."""

_UUID: Final = r"([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})"
_CITED: Final = re.compile(f"mem:{_UUID}")
_NAMED: Final = re.compile(f"(?<![0-9a-fA-F-]){_UUID}(?![0-9a-fA-F-])")

_TOOL_MEMBERS: Final = ("tool", "tool_name", "name", "action", "function")
"""Members by which a step of a trace says which tool it called: its name, or a mapping with its ``name``."""

_READS: Final = re.compile(r"(?<![a-zA-Z0-9])mem_(?:get|search)(?![a-zA-Z0-9_])")
"""The tools that read memories, alone or behind the name of a server."""

_TOOL_NAME: Final = 200
"""Characters of a tool's name."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """How candidates are chosen: at most ``cap`` items, of which a search gives ``top`` at most."""

    search: Search
    cap: int = MAX_CANDIDATES
    top: int = MAX_CANDIDATES

    def found(self, tenant: str, lane: Lane, summary: str) -> list[str]:
        """Give the items whose claims are nearest to a run's FACTS, best first."""
        text = storable(summary).strip()
        if not text or self.top == 0 or lane.name is None:
            return []
        scope = Scope(user_id=lane.user_id, namespace=lane.namespace or DEFAULT_NAMESPACE)
        query = Query(text, scope, Wanted(kinds=[REASONING], parts=CLAIM), self.top)
        return [evidence.item.id for evidence in self.search.search(tenant, query)]

    def chosen(
        self, view: LaneView, used: Iterable[str], found: Sequence[str], *, entry: Entry
    ) -> tuple[list[Item], dict[str, str]]:
        """Give the candidates in order, and how each came in: ``used`` or ``found``.

        Those of another lane are none: a learn writes to its own alone. Nor are those that were recorded later than
        ``entry``, or by the learn itself: it may be prepared anew. They are as they stood before it.
        """
        ways: dict[str, str] = dict.fromkeys(used, "used")
        for item_id in found:
            ways.setdefault(item_id, "found")
        held = {item.id: item for item in items_before(view, view.items(ways).values(), entry)}
        live = [
            item for one in ways if (item := held.get(one)) is not None
            and item.live and item.kind == REASONING and item.recorded_at < entry.recorded_at
        ]  # fmt: skip
        return live[: self.cap], {item.id: ways[item.id] for item in live[: self.cap]}


def used_ids(run: Run, read: Sequence[Mapping[str, Any]]) -> list[str]:
    """Give the ids of the memories that a run lists, cites in its text, output or trace, or was shown, each once.

    It was shown what it read here, and what the steps of its trace that call ``mem_get`` or ``mem_search`` name.
    """
    said = run.fields().get("memory_ids")
    listed: list[Any] = [*run.memory_ids, *(said if isinstance(said, list) else ())]
    listed += [found[1] for found in _CITED.finditer(run.raw[:SEARCHED])]
    texts = list(_first(_texts([run.output, run.trace]), SEARCHED))
    listed += [found[1] for text, _ in texts for found in _CITED.finditer(text)]
    listed += [row["item_id"] for row in read]
    listed += [found[1] for text, of_read in texts if of_read for found in _NAMED.finditer(text)]
    return list(dict.fromkeys(_ids(listed)))


def _texts(value: Any, *, of_read: bool = False) -> Iterator[tuple[str, bool]]:
    """Give every text of a run's output or trace, and whether it is of a step that read memories."""
    if isinstance(value, str):
        yield value, of_read
    elif isinstance(value, Mapping):
        inside = of_read or _reads(value)
        for name in sorted(value):  # as the log has them, whoever gave the run
            yield from _texts(value[name], of_read=inside)
    elif isinstance(value, Sequence):
        for one in value:
            yield from _texts(one, of_read=of_read)


def _reads(step: Mapping[str, Any]) -> bool:
    """Tell whether a mapping is a call of a tool that reads memories, or what it gave."""
    for member in _TOOL_MEMBERS:
        said = step.get(member)
        name = said.get("name") if isinstance(said, Mapping) else said
        if isinstance(name, str) and _READS.search(name[:_TOOL_NAME]):
            return True
    return False


def _first(texts: Iterable[tuple[str, bool]], characters: int) -> Iterator[tuple[str, bool]]:
    left = characters
    for text, of_read in texts:
        if left <= 0:
            return
        yield text[:left], of_read
        left -= len(text) + 1  # so that very many empty ones come to an end too


def _ids(listed: Iterable[Any]) -> Iterator[str]:
    for one in listed:
        try:
            yield parse_id(one, field="memory_ids")
        except InputError:
            continue  # a memory of another system: nothing here knows it
