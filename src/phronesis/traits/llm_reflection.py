"""Reflection by a model.

The data it sees, and one structured call, optionally preceded by questions (NM-03, NM-10, NM-15). Each trait with too
many contradictions takes one further call. The complete answers are recorded, so that a replay calls no model. An
invalid answer skips the round; rules are no fallback here, since they would judge what a model found earlier by a
different measure.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from phronesis.core.data_delimiters import choose_boundary
from phronesis.core.entries import Entry, Outcome
from phronesis.core.items import Item
from phronesis.core.relations import Origin
from phronesis.core.timestamps import isoformat
from phronesis.engine.handler import PrepareContext
from phronesis.log.reader import fit
from phronesis.models.prompts import prompt
from phronesis.models.structured_client import Answer, StructuredClient, Task
from phronesis.traits.laws.records import TraitInput, TraitRevision
from phronesis.traits.reflection_answer import Questions, ReflectionAnswer, RevisionAnswer
from phronesis.traits.reflection_state import ReflectionState
from phronesis.traits.scan import ReflectionInput, open_traits, seen_trait
from phronesis.traits.strategies import ANSWERS, StrategyResult

# What a model sees: memories and traits as lines of JSON between fences (law 8).

MAX_SHOWN: Final = 40_000
"""Maximum characters of new memories shown, the most important first if they do not all fit."""

MAX_EARLIER: Final = 12_000
MAX_TRAITS: Final = 16_000
"""Maximum characters of earlier memories, and of traits, the most confident first."""

MAX_CONTENT: Final = 600
"""Maximum characters shown of one memory or trait."""


@dataclass(frozen=True, slots=True)
class ReflectionPrompt:
    """The data of one prompt, and the ids of its memories and traits."""

    data: str
    memories: Sequence[str]
    traits: Sequence[str]


def build_prompt(
    entry_id: str, new: Sequence[Item], earlier: Sequence[Item], traits: Sequence[TraitInput]
) -> ReflectionPrompt:
    """Return a prompt's data: as many new memories, earlier ones and traits as fit."""
    weighty = sorted(new, key=lambda memory: (-memory.importance, memory.recorded_at, memory.id))
    fitting = _fit_texts(((memory.id, _memory(memory)) for memory in weighty), MAX_SHOWN)
    recent = {memory.id: fitting[memory.id] for memory in new if memory.id in fitting}
    older = _fit_texts(((memory.id, _memory(memory)) for memory in earlier), MAX_EARLIER)
    sure = sorted(traits, key=lambda trait: (-(trait.confidence or 0.0), trait.id))
    known = _fit_texts(((trait.id, _trait(trait)) for trait in sure), MAX_TRAITS)
    boundary = choose_boundary(entry_id, [*recent.values(), *older.values(), *known.values()])
    lines = ["New memories:", boundary.turn('role="new"', "\n".join(recent.values()))]
    if older:
        lines += ["Earlier memories:", boundary.turn('role="earlier"', "\n".join(older.values()))]
    lines += ["Traits known so far:", boundary.turn('role="traits"', "\n".join(known.values()) or "(none)")]
    return ReflectionPrompt("\n".join(lines), [*recent, *older], list(known))


def shown_special(
    entry_id: str, trait: TraitInput, supporting: Sequence[Item], against: Sequence[Item]
) -> ReflectionPrompt:
    """Return a prompt's data on one trait with its supporting and contradicting memories, the latest if not all fit."""
    both = [
        _fit_texts(((memory.id, _memory(memory)) for memory in listed[::-1]), MAX_EARLIER)
        for listed in (supporting, against)
    ]
    told = _trait(trait)
    boundary = choose_boundary(entry_id, [told, *both[0].values(), *both[1].values()])
    lines = ["The trait:", boundary.turn('role="trait"', told)]
    for name, texts in zip(("supporting", "contradicting"), both, strict=True):
        lines += [f"Memories, {name}:", boundary.turn(f'role="{name}"', "\n".join([*texts.values()][::-1]))]
    return ReflectionPrompt("\n".join(lines), [*both[0], *both[1]], [trait.id])


def _fit_texts(texts: Iterable[tuple[str, str]], room: int) -> dict[str, str]:
    out: dict[str, str] = {}
    for name, text in texts:
        room -= len(text) + 1
        if room < 0:
            break
        out[name] = text
    return out


def _memory(memory: Item) -> str:
    return _json(
        {
            "id": memory.id,
            "at": isoformat(memory.occurred_at or memory.recorded_at),
            "kind": memory.kind,
            "session": memory.session_id,
            "content": memory.content[:MAX_CONTENT],
        }
    )


def _trait(trait: TraitInput) -> str:
    return _json(
        {
            "id": trait.id,
            "content": trait.content[:MAX_CONTENT],
            "stage": trait.stage,
            "subtype": trait.subtype,
            "confidence": trait.confidence,
            "context": trait.context,
        }
    )


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False)


PROMPT_VERSION: Final = "reflect/1"
"""Version of ``prompts/reflect.md`` and its two companions, recorded with every outcome."""

Look = Callable[[PrepareContext, str], Sequence[str]]
"""A function that searches a lane for a question and returns ids of items, best first."""

FOUND: Final = 8
"""Earlier memories shown for each question."""


@dataclass(frozen=True, slots=True)
class ModelStrategy:
    """The strategy of a model. ``questions`` is the model asked what to look up first; None skips that stage.

    ``special`` is the model asked about traits with too many contradictions; None: the same model.
    """

    asker: StructuredClient
    questions: StructuredClient | None = None
    special: StructuredClient | None = None
    look: Look = field(default=lambda _bench, _question: ())

    @property
    def name(self) -> str:
        """Gateway, model, and prompt version."""
        return f"{self.asker.name} {PROMPT_VERSION}"

    @property
    def origin(self) -> Origin:
        """The origin of its results: model."""
        return "model"

    def wishes(
        self, bench: PrepareContext, entry: Entry, material: ReflectionInput, _sensitive: Callable[[str], bool]
    ) -> StrategyResult:
        """Ask for the operations that follow from the new memories."""
        asked, earlier = self._earlier(bench, entry, material)
        data = self._make_prompt(entry, material, earlier)
        answer: Answer[ReflectionAnswer] = self.asker.ask(
            bench.tenant, Task(prompt("reflect"), data.data, ReflectionAnswer)
        )
        thought = asked.plus(self._strategy_result("reflect", self.asker, answer, data, material))
        found = None if answer.value is None else answer.value.wishes()
        error = None if answer.value is not None else _code(answer)
        return StrategyResult(
            wishes=found,
            made_by=self.name,
            said=_number_outcomes(thought.said),
            seen=thought.seen,
            stands_on=thought.stands_on,
            spent=thought.spent,
            error=error,
        )

    def reconsider(
        self, bench: PrepareContext, entry: Entry, work: ReflectionState, trait_id: str
    ) -> tuple[TraitRevision | None, StrategyResult]:
        """Ask what to do with a trait; None without an answer."""
        asker = self.special or self.asker
        rows = work.rows.get(trait_id, [])
        trait = seen_trait(work.traits[trait_id], rows, entry.recorded_at)
        data = shown_special(entry.id, trait, work.evidence(trait.supporting), work.evidence(trait.contradicting))
        answer: Answer[RevisionAnswer] = asker.ask(
            bench.tenant, Task(prompt("special_reflection"), data.data, RevisionAnswer)
        )
        thought = StrategyResult(
            made_by=f"{asker.name} {PROMPT_VERSION}",
            said=_answer_outcomes("special_reflection", asker, answer),
            seen=[*data.memories, trait_id],
            stands_on=[work.traits[trait_id].entry_id],
            spent=answer.spent,
        )
        return (None if answer.value is None else answer.value.reconsidered()), thought

    def _earlier(
        self, bench: PrepareContext, entry: Entry, material: ReflectionInput
    ) -> tuple[StrategyResult, list[Item]]:
        """Return earlier memories: those linked to new ones, and those found for the questions of the first stage."""
        known = {memory.id: memory for memory in material.memories if memory.id not in material.new}
        linked = [link.to_id for link in sorted(material.links, key=lambda link: -link.weight)]
        if self.questions is None:
            return StrategyResult(), [known[one] for one in dict.fromkeys(linked) if one in known]
        data = self._make_prompt(entry, material, [])
        answer: Answer[Questions] = self.questions.ask(
            bench.tenant, Task(prompt("reflect_questions"), data.data, Questions)
        )
        thought = self._strategy_result("questions", self.questions, answer, data, material)
        asked = answer.value.questions if answer.value is not None else []
        ids = [one for question in asked for one in self.look(bench, question)[:FOUND]]
        return thought, [known[one] for one in dict.fromkeys([*ids, *linked]) if one in known]

    @staticmethod
    def _make_prompt(entry: Entry, material: ReflectionInput, earlier: Sequence[Item]) -> ReflectionPrompt:
        new = [memory for memory in material.memories if memory.id in material.new]
        traits = [
            seen_trait(trait, material.evidence.get(trait.id, ()), entry.recorded_at) for trait in open_traits(material)
        ]
        return build_prompt(entry.id, new, earlier, traits)

    @staticmethod
    def _strategy_result(
        role: str, asker: StructuredClient, answer: Answer[Any], data: ReflectionPrompt, material: ReflectionInput
    ) -> StrategyResult:
        made = {material.traits[one].entry_id for one in data.traits}
        return StrategyResult(
            said=_answer_outcomes(role, asker, answer), seen=data.memories, stands_on=sorted(made), spent=answer.spent
        )


def _answer_outcomes(role: str, asker: StructuredClient, answer: Answer[Any]) -> list[Outcome]:
    bodies: list[Mapping[str, Any]] = [
        {
            "role": role,
            "constraint": attempt.constraint,
            "text": fit(attempt.text),
            "finish_reason": attempt.finish_reason,
            "problem": attempt.problem,
        }
        for attempt in answer.attempts
    ]
    return [Outcome(role=ANSWERS, made_by=asker.name, n=n, body=body) for n, body in enumerate(bodies)]


def _number_outcomes(said: Sequence[Outcome]) -> list[Outcome]:
    return [Outcome(role=one.role, made_by=one.made_by, n=n, body=one.body) for n, one in enumerate(said)]


def _code(answer: Answer[Any]) -> str:
    return answer.error.code if answer.error is not None else "model.error"
