"""Reflection by a model.

The data it sees, and one structured call, optionally preceded by questions (NM-03, NM-10, NM-15). Each trait with too
many contradictions takes one further call. The complete answers are recorded, so that a replay calls no model. An
invalid answer skips the round; rules are no fallback here, since they would judge what a model found earlier by a
different measure.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

from phronesis.core.data_delimiters import choose_boundary
from phronesis.core.entries import Entry, Outcome
from phronesis.core.items import Item
from phronesis.core.relations import Origin
from phronesis.engine.handler import PrepareContext, answer_outcomes
from phronesis.models.structured_client import Answer, StructuredClient, Task, prompt
from phronesis.traits.laws.records import TraitInput, TraitRevision
from phronesis.traits.reflection_answer import Questions, ReflectionAnswer, RevisionAnswer
from phronesis.traits.reflection_state import ReflectionInput, ReflectionState, open_traits, seen_trait
from phronesis.traits.strategies import StrategyResult

# What a model sees: memories and traits as lines between fences (law 8).

MAX_SHOWN: Final = 40_000
"""Maximum characters of new memories shown, the most important first if they do not all fit."""

MAX_EARLIER: Final = 12_000
MAX_TRAITS: Final = 16_000
"""Maximum characters of earlier memories, and of traits, the most confident first."""

MAX_CONTENT: Final = 600
"""Maximum characters shown of one memory or trait."""

ROW: Final = 20
"""Characters of a row beside its text, at most: its name and its conversation."""

_Shown = TypeVar("_Shown", Item, TraitInput)


@dataclass(frozen=True, slots=True)
class ReflectionPrompt:
    """The data of one prompt, and the ids of its memories and traits.

    ``names`` are the ids by the short names under which they are shown: ``m1``, ``t1``.
    """

    data: str
    memories: Sequence[str]
    traits: Sequence[str]
    names: Mapping[str, str]


def build_prompt(
    entry_id: str, new: Sequence[Item], earlier: Sequence[Item], traits: Sequence[TraitInput]
) -> ReflectionPrompt:
    """Return a prompt's data: as many new memories, earlier ones and traits as fit."""
    weighty = sorted(new, key=lambda memory: (-memory.importance, memory.recorded_at, memory.id))
    fitting = {memory.id for memory in _fit_rows(weighty, _memory, MAX_SHOWN)}
    parts = {"new": [memory for memory in new if memory.id in fitting]}
    if earlier:
        parts["earlier"] = _fit_rows(earlier, _memory, MAX_EARLIER)
    sure = sorted(traits, key=lambda trait: (-(trait.confidence or 0.0), trait.content))
    return _render(entry_id, parts, {"traits": _fit_rows(sure, _trait, MAX_TRAITS)})


def shown_special(
    entry_id: str, trait: TraitInput, supporting: Sequence[Item], against: Sequence[Item]
) -> ReflectionPrompt:
    """Return a prompt's data on one trait with its supporting and contradicting memories, the latest if not all fit."""
    both = {"supporting": supporting, "contradicting": against}
    latest = {name: _fit_rows(listed[::-1], _memory, MAX_EARLIER)[::-1] for name, listed in both.items()}
    return _render(entry_id, latest, {"trait": [trait]})


def _fit_rows(listed: Sequence[_Shown], told: Callable[[_Shown], str], room: int) -> list[_Shown]:
    """Return the first that fit."""
    out = []
    for one in listed:
        room -= len(told(one)) + ROW
        if room < 0:
            break
        out.append(one)
    return out


def _render(
    entry_id: str, memories: Mapping[str, Sequence[Item]], traits: Mapping[str, Sequence[TraitInput]]
) -> ReflectionPrompt:
    """Return the data of parts: a line for each memory and trait, with a short name in place of its id."""
    items = {one.id: one for part in memories.values() for one in part}
    known = [one for part in traits.values() for one in part]
    short = {one: f"m{n}" for n, one in enumerate(items, start=1)}
    short |= {trait.id: f"t{n}" for n, trait in enumerate(known, start=1)}
    talks = dict.fromkeys(item.session_id for item in items.values() if item.session_id is not None)
    spoken = {one: f"s{n}" for n, one in enumerate(talks, start=1)}
    rows = {
        name: [f"{short[one.id]} | {spoken.get(one.session_id or '', '-')} | {_memory(one)}" for one in part]
        for name, part in memories.items()
    }
    rows |= {name: [f"{short[one.id]} | {_trait(one)}" for one in part] for name, part in traits.items()}
    boundary = choose_boundary(entry_id, [row for part in rows.values() for row in part])
    data = "\n".join(boundary.turn(f'role="{name}"', "\n".join(part) or "(none)") for name, part in rows.items())
    names = {name: one for one, name in short.items()}
    return ReflectionPrompt(data, list(items), [one.id for one in known], names)


def _memory(memory: Item) -> str:
    at = memory.occurred_at or memory.recorded_at
    return f"{at:%Y-%m-%d %a %H:%M} | {memory.kind} | {_line(memory.content)}"


def _trait(trait: TraitInput) -> str:
    sure = "" if trait.confidence is None else f" {trait.confidence:.2f}"
    return f"{trait.subtype} | {trait.stage}{sure} | {trait.context} | {_line(trait.content)}"


def _line(text: str) -> str:
    return " ".join(text[:MAX_CONTENT].split())


PROMPT_VERSION: Final = "reflect/2"
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
        thought = asked.plus(self._strategy_result("reflect", self.asker, answer, data, material, after=asked.said))
        if answer.value is None:
            return replace(thought, made_by=self.name, error=answer.reason)
        return replace(thought, made_by=self.name, wishes=answer.value.wishes(data.names))

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
            said=answer_outcomes("special_reflection", answer, model=asker.name),
            seen=[*data.memories, trait_id],
            stands_on=[work.traits[trait_id].entry_id],
            spent=answer.spent,
        )
        return (None if answer.value is None else answer.value.reconsidered(data.names)), thought

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
        role: str,
        asker: StructuredClient,
        answer: Answer[Any],
        data: ReflectionPrompt,
        material: ReflectionInput,
        *,
        after: Sequence[Outcome] = (),
    ) -> StrategyResult:
        made = {material.traits[one].entry_id for one in data.traits}
        said = answer_outcomes(role, answer, model=asker.name, after=after)
        return StrategyResult(said=said, seen=data.memories, stands_on=sorted(made), spent=answer.spent)
