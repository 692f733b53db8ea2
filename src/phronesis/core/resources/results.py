"""What the verbs of resources give."""

from collections.abc import Sequence
from dataclasses import dataclass

from phronesis.core.gated import Gated
from phronesis.core.items import Item
from phronesis.core.plain import Record
from phronesis.core.resources.records import DocumentRow


@dataclass(frozen=True, slots=True)
class IngestedResource(Record):
    """What ``ingest_resource`` did.

    ``document`` is the item of the document, ``number`` that of its present version: what came is another one where it
    is older, and its sections are ended. ``sections`` are those that this version brought, ``superseded`` those that it
    put others in the place of or has no more, ``unchanged`` how many of the present version stayed as they were.
    ``gated`` names the sections that are in quarantine, and the secrets and personal numbers that were taken out before
    it was stored. ``pending``: recorded, not read yet.
    """

    entry_id: str
    document: Item | None = None
    number: int = 0
    sections: Sequence[Item] = ()
    superseded: Sequence[Item] = ()
    unchanged: int = 0
    gated: Sequence[Gated] = ()
    pending: bool = False


@dataclass(frozen=True, slots=True)
class Resource(Record):
    """A document with its versions as they came, and the sections of the one that holds, in reading order."""

    document: Item
    versions: Sequence[DocumentRow] = ()
    sections: Sequence[Item] = ()
