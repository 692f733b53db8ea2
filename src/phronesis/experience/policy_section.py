"""The policy's section of the experience base: thresholds of principles, forgetting, and background maintenance."""

from typing import Annotated, Literal, Self, get_args

import pydantic

from phronesis.config.model_roles import Part

ForgettableKind = Literal["l1", "pattern", "principle"]
"""A kind of experience item that is subject to forgetting."""


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
    def _check_order(self) -> Self:
        if self.archive_below > self.downweight_below:
            raise ValueError(
                "archive_below must not be above downweight_below: what is archived was downweighted first"
            )
        return self


class AbstractRules(Part):
    """Principles: what patterns of one topic come to."""

    min_members: int = pydantic.Field(
        default=3, ge=2, le=1000, description="Events of a pattern that makes a principle by itself."
    )
    min_patterns: int = pydantic.Field(
        default=2, ge=1, le=1000, description="Patterns that make a principle together, of however few events."
    )
    change: float = pydantic.Field(
        default=0.25,
        ge=0,
        le=10,
        description="Share by which the events behind a principle must have changed in number for it to be said anew;"
        " another pattern and new counterexamples always count.",
    )


class ExperienceRules(Part):
    """The experience base: what was tried, the patterns in it, and the principles."""

    background: bool = pydantic.Field(
        default=True, description="Whether the worker groups events and draws principles; false: only when asked."
    )
    aggregate_events: int = pydantic.Field(
        default=20, ge=1, le=100_000, description="The worker groups events when this many are new."
    )
    aggregate_hours: float = pydantic.Field(
        default=24.0, gt=0, le=8760, description="It does so this many hours after the last time, when any is new."
    )
    abstract_hours: float = pydantic.Field(
        default=168.0, gt=0, le=8760, description="It draws principles no oftener than this, when a pattern moved."
    )
    abstract: AbstractRules = pydantic.Field(
        default_factory=AbstractRules, title="Abstract", description="When patterns make a principle."
    )
    forget: ForgetRules = pydantic.Field(
        default_factory=ForgetRules, title="Forget", description="What is forgotten, and when."
    )


class ExperiencePolicy(Part):
    """The policy as the experience engine reads it."""

    experience: ExperienceRules = pydantic.Field(
        default_factory=ExperienceRules,
        title="Experience",
        description="What is made of experience, and forgotten.",
        examples=[{"abstract": {"min_members": 4}, "forget": {"half_life_days": 90, "keep_sources": ["manual"]}}],
    )
