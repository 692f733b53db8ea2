"""What a turn refers to, and becomes a document by policy: pages, files, what a tool made (SB-02, SB-08).

Preparing a turn decides, by the policy of that day, which references are taken in, and says so in an outcome. Applying
it asks for one child entry each. So a replay under another policy gives the same, and what is slow (fetching) holds
nobody up: the child is prepared after the turn was stored.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from phronesis.core.changes import Changes, ChildEntry
from phronesis.core.entries import Entry, Outcome, is_erased
from phronesis.derive.handler import Bench, Handler, Outcomes
from phronesis.derive.resources.documents import RESOURCE
from phronesis.storage.lane_view import LaneView

REFERRED: Final = "referred"
"""The role of the outcome that says which references are taken in: ``{"refs": [{n, mode}]}``."""

_MADE_BY: Final = "policy"

_FETCHED: Final = frozenset({"summary", "snapshot"})
"""Modes in which a page is fetched."""


@dataclass(frozen=True, slots=True)
class RefRules:
    """What becomes of a turn's references: a mode for pages and files (``off``: nothing), and types of artifacts."""

    urls: str = "off"
    files: str = "metadata"
    artifacts: Sequence[str] = ()

    def mode_of(self, ref: Mapping[str, Any]) -> str | None:
        """Give how a reference is taken in; None when it is not."""
        if ref["type"] == "artifact":
            return "artifact" if type_of(ref) in self.artifacts else None
        mode = self.urls if ref["type"] == "url" else self.files
        return None if mode == "off" else mode


def type_of(ref: Mapping[str, Any]) -> str:
    """Give what an artifact is, as its metadata says: manual, memory_snapshot …; empty when it does not."""
    given = (ref.get("metadata") or {}).get("type")
    return given if isinstance(given, str) else ""


def with_references(handler: Handler, rules: RefRules) -> Handler:
    """Give the handler of turns with the documents that follow from their references."""
    prepare = handler.prepare

    def prepared(bench: Bench, entry: Entry) -> Sequence[Outcome]:
        found = [] if prepare is None else list(prepare(bench, entry))
        rows = [{"n": n, "mode": mode} for n, mode in _taken(entry, rules)]
        return [*found, Outcome(role=REFERRED, made_by=_MADE_BY, body={"refs": rows})] if rows else found

    def apply(view: LaneView, entry: Entry, outcomes: Outcomes) -> Changes:
        changes = handler.apply(view, entry, outcomes)
        children = tuple(_children(entry, outcomes))
        return dataclasses.replace(changes, children=(*changes.children, *children)) if children else changes

    return dataclasses.replace(handler, prepare=prepared, apply=apply)


def at_hand(children: Sequence[ChildEntry]) -> bool:
    """Tell whether there are such entries, and all they need is at hand: nobody waits for a page to be fetched."""
    return bool(children) and not any(one.payload.get("mode") in _FETCHED for one in children)


def _taken(entry: Entry, rules: RefRules) -> Iterator[tuple[int, str]]:
    for n, ref in enumerate(entry.payload.get("refs", ())):
        mode = None if is_erased(ref) else rules.mode_of(ref)
        if mode is not None and (mode != "artifact" or _words_of(entry, ref)):
            yield n, mode


def _words_of(entry: Entry, ref: Mapping[str, Any]) -> str:
    """Give the words of an artifact: those beside it, or what the tool answered that made it."""
    metadata = ref.get("metadata") or {}
    text = metadata.get("text")
    if isinstance(text, str) and text.strip():
        return text
    call_id = metadata.get("tool_call_id")
    for call in entry.payload.get("tool_calls", ()):
        if call_id is not None and not is_erased(call) and call.get("id") == call_id:
            result = call.get("result")
            return result if isinstance(result, str) else ""
    return ""


def _children(entry: Entry, outcomes: Outcomes) -> Iterator[ChildEntry]:
    refs = entry.payload.get("refs", ())
    for outcome in outcomes.get(REFERRED, ()):
        for row in outcome.body["refs"]:
            ref = refs[row["n"]]
            if not is_erased(ref):
                yield ChildEntry(verb=RESOURCE, payload=_payload(entry, ref, row["mode"]))


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
    agent = entry.payload.get("agent_id")
    return payload | ({"agent_id": agent} if agent is not None else {})
