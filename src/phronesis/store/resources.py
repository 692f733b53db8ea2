"""Statements on document versions and their sections. The text is in the section items."""

from collections.abc import Sequence
from typing import Any, Final

import sqlalchemy as sa

from phronesis.core.documents import DocumentRow, ResourceRows, SectionRow
from phronesis.core.timestamps import from_micros, to_micros
from phronesis.store.compiled_statements import fetch, insert
from phronesis.store.database import Unit
from phronesis.store.document_tables import documents, sections

_DOCUMENT: Final = tuple(DocumentRow.__dataclass_fields__)
_SECTION: Final = tuple(SectionRow.__dataclass_fields__)
_ANY_DOCUMENT: Final = (
    sa.select(documents.c.document_id)
    .where(documents.c.tenant_id == sa.bindparam("t"), documents.c.lane_id == sa.bindparam("l"))
    .limit(sa.literal_column("1"))
)


def write_resources(unit: Unit, lane_id: int, rows: ResourceRows) -> None:
    """Store the rows of one entry."""
    own = {"tenant_id": unit.tenant, "lane_id": lane_id}
    insert(
        unit,
        documents,
        [{**own, **_plain(row, _DOCUMENT), "recorded_at": to_micros(row.recorded_at)} for row in rows.documents],
    )
    insert(unit, sections, [{**own, **_plain(row, _SECTION), "path": list(row.path)} for row in rows.sections])


def has_documents(unit: Unit, lane_ids: Sequence[int]) -> bool:
    """Return whether any of some lanes holds a document."""
    return any(fetch(unit, _ANY_DOCUMENT, {"t": unit.tenant, "l": lane_id}) for lane_id in lane_ids)


def documents_at(unit: Unit, lane_id: int, uri: str, *, as_of: int | None = None) -> list[DocumentRow]:
    """Return the versions of the document at a uri, oldest first; ``as_of`` (microseconds) leaves out later ones."""
    return _versions(unit, lane_id, documents.c.uri == uri, as_of=as_of)


def versions_of(unit: Unit, lane_id: int, document_id: str, *, as_of: int | None = None) -> list[DocumentRow]:
    """Return a document's versions, oldest first; ``as_of`` (microseconds) leaves out later ones."""
    return _versions(unit, lane_id, documents.c.document_id == document_id, as_of=as_of)


def _versions(unit: Unit, lane_id: int, condition: sa.ColumnElement[bool], *, as_of: int | None) -> list[DocumentRow]:
    query = sa.select(*(documents.c[name] for name in _DOCUMENT)).where(
        documents.c.tenant_id == unit.tenant, documents.c.lane_id == lane_id, condition
    )
    if as_of is not None:
        query = query.where(documents.c.recorded_at <= as_of)
    order = (documents.c.recorded_at, documents.c.document_id, documents.c.number)
    return [
        DocumentRow(**{**row, "recorded_at": from_micros(row["recorded_at"])})
        for row in unit.run(query.order_by(*order)).mappings()
    ]


def sections_of(unit: Unit, lane_id: int, document_id: str, number: int) -> list[SectionRow]:
    """Return the sections of a version of a document, in reading order."""
    query = sa.select(*(sections.c[name] for name in _SECTION)).where(
        sections.c.tenant_id == unit.tenant,
        sections.c.lane_id == lane_id,
        sections.c.document_id == document_id,
        sections.c.number == number,
    )
    return [
        SectionRow(**{**row, "path": tuple(row["path"])}) for row in unit.run(query.order_by(sections.c.n)).mappings()
    ]


def _plain(record: Any, names: Sequence[str]) -> dict[str, Any]:
    return {name: getattr(record, name) for name in names}
