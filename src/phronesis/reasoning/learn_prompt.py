"""What a model sees and answers in a learn: fenced data with numbered items, the schema, and blocks of its answer."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, Literal

import pydantic

from phronesis.core.confidence import ClaimStatus
from phronesis.core.data_delimiters import choose_boundary
from phronesis.core.text import MAX_ID_LENGTH
from phronesis.errors import Violation
from phronesis.log.payloads import fit
from phronesis.models.structured_client import drop_invalid
from phronesis.reasoning.comparisons import read_comparison
from phronesis.reasoning.laws.block_rules import MAX_CLAIMS, iterate_leaves
from phronesis.reasoning.laws.facts import excerpt
from phronesis.reasoning.laws.records import Claim, ReasoningBlock, folded_name
from phronesis.reasoning.learn_candidates import MAX_PROPOSED, MAX_TOPIC

MAX_SHOWN: Final = 30_000
"""Maximum characters of candidates shown, the first that fit. A claim that is not shown is judged by rules alone."""

MAX_CLASSES: Final = 240
"""Maximum claims shown: 24 items of 10. llama.cpp cannot make a grammar of a list of 2,000."""

MAX_TEXT: Final = 600
MAX_LISTED: Final = 200
"""Maximum characters shown of a claim's inference and constraint, and of each condition, limitation and topic."""

SHOWN_OF_LIST: Final = 3
"""Maximum conditions and limitations shown per claim, so that the longest item still fits."""


@dataclass(frozen=True, slots=True)
class LearnPrompt:
    """The data of one prompt: ``ids`` maps numbers to items, ``facts`` is the text of the FACTS."""

    data: str
    ids: Sequence[str]
    facts: str


def build_prompt(entry_id: str, facts: Mapping[str, Any], known: Mapping[str, ReasoningBlock]) -> LearnPrompt:
    """Return a prompt's data: FACTS and as many items as fit."""
    told = facts_text(facts)
    texts: dict[str, str] = {}
    room, claims = MAX_SHOWN, MAX_CLASSES
    for item_id, block in known.items():
        text = _json({"topic": excerpt(block.topic, MAX_LISTED), "claims": [_claim(claim) for claim in block.claims]})
        if len(text) <= room and len(block.claims) <= claims:
            room -= len(text)
            claims -= len(block.claims)
            texts[item_id] = text
    boundary = choose_boundary(entry_id, [told, *texts.values()])
    lines = ["FACTS of the run:", boundary.turn('role="facts"', told), "Items of the bank:"]
    lines += [boundary.turn(f'item="{n}"', text) for n, text in enumerate(texts.values())] or ["(none)"]
    return LearnPrompt("\n".join(lines), list(texts), told)


def repair_prompt_data(entry_id: str, block: ReasoningBlock, violations: Iterable[Violation]) -> str:
    """Return a prompt's data for a repair: the text of a block's claims, and the rules that they break."""
    texts = [_json(words_of(claim)) for claim in block.claims]
    broken = [f"{one.rule}: {one.message}" for one in violations]
    boundary = choose_boundary(entry_id, [block.topic, *texts, *broken])
    lines = [boundary.turn('role="topic"', block.topic)]
    lines += [boundary.turn(f'n="{n}"', text) for n, text in enumerate(texts)]
    return "\n".join([*lines, "The rules that are broken:", boundary.turn('role="rules"', "\n".join(broken))])


def words_of(claim: Claim) -> dict[str, Any]:
    """Return the texts of a claim."""
    lists = {"conditions": list(claim.conditions), "limitations": list(claim.limitations)}
    return {"inference": claim.inference, "constraint": claim.constraint, **lists}


def stands_in(quote: str, facts: Mapping[str, Any], told: str) -> bool:
    """Return whether a quote occurs in FACTS, in the shown or stored form, ignoring case and spaces."""
    wanted = _fold_text(quote)
    texts = (one for one in iterate_leaves(facts) if isinstance(one, str))
    return wanted in _fold_text(told) or any(wanted in _fold_text(text) for text in texts)


def facts_text(facts: Mapping[str, Any]) -> str:
    """Return FACTS as a model is shown them."""
    return _json(facts)


def claim_text(claim: Claim) -> str:
    """Return the texts of a claim as a model is shown them."""
    return _json(_words_in_short(claim))


def _words_in_short(claim: Claim) -> dict[str, Any]:
    return {
        name: excerpt(text, MAX_TEXT)
        if isinstance(text, str)
        else [excerpt(one, MAX_LISTED) for one in text[:SHOWN_OF_LIST]]
        for name, text in words_of(claim).items()
        if text
    }


def _claim(claim: Claim) -> dict[str, Any]:
    counts = {"for": claim.support.count, "against": claim.contra.count}
    return {"claim_id": claim.claim_id, "status": claim.status, **_words_in_short(claim), **counts}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _fold_text(text: str) -> str:
    return " ".join(text.casefold().split())


# Schema of the model's answer: classes of claims, proposals, and claims repaired in form.

MAX_SAID: Final = 300
"""Maximum characters of a quote, and of a reason."""

_Said = Annotated[str, pydantic.Field(max_length=MAX_SAID)]
_Inference = Annotated[str, pydantic.Field(max_length=1_200)]
_Constraint = Annotated[str, pydantic.Field(max_length=600)]
_Listed = Annotated[list[Annotated[str, pydantic.Field(min_length=1, max_length=400)]], pydantic.Field(max_length=8)]
_ClaimId = Annotated[str, pydantic.Field(min_length=1, max_length=MAX_ID_LENGTH)]
_Topic = Annotated[str, pydantic.Field(max_length=MAX_TOPIC)]


class Form(pydantic.BaseModel):
    """A part of an answer. Fields that nobody asked for are passed over, and one that is left out is empty."""

    model_config = pydantic.ConfigDict(extra="ignore")


class ClaimClass(Form):
    """How the run bears on one claim, with what shows it."""

    item: Annotated[int, pydantic.Field(ge=0, le=10_000)]
    claim_id: _ClaimId
    says: Literal["support", "contra", "irrelevant"]
    quote: _Said = ""
    reason: _Said = ""
    delete: bool = False


class ProposedClaim(Form):
    """A claim in words. What code writes is passed over where a model gives it, as one does that copies a claim."""

    claim_id: _ClaimId | None = None
    status: ClaimStatus = "hypothesis"
    inference: _Inference
    constraint: _Constraint = ""
    conditions: _Listed = []
    limitations: _Listed = []


class ProposedItem(Form):
    """A new item, or claims of one that is there."""

    action: Literal["add", "update"]
    item: Annotated[int, pydantic.Field(ge=0, le=10_000)] | None = None
    topic: _Topic = ""
    claims: Annotated[
        list[ProposedClaim], drop_invalid(ProposedClaim), pydantic.Field(min_length=1, max_length=MAX_CLAIMS)
    ]


class Lesson(Form):
    """What a model makes of a run."""

    classes: Annotated[list[ClaimClass], drop_invalid(ClaimClass), pydantic.Field(max_length=MAX_CLASSES)]
    proposals: Annotated[list[ProposedItem], drop_invalid(ProposedItem), pydantic.Field(max_length=MAX_PROPOSED)] = []


class RewrittenClaim(Form):
    """The texts of a claim, put right."""

    n: Annotated[int, pydantic.Field(ge=0, le=MAX_CLAIMS)]
    inference: _Inference
    constraint: _Constraint = ""
    conditions: _Listed = []
    limitations: _Listed = []


class RewriteAnswer(Form, title="Rewritten"):
    """The claims of one proposal that were put right."""

    topic: _Topic = ""
    claims: Annotated[list[RewrittenClaim], drop_invalid(RewrittenClaim), pydantic.Field(max_length=MAX_CLAIMS)]


# Blocks built from a model's fields: only wording is taken from the model; code sets the rest.

SLACK: Final = 20
"""Characters by which a repaired text may grow: for ``avoid[…]`` around a constraint."""

_NUMBER: Final = re.compile(r"\d+")
_OURS: Final = re.compile(r"c(\d{1,6})")


def block_of_proposal(
    one: ProposedItem, current: ReasoningBlock | None, run_id: str, used: Iterable[str] = ()
) -> ReasoningBlock:
    """Return the block of a proposal; an update (``current``) keeps all claims that it does not name.

    A new claim gets an id that neither a claim nor a verdict has (``used``), since old verdicts would count for it. A
    claim that the item has already is not new. A test stays with its claim, unless new text states a comparison.
    """
    claims = {claim.claim_id: claim for claim in current.claims} if current is not None else {}
    taken = [int(found[1]) for one in (*claims, *used) if (found := _OURS.fullmatch(one)) is not None]
    free = max(taken, default=0) + 1
    for said in one.claims:
        old = claims.get(said.claim_id) if said.claim_id is not None else None
        if old is not None:
            claims[old.claim_id] = _with_wording(old, _restore_texts(old, said))
            continue
        new = _with_wording(Claim(claim_id=f"c{free}", status=said.status, facts={"source_run_ids": [run_id]}), said)
        if folded_words(new) not in map(folded_words, claims.values()):
            claims[new.claim_id] = new
            free += 1
    topic, block = " ".join(fit(one.topic).split()), current or ReasoningBlock()
    return replace(block, topic=topic or block.topic, claims=tuple(claims.values()))


def rewritten_block(
    block: ReasoningBlock, answer: RewriteAnswer, broken: Iterable[str | None]
) -> ReasoningBlock | None:
    """Return a block with the rewritten texts of the claims in ``broken`` only.

    None if more than the form changed: a rewrite may add no number that the claim did not contain, and no text may grow
    by more than `SLACK`.
    """
    wrong = set(broken)
    given = {one.n: one for one in answer.claims}
    claims = list(block.claims)
    for n, claim in enumerate(block.claims):
        if claim.claim_id in wrong and n in given:
            if not _is_form(texts_of(claim), texts_of(given[n])):
                return None
            claims[n] = _with_wording(claim, given[n])
    topic = " ".join(fit(answer.topic).split()) if None in wrong else block.topic
    if topic != block.topic and not _is_form([block.topic], [topic]):
        return None
    return replace(block, topic=topic, claims=tuple(claims))


def folded_words(claim: Claim) -> tuple[str, ...]:
    """Return the statement and conditions of a claim, folded for comparison."""
    return tuple(folded_name(text) for text in (claim.inference, claim.constraint, *claim.conditions))


def _with_wording(claim: Claim, said: ProposedClaim | RewrittenClaim) -> Claim:
    inference = fit(said.inference).strip()
    constraint = fit(said.constraint).strip()
    same = constraint == claim.constraint  # permission for a positive constraint covers only that constraint
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


def _restore_texts(claim: Claim, said: ProposedClaim) -> ProposedClaim:
    """Return a proposed claim with texts that were abbreviated for the model restored to full length."""
    texts = {excerpt(text, MAX_TEXT): text for text in (claim.inference, claim.constraint)}
    given = {name: texts.get(getattr(said, name), getattr(said, name)) for name in ("inference", "constraint")}
    lists: dict[str, list[str]] = {}
    for name in ("conditions", "limitations"):
        held: tuple[str, ...] = getattr(claim, name)
        full = {excerpt(text, MAX_LISTED): text for text in held[:SHOWN_OF_LIST]}
        lists[name] = [*(full.get(text, text) for text in getattr(said, name)), *held[SHOWN_OF_LIST:]]
    return said.model_copy(update={**given, **lists})


def _texts(given: Iterable[str]) -> tuple[str, ...]:
    texts = (fit(text).strip() for text in given)
    return tuple(dict.fromkeys(text for text in texts if text))


def texts_of(claim: Claim | RewrittenClaim) -> list[str]:
    """Return the texts of a claim as a list."""
    return [claim.inference, claim.constraint, *claim.conditions, *claim.limitations]


def _is_form(before: Sequence[str], after: Sequence[str]) -> bool:
    known = set(_NUMBER.findall("\n".join(before)))
    longer = sum(map(len, after)) > sum(map(len, before)) + SLACK
    return not longer and known.issuperset(_NUMBER.findall("\n".join(after)))
