"""A reasoning item: what was written, where verdicts have brought it, and the block that says both (RB-08, RB-18).

``data`` keeps what was written, ``topic``, ``scope``, ``extra`` and ``claims``: the start of each claim. It changes by
editing alone. ``data.standing`` and ``content`` follow from it and from the verdicts of runs, so that a verdict that is
taken back never takes an edit with it, and ``content`` is always the block as it stands now. ``label`` is the scope: a
column that a search can ask for.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from phronesis.core.changes import Fold
from phronesis.core.items import Item
from phronesis.core.reasoning.block import claim_of, member_of, text_of
from phronesis.core.reasoning.records import Claim, ReasoningBlock, Tally
from phronesis.core.reasoning.verdicts import written_state
from phronesis.core.relations import EvidenceRow
from phronesis.core.state_machine import Judgement, Verdict, claim_state

STANDING: Final = "data.standing"
"""Where the fold keeps each claim's status and counts."""

WRITTEN: Final = ("topic", "scope", "extra", "claims")
"""The members of ``data`` that hold what was written; None where nothing was."""

_JUDGEMENT_OF: Final[Mapping[str, Judgement]] = {"support": "support", "contra": "contra"}


def written_of(block: ReasoningBlock) -> dict[str, Any]:
    """Give what is kept of a block, by the names of `WRITTEN`."""
    return {
        "topic": block.topic or None,
        "scope": block.scope,
        "extra": [list(pair) for pair in block.extra] or None,
        "claims": [member_of(claim) for claim in block.claims],
    }


def written_block(data: Mapping[str, Any]) -> ReasoningBlock:
    """Give the block that an item's ``data`` was made of, each claim at its start."""
    return ReasoningBlock(
        topic=data.get("topic") or "",
        scope=data.get("scope"),
        extra=tuple((key, value) for key, value in data.get("extra") or ()),
        claims=tuple(claim_of(member) for member in data.get("claims") or ()),
    )


def current_block(item: Item) -> ReasoningBlock:
    """Give a reasoning item's block as it stands: what ``content`` says, as records."""
    standing = item.data.get("standing") or {}
    block = written_block(item.data)
    return replace(block, claims=tuple(_moved(claim, standing.get(claim.claim_id)) for claim in block.claims))


def status_of(item: Item, claim_id: str) -> str:
    """Give where a claim stands; empty when the item has no such claim."""
    return str(((item.data.get("standing") or {}).get(claim_id) or {}).get("status", ""))


def rewritten(item: Item, block: ReasoningBlock) -> dict[str, Any]:
    """Give the fields ``data.…`` by which an item comes to say what a block says; those that stay are left out.

    A claim whose status and counts are those that ``content`` shows keeps the start that it had, and with it what
    verdicts made of it; one that shows others starts from these. A claim that the block leaves out is gone.
    """
    shown = {claim.claim_id: claim for claim in current_block(item).claims}
    kept = {claim.claim_id: claim for claim in written_block(item.data).claims}
    claims = tuple(
        _started(claim, kept[claim.claim_id]) if _same_standing(claim, shown.get(claim.claim_id)) else claim
        for claim in block.claims
    )
    after = written_of(replace(block, claims=claims))
    before = written_of(written_block(item.data))
    return {f"data.{name}": after[name] for name in WRITTEN if after[name] != before[name]}


def standings(claims: Iterable[Claim], evidence: Sequence[EvidenceRow]) -> dict[str, dict[str, Any]]:
    """Fold verdicts, in learn order, into where each claim stands. Verdicts on claims that are gone are idle."""
    verdicts: dict[str, list[Verdict]] = {}
    for row in evidence:
        judgement = _JUDGEMENT_OF.get(row.polarity)
        if judgement is not None:
            verdicts.setdefault(row.part, []).append(Verdict(row.source_key, judgement))
    return {claim.claim_id: _standing(claim, verdicts.get(claim.claim_id, ())) for claim in claims}


def standing_of(item: Item, evidence: Sequence[EvidenceRow]) -> dict[str, Any]:
    """Give where each claim stands by the verdicts, in learn order, and the block that says so."""
    # Objects come back in another order from a log or a database: the text must not depend on it.
    block = written_block({**item.data, "claims": _ordered(item.data.get("claims") or [])})
    standing = standings(block.claims, evidence)
    moved = replace(block, claims=tuple(_moved(claim, standing[claim.claim_id]) for claim in block.claims))
    return {STANDING: standing, "content": text_of(moved), "label": block.scope}


CLAIMS_FOLD: Final = Fold(frozenset({STANDING, "content", "label"}), standing_of)


def _standing(claim: Claim, verdicts: Iterable[Verdict]) -> dict[str, Any]:
    """Where a claim is brought from its start; a run that its start names counts there and nowhere else."""
    state = claim_state(verdicts, start=written_state(claim))
    return {
        "status": state.status,
        "support": {"count": state.support_count, "run_ids": list(state.support)},
        "contra": {"count": state.contra_count, "run_ids": list(state.contra)},
    }


def _moved(claim: Claim, standing: Mapping[str, Any] | None) -> Claim:
    if standing is None:
        return claim
    support, contra = _recounted(claim.support, standing["support"]), _recounted(claim.contra, standing["contra"])
    if (claim.status, claim.support, claim.contra) == (standing["status"], support, contra):
        return claim
    return replace(claim, status=standing["status"], support=support, contra=contra)


def _recounted(start: Tally, counted: Mapping[str, Any]) -> Tally:
    return Tally(count=counted["count"], run_ids=tuple(counted["run_ids"]), extra=start.extra)


def _same_standing(claim: Claim, shown: Claim | None) -> bool:
    return shown is not None and all(
        getattr(claim, name) == getattr(shown, name) for name in ("status", "support", "contra")
    )


def _started(claim: Claim, start: Claim) -> Claim:
    return replace(claim, status=start.status, support=start.support, contra=start.contra)


def _ordered(value: Any) -> Any:
    """Give JSON with the members of its objects in the order of their names."""
    if isinstance(value, Mapping):
        return {name: _ordered(value[name]) for name in sorted(value)}
    return [_ordered(inner) for inner in value] if isinstance(value, list) else value
