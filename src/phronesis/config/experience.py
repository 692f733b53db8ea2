"""The experience base: what is forgotten, and when."""

from typing import Annotated, Literal, Self, get_args

import pydantic

from phronesis.config.gateways import Part

ForgettableKind = Literal["l1", "pattern", "principle"]
"""A kind of item that is forgotten when nobody needs it."""


class ForgetRules(Part):
    """When experience that nobody needs is downweighted, archived and deleted."""

    kinds: tuple[ForgettableKind, ...] = pydantic.Field(
        default=get_args(ForgettableKind),
        strict=False,
        max_length=len(get_args(ForgettableKind)),
        description="Kinds that are forgotten: events (l1), patterns, principles; what is not named here is kept.",
    )
    half_life_days: float = pydantic.Field(
        default=180.0,
        gt=0,
        le=36_500,
        description="After how many days without use what a person told is retained by half; a machine's word in half.",
    )
    downweight_below: float = pydantic.Field(
        default=0.5, ge=0, le=1, description="The retention, from 0 to 1, below which something counts half in answers."
    )
    archive_below: float = pydantic.Field(
        default=0.25,
        ge=0,
        le=1,
        description="The retention below which it leaves ordinary reads; by id it can be read.",
    )
    delete_after_days: float = pydantic.Field(
        default=365.0, ge=0, le=36_500, description="After how many days in the archive it ends for good."
    )
    keep_sources: tuple[Annotated[str, pydantic.Field(min_length=1, max_length=64)], ...] = pydantic.Field(
        default=(),
        strict=False,
        max_length=64,
        description="Source types that are never forgotten, such as manual or lean.",
    )

    @pydantic.model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.archive_below > self.downweight_below:
            raise ValueError(
                "archive_below must not be above downweight_below: what is archived was downweighted first"
            )
        return self


class ExperienceRules(Part):
    """The experience base: what was tried, the patterns in it, and the principles."""

    forget: ForgetRules = pydantic.Field(
        default_factory=ForgetRules, title="Forget", description="What is forgotten, and when."
    )
