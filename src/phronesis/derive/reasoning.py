"""Reasoning items: blocks of claims, how they are edited, and the verdicts of runs on their claims.

What is written is checked before it is recorded, and recorded as what was read of it: a rule that is made stricter
later never stands in the way of a replay.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from phronesis.core.changes import Changes, Fold, Patch
from phronesis.core.entries import Entry, is_erased
from phronesis.core.ids import item_id, parse_id
from phronesis.core.items import DEFAULT_IMPORTANCE, Item, Trust
from phronesis.core.reasoning.block import block_of
from phronesis.core.reasoning.draft import read_draft
from phronesis.core.reasoning.records import REASONING
from phronesis.core.reasoning.standing import CLAIMS_FOLD, WRITTEN, rewritten, written_block, written_of
from phronesis.core.relations import EvidenceRow, Polarity
from phronesis.core.scope import LaneName
from phronesis.core.state_machine import JUDGEMENTS
from phronesis.core.text import check_id
from phronesis.derive.claims_gate.gate import gate
from phronesis.derive.editor import Call, Form
from phronesis.derive.edits import edited_fields, is_stale
from phronesis.derive.handler import Handler, Outcomes
from phronesis.derive.writer import Writer, Written
from phronesis.errors import ClaimsRefused, InputError, Violation
from phronesis.storage.lane_view import LaneView

ADD: Final = "reasoning"
UPDATE: Final = "update_reasoning"
VERDICT: Final = "verdict"

_POLARITY_OF: Final[Mapping[str, Polarity]] = {"support": "support", "contra": "contra"}


def check_block(content: object, status: object = "active") -> list[Violation]:
    """Give every rule that a block breaks, in the order of the rules; none when it may be stored."""
    if not isinstance(content, str):
        raise InputError(f"content must be a string, not {type(content).__name__}", field="content")
    return gate(content, status)


def reasoning_payload(content: object) -> dict[str, Any]:
    """Give what is recorded of a block, or raise ClaimsRefused with every rule that it breaks."""
    violations = check_block(content)
    if violations:
        raise ClaimsRefused.of(violations)
    return _said(written_of(block_of(read_draft(str(content)))))


def verdict_payload(run_id: object, judgements: object) -> dict[str, Any]:
    """Check a run's judgements ``{item_id, claim_id, judgement}``, at most one on a claim."""
    if not isinstance(judgements, Sequence) or isinstance(judgements, str | bytes):
        raise InputError(f"judgements must be a list, not {type(judgements).__name__}", field="judgements")
    checked = [_judgement(member, field=f"judgements[{n}]") for n, member in enumerate(judgements)]
    claims = [(row["item_id"], row["claim_id"]) for row in checked]
    if len(set(claims)) != len(claims):
        raise InputError("judgements judge a claim twice; a run has one verdict on a claim", field="judgements")
    return {"run_id": check_id(run_id, field="run_id"), "judgements": checked}


def record_verdict(
    writer: Writer, call: Call, lane: LaneName | int, *, run_id: str, judgements: Sequence[Mapping[str, Any]]
) -> Written:
    """Record what a run says of claims: support, contra or irrelevant. Repeating it changes nothing."""
    return writer.write(
        call.tenant, lane, verb=VERDICT, payload=verdict_payload(run_id, judgements), actor=call.actor,
        idempotency_key=call.idempotency_key, wait=call.wait,
    )  # fmt: skip


def made_id(entry: Entry) -> str:
    """Give the id of the item that an entry of verb ``reasoning`` makes, before it is interpreted too."""
    return item_id(entry.id, REASONING, "")


def apply_reasoning(view: LaneView, entry: Entry, _outcomes: Outcomes) -> Changes:
    """Make the item; its content is the fold's."""
    payload = entry.payload
    if is_erased(payload):
        return Changes()
    item = Item(
        id=made_id(entry),
        kind=REASONING,
        content="",
        entry_id=entry.id,
        recorded_at=entry.recorded_at,
        updated_at=entry.recorded_at,
        importance=DEFAULT_IMPORTANCE[REASONING],
        trust=Trust.USER,
        source_type="manual",
        occurred_at=entry.recorded_at,
        valid_from=entry.recorded_at,
        data={name: payload[name] for name in WRITTEN if name in payload},
        **view.scope_fields(),
    )
    return Changes(items=[item])


def apply_update(view: LaneView, entry: Entry, outcomes: Outcomes) -> Changes:
    """Take a new block, and what else an update may change with it."""
    payload = entry.payload
    item = None if is_erased(payload) else view.item(payload["item_id"])
    if item is None or is_stale(item, payload, outcomes):
        return Changes()
    fields = edited_fields(item, payload) | rewritten(item, written_block(payload))
    return Changes(patches=[Patch(item.id, fields, payload.get("reason") or "updated")])


def apply_verdict(view: LaneView, entry: Entry, _outcomes: Outcomes) -> Changes:
    """Add a row of evidence for each claim that the run supports or contradicts, unless it has judged it before."""
    payload = entry.payload
    if is_erased(payload):
        return Changes()
    run_id = payload["run_id"]
    judged = [row["item_id"] for row in payload["judgements"]]
    items = {found.id: found for found in view.items(judged).values() if found.kind == REASONING}
    counted = {(row.item_id, row.part) for rows in view.evidence(items).values() for row in rows
               if row.source_key == run_id}  # fmt: skip
    rows = [
        _evidence(entry, row, _POLARITY_OF[row["judgement"]])
        for row in payload["judgements"]
        if row["judgement"] in _POLARITY_OF
        and row["item_id"] in items
        and _may_count(items[row["item_id"]], row["claim_id"], run_id)
        and (row["item_id"], row["claim_id"]) not in counted
    ]
    reasons = [Patch(found, {}, f"judged by run {run_id}") for found in dict.fromkeys(row.item_id for row in rows)]
    return Changes(patches=reasons, evidence=rows)


def _may_count(item: Item, claim_id: str, run_id: str) -> bool:
    """Whether the item has the claim, and the claim does not name the run in what was written of it."""
    return any(
        claim.claim_id == claim_id and run_id not in (*claim.support.run_ids, *claim.contra.run_ids)
        for claim in written_block(item.data).claims
    )


def _said(written: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in written.items() if value is not None}


def _evidence(entry: Entry, judgement: Mapping[str, Any], polarity: Polarity) -> EvidenceRow:
    run_id = entry.payload["run_id"]
    return EvidenceRow(
        item_id=judgement["item_id"], part=judgement["claim_id"], polarity=polarity, source_key=run_id,
        entry_id=entry.id, recorded_at=entry.recorded_at, source_entry_id=entry.id, source_ref=run_id,
        occurred_at=entry.recorded_at,
    )  # fmt: skip


def _judgement(member: object, *, field: str) -> dict[str, str]:
    if not isinstance(member, Mapping):
        raise InputError(f"{field} must be a mapping, not {type(member).__name__}", field=field)
    if member.get("judgement") not in JUDGEMENTS:
        raise InputError(f"{field}.judgement must be one of {', '.join(JUDGEMENTS)}", field=f"{field}.judgement")
    return {
        "item_id": parse_id(member.get("item_id"), field=f"{field}.item_id"),
        "claim_id": check_id(member.get("claim_id"), field=f"{field}.claim_id"),
        "judgement": str(member["judgement"]),
    }


HANDLERS: Final = (
    Handler(verb=ADD, apply=apply_reasoning),
    Handler(verb=UPDATE, apply=apply_update),
    Handler(verb=VERDICT, apply=apply_verdict),
)
FOLDS: Final[Mapping[str, Fold]] = {REASONING: CLAIMS_FOLD}
FORMS: Final[Mapping[str, Form]] = {REASONING: Form(UPDATE, reasoning_payload)}
