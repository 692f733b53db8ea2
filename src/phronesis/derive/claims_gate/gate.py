"""The gate before every write of reasoning: each hard constraint is one named rule with one function (RB-16).

Where each rule of wording looks:

- ``kb_alias``: everywhere, FACTS too. Aliases are forbidden in the content, and a reader cannot tell who wrote what. So
  whoever assembles FACTS takes them out first (`wording.without_aliases`).
- ``next_step``: what the model says itself: topic, inference, constraint, conditions, limitations, keys and members
  that nothing here knows. Not the FACTS, which quote the run and what people said of it, nor the exception's reason.
- ``positive_constraint``: the constraint; elsewhere only what is written in the notation of constraints (``prefer[…]``)
  or as a standing order ("Always use …"). A "must" in an inference states how things are.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from phronesis.core.items import STATUSES
from phronesis.core.reasoning.draft import MAX_VIOLATIONS, Draft, read_draft
from phronesis.core.reasoning.records import CLAIMS, MEMBERS, TOPIC
from phronesis.core.reasoning.structure import STRUCTURE, StructureRule
from phronesis.derive.claims_gate.constraint import is_reason, positive_words
from phronesis.derive.claims_gate.wording import KB_ALIAS, NEXT_STEP, POSITIVE_CONSTRAINT, broken, fold, unquoted
from phronesis.errors import Violation

_PROSE: Final = ("inference", "constraint", "conditions", "limitations")


@dataclass(frozen=True, slots=True)
class Submission:
    """What is to be written: a block, read as far as it can be, and the status of its item."""

    draft: Draft
    item_status: object


@dataclass(frozen=True, slots=True)
class GateRule:
    """A rule with its name, what it asks, and the function that finds what breaks it."""

    name: str
    asks: str
    check: Callable[[Submission], Iterator[Violation]]


def gate(text: str, item_status: object = "active") -> list[Violation]:
    """Give every rule that a block breaks, in the order of the rules, the first hundred; empty when it is lawful."""
    submission = Submission(read_draft(text), item_status)
    return list(islice((found for rule in RULES for found in rule.check(submission)), MAX_VIOLATIONS))


def offends(text: str, where: str) -> bool:
    """Tell whether a text added to a lawful claim, such as one of its ``limitations``, breaks a rule of wording.

    Each of these rules looks at one text. That the claim may be an exception from one of them is not asked.
    """
    folded = fold(text)
    said = unquoted(folded)
    looked_at = ((KB_ALIAS, folded), (NEXT_STEP, said), (POSITIVE_CONSTRAINT, said))
    return any(broken(rule, words, where) is not None for rule, words in looked_at)


def item_status(submission: Submission) -> Iterator[Violation]:
    """An item is active or archived (RB-03)."""
    if submission.item_status not in STATUSES:
        message = f"the item's status must be one of {', '.join(STATUSES)}, not {submission.item_status!r:.40}"
        yield Violation(rule="item_status", message=message)


def kb_alias(submission: Submission) -> Iterator[Violation]:
    """No alias such as ``[C12]`` that a knowledge base had in one run (RB-05)."""
    draft = submission.draft
    for key, where, text, claim in _everything(draft):
        found = broken(KB_ALIAS, fold(text), where)
        if found is not None:
            yield _violation(draft, KB_ALIAS, key, f"{where} holds {found!r}, a name of one run; cite mem:<id>", claim)


def next_step(submission: Submission) -> Iterator[Violation]:
    """No instruction what to do next (RB-06)."""
    draft = submission.draft
    for key, where, text, claim in _prose(draft):
        found = broken(NEXT_STEP, unquoted(fold(text)), where)
        if found is not None:
            message = f"{where} says what to do next: {found!r}; a claim says what holds"
            yield _violation(draft, NEXT_STEP, key, message, claim)


def positive_constraint(submission: Submission) -> Iterator[Violation]:
    """A constraint says what to avoid, unless it is marked as an exception and says why (RB-07)."""
    draft = submission.draft
    for key, where, text, claim in _prose(draft):
        if claim is not None and claim.get("allow_positive") is True and is_reason(claim.get("exception_reason")):
            continue
        if where == "constraint":
            found = positive_words(text)
        else:
            found = broken(POSITIVE_CONSTRAINT, unquoted(fold(text)), where)
        if found is not None:
            message = f"{where}: {found[:120]!r} is no avoid[…]; say what to avoid, or set allow_positive and say why"
            yield _violation(draft, POSITIVE_CONSTRAINT, key, message, claim)


def _structural(rule: StructureRule) -> GateRule:
    return GateRule(rule.name, rule.asks, lambda submission: rule.check(submission.draft))


RULES: Final = (
    *map(_structural, STRUCTURE),
    GateRule("item_status", "an item that is active or archived", item_status),
    GateRule(KB_ALIAS, "no run-local alias such as [C12]", kb_alias),
    GateRule(NEXT_STEP, "no instruction what to do next", next_step),
    GateRule(POSITIVE_CONSTRAINT, "negative constraints, or a marked exception", positive_constraint),
)
"""In the order in which violations are listed."""

_Claim = Mapping[str, Any] | None


def _everything(draft: Draft) -> Iterator[tuple[str | None, str, str, _Claim]]:
    """Give every text of a block: its key, the name of the place, the text, and the claim it is of."""
    if draft.members is None or draft.loose:
        yield None, "the text", draft.text, None
        return
    for key, value in draft.values.items():
        if key != CLAIMS:
            yield key, key, f"{key}={value}", None
    for member in draft.members:
        claim = member if isinstance(member, Mapping) else None
        for where, text in _texts(member, ""):
            yield CLAIMS, where.lstrip("."), text, claim


def _prose(draft: Draft) -> Iterator[tuple[str | None, str, str, _Claim]]:
    """Give the texts that a model words itself."""
    if TOPIC in draft.values:
        yield TOPIC, "topic", draft.values[TOPIC], None
    for key, value in draft.extra:
        yield key, "extra", value, None
    for _, claim in draft.claims():
        for name in _PROSE:
            for _, text in _texts(claim.get(name), ""):
                yield CLAIMS, name, text, claim
        for name, value in claim.items():
            if name not in MEMBERS:
                for _, text in _texts(value, ""):
                    yield CLAIMS, "extra", text, claim


def _texts(value: Any, where: str) -> Iterator[tuple[str, str]]:
    """Give every text in a JSON value with its place, the names of members too."""
    if isinstance(value, str):
        yield where, value
    elif isinstance(value, list):
        for n, inner in enumerate(value):
            yield from _texts(inner, f"{where}[{n}]")
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield f"{where}.{name}", name
            yield from _texts(inner, f"{where}.{name}")


def _violation(draft: Draft, rule: str, key: str | None, message: str, claim: _Claim) -> Violation:
    if key == CLAIMS:
        return draft.mistake(rule, message, claim)
    return Violation(rule=rule, message=message, line=draft.lines.get(key or ""), key=key)
