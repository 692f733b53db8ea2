"""A model words principles: one structured call for all that are to be said anew (role ``abstract``).

It sees patterns, never the log; what it says is recorded whole, so that a replay asks nobody. It gives a condition, an
action, a reason and what to mind: which patterns stand behind it, and what contradicts it, is attached by code. What it
leaves out, or says unlawfully, the rules say; where it gives nothing that can be used, they say all, and an outcome
``degraded`` says so.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Protocol

import pydantic

from phronesis.core.entries import Entry, Outcome
from phronesis.core.experience.describing import said
from phronesis.core.experience.saying import Wording, speaks_chinese
from phronesis.core.experience.topics import Drawn, SeenPattern
from phronesis.core.fences import choose_boundary
from phronesis.derive.handler import DEGRADED_ROLE
from phronesis.derive.instructions import find_order
from phronesis.derive.prompts import prompt
from phronesis.models.asker import Answer
from phronesis.models.structured import Task
from phronesis.truth.reader import fit

ROLE: Final = "abstract"
ANSWERS: Final = "answer"
"""The role of outcomes that hold what a model said."""

RULES: Final = "abstract-rules/3"
"""What words principles where no model does; rises when the same patterns would give other words."""

PROMPT_VERSION: Final = "abstract/1"
"""Rises when ``prompts/abstract.md`` changes: it stands with every outcome."""

MAX_SHOWN: Final = 40_000
"""Characters of patterns that are shown; principles that do not fit are worded by rules."""

MAX_PATTERNS: Final = 6
MAX_SENTENCE: Final = 500

_Sentence = Annotated[str, pydantic.Field(max_length=MAX_SENTENCE)]
_Needed = Annotated[str, pydantic.Field(min_length=1, max_length=MAX_SENTENCE)]


class WordedForm(pydantic.BaseModel):
    """One principle in a model's words. Fields that nobody asked for are passed over."""

    model_config = pydantic.ConfigDict(extra="ignore")

    n: int
    condition: _Needed
    action: _Needed
    because: _Sentence = ""
    watch_out: _Sentence = ""


class Abstracted(pydantic.BaseModel):
    """The answer."""

    model_config = pydantic.ConfigDict(extra="ignore")

    principles: Annotated[list[WordedForm], pydantic.Field(max_length=500)]


class AbstractAsker(Protocol):
    """Who can be asked (``models.asker.Asker``)."""

    @property
    def name(self) -> str:
        """Gateway and model."""
        ...

    def ask(self, tenant: str, task: Task[Any]) -> Answer[Any]:
        """Give an answer of the task's form, or why there is none."""
        ...


@dataclass(frozen=True, slots=True)
class Phrased:
    """What a model made of some principles: words by their place, who gave them, and outcomes of what was said."""

    words: Mapping[int, Wording] = field(default_factory=dict)
    made_by: str = RULES
    outcomes: Sequence[Outcome] = ()


def phrase(asker: AbstractAsker, tenant: str, entry: Entry, drawn: Mapping[int, Drawn]) -> Phrased:
    """Ask for the words of principles, by their places. It raises nothing that a model or server causes."""
    data, shown = _shown(entry.id, drawn)
    answer: Answer[Abstracted] = asker.ask(tenant, Task(prompt("abstract"), data, Abstracted))
    outcomes = [
        Outcome(role=ANSWERS, n=n, made_by=asker.name, body={
            "role": ROLE, "constraint": attempt.constraint, "text": fit(attempt.text),
            "finish_reason": attempt.finish_reason, "problem": attempt.problem,
        })
        for n, attempt in enumerate(answer.attempts)
    ]  # fmt: skip
    made_by = f"{asker.name} {PROMPT_VERSION}"
    if answer.value is None:
        reason = answer.error.code if answer.error is not None else "model.error"
        body = {"role": ROLE, "reason": reason, "by": RULES, "instead_of": asker.name}
        return Phrased(
            made_by=made_by, outcomes=[*outcomes, Outcome(role=DEGRADED_ROLE, made_by=asker.name, body=body)]
        )
    words = {one.n: _wording(one) for one in reversed(answer.value.principles) if one.n in shown and _lawful(one)}
    return Phrased(words, made_by, outcomes)


def _wording(one: WordedForm) -> Wording:
    flat = {name: " ".join(getattr(one, name).split()) for name in ("condition", "action", "because", "watch_out")}
    return Wording(
        condition=flat["condition"], action=flat["action"], reason=flat["because"], watch_out=flat["watch_out"]
    )


def _lawful(one: WordedForm) -> bool:
    """Whether a model's words say something, and give no orders to the model that will read them."""
    whole = f"{one.condition}\n{one.action}\n{one.because}\n{one.watch_out}"
    return bool(one.condition.strip() and one.action.strip()) and find_order(whole) is None


def _shown(entry_id: str, drawn: Mapping[int, Drawn]) -> tuple[str, frozenset[int]]:
    texts: dict[int, str] = {}
    room = MAX_SHOWN
    for n, one in drawn.items():
        text = _told(n, one)
        room -= len(text) + 1
        if room < 0:
            break
        texts[n] = text
    boundary = choose_boundary(entry_id, texts.values())
    lines = [boundary.turn(f'principle="{n}"', text) for n, text in texts.items()]
    return "\n".join(lines), frozenset(texts)


def _told(n: int, drawn: Drawn) -> str:
    head = {
        "n": n, "language": "Chinese" if speaks_chinese(drawn) else "English",
        "holds_where": None if drawn.slot is None else drawn.slot.value,
    }  # fmt: skip
    lines = [_json(head), *(_pattern(one, "supports") for one in drawn.support[:MAX_PATTERNS])]
    lines += [_pattern(one, "contradicts") for one in drawn.against[:MAX_PATTERNS]]
    lines += [_json({"contradicts": said(event.attempt), "result": said(event.result), "outcome": event.label})
              for event in drawn.counter[:MAX_PATTERNS]]  # fmt: skip
    return "\n".join(lines)


def _pattern(pattern: SeenPattern, how: str) -> str:
    return _json({
        how: pattern.summary, "outcome": pattern.outcome, "attempts": len(pattern.events),
        "situation": pattern.situation, "goal": pattern.goal, "terms": list(pattern.terms),
        "artifacts": list(pattern.artifacts), "advice": pattern.recommendation,
    })  # fmt: skip


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps({name: held for name, held in value.items() if held not in (None, "", [])}, ensure_ascii=False)
