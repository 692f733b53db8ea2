"""Rewrite an old memory as blocks of claims, by rules or by a model, and drop what the bank must not hold (RB-23).

By rules, a statement becomes a claim with its own words as inference; one that says what to avoid also gets a
constraint ``avoid[…]``. Every result passes the gate of ordinary writes; where a claim breaks a rule that cannot be
repaired here, the whole memory is refused.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Final, Literal

import pydantic

from phronesis.core.confidence import ClaimStatus
from phronesis.core.data_delimiters import choose_boundary
from phronesis.core.entries import Outcome
from phronesis.core.text import replace_unstorable
from phronesis.engine.handler import answer_outcomes, degraded_outcome
from phronesis.engine.prompt_injection import find_order
from phronesis.errors import Violation
from phronesis.log.payloads import fit
from phronesis.models.structured_client import StructuredClient, Task, prompt
from phronesis.reasoning import claim_gate, migration_sources
from phronesis.reasoning.laws.block_repair import repair
from phronesis.reasoning.laws.block_rules import MAX_CLAIMS, is_id, read_draft
from phronesis.reasoning.laws.claim_status import block_of, core_sentence, text_of
from phronesis.reasoning.laws.facts import excerpt
from phronesis.reasoning.laws.records import HEADER, Claim, ReasoningBlock, TakenOut
from phronesis.reasoning.migration_sources import Statement, has_content, read_statements

RULES: Final = "migrate-rules/1"
"""Version of the rewriting rules. Raise it when they change."""

MAX_TEXT: Final = 100_000
"""Maximum characters of an old memory that is rewritten: 25 pages. A longer text is a document."""

MAX_TOPIC: Final = 80
"""Maximum characters of a topic derived from the text."""

ORDER: Final = "instruction"
NO_CLAIM: Final = "no_claim"
TOO_LONG: Final = "too_long"
QUESTION: Final = "question"
REPEATED: Final = "repeated"
"""Reasons of this module, in addition to the rules of the gate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OldMemory:
    """A memory in free text. ``origin`` names it (``mem:…``, a file's id); ``run_ids`` are its known runs."""

    text: str
    origin: str
    title: str = ""
    scope: str | None = None
    run_ids: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewriting:
    """The blocks a memory would become, or why it stays as it is (``violations``)."""

    made_by: str
    blocks: Sequence[ReasoningBlock] = ()
    taken_out: Sequence[TakenOut] = ()
    violations: Sequence[Violation] = ()


@dataclass(slots=True)
class _ClaimsBuilder:
    """The claims of a memory under construction."""

    old: OldMemory
    claims: list[Claim] = field(default_factory=list)
    taken_out: list[TakenOut] = field(default_factory=list)
    everywhere: dict[str, list[str]] = field(default_factory=lambda: {"conditions": [], "limitations": []})
    said: set[str] = field(default_factory=set)


def rewrite_by_rules(old: OldMemory) -> Rewriting:
    """Return the rewriting of a memory by rules."""
    refused = refusal_of(old.text)
    if refused is not None:
        return Rewriting(made_by=RULES, violations=[refused])
    if old.text.lstrip("\ufeff \t\n").startswith(HEADER):
        return _keep_block(old)
    told = read_statements(replace_unstorable(old.text))
    making = _ClaimsBuilder(old)
    for statement in told.statements:
        _add_statement(making, statement)
    conditions, limitations = (tuple(dict.fromkeys(making.everywhere[name])) for name in ("conditions", "limitations"))
    claims = [replace(claim, conditions=conditions, limitations=limitations) for claim in making.claims]
    return valid_blocks(old, told.title or old.title, claims, made_by=RULES, taken_out=making.taken_out)


def _keep_block(old: OldMemory) -> Rewriting:
    """Return the rewriting of a memory that is a block of claims already, repaired in form if that suffices."""
    violations, text = claim_gate.gate(old.text), old.text
    repaired = repair(text) if violations else None
    if repaired is not None:
        violations, text = claim_gate.gate(repaired.text), repaired.text
    blocks = () if violations else (block_of(read_draft(text)),)
    return Rewriting(made_by=RULES, blocks=blocks, violations=violations)


def refusal_of(text: str) -> Violation | None:
    """Return why a text is not examined at all (too long, or an order to a model), or None."""
    if len(text) > MAX_TEXT:
        return Violation(rule=TOO_LONG, message=f"{len(text):,} characters; at most {MAX_TEXT:,} are rewritten")
    order = find_order(text)
    return None if order is None else Violation(rule=ORDER, message=f"reads like an order to a model: {order.rule}")


def valid_blocks(
    old: OldMemory, title: str, claims: Sequence[Claim], *, made_by: str, taken_out: Sequence[TakenOut] = ()
) -> Rewriting:
    """Return the blocks of these claims, ten per block and renumbered, or the violations of all of them."""
    if not claims:
        message = "nothing in it can be written as a claim: it holds instructions, questions or names of one run alone"
        return Rewriting(made_by=made_by, taken_out=taken_out, violations=[Violation(rule=NO_CLAIM, message=message)])
    topic = topic_of(old, title, claims)
    parts = [claims[n : n + MAX_CLAIMS] for n in range(0, len(claims), MAX_CLAIMS)]
    blocks = [
        ReasoningBlock(
            topic=topic if len(parts) == 1 else f"{topic} ({n}/{len(parts)})",
            scope=old.scope,
            claims=tuple(replace(claim, claim_id=f"c{place}") for place, claim in enumerate(part, start=1)),
        )
        for n, part in enumerate(parts, start=1)
    ]
    violations = [found for block in blocks for found in claim_gate.gate(text_of(block))]
    return Rewriting(made_by=made_by, blocks=() if violations else blocks, taken_out=taken_out, violations=violations)


def facts_of(old: OldMemory, text: str) -> tuple[Mapping[str, Any], bool]:
    """Return the FACTS of a statement, and whether it states the result of a named run.

    Where no run is known, the memory itself serves as one: ``migrated:<origin>``.
    """
    named = [run for run in migration_sources.runs_named(text, old.run_ids) if is_id(run)]
    runs = named or [run for run in old.run_ids if is_id(run)] or [f"migrated:{old.origin}"]
    return {"migrated_from": old.origin, "source_run_ids": runs}, bool(named) and migration_sources.is_result(text)


def topic_of(old: OldMemory, title: str, claims: Sequence[Claim]) -> str:
    """Return a topic that the gate accepts: the title, the first words of a claim, or the memory's name."""
    first = core_sentence(claims[0].inference or claims[0].constraint)
    for text in (title, first):
        topic = excerpt(
            " ".join(migration_sources.clean_removed_aliases(claim_gate.strip_aliases(text)).split()), MAX_TOPIC
        )
        if topic and not claim_gate.gate(text_of(ReasoningBlock(topic=topic))):
            return topic
    return f"Migrated memory {old.origin}"


def _add_statement(making: _ClaimsBuilder, statement: Statement) -> None:
    """Add one statement: as a claim, as a condition or limitation of others, or to the statements left out."""
    text = claim_gate.strip_aliases(statement.text)
    if text != statement.text:
        making.taken_out.append(TakenOut(claim_gate.KB_ALIAS, statement.text))
        text = migration_sources.clean_removed_aliases(text)
        if not has_content(text):
            return
    label = statement.label
    if text.endswith(("?", "？")):
        making.taken_out.append(TakenOut(QUESTION, text))
    elif label in ("conditions", "limitations"):
        if _orders(text):
            making.taken_out.append(TakenOut(claim_gate.NEXT_STEP, text))
        else:
            making.everywhere[label].append(text)
    elif claim_gate.fold(text) in making.said:
        making.taken_out.append(TakenOut(REPEATED, text))
    else:
        making.said.add(claim_gate.fold(text))
        _claim(making, text, label)


def _claim(making: _ClaimsBuilder, text: str, label: str | None) -> None:
    avoided = migration_sources.to_avoid(text, under=label == "avoid")
    if avoided is not None:
        constrained = _make_claim(making.old, text, constraint=f"avoid[{avoided}]")
        for claim in (constrained, replace(constrained, inference="")):
            if not claim_gate.gate(text_of(ReasoningBlock(topic="", claims=(claim,)))):
                making.claims.append(claim)
                return
    if label == "next" or _orders(text):
        making.taken_out.append(TakenOut(claim_gate.NEXT_STEP, text))
    elif _orders(text, claim_gate.POSITIVE_CONSTRAINT):
        making.claims.append(_make_claim(making.old, migration_sources.as_report(text)))
    else:
        making.claims.append(_make_claim(making.old, text))


def _orders(text: str, rule: str = claim_gate.NEXT_STEP) -> bool:
    return claim_gate.find_violation(rule, claim_gate.strip_quotations(claim_gate.fold(text))) is not None


def _make_claim(old: OldMemory, inference: str, *, constraint: str = "") -> Claim:
    facts, stated = facts_of(old, inference)
    status: ClaimStatus = "fact" if stated and not constraint else "hypothesis"
    return Claim(claim_id="c1", status=status, facts=facts, inference=inference, constraint=constraint)


# Rewriting by a model: it words the claims; code supplies FACTS, ids and counts, and the gate decides.

ROLE: Final = "migrate"
ANSWERS: Final = "migrate_answer"
"""Role of outcomes that hold the model's answers."""

PROMPT_VERSION: Final = "migrate/2"
"""Version of ``prompts/migrate.md``, recorded with every outcome."""

MADE_UP: Final = "not_in_the_memory"
"""Rule that a number in a claim must occur in the source memory."""

MAX_SHOWN: Final = 12_000
"""Maximum characters of a memory shown to a model. A longer one is left to the rules."""

_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?")

_Text = Annotated[str, pydantic.Field(max_length=2_000)]
_Texts = Annotated[list[Annotated[str, pydantic.Field(min_length=1, max_length=400)]], pydantic.Field(max_length=10)]


class ProposedClaim(pydantic.BaseModel):
    """A claim as a model gives it."""

    model_config = pydantic.ConfigDict(extra="ignore")

    status: Literal["fact", "hypothesis"] = "hypothesis"
    inference: _Text
    constraint: _Text = ""
    conditions: _Texts = []
    limitations: _Texts = []


class RewrittenMemory(pydantic.BaseModel):
    """The answer asked for."""

    model_config = pydantic.ConfigDict(extra="ignore")

    topic: Annotated[str, pydantic.Field(max_length=200)]
    claims: Annotated[list[ProposedClaim], pydantic.Field(max_length=40)]


def ask(asker: StructuredClient, tenant: str, old: OldMemory) -> tuple[Rewriting | None, Sequence[Outcome]]:
    """Ask a model for the claims of a memory; None if it gave nothing valid, and the outcomes with the answers."""
    if len(old.text) > MAX_SHOWN or refusal_of(old.text) is not None:
        return None, ()
    boundary = choose_boundary(old.origin, [old.text, old.title])
    shown = f"{old.title}\n{old.text}" if old.title else old.text
    answer = asker.ask(tenant, Task(prompt(ROLE), boundary.memory(replace_unstorable(shown)), RewrittenMemory))
    outcomes = answer_outcomes(ROLE, answer, model=asker.name, by=RULES, kept_as=ANSWERS)
    made = None if answer.value is None else _rewriting_of(asker.name, old, answer.value)
    if made is None or not made.violations:
        return made, outcomes
    reason = f"gate.{made.violations[0].rule}"
    return None, [*outcomes, degraded_outcome(ROLE, reason, model=asker.name, by=RULES)]


def _rewriting_of(name: str, old: OldMemory, answer: RewrittenMemory) -> Rewriting:
    claims = [_checked_claim(old, one) for one in answer.claims]
    made_by = f"{name} {PROMPT_VERSION}"
    made = valid_blocks(old, old.title or _plain(answer.topic), claims, made_by=made_by)
    found = [*made.violations, *_invented_parts(old, made)]
    return made if not found else Rewriting(made_by=made_by, violations=found)


def _checked_claim(old: OldMemory, one: ProposedClaim) -> Claim:
    conditions, limitations = (tuple(filter(None, map(_plain, texts))) for texts in (one.conditions, one.limitations))
    claim = _make_claim(old, _plain(one.inference))
    status: ClaimStatus = claim.status if one.status == "fact" else "hypothesis"
    constraint = _plain(one.constraint)
    return replace(claim, status=status, constraint=constraint, conditions=conditions, limitations=limitations)


def _invented_parts(old: OldMemory, made: Rewriting) -> list[Violation]:
    """Return violations that the gate cannot see: numbers absent from the memory, and orders to a model."""
    known = set(_NUMBER.findall(f"{old.title} {old.text}"))
    out = []
    for block in made.blocks:
        for claim in block.claims:
            words = "\n".join((claim.inference, claim.constraint, *claim.conditions, *claim.limitations))
            strange = next((number for number in _NUMBER.findall(words) if number not in known), None)
            if strange is not None:
                out.append(Violation(rule=MADE_UP, message=f"{strange} is not in the memory", claim_id=claim.claim_id))
        order = find_order(text_of(block))
        if order is not None:
            out.append(Violation(rule=ORDER, message=f"reads like an order to a model: {order.rule}"))
    return out


def _plain(text: str) -> str:
    return " ".join(fit(text).split())
