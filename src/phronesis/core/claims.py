"""Claims: what a reasoning item holds to be so, and how runs bear on each (requirements RB-02, RB-04, RB-18, RB-19).

What was written (``data.claims``) and where it stands (``data.standing``) are two things: the first changes by editing,
the second follows from the verdicts of runs alone. So a verdict that is taken back never takes an edit with it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from phronesis.core.canonical import plain
from phronesis.core.changes import Fold
from phronesis.core.items import Item
from phronesis.core.relations import EvidenceRow
from phronesis.core.state_machine import CLAIM_STATUSES, ClaimState, ClaimStatus, Judgement, Verdict, claim_state
from phronesis.core.text import check_id, check_text
from phronesis.errors import InputError

REASONING: Final = "reasoning"
"""The kind of item that holds claims."""

MAX_CLAIMS: Final = 10
"""Claims in one item (RB-04)."""

STANDING: Final = "data.standing"
"""Where the fold keeps each claim's status and runs."""

_COUNTED: Final = frozenset({"support", "contra"})
_SENTENCE_END: Final = re.compile(r"[。！？]|[.!?](?=\s|$)|\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A claim as it was written, and as it stands."""

    claim_id: str
    status: ClaimStatus
    inference: str
    conditions: tuple[str, ...]
    support: tuple[str, ...]
    contra: tuple[str, ...]


def check_claims(value: object, *, field: str = "claims") -> list[dict[str, Any]]:
    """Give checked claims, 1–10 with distinct ids, or raise InputError naming the place.

    Each has ``claim_id`` and ``inference``; ``status`` is a hypothesis unless given; ``conditions`` are texts; further
    members are kept as written. ``support`` and ``contra`` are refused: they follow from verdicts.
    """
    if not isinstance(value, Sequence) or isinstance(value, str | bytes):
        raise InputError(f"{field} must be a list of claims, not {type(value).__name__}", field=field)
    if not 1 <= len(value) <= MAX_CLAIMS:
        raise InputError(f"{field} holds {len(value)} claims; an item has 1 to {MAX_CLAIMS}: split it", field=field)
    claims = [_checked(member, field=f"{field}[{n}]") for n, member in enumerate(value)]
    ids = [claim["claim_id"] for claim in claims]
    for n, claim_id in enumerate(ids):
        if claim_id in ids[:n]:
            raise InputError(f"{field}[{n}].claim_id repeats {claim_id!r:.80}; claim ids are distinct in an item",
                             field=f"{field}[{n}].claim_id")  # fmt: skip
    return claims


def claims_of(item: Item) -> list[Claim]:
    """Give a reasoning item's claims in the order they were written."""
    standing = item.data.get("standing", {})
    return [
        Claim(
            claim_id=claim["claim_id"],
            status=standing[claim["claim_id"]]["status"],
            inference=claim["inference"],
            conditions=tuple(claim.get("conditions", ())),
            support=tuple(standing[claim["claim_id"]]["support"]),
            contra=tuple(standing[claim["claim_id"]]["contra"]),
        )
        for claim in item.data.get("claims", ())
    ]


def claim_text(claim: Mapping[str, Any]) -> str:
    """Give what is searched of a claim: its core sentence, the first of the inference, and its conditions (RB-09)."""
    return "\n".join([core_sentence(claim["inference"]), *claim.get("conditions", ())])


def core_sentence(text: str) -> str:
    """Give the first sentence of a text, Chinese or Western; the whole text when no sentence ends in it."""
    stripped = text.strip()
    end = _SENTENCE_END.search(stripped)
    return stripped[: end.end()].strip() if end is not None else stripped


def standing_of(item: Item, evidence: Sequence[EvidenceRow]) -> dict[str, Any]:
    """Fold verdicts, in learn order, into each claim's status and runs; verdicts on claims that are gone are idle."""
    verdicts: dict[str, list[Verdict]] = {}
    for row in evidence:
        judgement = _JUDGEMENT_OF.get(row.polarity)
        if judgement is not None:
            verdicts.setdefault(row.part, []).append(Verdict(row.source_key, judgement))
    states = {
        claim["claim_id"]: claim_state(verdicts.get(claim["claim_id"], ()), start=claim["status"])
        for claim in item.data.get("claims", ())
    }
    return {STANDING: {claim_id: _stored(state) for claim_id, state in states.items()}}


CLAIMS_FOLD: Final = Fold(frozenset({STANDING}), standing_of)

_JUDGEMENT_OF: Final[Mapping[str, Judgement]] = {"support": "support", "contra": "contra"}


def _stored(state: ClaimState) -> dict[str, Any]:
    return {"status": state.status, "support": list(state.support), "contra": list(state.contra)}


def _checked(member: object, *, field: str) -> dict[str, Any]:
    if not isinstance(member, Mapping):
        raise InputError(f"{field} must be a mapping, not {type(member).__name__}", field=field)
    claim: dict[str, Any] = plain(member, field=field)
    for name in sorted(_COUNTED & claim.keys()):
        raise InputError(f"{field}.{name} follows from the verdicts of runs; leave it out", field=f"{field}.{name}")
    claim["claim_id"] = check_id(claim.get("claim_id"), field=f"{field}.claim_id")
    claim["status"] = claim.get("status", "hypothesis")
    if claim["status"] not in CLAIM_STATUSES:
        raise InputError(f"{field}.status must be one of {', '.join(CLAIM_STATUSES)}, not {claim['status']!r:.40}",
                         field=f"{field}.status")  # fmt: skip
    claim["inference"] = check_text(claim.get("inference"), field=f"{field}.inference")
    conditions = claim.get("conditions", [])
    if not isinstance(conditions, list):
        raise InputError(f"{field}.conditions must be a list of texts", field=f"{field}.conditions")
    claim["conditions"] = [check_text(text, field=f"{field}.conditions[{n}]") for n, text in enumerate(conditions)]
    return claim
