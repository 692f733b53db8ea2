"""What a model proposes to remember, and the gate it has to pass: nothing is taken that the message does not hold."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Annotated, Any, Final, Literal

import pydantic

from phronesis.conversation.extraction.gate import MAX_EXCERPT, Gate
from phronesis.conversation.extraction.memory_types import MemoryType, MemoryTypes, comparable_value
from phronesis.core.proposals import USER, Basis, Proposal, Refusal
from phronesis.core.prospective import PROSPECTIVE
from phronesis.core.statements import with_effect_time
from phronesis.core.values import plain_relative
from phronesis.index.tokens import tokenize

CONFIDENCE: Final = {"stated": 0.9, "hedged": 0.5, "inferred": 0.5}
"""How sure a proposal is, by what the model says of it. A model's own figures are not calibrated, so it is not asked
for one; what is not plainly stated lies below every threshold of the gate."""

BASIS: Final[Mapping[str, Basis]] = {"user": "user", "tool": "tool"}
"""By the role of a message. What the assistant says is its inference."""

GROUNDED: Final = 0.5
"""Share of a value's words that the quotation must hold: half allows for inflection and for a number in figures."""

_HAN: Final = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")


class ProposedMemory(pydantic.BaseModel):
    """A memory as a model gives it."""

    model_config = pydantic.ConfigDict(extra="forbid", strict=True)

    n: Annotated[int, pydantic.Field(ge=0, le=10_000)]
    quote: Annotated[str, pydantic.Field(min_length=1, max_length=1000)]
    subject: Annotated[str, pydantic.Field(min_length=1, max_length=200)]
    key: Annotated[str, pydantic.Field(min_length=1, max_length=100)]
    value: Annotated[str, pydantic.Field(min_length=1, max_length=500)]
    content: Annotated[str, pydantic.Field(min_length=1, max_length=1000)]
    says: Literal["holds", "no_longer", "done"]
    sure: Literal["stated", "hedged", "inferred"]
    replaces: Annotated[str, pydantic.Field(max_length=500)] | None
    when: Annotated[str, pydantic.Field(max_length=40)] | None


@dataclass(frozen=True, slots=True)
class GateInput:
    """A message as the gate sees it."""

    text: str
    role: str
    at: datetime
    name: str | None = None


@dataclass(frozen=True, slots=True)
class ModelGate:
    """Parts what a model proposes: the keys there are, and the thresholds."""

    types: MemoryTypes
    gate: Gate

    def __call__(
        self, proposed: Sequence[ProposedMemory], messages: Mapping[int, GateInput]
    ) -> tuple[list[Proposal], list[Refusal]]:
        """Return what may be remembered, and what may not with the reason."""
        kept: dict[tuple[Any, ...], Proposal] = {}
        refused: list[Refusal] = []
        for one in proposed:
            said = messages.get(one.n)
            if said is None:
                refused.append(_refused(one, "message", "there is no such message"))
                continue
            known = self._type(one)
            problem = self._problem(one, said, known)
            if problem is not None or known is None:
                refused.append(_refused(one, *(problem or ("key", f"there is no key '{one.key:.40}'"))))
                continue
            proposal = with_effect_time(_proposal(one, said, known), said.at)
            kept.setdefault((proposal.n, proposal.subject, proposal.key, proposal.value, proposal.act), proposal)
        return list(kept.values()), refused

    def _type(self, one: ProposedMemory) -> MemoryType | None:
        # Two kinds share the key ``uses``: a person's is a preference, a thing's a fact.
        kind = "preference" if one.subject == USER else "fact"
        return self.types.find(one.key, kind) or self.types.find(one.key)

    def _problem(self, one: ProposedMemory, said: GateInput, known: MemoryType | None) -> tuple[str, str] | None:
        if one.quote not in said.text:
            return "quotation", "it does not stand there"
        if known is None:
            return "key", f"there is no key '{one.key:.40}'"
        if not _grounded(one.value, one.quote):
            return "value", "its value is not in what it quotes"
        if not self.gate.passes(BASIS.get(said.role, "inferred"), CONFIDENCE[one.sure]):
            return "low_confidence", f"{one.sure}, by the {said.role}"
        return None


def _refused(one: ProposedMemory, rule: str, reason: str) -> Refusal:
    return Refusal(n=one.n, text=one.quote[:MAX_EXCERPT], rule=rule, reason=reason)


def _proposal(one: ProposedMemory, said: GateInput, known: MemoryType) -> Proposal:
    start = said.text.index(one.quote)
    speaker = (said.name if said.role == "user" else None) or USER  # a tool's name is no person's
    # The language of the source is kept: a translation is no memory of what was said.
    same_language = bool(_HAN.search(one.quote)) == bool(_HAN.search(one.content))
    return Proposal(
        n=one.n,
        quote=one.quote,
        start=start,
        end=start + len(one.quote),
        kind=known.kind,
        subject=speaker if one.subject == USER else plain_relative(one.subject.strip()),
        key=one.key,
        value=one.value.strip(),
        compared=comparable_value(known, one.value, at=said.at),
        content=one.content.strip() if same_language else one.quote,
        cardinality=known.cardinality,
        act="retract" if one.says == "no_longer" else "assert",
        done=one.says == "done",
        replaces=one.replaces or None,
        basis=BASIS[said.role],
        confidence=CONFIDENCE[one.sure],
        importance=known.importance,
        occurred_at=_day(one.when),
        due=_due(known, _day(one.when), said.at),
    )


def _grounded(value: str, quote: str) -> bool:
    words = set(tokenize(value))
    if not words:
        return value.strip() in quote
    return len(words.intersection(tokenize(quote))) >= GROUNDED * len(words)


def _due(known: MemoryType, day: str | None, at: datetime) -> str | None:
    """Return the day of what is to be done, where it lies ahead: then it is when it is due."""
    ahead = known.kind in PROSPECTIVE and day is not None and day[:10] >= at.date().isoformat()
    return day if ahead else None


def _day(text: str | None) -> str | None:
    """Return a day that is one; a model's other words for a time are no date."""
    try:
        return None if text is None else f"{date.fromisoformat(text[:10]).isoformat()}T00:00:00Z"
    except ValueError:
        return None
