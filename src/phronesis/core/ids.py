"""Identifiers: what is random comes from outside, what is derived is UUIDv5 of what it was derived from."""

import hashlib
import uuid
from typing import Final

from phronesis.errors import InputError

NAMESPACE: Final = uuid.UUID("6f9c2f0e-5b0a-5d0b-9f57-0d6f7068726f")
"""The namespace of every derived id (RFC 9562, 5.5); ends in the ASCII bytes of "phro". Never change it."""

_NAMESPACE_BYTES: Final = NAMESPACE.bytes

CITATION_PREFIX: Final = "mem:"


def derived_id(*parts: str) -> str:
    """Give the UUIDv5 of ``parts``; they are length-prefixed, so that no two lists collide by joining.

    The same as ``uuid.uuid5`` gives, at a third of its cost: every write derives a dozen ids.
    """
    name = "".join([f"{len(part)}:{part}" for part in parts])
    digest = bytearray(hashlib.sha1(_NAMESPACE_BYTES + name.encode(), usedforsecurity=False).digest()[:16])
    digest[6] = digest[6] & 0x0F | 0x50  # version 5
    digest[8] = digest[8] & 0x3F | 0x80  # variant of RFC 9562
    text = digest.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def child_entry_id(parent_id: str, n: int) -> str:
    """Give the id of the ``n``-th entry that applying ``parent_id`` appends."""
    return derived_id("entry", parent_id, str(n))


def item_id(entry_id: str, kind: str, natural_key: str) -> str:
    """Give the id of an item: it survives rebuilding and deriving anew, so that citations do."""
    return derived_id("item", entry_id, kind, natural_key)


def document_id(owner_id: str, part: str, version: int) -> str:
    """Give the id of a search document: a part (whole, claim, view, chunk) of one version of an item."""
    return derived_id("document", owner_id, part, str(version))


def delta_id(entry_id: str, item: str) -> str:
    """Give the id of an entry's change of an item: an entry changes an item once. A creation has the item's id.

    It holds no number: what else the entry did may be erased, and a rollback must still mean the same delta.
    """
    return derived_id("delta", entry_id, item)


def citation(item: str) -> str:
    """Give the form in which a context cites an item: ``mem:<uuid>``."""
    return f"{CITATION_PREFIX}{item}"


def parse_id(text: object, *, field: str) -> str:
    """Give the canonical form of a UUID, with or without the ``mem:`` prefix; InputError when it is none."""
    if isinstance(text, uuid.UUID):
        return str(text)
    if not isinstance(text, str):
        raise InputError(f"{field} must be an id (a UUID string), not {type(text).__name__}", field=field)
    try:
        return str(uuid.UUID(text.removeprefix(CITATION_PREFIX)))
    except ValueError as error:
        raise InputError(
            f"{field} must be a UUID, with or without 'mem:' before it; got {text!r:.80}", field=field
        ) from error
