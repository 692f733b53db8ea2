"""What became of a turn's references, as the log tells it: what was decided of each, and what came of that."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from phronesis.core.canonical import decode
from phronesis.core.entries import Entry, Outcome, is_erased
from phronesis.core.ids import child_entry_id
from phronesis.core.results import Referred
from phronesis.derive.handler import by_role
from phronesis.derive.resources.documents import READ
from phronesis.derive.resources.referring import OFF, OTHER_TYPE, REFERRED, taken_in, type_of
from phronesis.derive.resources.taking_in import REFUSED
from phronesis.storage.database import Database, Unit
from phronesis.storage.lane_view import LaneView
from phronesis.storage.lanes import get_lane
from phronesis.storage.log import read_outcomes

_OFF: Final = {
    "url": "pages are not fetched: set resources.urls to summary or snapshot in the policy",
    "file": "files are not listed: set resources.files to metadata or copy in the policy",
}


def referred_in(database: Database, tenant: str, entry: Entry) -> tuple[Referred, ...]:
    """Give of each reference of an interpreted turn how it is taken in, or why it is not."""
    refs = entry.payload.get("refs", ())
    if not refs:
        return ()
    with database.transaction(tenant, "read") as unit:
        outcomes = by_role(_outcomes(unit, [entry.id])[entry.id])
        found = {row["n"]: _passed_over(entry, refs[row["n"]], row["why"])
                 for outcome in outcomes.get(REFERRED, ()) for row in outcome.body["refs"]
                 if "why" in row and not is_erased(refs[row["n"]])}  # fmt: skip
        taken = list(taken_in(entry, outcomes))
        children = [child_entry_id(entry.id, place) for place in range(len(taken))]
        came = _outcomes(unit, children)
        view = LaneView(unit, get_lane(unit, entry.lane_id))
        for (n, ref, mode), child in zip(taken, children, strict=True):
            found[n] = _came_of(view, ref, mode, by_role(came[child]))
    return tuple(found[n] for n in sorted(found))


def _outcomes(unit: Unit, entry_ids: Sequence[str]) -> dict[str, list[Outcome]]:
    return {
        entry_id: [Outcome(row["role"], row["made_by"], decode(row["body"]), row["n"]) for row in rows]
        for entry_id, rows in read_outcomes(unit, entry_ids).items()
    }


def _came_of(view: LaneView, ref: Mapping[str, Any], mode: str, outcomes: Mapping[str, Sequence[Outcome]]) -> Referred:
    for refused in outcomes.get(REFUSED, ()):
        return Referred(ref["uri"], ref["type"], code=refused.body["code"], why=refused.body["reason"])
    document = view.document(ref["uri"]) if READ in outcomes else None
    held = document is not None and document.ended is None
    return Referred(ref["uri"], ref["type"], mode=mode, document_id=document.id if document and held else None)


def _passed_over(entry: Entry, ref: Mapping[str, Any], code: str) -> Referred:
    return Referred(ref["uri"], ref["type"], code=code, why=_why(entry, ref, code))


def _why(entry: Entry, ref: Mapping[str, Any], code: str) -> str:
    if code == OFF:
        return _OFF[ref["type"]]
    if code == OTHER_TYPE:
        kept = "resources.artifacts of the policy lists the types that are kept"
        named = type_of(ref)
        return f"its type {named!r:.80} is not kept: {kept}" if named else f"its metadata names no type: {kept}"
    call_id = (ref.get("metadata") or {}).get("tool_call_id")
    if call_id is None:
        return "it has no words: give metadata.text, or metadata.tool_call_id with the call that made it"
    calls = [call for call in entry.payload.get("tool_calls", ()) if not is_erased(call)]
    if all(call.get("id") != call_id for call in calls):
        return f"no tool call of the turn has the id {call_id!r:.80} of its metadata.tool_call_id"
    return "the result of its tool call holds no text; give it as a text, content parts, or a member text or content"
