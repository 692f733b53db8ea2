"""Verbs of resources: ingest a document and read it back."""

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from phronesis.core.documents import DOCUMENT, SECTION
from phronesis.core.ids import parse_id
from phronesis.core.items import SUSPECT_WORDS, Item
from phronesis.core.proposals import Gated
from phronesis.core.scope import make_scope
from phronesis.core.text import check_id, check_text
from phronesis.core.timestamps import Moment
from phronesis.engine.untrusted_content import QUARANTINED
from phronesis.engine.writer import Written
from phronesis.errors import InputError
from phronesis.log import inputs
from phronesis.memory.service import Service
from phronesis.resources.handlers import RESOURCE
from phronesis.resources.ingestion import SUMMARY
from phronesis.resources.laws.records import IngestedResource, Resource
from phronesis.resources.readers.port import RawDocument

_OFF: Final = "off"


class Resources(Service):
    """The verbs ingest_resource and get_resource."""

    def ingest_resource(
        self,
        text: str | None = None,
        *,
        path: str | Path | None = None,
        url: str | None = None,
        uri: str | None = None,
        title: str | None = None,
        type: str | None = None,  # noqa: A002 - what a ref's metadata calls it
        media_type: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        occurred_at: Moment | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        namespace: str | None = None,
        actor: str = "agent",
        idempotency_key: str | None = None,
        wait: bool = True,
    ) -> IngestedResource:
        """Ingest a document in sections: a ``text``, the file at ``path``, or the page at ``url`` (by policy).

        Plain text, Markdown, reStructuredText, HTML, source code, notebooks; PDF and Office files with the extra
        ``documents``. ``uri`` identifies the document (default: the file's or page's own): the same ``uri`` with
        another text is a new version, whose sections supersede the changed ones; reads ``as_of`` show the old ones. The
        same text again changes nothing. A text without a ``uri`` is a new document each time. ``type`` (manual, spec,
        memory_snapshot …) and ``metadata`` can be filtered by; a version that omits them keeps them. ``occurred_at`` is
        since when it holds (default: now): a version older than the one held is stored as history, ending when the next
        one begins, and ``valid_at`` shows it.

        Archiving the document (``result.document.id``) archives its sections; ``rollback(result.entry_id)`` restores
        the version before. InputError: none or several of text, path and url, a document that is empty or cannot be
        read. MissingExtra: a reader is not installed. FetchRefused, FetchFailed: the page cannot be fetched.
        """
        scope = make_scope(user_id=user_id, namespace=namespace, agent_id=agent_id)
        if sum(one is not None for one in (text, path, url)) != 1:
            raise InputError("give text, path or url, one of them", field="text")
        payload: dict[str, Any] = {
            **scope.attributes,
            "title": None if title is None else check_text(title, field="title"),
            "type": None if type is None else check_id(type, field="type"),
            "metadata": inputs.metadata(metadata),
            "occurred_at": inputs.past(occurred_at, field="occurred_at", now=self._open_stages().clock()),
        }
        given = None if media_type is None else check_id(media_type, field="media_type")
        payload |= self._document(text, path, url, given)
        if uri is not None:
            payload["uri"] = _uri(uri)
        call = self._call(actor, idempotency_key, wait)
        return self._taken_in(self._write(call, scope.write_lane, RESOURCE, payload))

    def get_resource(
        self,
        id: str,  # noqa: A002 - the contract's name
        *,
        as_of: Moment | None = None,
        valid_at: Moment | None = None,
    ) -> Resource:
        """Return a document with its versions and its sections in reading order, or as it was ``as_of`` a time.

        Versions that were rolled back are included. NotFound: no such document.
        """
        wanted = self._wanted(as_of=as_of, valid_at=valid_at)
        return self._open_stages().resources.resource(self._tenant, parse_id(id, field="id"), wanted)

    def _document(
        self, text: str | None, path: str | Path | None, url: str | None, media_type: str | None
    ) -> dict[str, Any]:
        """Return the payload members that hold the document, after parsing it: an unreadable one is not recorded."""
        taking_in = self._stages.documents
        if url is not None:
            return self._page(_uri(url, field="url"))
        if path is None:
            words = check_text(text, field="text")
            if len(words.encode("utf-8", "surrogatepass")) > taking_in.max_bytes:
                raise InputError(
                    f"text has more bytes than resources.max_bytes ({taking_in.max_bytes:,}); split it, or"
                    " raise the limit",
                    field="text",
                )
            payload = _holding(RawDocument(media_type=media_type, text=words))
        else:
            file = Path(path)
            body = _bytes_of(file, taking_in.max_bytes)
            payload = _holding(RawDocument(name=file.name, media_type=media_type, data=body))
            payload["uri"] = file.absolute().as_uri()
        taking_in.reader(taking_in.raw(payload))
        return payload

    def _page(self, url: str) -> dict[str, Any]:
        stages = self._stages
        if stages.documents.urls == _OFF:
            raise InputError(
                "URLs are not fetched: set resources.urls to summary or snapshot in the policy, or give"
                " the text itself",
                field="url",
            )
        page = stages.documents.fetch(url)
        found = stages.documents.reader(page)
        if stages.documents.urls == SUMMARY:
            short = stages.documents.summarise(found)
            return {"uri": url, "name": url, "media_type": short.media_type, "text": short.text, "title": short.title}
        return {**_holding(page), "uri": url}

    def _taken_in(self, written: Written) -> IngestedResource:
        if written.pending:
            return IngestedResource(written.entry.id, pending=True, gated=written.redacted)
        browser = self._stages.browser
        changed = [item for _, item in browser.changed_by(self._tenant, written.entry)]
        document = next((item for item in changed if item.kind == DOCUMENT), None)
        sections = [item for item in changed if item.kind == SECTION]
        made = {item.id: item for item in sections if item.entry_id == written.entry.id}
        over = [item for item in sections if item.entry_id != written.entry.id and item.ended is not None]
        listed: Sequence[str] = () if document is None else document.data.get("sections", ())
        return IngestedResource(
            entry_id=written.entry.id,
            document=document,
            number=0 if document is None else document.data["number"],
            sections=tuple(made.values()),
            superseded=tuple(over),
            unchanged=sum(one not in made for one in listed),
            gated=(*written.redacted, *(_gated(item) for item in made.values() if item.quarantine is not None)),
        )


def _gated(item: Item) -> Gated:
    words = str(item.data.get(SUSPECT_WORDS, item.content))
    why = f"it reads like an order to a model ({item.quarantine}); it is in quarantine until somebody releases it"
    return Gated(words, QUARANTINED, why)


def _uri(value: object, *, field: str = "uri") -> str:
    uri = check_text(value, field=field).strip()
    if len(uri.encode("utf-8", "surrogatepass")) > inputs.MAX_URI_BYTES or "\n" in uri:
        raise InputError(f"{field} must be one line of at most {inputs.MAX_URI_BYTES:,} bytes", field=field)
    return uri


def _holding(raw: RawDocument) -> dict[str, Any]:
    """Return the payload members of a document: as text if possible, so that its lines can be cited."""
    payload: dict[str, Any] = {}
    payload |= {"name": raw.name} if raw.name else {}
    payload |= {"media_type": raw.media_type} if raw.media_type else {}
    if raw.text is not None:
        return payload | {"text": raw.text}
    body = raw.data or b""
    try:
        text = None if b"\0" in body else body.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = None
    if text is not None:
        return payload | {"text": text}
    return payload | {"data": base64.b64encode(body).decode()}


def _bytes_of(path: Path, most: int) -> bytes:
    try:
        body = path.read_bytes() if path.stat().st_size <= most else None
    except OSError as error:
        raise InputError(f"path: {path} cannot be read: {error.strerror or error}", field="path") from error
    if body is None:
        raise InputError(
            f"path: {path} has more than resources.max_bytes ({most:,}); split it, or raise the limit", field="path"
        )
    return body
