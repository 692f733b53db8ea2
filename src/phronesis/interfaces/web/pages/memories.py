"""Pages of memories: the list and search, their export, and one item with its provenance and history."""

import csv
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import chain, islice
from types import SimpleNamespace
from typing import Annotated, Any, Final

from fastapi import Depends, Response

from phronesis.core.items import KINDS, Item
from phronesis.core.relations import CONTEXT_OUTCOME
from phronesis.core.reports import read_pages
from phronesis.core.results import Explanation
from phronesis.core.serialization import as_json
from phronesis.core.timestamps import parse_moment
from phronesis.errors import InputError
from phronesis.experience.laws.records import L1
from phronesis.interfaces.web.pages.item_edits import Ids
from phronesis.interfaces.web.pages.traits import trait_details
from phronesis.interfaces.web.rendering import address, download, json_lines, make_router, page
from phronesis.interfaces.web.session import FormText, Sending, Visiting, Visitor
from phronesis.memory import Memory
from phronesis.traits.laws.records import Trait

# The list: browse page by page, or search and see why each result was found.

PAGE: Final = 30
"""Items per page, and results of a search."""

STATES: Final = {
    "": None,
    "archived": {"status": "archived"},
    "ended": {"ended": {"in": ["superseded", "retracted", "dissolved", "retired"]}},
    "pinned": {"pinned": True},
}
"""Filters behind the list of states."""

router = make_router()


@dataclass(frozen=True, slots=True)
class ListFilter:
    """What a list shows: what words find, of one kind, in one state, as it was known on a day."""

    q: str = ""
    kind: str = ""
    state: str = ""
    known: str = ""

    @property
    def query(self) -> dict[str, str]:
        """Return the query of an address with this filter."""
        return asdict(self)

    @property
    def arguments(self) -> dict[str, Any]:
        """Return the arguments of a listing or a search."""
        kinds = [self.kind] if self.kind else None
        return {"kinds": kinds, "filters": STATES[self.state], "as_of": self.known or None}


def _list_filter(q: str = "", kind: str = "", state: str = "", known: str = "") -> ListFilter:
    """Return the filter of a query, without values that mean nothing."""
    if known:
        parse_moment(known, field="known")
    return ListFilter(q.strip(), kind if kind in KINDS else "", state if state in STATES else "", known)


Listed = Annotated[ListFilter, Depends(_list_filter)]


def list_files(visitor: Visitor, kind: str, **query: str) -> dict[str, str]:
    """Return the addresses of a list as a file, by its format."""
    asked = {"kind": kind, **query, **visitor.looking.named}
    return {name: address("/memories/export", format=name, **asked) for name in ("jsonl", "csv")}


def list_kind(visitor: Visitor, path: str, kind: str, cursor: str) -> dict[str, Any]:
    """Return what the page of a kind shows: items, newest first, the address of the next ones, and their files."""
    listed = visitor.memory.get_all(**visitor.looking.scope, kinds=[kind], limit=PAGE, cursor=cursor or None)
    further = address(path, cursor=listed.next_cursor, **visitor.looking.named)
    return {"listed": listed, "further": further, "exports": list_files(visitor, kind)}


@router.get("/memories")
def memories(visitor: Visiting, wanted: Listed, cursor: str = "") -> Response:
    """List memories, or search them where words are given; those of now, or as they were known on a day."""
    asked, scope = {**wanted.query, **visitor.looking.named}, visitor.looking.scope
    shown: dict[str, Any] = {"found": None, "listed": None}
    if wanted.q:
        shown["found"] = visitor.memory.search(wanted.q, **scope, **wanted.arguments, limit=PAGE, explain=True)
    else:
        listed = visitor.memory.get_all(**scope, **wanted.arguments, limit=PAGE, cursor=cursor or None)
        shown |= {"listed": listed, "further": address("/memories", cursor=listed.next_cursor, **asked)}
    return page(
        visitor,
        "found.html" if visitor.partial else "memories.html",
        query=wanted.q,
        asked=asked,
        kinds=KINDS,
        states=tuple(STATES),
        exports=list_files(visitor, **wanted.query),
        **shown,
    )


EXPORTED: Final = 500
"""Items that are read at a time."""

MAX_FOUND: Final = 1_000
"""Maximum results of a search in a file."""

FORMATS: Final = {"jsonl": "application/x-ndjson", "csv": "text/csv"}

COLUMNS: Final = (
    *("id", "kind", "content", "subject", "key", "value", "user_id", "namespace", "occurred_at", "recorded_at"),
    *("valid_from", "valid_to", "status", "ended", "pinned", "importance", "confidence", "trust", "source_type"),
    *("source_ref", "session_id", "agent_id", "run_id", "external_id", "metadata"),
)

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
"""Beginnings of a cell that a spreadsheet would calculate."""


@router.get("/memories/export")
def export(visitor: Visiting, asked: Listed, format: str = "jsonl") -> Response:
    """Return all items of a list, or the results of a search, as a file."""
    wanted = {**asked.arguments, **visitor.looking.scope}
    if asked.q:
        found = visitor.memory.search(asked.q, limit=MAX_FOUND, **wanted)
        return _file(format, (one.item for one in found))
    return _file(format, read_all(visitor.memory, **wanted))


def read_all(memory: Memory, **wanted: Any) -> Iterator[Item]:
    """Return the items of a listing, page by page; the first is read at once, so that errors come before a response."""
    items = read_pages(memory.get_all, limit=EXPORTED, **wanted)
    return chain(list(islice(items, 1)), items)


@router.post("/memories/export")
def export_chosen(visitor: Sending, id: Ids, format: FormText = "jsonl") -> Response:
    """Return the items that were chosen as a file."""
    return _file(format, visitor.items(dict.fromkeys(id)))


def _file(form: str, items: Iterable[Item]) -> Response:
    if form not in FORMATS:
        raise InputError(f"format must be one of {', '.join(FORMATS)}", field="format")
    lines = _csv_lines(items) if form == "csv" else json_lines(items)
    return download(f"memories.{form}", lines, FORMATS[form])


def _csv_lines(items: Iterable[Item]) -> Iterator[str]:
    """Yield the lines of a table, after a byte order mark by which spreadsheets know that it is UTF-8."""
    row: Callable[[Iterable[str]], str] = csv.writer(SimpleNamespace(write=str)).writerow  # returns what write does
    yield "\ufeff" + row(COLUMNS)
    for item in items:
        fields = item.to_dict()
        yield row(_cell(fields.get(name)) for name in COLUMNS)


def _cell(value: object) -> str:
    """Return a value as a cell; one that looks like a formula begins with an apostrophe."""
    text = "" if value is None else value if isinstance(value, str) else json.dumps(as_json(value), ensure_ascii=False)
    return f"'{text}" if text.startswith(_FORMULA) else text


# One item.

LINKED_SHOWN: Final = 60
"""Maximum items shown because an edge joins them to this one."""


@router.get("/memories/{item_id}")
def show(visitor: Visiting, item_id: str, edit: bool = False) -> Response:
    """Show an item with all that bears on it."""
    item = visitor.memory.get(item_id)
    told = visitor.memory.explain(item_id)
    trait = trait_details(visitor, item, told.history) if isinstance(item, Trait) else None
    taken = visitor.memory.resources.get_source(item.id) if item.kind == L1 else None
    return page(
        visitor,
        "item.html",
        item=item,
        told=told,
        linked=_linked_items(visitor, told),
        trait=trait,
        taken=taken,
        editing=edit,
    )


def _linked_items(visitor: Visitor, told: Explanation) -> list[dict[str, Any]]:
    """Return the existing items that edges join to this one; an edge is ``outgoing`` if it starts here."""
    out = []
    for edge in told.edges[:LINKED_SHOWN]:
        side = "to" if edge["from_id"] == told.item.id else "from"
        relation = edge["grade"] if edge["type"] == CONTEXT_OUTCOME else edge["type"]
        others = visitor.items([edge[f"{side}_id"]]) if edge[f"{side}_kind"] == "item" else ()
        out += [{"item": one, "relation": relation, "outgoing": side == "to"} for one in others]
    return out
