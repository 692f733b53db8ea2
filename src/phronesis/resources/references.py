"""Decide by policy which references of a turn become documents, and report what was decided (SB-02, SB-08).

References are web pages, files and tool results. Preparing a turn records the decision in an outcome, with reasons for
those not taken (``resources/references`` reports it). Applying it asks for one child entry per document. A replay under
another policy therefore gives the same result, and slow fetching blocks nothing: the child is prepared after the turn
is stored.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from phronesis.core.changes import Changes, ChildEntry
from phronesis.core.entries import Entry, Outcome, TurnPayload, is_erased, payload_of
from phronesis.core.ids import child_entry_id
from phronesis.core.results import ReferenceResult
from phronesis.core.serialization import decode
from phronesis.engine.handler import Handler, Outcomes, PrepareContext, by_role
from phronesis.resources.handlers import READ, RESOURCE
from phronesis.resources.ingestion import REFUSED
from phronesis.store.database import Database, Unit
from phronesis.store.lane_view import LaneView
from phronesis.store.lanes import get_lane
from phronesis.store.log import read_outcomes

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


@dataclass(frozen=True, slots=True)
class RefRules:
    """The policy for references: a mode for pages and files (``off``: none), and types of artifacts."""

    urls: str = "off"
    files: str = "metadata"
    artifacts: Sequence[str] = ()

    def mode_of(self, ref: Mapping[str, Any]) -> str | None:
        """Return the mode in which a reference becomes a document; None if it does not."""
        if ref["type"] == "artifact":
            return "artifact" if type_of(ref) in self.artifacts else None
        mode = self.urls if ref["type"] == "url" else self.files
        return None if mode == OFF else mode


def type_of(ref: Mapping[str, Any]) -> str:
    """Return an artifact's type by its metadata (manual, memory_snapshot …); empty if it has none."""
    given = (ref.get("metadata") or {}).get("type")
    return given if isinstance(given, str) else ""


def with_references(handler: Handler, rules: RefRules) -> Handler:
    """Return the handler of turns, extended to create documents from references."""
    prepare = handler.prepare

    def prepared(bench: PrepareContext, entry: Entry) -> Sequence[Outcome]:
        found = [] if prepare is None else list(prepare(bench, entry))
        rows = list(_decide_modes(entry, rules))
        return [*found, Outcome(role=REFERRED, made_by=_MADE_BY, body={"refs": rows})] if rows else found

    def apply(view: LaneView, entry: Entry, outcomes: Outcomes) -> Changes:
        changes = handler.apply(view, entry, outcomes)
        children = tuple(_children(entry, outcomes))
        return dataclasses.replace(changes, children=(*changes.children, *children)) if children else changes

    return dataclasses.replace(handler, prepare=prepared, apply=apply)


def at_hand(children: Sequence[ChildEntry]) -> bool:
    """Return whether there are child entries and none needs a page to be fetched, so the caller can wait for them."""
    return bool(children) and not any(one.payload.get("mode") in _FETCHED for one in children)


def _decide_modes(entry: Entry, rules: RefRules) -> Iterator[dict[str, Any]]:
    """Yield for each reference its mode, or the reason for skipping it."""
    for n, ref in enumerate(payload_of(entry, TurnPayload).get("refs", ())):
        if is_erased(ref):
            continue
        mode = rules.mode_of(ref)
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


def taken_in(entry: Entry, outcomes: Outcomes) -> Iterator[tuple[int, Mapping[str, Any], str]]:
    """Yield place, reference and mode of the references that become documents, in order of their entries."""
    refs = payload_of(entry, TurnPayload).get("refs", ())
    for outcome in outcomes.get(REFERRED, ()):
        for row in outcome.body["refs"]:
            if "mode" in row and not is_erased(refs[row["n"]]):
                yield row["n"], refs[row["n"]], row["mode"]


def _children(entry: Entry, outcomes: Outcomes) -> Iterator[ChildEntry]:
    for _, ref, mode in taken_in(entry, outcomes):
        yield ChildEntry(verb=RESOURCE, payload=_payload(entry, ref, mode))


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


def referred_in(database: Database, tenant: str, entry: Entry) -> tuple[ReferenceResult, ...]:
    """Return for each reference of an interpreted turn its mode and document, or the reason for skipping it."""
    refs = payload_of(entry, TurnPayload).get("refs", ())
    if not refs:
        return ()
    with database.transaction(tenant, "read") as unit:
        outcomes = by_role(_outcomes(unit, [entry.id])[entry.id])
        found = {
            row["n"]: _skipped_result(entry, refs[row["n"]], row["why"])
            for outcome in outcomes.get(REFERRED, ())
            for row in outcome.body["refs"]
            if "why" in row and not is_erased(refs[row["n"]])
        }
        taken = list(taken_in(entry, outcomes))
        children = [child_entry_id(entry.id, place) for place in range(len(taken))]
        came = _outcomes(unit, children)
        view = LaneView(unit, get_lane(unit, entry.lane_id))
        for (n, ref, mode), child in zip(taken, children, strict=True):
            found[n] = _reference_result(view, ref, mode, by_role(came[child]))
    return tuple(found[n] for n in sorted(found))


def _outcomes(unit: Unit, entry_ids: Sequence[str]) -> dict[str, list[Outcome]]:
    return {
        entry_id: [Outcome(row["role"], row["made_by"], decode(row["body"]), row["n"]) for row in rows]
        for entry_id, rows in read_outcomes(unit, entry_ids).items()
    }


def _reference_result(
    view: LaneView, ref: Mapping[str, Any], mode: str, outcomes: Mapping[str, Sequence[Outcome]]
) -> ReferenceResult:
    for refused in outcomes.get(REFUSED, ()):
        return ReferenceResult(ref["uri"], ref["type"], code=refused.body["code"], why=refused.body["reason"])
    document = view.document(ref["uri"]) if READ in outcomes else None
    held = document is not None and document.ended is None
    return ReferenceResult(ref["uri"], ref["type"], mode=mode, document_id=document.id if document and held else None)


def _skipped_result(entry: Entry, ref: Mapping[str, Any], code: str) -> ReferenceResult:
    return ReferenceResult(ref["uri"], ref["type"], code=code, why=_skip_reason(entry, ref, code))


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
