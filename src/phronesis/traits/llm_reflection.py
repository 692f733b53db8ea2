"""Reflection by a model: the data it sees, and one structured call, optionally preceded by questions (NM-03, NM-10).

Each trait with too many contradictions takes one further call. The complete answers are recorded, so that a replay
calls no model. An invalid answer skips the round; rules are no fallback, since they would judge what a model found
earlier by a different measure. Answers have the source's JSON keys and are parsed leniently where nothing depends on
it: a number that code sets (a confidence) is ignored; an id may be written as a citation; an unknown context or grade
falls back to the plainest.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Annotated, Any, ClassVar, Final, Literal, TypeVar

import pydantic

from phronesis.core.confidence import GRADES
from phronesis.core.data_delimiters import choose_boundary
from phronesis.core.entries import Entry, Outcome
from phronesis.core.items import Item
from phronesis.core.relations import Origin
from phronesis.engine.handler import PrepareContext, answer_outcomes
from phronesis.models.structured_client import Answer, StructuredClient, Task, drop_invalid, prompt
from phronesis.traits.laws.records import (
    GENERAL,
    LONG_WINDOW,
    OPERATIONS,
    Facet,
    ProposedOperations,
    TraitInput,
    TraitRevision,
    TraitSide,
)
from phronesis.traits.reflection_state import ReflectionInput, ReflectionState, describe_trait, open_traits
from phronesis.traits.strategies import StrategyResult

MAX_WISHES: Final = 50
"""Maximum operations of one kind in an answer."""

MAX_IDS: Final = 200
MAX_SENTENCE: Final = 500

_Sentence = Annotated[str, pydantic.Field(max_length=MAX_SENTENCE)]


def _plain_id(given: str) -> str:
    return given.strip().removeprefix("mem:").strip("[]").casefold()


_Id = Annotated[str, pydantic.Field(max_length=80), pydantic.AfterValidator(_plain_id)]
_Ids = Annotated[list[_Id], pydantic.Field(max_length=MAX_IDS)]
_AT_MOST: Final = pydantic.Field(max_length=MAX_WISHES)


def _grade(given: Any) -> Any:
    named = given.strip().upper() if isinstance(given, str) else "C"
    return named if named in GRADES else "C"


_Grade = Annotated[Literal["A", "B", "C", "D"], pydantic.BeforeValidator(_grade)]


class Form(pydantic.BaseModel):
    """A part of an answer. Fields that nobody asked for are passed over."""

    model_config = pydantic.ConfigDict(extra="ignore")

    def named(self, names: Mapping[str, str]) -> dict[str, Any]:
        """Return its fields, with the ids for which ``names`` stand."""
        fields = self.model_dump()
        for name, value in fields.items():
            if name.endswith("_ids"):
                fields[name] = [names.get(one, one) for one in value]
            elif name.endswith("_id"):
                fields[name] = names.get(value, value)
        return fields


class TrendForm(Form):
    """Something that shows of late."""

    content: _Sentence
    evidence_ids: _Ids
    window_days: int = LONG_WINDOW
    context: str = GENERAL


class BehaviorForm(Form):
    """Something that shows again and again."""

    content: _Sentence
    evidence_ids: _Ids
    context: str = GENERAL
    quality_grade: _Grade = "C"


class ReinforcementForm(Form):
    """New memories for a trait."""

    trait_id: _Id
    new_evidence_ids: _Ids
    quality_grade: _Grade = "C"


class ContradictionForm(Form):
    """New memories against a trait."""

    trait_id: _Id
    contradicting_evidence_ids: _Ids


class UpgradeForm(Form):
    """Traits that point to one tendency."""

    from_trait_ids: _Ids
    new_content: _Sentence
    new_subtype: Literal["behavior", "preference", "core"]
    reasoning: str = ""
    context: str | None = None
    facet: Facet | None = None


def _all_required(schema: dict[str, Any]) -> None:
    schema["required"] = list(schema["properties"])


class ReflectionAnswer(Form, title="Reflected"):
    """The answer of the main call. A list that is left out is empty; an answer without any of them is none."""

    model_config = pydantic.ConfigDict(json_schema_extra=_all_required)

    new_trends: Annotated[list[TrendForm], drop_invalid(TrendForm), _AT_MOST] = []
    new_behaviors: Annotated[list[BehaviorForm], drop_invalid(BehaviorForm), _AT_MOST] = []
    reinforcements: Annotated[list[ReinforcementForm], drop_invalid(ReinforcementForm), _AT_MOST] = []
    contradictions: Annotated[list[ContradictionForm], drop_invalid(ContradictionForm), _AT_MOST] = []
    upgrades: Annotated[list[UpgradeForm], drop_invalid(UpgradeForm), _AT_MOST] = []

    @pydantic.model_validator(mode="before")
    @classmethod
    def _check_not_empty(cls, given: Any) -> Any:
        if isinstance(given, Mapping) and not given.keys() & cls.model_fields.keys():
            raise ValueError(f"must have the lists {', '.join(cls.model_fields)}")
        return given

    def propose(self, names: Mapping[str, str]) -> ProposedOperations:
        """Return its operations, with the ids for which ``names`` stand."""
        return ProposedOperations(
            **{name: [kind(**one.named(names)) for one in getattr(self, name)] for name, kind in OPERATIONS.items()}
        )


class SideForm(Form):
    """One side of a trait that depends on the situation."""

    content: _Sentence
    context: str = GENERAL
    evidence_ids: _Ids = []


class RevisionAnswer(Form, title="Special"):
    """The answer of a special reflection."""

    action: Literal["modify", "dissolve", "split"]
    new_content: _Sentence = ""
    reasoning: str = ""
    split: Annotated[list[SideForm], drop_invalid(SideForm), pydantic.Field(max_length=2)] = []

    @pydantic.field_validator("new_content", "split", mode="before")
    @classmethod
    def _fill_null(cls, given: Any, info: pydantic.ValidationInfo) -> Any:
        return cls.model_fields[str(info.field_name)].default if given is None else given

    def reconsidered(self, names: Mapping[str, str]) -> TraitRevision:
        """Return its decision on the trait, with the ids for which ``names`` stand."""
        return TraitRevision(
            action=self.action,
            reasoning=self.reasoning[:MAX_SENTENCE],
            new_content=self.new_content,
            sides=[TraitSide(**one.named(names)) for one in self.split],
        )


class Questions(Form):
    """The answer of the first stage: what is worth looking up before concluding."""

    questions: Annotated[list[Annotated[str, pydantic.Field(max_length=300)]], pydantic.Field(max_length=5)]


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


def revision_prompt_data(
    entry_id: str, trait: TraitInput, supporting: Sequence[Item], against: Sequence[Item]
) -> ReflectionPrompt:
    """Return a prompt's data on one trait with its supporting and contradicting memories, the latest if not all fit."""
    both = {"supporting": supporting, "contradicting": against}
    latest = {name: _fit_rows(listed[::-1], _memory, MAX_EARLIER)[::-1] for name, listed in both.items()}
    return _render(entry_id, latest, {"trait": [trait]})


def _fit_rows(listed: Sequence[_Shown], told: Callable[[_Shown], str], room: int) -> list[_Shown]:
    """Return the first that fit."""
    used = accumulate(len(told(one)) + ROW for one in listed)
    return [one for one, size in zip(listed, used, strict=True) if size <= room]


def _render(
    entry_id: str, memories: Mapping[str, Sequence[Item]], traits: Mapping[str, Sequence[TraitInput]]
) -> ReflectionPrompt:
    """Return the data of parts: a line for each memory and trait, with a short name in place of its id."""
    items = {one.id: one for part in memories.values() for one in part}
    known = [one.id for part in traits.values() for one in part]
    short = {one: f"{mark}{n}" for mark, ids in (("m", items), ("t", known)) for n, one in enumerate(ids, start=1)}
    talks = dict.fromkeys(item.session_id for item in items.values() if item.session_id is not None)
    spoken = {one: f"s{n}" for n, one in enumerate(talks, start=1)}
    rows = {
        name: [f"{short[one.id]} | {spoken.get(one.session_id or '', '-')} | {_memory(one)}" for one in part]
        for name, part in memories.items()
    }
    rows |= {name: [f"{short[one.id]} | {_trait(one)}" for one in part] for name, part in traits.items()}
    boundary = choose_boundary(entry_id, [row for part in rows.values() for row in part])
    data = "\n".join(boundary.turn(f'role="{name}"', "\n".join(part) or "(none)") for name, part in rows.items())
    return ReflectionPrompt(data, list(items), known, {name: one for one, name in short.items()})


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
    origin: ClassVar[Origin] = "model"

    @property
    def name(self) -> str:
        """Gateway, model, and prompt version."""
        return f"{self.asker.name} {PROMPT_VERSION}"

    def propose(
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
        return replace(thought, made_by=self.name, proposed=answer.value.propose(data.names))

    def reconsider(
        self, bench: PrepareContext, entry: Entry, work: ReflectionState, trait_id: str
    ) -> tuple[TraitRevision | None, StrategyResult]:
        """Ask what to do with a trait; None without an answer."""
        asker = self.special or self.asker
        rows = work.rows.get(trait_id, [])
        trait = describe_trait(work.traits[trait_id], rows, entry.recorded_at)
        data = revision_prompt_data(
            entry.id, trait, work.evidence(trait.supporting), work.evidence(trait.contradicting)
        )
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
            describe_trait(trait, material.evidence.get(trait.id, ()), entry.recorded_at)
            for trait in open_traits(material)
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
