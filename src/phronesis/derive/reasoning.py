"""Reasoning items and the verdicts of runs on their claims: each run counts once for a claim."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from phronesis.core.changes import Changes, Fold, Patch
from phronesis.core.claims import CLAIMS_FOLD, REASONING, check_claims
from phronesis.core.entries import Entry, is_erased
from phronesis.core.ids import item_id, parse_id
from phronesis.core.items import DEFAULT_IMPORTANCE, Item, Trust
from phronesis.core.relations import EvidenceRow, Polarity
from phronesis.core.scope import LaneName
from phronesis.core.state_machine import JUDGEMENTS
from phronesis.core.text import check_id, check_text
from phronesis.derive.editor import Call
from phronesis.derive.handler import Handler, Outcomes
from phronesis.derive.writer import Writer, Written
from phronesis.errors import InputError
from phronesis.storage.lane_view import LaneView

_POLARITY_OF: Final[Mapping[str, Polarity]] = {"support": "support", "contra": "contra"}


def reasoning_payload(given: Mapping[str, Any]) -> dict[str, Any]:
    """Check ``{claims, topic?, scope?}`` and make it a payload; InputError names the field."""
    payload: dict[str, Any] = {"claims": check_claims(given.get("claims"))}
    for name in ("topic", "scope"):
        if given.get(name) is not None:
            payload[name] = check_text(given[name], field=name)
    return payload


def verdict_payload(run_id: object, judgements: object) -> dict[str, Any]:
    """Check a run's judgements ``{item_id, claim_id, judgement}``, at most one on a claim."""
    if not isinstance(judgements, Sequence) or isinstance(judgements, str | bytes):
        raise InputError(f"judgements must be a list, not {type(judgements).__name__}", field="judgements")
    checked = [_judgement(member, field=f"judgements[{n}]") for n, member in enumerate(judgements)]
    claims = [(row["item_id"], row["claim_id"]) for row in checked]
    if len(set(claims)) != len(claims):
        raise InputError("judgements judge a claim twice; a run has one verdict on a claim", field="judgements")
    return {"run_id": check_id(run_id, field="run_id"), "judgements": checked}


def record_reasoning(writer: Writer, call: Call, lane: LaneName | int, given: Mapping[str, Any]) -> Written:
    """Record a reasoning item ``{claims, topic?, scope?}``."""
    return writer.write(
        call.tenant, lane, verb="reasoning", payload=reasoning_payload(given), actor=call.actor,
        idempotency_key=call.idempotency_key, wait=call.wait,
    )  # fmt: skip


def record_verdict(
    writer: Writer, call: Call, lane: LaneName | int, *, run_id: str, judgements: Sequence[Mapping[str, Any]]
) -> Written:
    """Record what a run says of claims: support, contra or irrelevant. Repeating it changes nothing."""
    return writer.write(
        call.tenant, lane, verb="verdict", payload=verdict_payload(run_id, judgements), actor=call.actor,
        idempotency_key=call.idempotency_key, wait=call.wait,
    )  # fmt: skip


def apply_reasoning(view: LaneView, entry: Entry, _outcomes: Outcomes) -> Changes:
    """Make the item; its content is what a reader would quote, topic first."""
    payload = entry.payload
    if is_erased(payload):
        return Changes()
    said = [claim["inference"] for claim in payload["claims"]]
    item = Item(
        id=item_id(entry.id, REASONING, ""),
        kind=REASONING,
        content="\n".join([payload["topic"], *said] if "topic" in payload else said),
        entry_id=entry.id,
        recorded_at=entry.recorded_at,
        updated_at=entry.recorded_at,
        importance=DEFAULT_IMPORTANCE[REASONING],
        trust=Trust.USER,
        source_type="manual",
        occurred_at=entry.recorded_at,
        valid_from=entry.recorded_at,
        data={name: payload[name] for name in ("topic", "scope", "claims") if name in payload},
        **view.scope_fields(),
    )
    return Changes(items=[item])


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
        and _has_claim(items[row["item_id"]], row["claim_id"])
        and (row["item_id"], row["claim_id"]) not in counted
    ]
    reasons = [Patch(found, {}, f"judged by run {run_id}") for found in dict.fromkeys(row.item_id for row in rows)]
    return Changes(patches=reasons, evidence=rows)


def _has_claim(item: Item, claim_id: str) -> bool:
    return any(claim["claim_id"] == claim_id for claim in item.data.get("claims", ()))


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


HANDLERS: Final = (Handler(verb="reasoning", apply=apply_reasoning), Handler(verb="verdict", apply=apply_verdict))
FOLDS: Final[Mapping[str, Fold]] = {REASONING: CLAIMS_FOLD}
