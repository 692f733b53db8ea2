"""Blocks of claims: ``RBMEM_CLAIMS_V1`` without loss, text for search, and each claim's status as a fold over verdicts.

::

    RBMEM_CLAIMS_V1
    TOPIC=Cu:Ti ratio and formate
    SCOPE=tio2_expert
    CLAIMS_JSON=[{"claim_id":"c1","status":"hypothesis","facts":{"source_run_ids":["r1"]},"inference":"…"}]

The parser (RB-01) also accepts a byte order mark, CRLF and blank lines, spaces within the JSON, and members that are
absent or null. The renderer writes one form: LF, TOPIC always, minified JSON with every member of a claim in a fixed
order, and letters unescaped.

An item's ``data`` keeps what was written, ``topic``, ``scope``, ``extra`` and ``claims``: the initial state of each
claim (RB-08, RB-18). Only edits change it. ``data.standing`` and ``content`` follow from it and from the verdicts of
runs, so that withdrawing a verdict never undoes an edit, and ``content`` is always the current block. ``label`` is the
scope: a column that a search can filter by.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any, Final

from phronesis.core.changes import Fold
from phronesis.core.confidence import ClaimState, RunVerdict, claim_state
from phronesis.core.items import Item
from phronesis.core.relations import EvidenceRow
from phronesis.errors import ClaimsRefused, Violation
from phronesis.reasoning.laws.block_rules import PROTOCOL, Draft, read_draft, structure_violations
from phronesis.reasoning.laws.records import CLAIMS, HEADER, MEMBERS, SCOPE, TOPIC, Claim, ReasoningBlock, Tally

_KNOWN: Final = frozenset(MEMBERS)
_COUNTED: Final = frozenset({"count", "run_ids"})
# Other readers treat these characters as line ends; within JSON an escape is equivalent.
_LINE_ENDS: Final = {"\x85": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"}
_JSON: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def parse(text: str) -> ReasoningBlock:
    """Return the block in a text; ClaimsRefused lists every violation of the structure rules.

    The wording of claims is checked elsewhere (`reasoning.claim_gate`).
    """
    draft = read_draft(text)
    violations = structure_violations(draft)
    if violations:
        raise ClaimsRefused.of(violations)
    return block_of(draft)


def block_of(draft: Draft) -> ReasoningBlock:
    """Return the records of a draft without structural violations."""
    return ReasoningBlock(
        topic=draft.values.get(TOPIC, ""),
        scope=draft.values.get(SCOPE),
        claims=tuple(claim_of(member) for _, member in draft.claims()),
        extra=draft.extra,
    )


def render(block: ReasoningBlock) -> str:
    """Return the text of a block; ClaimsRefused when parsing it would not restore the block."""
    try:
        text = text_of(block)
    except (TypeError, ValueError, RecursionError) as error:
        raise ClaimsRefused.of([_unwritable(f"{CLAIMS} cannot be written: {error}")]) from error
    if parse(text) != block:
        causes = "a line break at its end, a key of this protocol among the extra ones, or no plain JSON"
        raise ClaimsRefused.of([_unwritable(f"a value does not come back as it was: {causes}")])
    return text


def text_of(block: ReasoningBlock) -> str:
    """Return the text of a block that was parsed once, whatever the rules require today."""
    claims = _JSON.encode([member_of(claim) for claim in block.claims])
    for end, escaped in _LINE_ENDS.items():  # ten times as fast as str.translate
        claims = claims.replace(end, escaped)
    scope = [] if block.scope is None else [(SCOPE, block.scope)]
    lines = [(TOPIC, block.topic), *scope, *block.extra, (CLAIMS, claims)]
    return "\n".join([HEADER, *(f"{key}={value}" for key, value in lines)])


def claim_of(member: Mapping[str, Any]) -> Claim:
    """Return the record of a claim's JSON without structural violations."""
    return Claim(
        claim_id=member["claim_id"],
        status=member["status"],
        facts=member["facts"],
        inference=member.get("inference") or "",
        constraint=member.get("constraint") or "",
        allow_positive=bool(member.get("allow_positive")),
        exception_reason=member.get("exception_reason") or "",
        conditions=tuple(member.get("conditions") or ()),
        limitations=tuple(member.get("limitations") or ()),
        support=_parse_tally(member.get("support")),
        contra=_parse_tally(member.get("contra")),
        test=member.get("test"),
        extra=_unknown_members(member, _KNOWN),
    )


def _parse_tally(written: Mapping[str, Any] | None) -> Tally:
    if written is None:
        return Tally()
    return Tally(
        count=written["count"], run_ids=tuple(written.get("run_ids") or ()), extra=_unknown_members(written, _COUNTED)
    )


def _unknown_members(written: Mapping[str, Any], known: AbstractSet[str]) -> dict[str, Any]:
    """Return the unknown members. Most claims have none, and claims are parsed by the hundred."""
    return {} if written.keys() <= known else {name: value for name, value in written.items() if name not in known}


def member_of(claim: Claim) -> dict[str, Any]:
    """Return a claim's JSON: known members in their order, then unknown ones."""
    members = {name: getattr(claim, name) for name in MEMBERS}
    members |= {"conditions": list(claim.conditions), "limitations": list(claim.limitations)}
    for name, tally in (("support", claim.support), ("contra", claim.contra)):
        members[name] = {"count": tally.count, "run_ids": list(tally.run_ids), **tally.extra}
    left_out = {name for name in ("allow_positive", "exception_reason", "test") if members[name] in (False, "", None)}
    return {**{name: member for name, member in members.items() if name not in left_out}, **claim.extra}


def _unwritable(message: str) -> Violation:
    return Violation(rule=PROTOCOL, message=message)


# Text of a claim and of a block for search, without JSON and FACTS (RB-09).

MAX_SENTENCE: Final = 400
MAX_CONDITIONS: Final = 200
"""Maximum characters of a claim's core sentence and conditions: together about 150 tokens, short for any encoder."""

# The look-behind is placed after the full stop: before it, it would be tried at every character of the text.
_SENTENCE_END: Final = re.compile(
    r"[。！？\n]|[!?](?=\s|$)"
    r"|\.(?=\s|$)(?<!\b(?i:e\.g|i\.e)\.)(?<!\b(?i:ca|cf|vs)\.)(?<!\b(?i:fig|etc)\.)(?<!\b(?i:approx)\.)"
)


def claim_text(claim: Claim) -> str:
    """Return the searched text of a claim: its core sentence, and its abbreviated conditions.

    The core sentence is the first of the inference or, without one, of the constraint.
    """
    sentence = core_sentence(claim.inference) or core_sentence(claim.constraint)
    return "\n".join(part for part in (sentence, _cut_text("; ".join(claim.conditions), MAX_CONDITIONS)) if part)


def core_sentence(text: str) -> str:
    """Return the first sentence of a text, Chinese or Western, cut to the length of a claim's text."""
    stripped = text.strip()
    end = _SENTENCE_END.search(stripped[:MAX_SENTENCE])
    return _cut_text(stripped if end is None else stripped[: end.end()].strip(), MAX_SENTENCE)


def prose_of(block: ReasoningBlock) -> str:
    """Return the searched text of a block: its topic, inferences and constraints."""
    said = [part for claim in block.claims for part in (claim.inference, claim.constraint)]
    return "\n".join(part.strip() for part in (block.topic, *said) if part.strip())


def readable_block(block: ReasoningBlock) -> str:
    """Return the text of a block for readers, one line per claim: status, statement and conditions."""
    return "\n".join([*filter(None, [block.topic.strip()]), *map(_claim_line, block.claims)])


def _claim_line(claim: Claim) -> str:
    standing = f"{claim.status}, {claim.support.count} for and {claim.contra.count} against"
    said = " ".join(part.strip() for part in (claim.inference, claim.constraint) if part.strip())
    named = (("conditions", claim.conditions), ("limitations", claim.limitations))
    more = "".join(f" ({name}: {'; '.join(texts)})" for name, texts in named if texts)
    return f"{claim.claim_id} ({standing}): {said}{more}"


def _cut_text(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def written_state(claim: Claim) -> ClaimState:
    """Return the written state of a claim: its status, the runs it names, and the number of further runs it counts."""
    return ClaimState(
        status=claim.status,
        support=claim.support.run_ids,
        contra=claim.contra.run_ids,
        unnamed_support=claim.support.count - len(claim.support.run_ids),
        unnamed_contra=claim.contra.count - len(claim.contra.run_ids),
    )


STANDING: Final = "data.standing"
"""Field in which the fold keeps each claim's status and counts."""

WRITTEN: Final = ("topic", "scope", "extra", "claims")
"""Members of ``data`` that hold the written state; None where nothing was written."""


def written_of(block: ReasoningBlock) -> dict[str, Any]:
    """Return the stored fields of a block, by the names of `WRITTEN`."""
    return {
        "topic": block.topic or None,
        "scope": block.scope,
        "extra": [list(pair) for pair in block.extra] or None,
        "claims": [member_of(claim) for claim in block.claims],
    }


def stated_of(block: ReasoningBlock) -> dict[str, Any]:
    """Return the stored fields of a block without those in which nothing was written."""
    return {name: value for name, value in written_of(block).items() if value is not None}


def written_block(data: Mapping[str, Any]) -> ReasoningBlock:
    """Return the block that an item's ``data`` was built from, each claim in its initial state."""
    return ReasoningBlock(
        topic=data.get("topic") or "",
        scope=data.get("scope"),
        extra=tuple((key, value) for key, value in data.get("extra") or ()),
        claims=tuple(claim_of(member) for member in data.get("claims") or ()),
    )


def current_block(item: Item) -> ReasoningBlock:
    """Return a reasoning item's current block: ``content`` as records."""
    standing = item.data.get("standing") or {}
    block = written_block(item.data)
    return replace(block, claims=tuple(_with_status(claim, standing.get(claim.claim_id)) for claim in block.claims))


def status_of(item: Item, claim_id: str) -> str:
    """Return a claim's status; empty when the item has no such claim."""
    return str(((item.data.get("standing") or {}).get(claim_id) or {}).get("status", ""))


def replaced_fields(item: Item, block: ReasoningBlock) -> dict[str, Any]:
    """Return the ``data.…`` fields that change when an item's block is replaced.

    A claim with the status and counts shown in ``content`` keeps its initial state and the verdicts folded onto it; a
    claim with others starts from those. A claim that the block leaves out is removed.
    """
    shown = {claim.claim_id: claim for claim in current_block(item).claims}
    kept = {claim.claim_id: claim for claim in written_block(item.data).claims}

    def with_start(claim: Claim) -> Claim:
        same, start = shown.get(claim.claim_id), kept.get(claim.claim_id)
        if same is None or start is None or _standing(claim) != _standing(same):
            return claim
        return replace(claim, status=start.status, support=start.support, contra=start.contra)

    after = written_of(replace(block, claims=tuple(map(with_start, block.claims))))
    before = written_of(written_block(item.data))
    return {f"data.{name}": after[name] for name in WRITTEN if after[name] != before[name]}


def fold_verdicts(claims: Iterable[Claim], evidence: Sequence[EvidenceRow]) -> dict[str, dict[str, Any]]:
    """Return each claim's state by folding verdicts in learn order. Verdicts on removed claims have no effect."""
    verdicts: dict[str, list[RunVerdict]] = {}
    for row in evidence:
        if row.polarity == "support" or row.polarity == "contra":  # noqa: PLR1714 - it narrows the type
            verdicts.setdefault(row.part, []).append(RunVerdict(row.source_key, row.polarity))
    return {claim.claim_id: _fold_verdicts(claim, verdicts.get(claim.claim_id, ())) for claim in claims}


def standing_of(item: Item, evidence: Sequence[EvidenceRow]) -> dict[str, Any]:
    """Return the fields that follow from verdicts, in learn order: each claim's state, and the block as text."""
    # A log or database may return object members in another order; the text must not depend on it.
    block = written_block({**item.data, "claims": _sort_members(item.data.get("claims") or [])})
    standing = fold_verdicts(block.claims, evidence)
    moved = replace(block, claims=tuple(_with_status(claim, standing[claim.claim_id]) for claim in block.claims))
    return {STANDING: standing, "content": text_of(moved), "label": block.scope}


CLAIMS_FOLD: Final = Fold(frozenset({STANDING, "content", "label"}), standing_of)


def _fold_verdicts(claim: Claim, verdicts: Iterable[RunVerdict]) -> dict[str, Any]:
    """Fold verdicts onto a claim's initial state; a run named there counts there only."""
    state = claim_state(verdicts, start=written_state(claim))
    return {
        "status": state.status,
        "support": {"count": state.support_count, "run_ids": list(state.support)},
        "contra": {"count": state.contra_count, "run_ids": list(state.contra)},
    }


def _with_status(claim: Claim, standing: Mapping[str, Any] | None) -> Claim:
    if standing is None:
        return claim
    support, contra = (
        Tally(count=counted["count"], run_ids=tuple(counted["run_ids"]), extra=start.extra)
        for start, counted in ((claim.support, standing["support"]), (claim.contra, standing["contra"]))
    )
    if _standing(claim) == (standing["status"], support, contra):
        return claim
    return replace(claim, status=standing["status"], support=support, contra=contra)


def _standing(claim: Claim) -> tuple[str, Tally, Tally]:
    return claim.status, claim.support, claim.contra


def _sort_members(value: Any) -> Any:
    """Return JSON with object members sorted by name."""
    if isinstance(value, Mapping):
        return {name: _sort_members(value[name]) for name in sorted(value)}
    return [_sort_members(inner) for inner in value] if isinstance(value, list) else value
