"""The group memory.resources: documents, and sources of experience such as logs, proofs and chats."""

import base64
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from phronesis.core.entries import DOCUMENT, SECTION
from phronesis.core.ids import make_scope
from phronesis.core.items import SUSPECT_WORDS, Item
from phronesis.core.lazy_loading import lazy_module
from phronesis.core.proposals import Gated
from phronesis.core.text import check_id, check_text
from phronesis.core.timestamps import Moment, isoformat, parse_past
from phronesis.errors import InputError, NotFound
from phronesis.log import inputs
from phronesis.memory.reading import MAX_LIMIT
from phronesis.memory.runtime import Verbs

if TYPE_CHECKING:
    from phronesis.engine import content_guards, writer
    from phronesis.experience.laws import event_draft, records
    from phronesis.experience.sources import port as source_port
    from phronesis.memory import experience
    from phronesis.resources import documents, handlers, ingestion
    from phronesis.resources.readers import decoding
    from phronesis.resources.readers import port as reader_port
else:
    decoding = lazy_module("phronesis.resources.readers.decoding")
    documents = lazy_module("phronesis.resources.documents")
    experience = lazy_module("phronesis.memory.experience")
    event_draft = lazy_module("phronesis.experience.laws.event_draft")
    handlers = lazy_module("phronesis.resources.handlers")
    ingestion = lazy_module("phronesis.resources.ingestion")
    reader_port = lazy_module("phronesis.resources.readers.port")
    records = lazy_module("phronesis.experience.laws.records")
    source_port = lazy_module("phronesis.experience.sources.port")
    content_guards = lazy_module("phronesis.engine.content_guards")

_OFF: Final = "off"
MAX_BYTES: Final = 8_000_000
"""Maximum bytes of a file ingested as one source, as for one text (`core.text.MAX_TEXT_LENGTH`)."""


class Resources(Verbs):
    """The group ``memory.resources``: ingest, get, ingest_source, get_source and get_episode."""

    def ingest(
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
    ) -> "documents.IngestedResource":
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
            "occurred_at": inputs.past(occurred_at, field="occurred_at", now=self._components.clock()),
        }
        given = None if media_type is None else check_id(media_type, field="media_type")
        payload |= self._document(text, path, url, given)
        if uri is not None:
            payload["uri"] = _uri(uri)
        call = self._runtime.call(actor, idempotency_key, wait)
        return self._ingested_result(self._runtime.write(call, scope.write_lane, handlers.RESOURCE, payload))

    def get(
        self,
        id: str,  # noqa: A002 - the contract's name
        *,
        user_id: str | None = None,
        as_of: Moment | None = None,
        valid_at: Moment | None = None,
    ) -> "documents.Resource":
        """Return a document with its versions and its sections in reading order, or as it was ``as_of`` a time.

        Versions that were rolled back are included. NotFound: no such document.
        """
        wanted = self._runtime.read_conditions(as_of=as_of, valid_at=valid_at)
        item_id = self._runtime.item_id(id, user_id)
        return self._components.resources.resource(self._tenant, item_id, wanted)

    def _document(
        self, text: str | None, path: str | Path | None, url: str | None, media_type: str | None
    ) -> "documents.ResourcePayload":
        """Return the payload members that hold the document, after parsing it: an unreadable one is not recorded."""
        taking_in = self._components.documents
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
            payload = _document_payload(reader_port.RawDocument(media_type=media_type, text=words))
        else:
            file = Path(path)
            body = _bytes_of(file, taking_in.max_bytes)
            payload = _document_payload(reader_port.RawDocument(name=file.name, media_type=media_type, data=body))
            payload["uri"] = file.absolute().as_uri()
        taking_in.reader(taking_in.raw(payload))
        return payload

    def _page(self, url: str) -> "documents.ResourcePayload":
        components = self._components
        if components.documents.urls == _OFF:
            raise InputError(
                "URLs are not fetched: set resources.urls to summary or snapshot in the policy, or give"
                " the text itself",
                field="url",
            )
        page = components.documents.fetch(url)
        found = components.documents.reader(page)
        if components.documents.urls == ingestion.SUMMARY:
            short = components.documents.summarise(found)
            return {"uri": url, "name": url, "media_type": short.media_type, "text": short.text, "title": short.title}
        return {**_document_payload(page), "uri": url}

    def _ingested_result(self, written: "writer.WriteResult") -> "documents.IngestedResource":
        if written.pending:
            return documents.IngestedResource(written.entry.id, pending=True, gated=written.redacted)
        browser = self._components.browser
        changed = [item for _, item in browser.changed_by(self._tenant, written.entry)]
        document = next((item for item in changed if item.kind == DOCUMENT), None)
        sections = [item for item in changed if item.kind == SECTION]
        made = {item.id: item for item in sections if item.entry_id == written.entry.id}
        over = [item for item in sections if item.entry_id != written.entry.id and item.ended is not None]
        listed: Sequence[str] = () if document is None else document.data.get("sections", ())
        return documents.IngestedResource(
            entry_id=written.entry.id,
            document=document,
            number=0 if document is None else document.data["number"],
            sections=tuple(made.values()),
            superseded=tuple(over),
            unchanged=sum(one not in made for one in listed),
            gated=(*written.redacted, *(_gated_report(item) for item in made.values() if item.quarantine is not None)),
        )

    def ingest_source(
        self,
        text: str | None = None,
        *,
        path: str | Path | None = None,
        source_type: str,
        source_ref: str | None = None,
        occurred_at: Moment | None = None,
        user_id: str | None = None,
        namespace: str | None = None,
        actor: str = "agent",
        idempotency_key: str | None = None,
        wait: bool = True,
    ) -> "records.Ingested":
        """Extract attempts from a source: ``text``, or the file at ``path``.

        ``source_type``: lean, math_proof, chat, log, manual or run. Each event's ``source_ref`` is that of the whole
        (default: the path, or the entry) with its lines: ``build.log#L12-L15``. The text is kept unchanged for
        ``resources.get_source``; ``admin.rederive`` extracts from it again. A text without attempts gives an empty
        sequence.

        InputError: both or none of text and path, an unknown type, an empty or binary file, a text of a format that the
        source does not support (the message names it).
        """
        lane = make_scope(user_id=user_id, namespace=namespace).write_lane
        sources = self._components.sources
        if source_type not in sources:
            raise InputError(
                f"source_type must be one of {', '.join(sorted(sources))}; got {source_type!r:.40}", field="source_type"
            )
        if (text is None) == (path is None):
            raise InputError("give text or path, one of them", field="text")
        payload: dict[str, Any] = {"source_type": source_type}
        if path is None:
            payload["text"] = check_text(text, field="text")
        else:
            payload |= {"text": _read(Path(path)), "name": Path(path).name, "source_ref": str(path)}
        raw = source_port.RawText(
            text=payload["text"], name=payload.get("name", ""), recorded_at=self._components.clock()
        )
        source_port.refuse_unsupported(sources[source_type], raw)
        if source_ref is not None:
            payload["source_ref"] = check_text(source_ref, field="source_ref")
        if occurred_at is not None:
            at = parse_past(occurred_at, field="occurred_at", now=self._components.clock())
            payload["occurred_at"] = isoformat(at)
        return experience.ingested(
            self._runtime,
            self._runtime.write(self._runtime.call(actor, idempotency_key, wait), lane, event_draft.SOURCE, payload),
        )

    def get_source(
        self,
        id: str,  # noqa: A002 - the contract's name
        *,
        user_id: str | None = None,
        namespace: str | None = None,
    ) -> "records.EventSource":
        """Return the source of an event as it was submitted: the raw text and the event's lines, payload, hints.

        ``id`` is an event's id or citation, or a ``source_ref``: ``entry:<id>#L3`` of an unnamed text, or the given
        name, with lines (``build.log#L12-L15``) or without. A name is looked up in what the scope sees, an id in the
        tenant without the lanes of other users than ``user_id``. Of several sources with one name the newest is
        returned, a user's own before a shared one. If the text was erased, the answer says so.

        NotFound: no such event, name or line. InputError: the id of another kind of item.
        """
        scope = make_scope(user_id=user_id, namespace=namespace)
        named = check_text(id, field="id")
        return self._components.experience.source(self._tenant, scope, named)

    def get_episode(
        self,
        id: str,  # noqa: A002 - the contract's name
        *,
        user_id: str | None = None,
        namespace: str | None = None,
        as_of: Moment | None = None,
        valid_at: Moment | None = None,
    ) -> "records.Episode":
        """Return the attempts of an episode in order, with their common goal and situation.

        NotFound: the scope sees no event of that episode.
        """
        episode_id = check_id(id, field="id")
        scope = make_scope(user_id=user_id, namespace=namespace, run_id=episode_id)
        wanted = self._runtime.read_conditions(
            kinds=[records.L1], attributes=scope.attributes, as_of=as_of, valid_at=valid_at
        )
        browser, found, cursor = self._components.browser, list[records.L1Event](), None
        while True:
            page = browser.list_items(self._tenant, scope, wanted, limit=MAX_LIMIT, cursor=cursor)
            found += [records.event_of(item) for item in page]
            cursor = page.next_cursor
            if cursor is None:
                break
        if not found:
            raise NotFound(f"there is no episode {episode_id!r:.80} in this scope", field="id")
        return records.Episode.of(episode_id, sorted(found, key=_place))


def _gated_report(item: Item) -> Gated:
    words = str(item.data.get(SUSPECT_WORDS, item.content))
    why = f"it reads like an order to a model ({item.quarantine}); it is in quarantine until somebody releases it"
    return Gated(words, content_guards.QUARANTINED, why)


def _uri(value: object, *, field: str = "uri") -> str:
    uri = check_text(value, field=field).strip()
    if len(uri.encode("utf-8", "surrogatepass")) > inputs.MAX_URI_BYTES or "\n" in uri:
        raise InputError(f"{field} must be one line of at most {inputs.MAX_URI_BYTES:,} bytes", field=field)
    return uri


def _document_payload(raw: "reader_port.RawDocument") -> "documents.ResourcePayload":
    """Return the payload members of a document: as text if possible, so that its lines can be cited."""
    payload: documents.ResourcePayload = {}
    if raw.name:
        payload["name"] = raw.name
    if raw.media_type:
        payload["media_type"] = raw.media_type
    if raw.text is not None:
        payload["text"] = raw.text
        return payload
    body = raw.data or b""
    try:
        text = None if b"\0" in body else body.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = None
    if text is None:
        payload["data"] = base64.b64encode(body).decode()
    else:
        payload["text"] = text
    return payload


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


def _place(event: "records.L1Event") -> tuple[int, datetime, str]:
    """Return the sort key of an event in its episode: its position, then its time."""
    last = event_draft.MAX_SEQ if event.seq is None else event.seq
    return last, event.occurred_at or event.recorded_at, event.id


def text_of_bytes(body: bytes, *, name: str, field: str) -> str:
    """Return the text of a file in UTF-8, UTF-16 (as PowerShell writes) or another detectable encoding.

    InputError if it is not text, or its encoding cannot be detected.
    """
    try:
        return decoding.decoded(body)
    except InputError as error:
        raise InputError(f"{name} is no text whose encoding can be told; convert it to UTF-8", field=field) from error


def _read(path: Path) -> str:
    """Return a file's text; InputError if it is unreadable, too large, empty, or not text."""
    try:
        body = path.read_bytes() if path.stat().st_size <= MAX_BYTES else None
    except OSError as error:
        raise InputError(f"path: {path} cannot be read: {error.strerror or error}", field="path") from error
    if body is not None and not body.strip():
        raise InputError(f"path: the file {path} is empty; there is nothing to read", field="path")
    if body is None:
        raise InputError(f"path: {path} has more than {MAX_BYTES:,} bytes; split it", field="path")
    return check_text(text_of_bytes(body, name=f"path: {path}", field="path"), field="path")
