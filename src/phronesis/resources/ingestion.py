"""The prepare step of ``resource``: fetch if needed, parse the document, and mark possible prompt injections."""

import base64
import hashlib
import logging
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from phronesis.core.documents import ReadDocument
from phronesis.core.entries import Entry, Outcome, payload_of
from phronesis.engine.handler import PrepareContext
from phronesis.engine.untrusted_content import suspicions
from phronesis.errors import InputError, PhronesisError
from phronesis.resources.handlers import READ
from phronesis.resources.laws.records import ResourcePayload
from phronesis.resources.readers.port import HTML, RawDocument
from phronesis.resources.version import LISTED

REFUSED: Final = "refused"
"""The role of the outcome that says why a reference of a turn became no document: ``{"code", "reason"}``."""

SUMMARY: Final = "summary"
COPY: Final = "copy"

_KEPT: Final = 4
"""Parsed documents in the cache: the verb parses one before it is recorded, and preparing needs it again."""

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Reader:
    """Parses documents and caches the last few. Thread-safe."""

    read: Callable[[RawDocument], ReadDocument]
    _last: "OrderedDict[str, ReadDocument]" = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def __call__(self, raw: RawDocument) -> ReadDocument:
        """Return a parsed document. InputError: it is not readable. MissingExtra: a package is missing."""
        body = raw.data if raw.data is not None else (raw.text or "").encode("utf-8", "surrogatepass")
        number = hashlib.sha256(f"{raw.name}\0{raw.media_type}\0{raw.text is None}\0".encode() + body).hexdigest()
        with self._lock:
            known = self._last.get(number)
        if known is not None:
            return known
        found = self.read(raw)
        with self._lock:
            self._last[number] = found
            while len(self._last) > _KEPT:
                self._last.popitem(last=False)
        return found


@dataclass(frozen=True, slots=True)
class TakingIn:
    """Prepares the verb ``resource``: ``reader`` parses, ``fetch`` gets the page of a URL.

    ``summarise`` makes the text that is stored in place of a page; ``urls`` is the policy for URLs: off, summary or
    snapshot. Files are only read from under ``roots``. ``redact`` removes secrets and personal data from what was read;
    a text that came with the call is redacted already.
    """

    reader: Callable[[RawDocument], ReadDocument]
    fetch: Callable[[str], RawDocument]
    summarise: Callable[[ReadDocument], ReadDocument]
    urls: str = "off"
    roots: Sequence[Path] = ()
    max_bytes: int = 10_000_000
    redact: Callable[[ReadDocument], ReadDocument] | None = None

    def __call__(self, _bench: PrepareContext, entry: Entry) -> Sequence[Outcome]:
        """Return the outcome with the document's text, and one that marks possible prompt injections."""
        payload = payload_of(entry, ResourcePayload)
        if payload.get("mode") == LISTED:
            return [Outcome(role=READ, made_by="policy", body=_listed_fields(payload))]
        try:
            raw = self.raw(payload)
            found = self.reader(raw)
        except PhronesisError as error:
            if "mode" not in payload:
                raise
            # Nobody waits for a turn's reference: why it was not taken in is kept, and it is not tried again and again.
            logger.info("a reference was not taken in: %s", error.code)
            return [Outcome(role=REFUSED, made_by="policy", body={"code": error.code, "reason": str(error)[:500]})]
        if self.redact is not None and payload.get("text") != found.text:
            found = self.redact(found)
        if payload.get("mode") == SUMMARY:
            found = self.summarise(found)
        texts = {n: found.text[one.start : one.end] for n, one in enumerate(found.sections)}
        return [Outcome(role=READ, made_by=found.made_by, body=body_of(payload, found)), *suspicions(texts)]

    def raw(self, payload: ResourcePayload) -> RawDocument:
        """Return the document in the payload, or the one that it refers to."""
        name, media_type = payload.get("name") or payload.get("uri") or "", payload.get("media_type")
        if "text" in payload:
            return RawDocument(name=name, media_type=media_type, text=payload["text"])
        if "data" in payload:
            return RawDocument(name=name, media_type=media_type, data=base64.b64decode(payload["data"]))
        if payload["mode"] == COPY:
            return self._copy_file(payload["uri"])
        return self.fetch(payload["uri"])

    def _copy_file(self, uri: str) -> RawDocument:
        """Read a file that a turn refers to, from under the roots only; links are resolved before the check."""
        parts = urlsplit(uri)
        path = Path(unquote(parts.path) if parts.scheme == "file" else uri).expanduser()
        try:
            whole = path.resolve(strict=True)
            if not any(whole.is_relative_to(root.expanduser().resolve()) for root in self.roots):
                raise InputError(
                    f"{uri} lies under none of resources.file_roots, from which files of turns may be copied",
                    field="uri",
                )
            if whole.stat().st_size > self.max_bytes:
                raise InputError(f"{uri} has more than resources.max_bytes ({self.max_bytes:,})", field="uri")
            return RawDocument(name=whole.name, data=whole.read_bytes())
        except (OSError, ValueError) as error:
            raise InputError(f"{uri} cannot be read: {error}", field="uri") from error


def body_of(payload: ResourcePayload, found: ReadDocument) -> dict[str, Any]:
    """Return the outcome of parsing, with the text unless it equals the payload's."""
    body: dict[str, Any] = {
        "title": found.title,
        "media_type": found.media_type,
        "sections": [[list(one.path), one.start, one.end] for one in found.sections],
    }
    if payload.get("text") == found.text:
        return body
    # A text decoded from another encoding has its own line numbers; one made from a page or a PDF has none.
    lined = found.media_type.startswith("text/") and found.media_type != HTML and payload.get("mode") != SUMMARY
    return body | {"text": found.text, "lined": lined}


def _listed_fields(payload: ResourcePayload) -> dict[str, Any]:
    name = unquote(urlsplit(payload["uri"]).path).rstrip("/").rpartition("/")[2] or payload["uri"]
    return {"title": payload.get("title") or name, "media_type": "", "sections": [], "text": ""}
