"""Schema of a model's answer to a reflection: the source's JSON keys, parsed leniently where nothing depends on it.

A number that code sets (a confidence) is ignored; an id may be written as a citation; an unknown context or grade falls
back to the plainest. An answer that does not match the schema skips the round.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal

import pydantic

from phronesis.core.confidence import GRADES
from phronesis.models.structured_client import drop_invalid
from phronesis.traits.laws.records import (
    GENERAL,
    LONG_WINDOW,
    Facet,
    NewBehavior,
    NewTrend,
    ProposedOperations,
    Reinforcement,
    TraitContradiction,
    TraitRevision,
    TraitSide,
    Upgrade,
)

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

    def wishes(self, names: Mapping[str, str]) -> ProposedOperations:
        """Return its operations, with the ids for which ``names`` stand."""
        return ProposedOperations(
            new_trends=[NewTrend(**one.named(names)) for one in self.new_trends],
            new_behaviors=[NewBehavior(**one.named(names)) for one in self.new_behaviors],
            reinforcements=[Reinforcement(**one.named(names)) for one in self.reinforcements],
            contradictions=[TraitContradiction(**one.named(names)) for one in self.contradictions],
            upgrades=[Upgrade(**one.named(names)) for one in self.upgrades],
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

    @pydantic.field_validator("new_content", mode="before")
    @classmethod
    def _null_to_text(cls, given: Any) -> Any:
        return "" if given is None else given

    @pydantic.field_validator("split", mode="before")
    @classmethod
    def _null_to_list(cls, given: Any) -> Any:
        return [] if given is None else given

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


_KINDS: Final[Mapping[str, Any]] = {
    "new_trends": NewTrend,
    "new_behaviors": NewBehavior,
    "reinforcements": Reinforcement,
    "contradictions": TraitContradiction,
    "upgrades": Upgrade,
}


def as_body(wishes: ProposedOperations) -> dict[str, Any]:
    """Return operations as the body of an outcome, under the source's keys."""
    return {
        name: [
            {key: list(value) if isinstance(value, tuple | list) else value for key, value in _fields(one).items()}
            for one in getattr(wishes, name)
        ]
        for name in _KINDS
    }


def from_body(body: Mapping[str, Any]) -> ProposedOperations:
    """Return the operations in a body made by ``as_body``."""
    return ProposedOperations(**{name: [kind(**one) for one in body[name]] for name, kind in _KINDS.items()})


def special_body(trait_id: str, said: TraitRevision) -> dict[str, Any]:
    """Return the answer of a special reflection as the body of an outcome."""
    sides: Sequence[Mapping[str, Any]] = [
        _fields(side) | {"evidence_ids": list(side.evidence_ids)} for side in said.sides
    ]
    return {
        "trait_id": trait_id,
        "action": said.action,
        "new_content": said.new_content,
        "reasoning": said.reasoning,
        "split": list(sides),
    }


def special_from(body: Mapping[str, Any]) -> TraitRevision:
    """Return the answer in a body made by ``special_body``."""
    sides = [TraitSide(**side) for side in body["split"]]
    return TraitRevision(
        action=body["action"], new_content=body["new_content"], reasoning=body["reasoning"], sides=sides
    )


def _fields(record: Any) -> dict[str, Any]:
    return {name: getattr(record, name) for name in record.__slots__}
