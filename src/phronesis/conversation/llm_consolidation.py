"""Consolidation by a model: compare proposals with held items and judge add, update, supersede, retract, or none.

The rules decide alone where a key holds one value. Where it holds many, only a model can tell that "green tea" was
meant by "sencha". A judgement is recorded as an outcome and checked by apply: its target must be a live item of the
same subject; otherwise the rules decide.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

import pydantic

from phronesis.core.data_delimiters import choose_boundary
from phronesis.core.entries import Entry, Outcome
from phronesis.core.items import Item
from phronesis.core.proposals import JUDGED, Proposal
from phronesis.engine.handler import PrepareContext
from phronesis.index.tokens import tokenize
from phronesis.models.prompts import prompt
from phronesis.models.structured_client import Attempt, StructuredClient, Task

PROMPT: Final = "judge"
PROMPT_VERSION: Final = "judge/1"

MAX_SHOWN: Final = 40
"""Maximum held memories shown to the model in one call: most similar by words, those of the same key first."""

MAX_TEXT: Final = 400
"""Maximum characters shown of each."""

Act = Literal["ADD", "UPDATE", "SUPERSEDE", "RETRACT", "NONE"]


class Judgement(pydantic.BaseModel):
    """What is to become of one proposal."""

    model_config = pydantic.ConfigDict(extra="forbid", strict=True)

    i: Annotated[int, pydantic.Field(ge=0, le=10_000)]
    act: Act
    target: Annotated[int, pydantic.Field(ge=0, le=MAX_SHOWN)] | None


class Judgements(pydantic.BaseModel):
    """The answer asked for."""

    model_config = pydantic.ConfigDict(extra="forbid", strict=True)

    judgements: Annotated[list[Judgement], pydantic.Field(max_length=200)]


@dataclass(frozen=True, slots=True)
class JudgementResult:
    """The result of judging: the outcomes to record, and the error's code if the model gave nothing."""

    outcomes: Sequence[Outcome] = ()
    said: Sequence[Attempt] = ()
    error: str | None = None


@dataclass(frozen=True, slots=True)
class ConsolidationJudge:
    """Judges the proposals under multi-valued keys against the most similar held items."""

    asker: StructuredClient

    def __call__(self, bench: PrepareContext, entry: Entry, proposals: Sequence[Proposal]) -> JudgementResult:
        """Ask once for all proposals; without similar held items nothing is asked."""
        asked = {i: one for i, one in enumerate(proposals) if one.cardinality == "many" and one.act == "assert"}
        held = _near(bench, list(asked.values()))
        if not held:
            return JudgementResult()
        answer = self.asker.ask(bench.tenant, Task(prompt(PROMPT), _fenced(entry, asked, held), Judgements))
        if answer.value is None:
            code = answer.error.code if answer.error is not None else "model.error"
            return JudgementResult(said=answer.attempts, error=code)
        body = {"judgements": _checked(answer.value, asked, held)}
        made_by = f"{self.asker.name} {PROMPT_VERSION}"
        return JudgementResult((Outcome(role=JUDGED, made_by=made_by, body=body),), answer.attempts)


def _near(bench: PrepareContext, proposals: Sequence[Proposal]) -> list[Item]:
    """Return held items of the same kinds, most similar first: same key, then shared words; ties by id."""
    if not proposals:
        return []
    with bench.view() as view:
        held = view.find(kinds=sorted({one.kind for one in proposals}))
    words = {word for one in proposals for word in tokenize(one.content)}
    keys = {one.key for one in proposals}
    near = [(item.key in keys, len(words.intersection(tokenize(item.content))), item) for item in held]
    near = [found for found in near if found[0] or found[1]]
    near.sort(key=lambda found: (-found[0], -found[1], found[2].id))
    return [item for _, _, item in near[:MAX_SHOWN]]


def _fenced(entry: Entry, asked: Mapping[int, Proposal], held: Sequence[Item]) -> str:
    new = {i: f"{one.subject} / {one.key}: {one.content}"[:MAX_TEXT] for i, one in asked.items()}
    old = [f"{item.subject} / {item.key}: {item.content}"[:MAX_TEXT] for item in held]
    boundary = choose_boundary(entry.id, [*new.values(), *old])
    lines = ["Held:", *(boundary.turn(f'target="{t}"', text) for t, text in enumerate(old))]
    lines += ["Said now:", *(boundary.turn(f'i="{i}"', text) for i, text in new.items())]
    return "\n".join(lines)


def _checked(value: Judgements, asked: Mapping[int, Proposal], held: Sequence[Item]) -> list[dict[str, Any]]:
    """Return the judgements on the proposals asked about, the first on each, with a target where one is needed."""
    found: dict[int, dict[str, Any]] = {}
    for one in value.judgements:
        needs = one.act != "ADD"
        known = one.target is not None and one.target < len(held)
        if one.i not in asked or one.i in found or (needs and not known):
            continue
        target = held[one.target].id if needs and one.target is not None else None
        found[one.i] = {"i": one.i, "act": one.act, "target": target}
    return [found[i] for i in sorted(found)]
