"""What a result is: by which keys it is known, which document it is of, and whose site or folder that is."""

from typing import Final
from urllib.parse import urlsplit

from phronesis.core.resources.records import SECTION
from phronesis.core.results import Evidence

CHUNK: Final = "chunk"
"""How the name of a part begins that is a piece of a longer text."""

MESSAGE: Final = "message"

_MAX_URI: Final = 2_000
"""Characters of an address that are looked at."""

Key = tuple[str, ...]


def is_resource(found: Evidence) -> bool:
    """Tell whether a result is of a document."""
    return found.item.kind == SECTION


def key_of(found: Evidence) -> Key:
    """Give the key of the thing that was found (source, 7.2): two results of one key are one.

    A resource: ``document_id`` and section, with the chunk where one was found. A memory: its turn and message, where
    it is one, else its own id.
    """
    item = found.item
    if is_resource(found):
        part = found.matched[0].part if found.matched else ""
        chunk = (part,) if part.startswith(CHUNK) else ()
        return ("section", document_of(found) or "", item.id, *chunk)
    if item.kind == MESSAGE and item.message_id is not None:
        return (MESSAGE, item.entry_id, item.message_id)
    return ("item", item.id)


def messages_of(found: Evidence) -> frozenset[Key]:
    """Give the keys of the messages that a memory was taken from, itself if it is one; of a resource none."""
    if is_resource(found):
        return frozenset()
    return frozenset(
        (MESSAGE, source.entry_id, source.message_id) for source in found.sources if source.message_id is not None
    )


def document_of(found: Evidence) -> str | None:
    """Give the id of the document that a result is of; None for a memory."""
    if not is_resource(found):
        return None
    named = found.item.data.get("document_id")
    return named if isinstance(named, str) and named else found.item.id


def uri_of(found: Evidence) -> str | None:
    """Give where a result can be looked up: its own reference, or the first that its sources have."""
    refs = (found.item.source_ref, *(source.source_ref for source in found.sources))
    return next((ref for ref in refs if ref), None)


def domain_of(found: Evidence) -> str | None:
    """Give whose a document is: the host of its address, the folder of its file; None for a memory and for neither."""
    uri = uri_of(found) if is_resource(found) else None
    return None if uri is None else site_of(uri)


def site_of(uri: str) -> str | None:
    """Give the host of an address, without ``www.``, or the folder of a file; None where it names neither."""
    try:
        parts = urlsplit(uri[:_MAX_URI])
        host = parts.hostname
    except ValueError:
        return None
    if host and parts.scheme != "file":
        return host.removeprefix("www.")
    named = parts.path if parts.scheme == "file" or not host else ""
    folder = named.replace("\\", "/").rpartition("/")[0]
    return folder or None
