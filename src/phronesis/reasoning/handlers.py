"""Handlers of reasoning entries: claim blocks and their updates, verdicts of runs, runs and feedback.

Input is checked before it is recorded, and the parsed form is recorded, so a rule that becomes stricter later never
breaks a replay.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, TypedDict

from phronesis.core.changes import Changes, Fold, Patch
from phronesis.core.entries import EditPayload, Entry, is_erased, item_timestamps, payload_of
from phronesis.core.ids import derived_id, item_id
from phronesis.core.items import DEFAULT_IMPORTANCE, Item, Trust
from phronesis.core.relations import EvidenceRow, Polarity
from phronesis.core.serialization import dumps
from phronesis.engine.edits import Form, edited_fields, is_stale
from phronesis.engine.handler import Handler, Outcomes
from phronesis.errors import ClaimsRefused, InputError, Violation
from phronesis.index.projections import Part, in_words
from phronesis.log.payloads import fit
from phronesis.reasoning.claim_gate import gate
from phronesis.reasoning.laws.block_rules import read_draft
from phronesis.reasoning.laws.claim_status import (
    CLAIMS_FOLD,
    WRITTEN,
    block_of,
    claim_text,
    prose_of,
    replaced_fields,
    stated_of,
    written_block,
)
from phronesis.reasoning.laws.facts import GenericFacts
from phronesis.reasoning.laws.records import CLAIM, REASONING, Feedback, Run, checked_feedback, checked_run
from phronesis.store.lane_view import LaneView


class BlockPayload(TypedDict, total=False):
    """The verb ``reasoning``: a block of claims as written."""

    topic: str
    scope: str
    extra: list[str]
    claims: list[dict[str, Any]]


class BlockEditPayload(BlockPayload, EditPayload, total=False):
    """The verb ``update_reasoning``: another block for an item."""


class VerdictPayload(TypedDict, total=False):
    """The verb ``verdict``: a run's judgements ``{item_id, claim_id, judgement}``."""

    run_id: str
    judgements: list[dict[str, str]]


class RunPayload(TypedDict, total=False):
    """The verb ``run``: a run as recorded; members that are not known are in ``extra``."""

    run_id: str
    output: dict[str, Any]
    raw: str
    trace: Any
    memory_ids: list[str]
    extra: dict[str, Any]


class RunFeedbackPayload(TypedDict, total=False):
    """The verb ``run_feedback``: the run's item, and its feedback."""

    item_id: str
    feedback: dict[str, Any]


ADD: Final = "reasoning"
UPDATE: Final = "update_reasoning"
VERDICT: Final = "verdict"

_POLARITY_OF: Final[Mapping[str, Polarity]] = {"support": "support", "contra": "contra"}


def check_block(content: object, status: object = "active") -> list[Violation]:
    """Return the violations of a block in the order of the rules; none if it may be stored."""
    if not isinstance(content, str):
        raise InputError(f"content must be a string, not {type(content).__name__}", field="content")
    return gate(content, status)


def reasoning_payload(content: object) -> dict[str, Any]:
    """Return the payload of a block; ClaimsRefused lists every violation."""
    violations = check_block(content)
    if violations:
        raise ClaimsRefused.of(violations)
    return stated_of(block_of(read_draft(str(content))))


def created_item_id(entry: Entry) -> str:
    """Return the id of the item that an entry of verb ``reasoning`` creates, known before it is interpreted."""
    return item_id(entry.id, REASONING, "")


def apply_reasoning(view: LaneView, entry: Entry, _outcomes: Outcomes) -> Changes:
    """Create the item; the fold sets its content."""
    payload = payload_of(entry, BlockPayload)
    if is_erased(payload):
        return Changes()
    item = Item(
        id=created_item_id(entry),
        kind=REASONING,
        content="",
        importance=DEFAULT_IMPORTANCE[REASONING],
        trust=Trust.USER,
        source_type="manual",
        data={name: payload[name] for name in WRITTEN if name in payload},
        **item_timestamps(entry),
        **view.scope_fields(),
    )
    return Changes(items=[item])


def apply_update(view: LaneView, entry: Entry, outcomes: Outcomes) -> Changes:
    """Replace the block, and other fields that an update may change."""
    payload = payload_of(entry, BlockEditPayload)
    item = None if is_erased(payload) else view.item(payload["item_id"])
    if item is None or is_stale(item, payload, outcomes):
        return Changes()
    fields = edited_fields(item, payload) | replaced_fields(item, written_block(payload))
    return Changes(patches=[Patch(item.id, fields, payload.get("reason") or "updated")])


def apply_verdict(view: LaneView, entry: Entry, _outcomes: Outcomes) -> Changes:
    """Add an evidence row for each claim that the run supports or contradicts and has not judged before."""
    payload = payload_of(entry, VerdictPayload)
    if is_erased(payload):
        return Changes()
    run_id = payload["run_id"]
    judged = [row["item_id"] for row in payload["judgements"]]
    items = {found.id: found for found in view.items(judged).values() if found.kind == REASONING}
    counted = {
        (row.item_id, row.part) for rows in view.evidence(items).values() for row in rows if row.source_key == run_id
    }
    # A claim that names the run as written counts it already.
    uncounted = {
        (item.id, claim.claim_id)
        for item in items.values()
        for claim in written_block(item.data).claims
        if run_id not in (*claim.support.run_ids, *claim.contra.run_ids)
    } - counted
    rows = [
        _evidence(entry, row, _POLARITY_OF[row["judgement"]])
        for row in payload["judgements"]
        if row["judgement"] in _POLARITY_OF and (row["item_id"], row["claim_id"]) in uncounted
    ]
    reasons = [Patch(found, {}, f"judged by run {run_id}") for found in dict.fromkeys(row.item_id for row in rows)]
    return Changes(patches=reasons, evidence=rows)


def _evidence(entry: Entry, judgement: Mapping[str, Any], polarity: Polarity) -> EvidenceRow:
    run_id = payload_of(entry, VerdictPayload)["run_id"]
    return EvidenceRow(
        item_id=judgement["item_id"],
        part=judgement["claim_id"],
        polarity=polarity,
        source_key=run_id,
        entry_id=entry.id,
        recorded_at=entry.recorded_at,
        source_entry_id=entry.id,
        source_ref=run_id,
        occurred_at=entry.recorded_at,
    )


REASONING_HANDLERS: Final = (
    Handler(verb=ADD, apply=apply_reasoning),
    Handler(verb=UPDATE, apply=apply_update),
    Handler(verb=VERDICT, apply=apply_verdict),
)
FOLDS: Final[Mapping[str, Fold]] = {REASONING: CLAIMS_FOLD}
FORMS: Final[Mapping[str, Form]] = {REASONING: Form(UPDATE, reasoning_payload)}


# Runs and feedback as items: a run is recorded once; its feedback may be replaced.

RUN: Final = "run"
"""Kind of the item of a run, and the verb that records one."""

FEEDBACK: Final = "run_feedback"

_EXTRA: Final = "extra"

_MEMBERS: Final = ("output", "raw", "trace", "memory_ids", _EXTRA)


def run_payload(run: object) -> dict[str, Any]:
    """Return the payload of a run; InputError names the field.

    Unknown members are grouped under ``extra``, so that they cannot collide with known names. None counts as absent.
    """
    checked = checked_run(run)
    extra = {name: value for name, value in checked.extra.items() if value is not None}
    given = {**replace(checked, extra={}).to_json(), _EXTRA: extra}
    return {name: value for name, value in given.items() if value not in (None, "", {}, [])}


def recorded_run(payload: Mapping[str, Any]) -> Run:
    """Return the run in a payload."""
    return _run(payload.get("run_id", ""), payload)


def feedback_payload(feedback: object) -> dict[str, Any]:
    """Return the payload of a feedback; InputError names the field."""
    return checked_feedback(feedback).to_json()


def run_id_of(entry: Entry) -> str:
    """Return the id of the run that an entry records: the given one, or one derived from the entry."""
    return str(payload_of(entry, RunPayload).get("run_id") or derived_id("run", entry.id))


def find_run(view: LaneView, run_id: str) -> Item | None:
    """Return the lane's run of this id, archived or not; None if there is none or it was rolled back."""
    found = [item for item in view.find(kinds=(RUN,), run_id=run_id, live=False) if item.ended is None]
    return found[-1] if found else None


def run_of(item: Item) -> Run:
    """Return the run of an item."""
    return _run(item.run_id or "", item.data)


def _run(run_id: str, members: Mapping[str, Any]) -> Run:
    """Return the run whose members were checked when it was recorded."""
    return Run(
        run_id=run_id,
        output=members.get("output") or {},
        raw=members.get("raw") or "",
        trace=members.get("trace"),
        memory_ids=tuple(members.get("memory_ids") or ()),
        extra=members.get(_EXTRA) or {},
    )


def feedback_of(item: Item) -> Feedback | None:
    """Return the feedback of a run's item, or None."""
    given = item.data.get("feedback")
    return None if given is None else checked_feedback(given)


def same_run(item: Item, payload: Mapping[str, Any]) -> bool:
    """Return whether an item is the run in a payload."""
    return dumps(_run_fields(run_of(item))) == dumps(_run_fields(recorded_run(fit(payload))))


def apply_run(view: LaneView, entry: Entry, _outcomes: Outcomes) -> Changes:
    """Create the run's item, unless the lane has a run of its id."""
    payload = payload_of(entry, RunPayload)
    run_id = run_id_of(entry)
    if is_erased(payload) or find_run(view, run_id) is not None:
        return Changes()
    run = recorded_run({**payload, "run_id": run_id})
    said, builder = _run_fields(run), GenericFacts()
    item = Item(
        id=item_id(entry.id, RUN, run_id),
        kind=RUN,
        # As text it is independent of its field, the machine and the policy.
        content=builder.summary(builder.facts(run, Feedback())) or run_id,
        importance=DEFAULT_IMPORTANCE[RUN],
        trust=Trust.TOOL,
        source_type=RUN,
        source_ref=run_id,
        run_id=run_id,
        data={name: said[name] for name in _MEMBERS if said.get(name) not in (None, "", {}, [])},
        **item_timestamps(entry),
        **view.scope_fields(),
    )
    return Changes(items=[item])


def apply_feedback(view: LaneView, entry: Entry, _outcomes: Outcomes) -> Changes:
    """Set the feedback of a run, replacing an earlier one."""
    payload = payload_of(entry, RunFeedbackPayload)
    run = None if is_erased(payload) else view.item(payload["item_id"])
    if run is None or run.kind != RUN or run.data.get("feedback") == payload["feedback"]:
        return Changes()
    fields = {"data.feedback": payload["feedback"], "data.feedback_entry": entry.id}
    return Changes(patches=[Patch(run.id, fields, "feedback")])


def _run_fields(run: Run) -> dict[str, Any]:
    return {**run.to_json(), "extra": dict(run.extra)}


RUN_HANDLERS: Final = (Handler(verb=RUN, apply=apply_run), Handler(verb=FEEDBACK, apply=apply_feedback))


# Projection of a reasoning item: one document for the whole, one per claim (RB-09).

PROJECTED: Final = ("topic", "claims")
"""Members of ``data`` from which the parts are built: the written state, which verdicts do not change."""


def project_reasoning(item: Item) -> list[Part]:
    """Return the search documents of a reasoning item: its prose, and one part per claim."""
    block = written_block(item.data)
    claims = [Part(f"{CLAIM}:{claim.claim_id}", claim_text(claim), dated=False) for claim in block.claims]
    return [*in_words(prose_of(block), dated=False), *claims]
