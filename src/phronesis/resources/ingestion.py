"""The prepare step of ``resource``, and the choice of the references of a turn that become documents (SB-02, SB-08).

A document is fetched if needed and parsed, and possible prompt injections are marked. References are web pages, files
and tool results: preparing a turn records in an outcome which of them the policy takes, with reasons for the others,
and applying it asks for one child entry per document. A replay under another policy therefore gives the same result,
and slow fetching blocks nothing: the child is prepared after the turn is stored.
"""

import base64
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from phronesis.core.changes import Changes, ChildEntry
from phronesis.core.entries import Entry, Outcome, ReadDocument, Section, TurnPayload, is_erased, payload_of
from phronesis.core.ids import child_entry_id
from phronesis.core.results import ReferenceResult
from phronesis.engine.content_guards import suspicion_outcomes
from phronesis.engine.handler import Handler, Outcomes, PrepareContext
from phronesis.engine.plugin import OpenEngine, Platform
from phronesis.errors import InputError, MissingExtra, PhronesisError
from phronesis.recall.browse import outcomes_by_role
from phronesis.resources import handlers
from phronesis.resources.documents import LISTED, ResourcePayload
from phronesis.resources.handlers import READ, RESOURCE
from phronesis.resources.laws import summary_of
from phronesis.resources.policy_section import ResourcePolicy, ResourceRules
from phronesis.resources.readers.port import HTML, REMEDY, RawDocument, read_document
from phronesis.store.database import Database
from phronesis.store.lane_view import LaneView
from phronesis.store.lanes import get_lane
from phronesis.store.log import read_outcomes

REFUSED: Final = "refused"
"""The role of the outcome that says why a reference of a turn became no document: ``{"code", "reason"}``."""
SUMMARY: Final = "summary"
COPY: Final = "copy"
_KEPT: Final = 1
"""Parsed documents in the cache: the verb parses one before it is recorded, and preparing needs it again."""
logger = logging.getLogger(__name__)


def open_documents(platform: Platform) -> OpenEngine:
    """Open what takes documents in, and its verb."""
    own = platform.policy.of(ResourcePolicy).resources
    roots, redact = tuple(map(Path, own.file_roots)), platform.redactor.document
    fetch = partial(_fetch_page, own)
    read = lru_cache(_KEPT)(read_document)
    documents = DocumentIngestion(read, fetch, own.urls, roots, own.max_bytes, redact)
    return OpenEngine(handlers=handlers.handlers(documents), components={"documents": documents})


def _fetch_page(own: ResourceRules, url: str) -> RawDocument:
    try:
        from phronesis.resources.fetcher import FetchRules, fetch  # noqa: PLC0415 - comes with the extra
    except ImportError as error:
        raise MissingExtra(f"url: documents are fetched with httpx2; {REMEDY}", field="url") from error
    rules = FetchRules(
        max_bytes=own.max_bytes,
        seconds=own.timeout,
        allow_hosts=own.allow_hosts,
        deny_hosts=own.deny_hosts,
        allow_private=own.private_addresses,
    )
    return fetch(url, rules)


@dataclass(frozen=True, slots=True)
class DocumentIngestion:
    """Prepares the verb ``resource``: ``reader`` parses, ``fetch`` gets the page of a URL.

    ``urls`` is the policy for URLs: off, summary or snapshot. Files are only read from under ``roots``. ``redact``
    removes secrets and personal data from what was read; a text that came with the call is redacted already.
    """

    reader: Callable[[RawDocument], ReadDocument]
    fetch: Callable[[str], RawDocument]
    urls: str = "off"
    roots: Sequence[Path] = ()
    max_bytes: int = 10_000_000
    redact: Callable[[ReadDocument], ReadDocument] | None = None

    def __call__(self, _bench: PrepareContext, entry: Entry) -> Sequence[Outcome]:
        """Return the outcome with the document's text, and one that marks possible prompt injections."""
        payload = payload_of(entry, ResourcePayload)
        if payload.get("mode") == LISTED:
            name = unquote(urlsplit(payload["uri"]).path).rstrip("/").rpartition("/")[2] or payload["uri"]
            listed = {"title": payload.get("title") or name, "media_type": "", "sections": [], "text": ""}
            return [Outcome(role=READ, made_by="policy", body=listed)]
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
        return [Outcome(role=READ, made_by=found.made_by, body=body_of(payload, found)), *suspicion_outcomes(texts)]

    def summarise(self, document: ReadDocument) -> ReadDocument:
        """Return a document's summary as one section, which is stored in place of a page."""
        text = summary_of(document)
        sections = (Section((document.title,) if document.title else (), 0, len(text)),)
        return replace(document, text=text, sections=sections, media_type="text/plain")

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


REFERRED: Final = "referred"
"""The role of the outcome with the decisions on a turn's references: ``{"refs": [{n, mode}, {n, why}]}``."""
OFF: Final = "off"
"""Reason for skipping a page or a file: the policy is off."""
OTHER_TYPE: Final = "type"
"""Reason for skipping an artifact: the policy does not include its type."""
NO_TEXT: Final = "no_text"
"""Reason for skipping an artifact: its text was not found."""
_TEXTS: Final = ("text", "content", "output")
"""Members of a tool result that hold its text; the first present one counts."""
_MADE_BY: Final = "policy"
_FETCHED: Final = frozenset({"summary", "snapshot"})
"""Modes in which a page is fetched."""


def mode_of(ref: Mapping[str, Any], rules: ResourceRules) -> str | None:
    """Return the mode in which a reference becomes a document by the policy; None if it does not."""
    if ref["type"] == "artifact":
        return "artifact" if type_of(ref) in rules.artifacts else None
    mode = rules.urls if ref["type"] == "url" else rules.files
    return None if mode == OFF else mode


def type_of(ref: Mapping[str, Any]) -> str:
    """Return an artifact's type by its metadata (manual, memory_snapshot …); empty if it has none."""
    given = (ref.get("metadata") or {}).get("type")
    return given if isinstance(given, str) else ""


def extend_turns(handler: Handler, rules: ResourceRules) -> Handler:
    """Return the handler of turns, extended to create documents from references."""
    prepare = handler.prepare

    def prepared(bench: PrepareContext, entry: Entry) -> Sequence[Outcome]:
        found = [] if prepare is None else list(prepare(bench, entry))
        rows = list(_decide_modes(entry, rules))
        return [*found, Outcome(role=REFERRED, made_by=_MADE_BY, body={"refs": rows})] if rows else found

    def apply(view: LaneView, entry: Entry, outcomes: Outcomes) -> Changes:
        changes = handler.apply(view, entry, outcomes)
        taken = ingestible_references(entry, outcomes)
        children = [ChildEntry(verb=RESOURCE, payload=_payload(entry, ref, mode)) for _, ref, mode in taken]
        return replace(changes, children=(*changes.children, *children)) if children else changes

    return replace(handler, prepare=prepared, apply=apply)


def is_immediate(referred: Sequence[ReferenceResult]) -> bool:
    """Return whether references become documents and none needs a page to be fetched, so the caller can wait for it."""
    modes = {one.mode for one in referred if one.mode is not None}
    return bool(modes) and modes.isdisjoint(_FETCHED)


def _decide_modes(entry: Entry, rules: ResourceRules) -> Iterator[dict[str, Any]]:
    """Yield for each reference its mode, or the reason for skipping it."""
    for n, ref in enumerate(payload_of(entry, TurnPayload).get("refs", ())):
        if is_erased(ref):
            continue
        mode = mode_of(ref, rules)
        if mode is None:
            yield {"n": n, "why": OTHER_TYPE if ref["type"] == "artifact" else OFF}
        elif mode == "artifact" and not _words_of(entry, ref):
            yield {"n": n, "why": NO_TEXT}
        else:
            yield {"n": n, "mode": mode}


def _words_of(entry: Entry, ref: Mapping[str, Any]) -> str:
    """Return the text of an artifact: the text given with it, or the result of the tool that made it."""
    metadata = ref.get("metadata") or {}
    text = _text_in(metadata.get("text"))
    if text:
        return text
    call_id = metadata.get("tool_call_id")
    for call in payload_of(entry, TurnPayload).get("tool_calls", ()):
        if call_id is not None and not is_erased(call) and call.get("id") == call_id:
            return _text_in(call.get("result"))
    return ""


def _text_in(given: Any) -> str:
    """Return the text in a tool result: a string, content parts, or the member of an object that holds either."""
    if isinstance(given, str):
        return given if given.strip() else ""
    if isinstance(given, Mapping):
        return next((text for name in _TEXTS if (text := _text_in(given.get(name)))), "")
    if isinstance(given, Sequence):
        return "\n".join(text for part in given if (text := _text_in(part)))
    return ""


def ingestible_references(entry: Entry, outcomes: Outcomes) -> Iterator[tuple[int, Mapping[str, Any], str]]:
    """Yield place, reference and mode of the references that become documents, in order of their entries."""
    refs = payload_of(entry, TurnPayload).get("refs", ())
    for outcome in outcomes.get(REFERRED, ()):
        for row in outcome.body["refs"]:
            if "mode" in row and not is_erased(refs[row["n"]]):
                yield row["n"], refs[row["n"]], row["mode"]


def _payload(entry: Entry, ref: Mapping[str, Any], mode: str) -> dict[str, Any]:
    metadata = dict(ref.get("metadata") or {})
    payload: dict[str, Any] = {"uri": ref["uri"], "mode": mode, "type": type_of(ref) or ref["type"]}
    if mode == "artifact":
        payload["text"] = _words_of(entry, ref)
        payload["made_by"] = "assistant"
        metadata.pop("text", None)
    title = metadata.get("title") or metadata.get("name")
    payload |= {"title": title} if isinstance(title, str) and title.strip() else {}
    payload |= {"metadata": metadata} if metadata else {}
    agent = payload_of(entry, TurnPayload).get("agent_id")
    return payload | ({"agent_id": agent} if agent is not None else {})


# Report of a turn's references: the decision for each, and its result.

_OFF: Final = {
    "url": "pages are not fetched: set resources.urls to summary or snapshot in the policy",
    "file": "files are not listed: set resources.files to metadata or copy in the policy",
}


def reference_results(database: Database, tenant: str, entry: Entry) -> tuple[ReferenceResult, ...]:
    """Return for each reference of an interpreted turn its mode and document, or the reason for skipping it."""
    refs = payload_of(entry, TurnPayload).get("refs", ())
    if not refs:
        return ()
    with database.transaction(tenant, "read") as unit:
        outcomes = outcomes_by_role(read_outcomes(unit, [entry.id])[entry.id])
        rows = (row for outcome in outcomes.get(REFERRED, ()) for row in outcome.body["refs"] if "why" in row)
        skipped = {row["n"]: (refs[row["n"]], row["why"]) for row in rows if not is_erased(refs[row["n"]])}
        found = {
            n: ReferenceResult(ref["uri"], ref["type"], code=code, why=_skip_reason(entry, ref, code))
            for n, (ref, code) in skipped.items()
        }
        taken = list(ingestible_references(entry, outcomes))
        children = [child_entry_id(entry.id, place) for place in range(len(taken))]
        came = read_outcomes(unit, children)
        view = LaneView(unit, get_lane(unit, entry.lane_id))
        for (n, ref, mode), child in zip(taken, children, strict=True):
            found[n] = _reference_result(view, ref, mode, outcomes_by_role(came[child]))
    return tuple(found[n] for n in sorted(found))


def _reference_result(
    view: LaneView, ref: Mapping[str, Any], mode: str, outcomes: Mapping[str, Sequence[Outcome]]
) -> ReferenceResult:
    for refused in outcomes.get(REFUSED, ()):
        return ReferenceResult(ref["uri"], ref["type"], code=refused.body["code"], why=refused.body["reason"])
    document = view.document(ref["uri"]) if READ in outcomes else None
    held = document is not None and document.ended is None
    return ReferenceResult(ref["uri"], ref["type"], mode=mode, document_id=document.id if document and held else None)


def _skip_reason(entry: Entry, ref: Mapping[str, Any], code: str) -> str:
    if code == OFF:
        return _OFF[ref["type"]]
    if code == OTHER_TYPE:
        kept = "resources.artifacts of the policy lists the types that are kept"
        named = type_of(ref)
        return f"its type {named!r:.80} is not kept: {kept}" if named else f"its metadata names no type: {kept}"
    call_id = (ref.get("metadata") or {}).get("tool_call_id")
    if call_id is None:
        return "it has no words: give metadata.text, or metadata.tool_call_id with the call that made it"
    calls = [call for call in payload_of(entry, TurnPayload).get("tool_calls", ()) if not is_erased(call)]
    if all(call.get("id") != call_id for call in calls):
        return f"no tool call of the turn has the id {call_id!r:.80} of its metadata.tool_call_id"
    return "the result of its tool call holds no text; give it as a text, content parts, or a member text or content"
