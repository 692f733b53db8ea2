"""A verb of the tests that keeps documents: sections are given, and a new version changes what differs."""

from collections.abc import Mapping
from typing import Any

from phronesis import Memory
from phronesis.core.changes import Changes, Patch
from phronesis.core.entries import DOCUMENT, SECTION, DocumentRow, Entry, ResourceRows, SectionRow
from phronesis.core.ids import LaneName, item_id
from phronesis.core.items import Item, Trust
from phronesis.engine.handler import Handler, Outcomes
from phronesis.engine.writer import WriteResult
from phronesis.store.lane_view import LaneView

SHELVE = "test.shelve"


def apply_shelved(view: LaneView, entry: Entry, _outcomes: Outcomes) -> Changes:
    uri, title = entry.payload["uri"], entry.payload["title"]
    document = view.document(uri)
    document_id = item_id(entry.id, DOCUMENT, uri) if document is None else document.id
    known = view.document_versions(document_id)
    number = known[-1].number + 1 if known else 1
    held = {} if document is None else view.items(document.data["sections"])
    same = {(tuple(one.data["path"]), one.content): one for one in held.values() if one.live}
    items: list[Item] = []
    rows: list[SectionRow] = []
    place = 0
    for n, (heading, text) in enumerate(entry.payload["sections"]):
        path, end = (heading,), place + len(text)
        item = same.pop((path, text), None)
        if item is None:
            data = {"document_id": document_id, "title": title, "path": list(path), "start": place, "end": end}
            item = Item(
                id=item_id(entry.id, SECTION, str(n)),
                kind=SECTION,
                content=text,
                data=data,
                source_ref=uri,
                **_recorded(view, entry),
            )
            items.append(item)
        rows.append(
            SectionRow(document_id=document_id, number=number, n=n, item_id=item.id, path=path, start=place, end=end)
        )
        place = end + 1
    row = DocumentRow(
        document_id=document_id,
        number=number,
        entry_id=entry.id,
        uri=uri,
        title=title,
        media_type="text/markdown",
        type="manual",
        characters=place,
        recorded_at=entry.recorded_at,
    )
    data = {
        "title": title,
        "media_type": row.media_type,
        "type": row.type,
        "number": number,
        "sections": [one.item_id for one in rows],
    }
    gone = [Patch(one.id, {"ended": "superseded", "ended_by": entry.id}, "a new version") for one in same.values()]
    resources = ResourceRows(documents=(row,), sections=tuple(rows))
    if document is None:
        made = Item(id=document_id, kind=DOCUMENT, content=title, data=data, source_ref=uri, **_recorded(view, entry))
        return Changes(items=[made, *items], resources=resources)
    back = {} if document.live else {"status": "active", "ended": None, "ended_by": None}
    fields = {**back, **{f"data.{name}": value for name, value in data.items()}}
    patches = [Patch(document_id, fields, "a new version"), *gone]
    return Changes(items=items, patches=patches, resources=resources)


def _recorded(view: LaneView, entry: Entry) -> dict[str, Any]:
    return {
        "entry_id": entry.id,
        "recorded_at": entry.recorded_at,
        "updated_at": entry.recorded_at,
        "trust": Trust.EXTERNAL,
        **view.scope_fields(),
    }


HANDLERS = (Handler(verb=SHELVE, apply=apply_shelved, quick=True),)


def shelve(memory: Memory, uri: str, title: str, sections: Mapping[str, str], *, user_id: str = "alice") -> WriteResult:
    """Keep a document of these sections, by heading."""
    payload = {"uri": uri, "title": title, "sections": [[heading, text] for heading, text in sections.items()]}
    written: WriteResult = memory.admin.components.writer.write(
        memory.admin.tenant, LaneName("user", user_id), verb=SHELVE, payload=payload, actor="tester"
    )
    return written
