"""The form of what a model answers about a run: classes of claims, proposals, and claims put right in form.

Claims are given as fields, and code writes the block: a model that has to put one line of JSON into a text of JSON gets
the quotation marks wrong sooner than anything else. There is no field for FACTS, counts, tests or exceptions: these are
code's and people's.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, Protocol

import pydantic

from phronesis.core.reasoning.records import MEMBERS
from phronesis.core.reasoning.structure import MAX_CLAIMS
from phronesis.core.state_machine import ClaimStatus
from phronesis.core.text import MAX_ID_LENGTH
from phronesis.derive.learning.proposing import MAX_PROPOSED, MAX_TOPIC
from phronesis.derive.learning.showing import MAX_CLASSES
from phronesis.models.asker import Answer
from phronesis.models.structured import Task

MAX_SAID: Final = 300
"""Characters of a quotation, and of a reason."""

_CODES_OWN: Final = frozenset(MEMBERS) - {
    "claim_id", "status", "inference", "constraint", "conditions", "limitations",
}  # fmt: skip
"""The members of a claim that no model writes: FACTS, counts, the test, and leave for a positive constraint."""

_Said = Annotated[str, pydantic.Field(max_length=MAX_SAID)]
_Inference = Annotated[str, pydantic.Field(max_length=1_200)]
_Constraint = Annotated[str, pydantic.Field(max_length=600)]
_Listed = Annotated[list[Annotated[str, pydantic.Field(min_length=1, max_length=400)]], pydantic.Field(max_length=8)]
_ClaimId = Annotated[str, pydantic.Field(min_length=1, max_length=MAX_ID_LENGTH)]
_Topic = Annotated[str, pydantic.Field(max_length=MAX_TOPIC)]


class Form(pydantic.BaseModel):
    """A part of an answer: nothing beside its fields, and no other types."""

    model_config = pydantic.ConfigDict(extra="forbid", strict=True)


class ClaimClass(Form):
    """How the run bears on one claim, with what shows it."""

    item: Annotated[int, pydantic.Field(ge=0, le=10_000)]
    claim_id: _ClaimId
    says: Literal["support", "contra", "irrelevant"]
    quote: _Said
    reason: _Said
    delete: bool


class ProposedClaim(Form):
    """A claim in words. What code writes is passed over where a model gives it, as one does that copies a claim."""

    claim_id: _ClaimId | None
    status: ClaimStatus
    inference: _Inference
    constraint: _Constraint
    conditions: _Listed
    limitations: _Listed

    @pydantic.model_validator(mode="before")
    @classmethod
    def _without_what_code_writes(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            return given
        return {name: value for name, value in given.items() if name not in _CODES_OWN}


class ProposedItem(Form):
    """A new item, or claims of one that is there."""

    action: Literal["add", "update"]
    item: Annotated[int, pydantic.Field(ge=0, le=10_000)] | None
    topic: _Topic
    claims: Annotated[list[ProposedClaim], pydantic.Field(min_length=1, max_length=MAX_CLAIMS)]


class Lesson(Form):
    """What a model makes of a run."""

    classes: Annotated[list[ClaimClass], pydantic.Field(max_length=MAX_CLASSES)]
    proposals: Annotated[list[ProposedItem], pydantic.Field(max_length=MAX_PROPOSED)]


class RewrittenClaim(Form):
    """The texts of a claim, put right."""

    n: Annotated[int, pydantic.Field(ge=0, le=MAX_CLAIMS)]
    inference: _Inference
    constraint: _Constraint
    conditions: _Listed
    limitations: _Listed


class Rewritten(Form):
    """The claims of one proposal that were put right."""

    topic: _Topic
    claims: Annotated[list[RewrittenClaim], pydantic.Field(max_length=MAX_CLAIMS)]


class LearnAsker(Protocol):
    """Who can be asked about a run (``models.asker.Asker``)."""

    @property
    def name(self) -> str:
        """Gateway and model."""
        ...

    def ask(self, tenant: str, task: Task[Any]) -> Answer[Any]:
        """Give an answer of the task's form, or why there is none."""
        ...
