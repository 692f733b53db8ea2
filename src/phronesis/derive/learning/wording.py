"""Blocks made of a model's fields: what it words is taken over, everything else stays code's own."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from phronesis.core.reasoning.records import Claim, ReasoningBlock
from phronesis.core.reasoning.runs import folded_name
from phronesis.derive.comparisons import read_comparison
from phronesis.derive.learning.answer import ProposedClaim, ProposedItem, Rewritten, RewrittenClaim
from phronesis.derive.learning.showing import SHOWN_OF_LIST, in_short, listed_in_short
from phronesis.truth.reader import fit

SLACK: Final = 20
"""Characters by which a text that was put right may be longer than before: ``avoid[…]`` around a constraint."""

_NUMBER: Final = re.compile(r"\d+")
_OURS: Final = re.compile(r"c(\d{1,6})")


def block_of_proposal(
    one: ProposedItem, current: ReasoningBlock | None, run_id: str, used: Iterable[str] = ()
) -> ReasoningBlock:
    """Give the block that a proposal means; of an update (``current``) all claims that it does not name stay.

    A claim that is new gets an id that neither a claim nor a verdict has (``used``): those on another claim would count
    for it. One that the item has already is no new one. A test stays with its claim, unless new words state a
    comparison themselves.
    """
    claims = {claim.claim_id: claim for claim in current.claims} if current is not None else {}
    free = _first_free([*claims, *used])
    for said in one.claims:
        old = claims.get(said.claim_id) if said.claim_id is not None else None
        if old is not None:
            claims[old.claim_id] = _worded(old, _whole(old, said))
            continue
        new = _worded(Claim(claim_id=f"c{free}", status=said.status, facts={"source_run_ids": [run_id]}), said)
        if folded_words(new) not in map(folded_words, claims.values()):
            claims[new.claim_id] = new
            free += 1
    topic = " ".join(fit(one.topic).split())
    if current is not None:
        return replace(current, topic=topic or current.topic, claims=tuple(claims.values()))
    return ReasoningBlock(topic=topic, claims=tuple(claims.values()))


def rewritten_block(block: ReasoningBlock, answer: Rewritten, broken: Iterable[str | None]) -> ReasoningBlock | None:
    """Give a block with the texts that were put right, of claims in ``broken`` alone; None where more than form is new.

    A rewrite brings no number that the claim did not hold, and no text that is longer by more than `SLACK`.
    """
    wrong = set(broken)
    given = {one.n: one for one in answer.claims}
    claims = []
    for n, claim in enumerate(block.claims):
        one = given.get(n) if claim.claim_id in wrong else None
        if one is not None and not _is_form(_said(claim), _said(one)):
            return None
        claims.append(claim if one is None else _worded(claim, one))
    topic = " ".join(fit(answer.topic).split()) if None in wrong else block.topic
    if topic != block.topic and not _is_form([block.topic], [topic]):
        return None
    return replace(block, topic=topic, claims=tuple(claims))


def folded_words(claim: Claim) -> tuple[str, ...]:
    """Give what a claim says and where it holds, as it is compared with others."""
    return tuple(folded_name(text) for text in (claim.inference, claim.constraint, *claim.conditions))


def _worded(claim: Claim, said: ProposedClaim | RewrittenClaim) -> Claim:
    inference = fit(said.inference).strip()
    constraint = fit(said.constraint).strip()
    same = constraint == claim.constraint  # leave for a positive constraint is for the one that it was given for
    restated = inference != claim.inference and read_comparison(inference) is not None
    return replace(
        claim,
        inference=inference,
        constraint=constraint,
        allow_positive=claim.allow_positive and same,
        exception_reason=claim.exception_reason if same else "",
        conditions=_texts(said.conditions),
        limitations=_texts(said.limitations),
        test=None if restated else claim.test,
    )


def _whole(claim: Claim, said: ProposedClaim) -> ProposedClaim:
    """Give what was said with the texts that stand for longer ones, or for more of them, than the model was shown."""
    texts = {in_short(text): text for text in (claim.inference, claim.constraint)}
    given = {name: texts.get(getattr(said, name), getattr(said, name)) for name in ("inference", "constraint")}
    lists: dict[str, list[str]] = {}
    for name in ("conditions", "limitations"):
        held: tuple[str, ...] = getattr(claim, name)
        full = {listed_in_short(text): text for text in held[:SHOWN_OF_LIST]}
        lists[name] = [*(full.get(text, text) for text in getattr(said, name)), *held[SHOWN_OF_LIST:]]
    return said.model_copy(update={**given, **lists})


def _texts(given: Iterable[str]) -> tuple[str, ...]:
    texts = (fit(text).strip() for text in given)
    return tuple(dict.fromkeys(text for text in texts if text))


def _said(claim: Claim | RewrittenClaim) -> list[str]:
    return [claim.inference, claim.constraint, *claim.conditions, *claim.limitations]


def _is_form(before: Sequence[str], after: Sequence[str]) -> bool:
    known = set(_NUMBER.findall("\n".join(before)))
    longer = sum(map(len, after)) > sum(map(len, before)) + SLACK
    return not longer and known.issuperset(_NUMBER.findall("\n".join(after)))


def _first_free(ids: Iterable[str]) -> int:
    numbers = [int(found[1]) for one in ids if (found := _OURS.fullmatch(one)) is not None]
    return max(numbers, default=0) + 1
