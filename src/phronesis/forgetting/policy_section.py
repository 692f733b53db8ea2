"""The policy's section of forgetting, and the law that it makes together with that of experience."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal

import pydantic

from phronesis.config.model_roles import Part
from phronesis.core.items import DEFAULT_IMPORTANCE
from phronesis.experience.policy_section import ForgetRules
from phronesis.forgetting.laws import CONVERSATION, Law, Rule

FadingKind = Literal[
    "message",
    "fact",
    "episodic",
    "event",
    "task",
    "intention",
    "decision",
    "preference",
    "profile",
    "procedure",
    "section",
    "document",
]
"""A kind of conversation memory."""

_NOT_FIGURES: Final = frozenset({"kinds", "keep_sources"})
"""Fields of the experience rules that are not figures of a kind."""

_Days = Annotated[float, pydantic.Field(gt=0, le=36_500)]

_Share = Annotated[float, pydantic.Field(ge=0, le=1)]


class FadingRules(Part):
    """Figures of one kind; what is left out is as for all kinds."""

    never: bool = pydantic.Field(default=False, description="Whether it is never forgotten.")
    half_life_days: _Days | None = pydantic.Field(
        default=None, description="After how many days without use it is retained by half, at its usual importance."
    )
    archive_below: _Share | None = pydantic.Field(
        default=None, description="The retention, from 0 to 1, below which it leaves ordinary reads."
    )
    delete_after_days: Annotated[float, pydantic.Field(ge=0, le=36_500)] | None = pydantic.Field(
        default=None, description="After how many days in the archive it ends for good."
    )


FADING_KINDS: Final[Mapping[FadingKind, FadingRules]] = {
    "message": FadingRules(half_life_days=180.0),
    "preference": FadingRules(half_life_days=730.0),
    "profile": FadingRules(never=True),
    "decision": FadingRules(never=True),
    "section": FadingRules(never=True),
    "document": FadingRules(never=True),
}
"""Defaults that differ by kind: verbatim messages are forgotten first."""


def _with_others(given: Any) -> Any:
    """Add the kinds that a policy does not name."""
    return {**FADING_KINDS, **given} if isinstance(given, Mapping) else given


class ForgettingRules(Part):
    """When memories that nobody needs are archived, and end. Experience has its own figures: ``experience.forget``."""

    background: bool = pydantic.Field(
        default=False, description="Whether the worker forgets by itself; false: only when asked."
    )
    hours: float = pydantic.Field(
        default=168.0, gt=0, le=8760, description="Hours between two looks of the worker at a lane."
    )
    half_life_days: _Days = pydantic.Field(
        default=365.0,
        description="After how many days without use half of something is retained, at the usual importance of its"
        " kind; two points more double it, an assistant's or tool's word has half.",
    )
    archive_below: _Share = pydantic.Field(
        default=0.25, description="The retention, from 0 to 1, below which something leaves ordinary reads."
    )
    delete_after_days: float = pydantic.Field(
        default=365.0, ge=0, le=36_500, description="After how many days in the archive it ends for good."
    )
    expired_after_days: float = pydantic.Field(
        default=30.0, ge=0, le=36_500, description="Days after its end at which a task or intention is archived."
    )
    keep_importance: int | None = pydantic.Field(
        default=9, ge=1, le=10, description="The importance from which nothing is forgotten; null: none."
    )
    keep: tuple[Annotated[str, pydantic.Field(min_length=1, max_length=128)], ...] = pydantic.Field(
        default=("allergy", "diet", "health"),
        strict=False,
        max_length=64,
        description="Keys and kinds that are never forgotten, such as allergy or favorite.*, beside those of core.pin.",
    )
    keep_sources: tuple[Annotated[str, pydantic.Field(min_length=1, max_length=64)], ...] = pydantic.Field(
        default=(), strict=False, max_length=64, description="Source types that are never forgotten."
    )
    at_once: int = pydantic.Field(
        default=10_000, ge=1, le=100_000, description="Items that one call moves at most; the next goes on."
    )
    kinds: Annotated[dict[FadingKind, FadingRules], pydantic.BeforeValidator(_with_others)] = pydantic.Field(
        default_factory=lambda: dict(FADING_KINDS),
        description="Figures of kinds that fade otherwise, or never; kinds that are not named keep these.",
    )

    def of_kind(self, kind: FadingKind) -> dict[str, float]:
        """Return a kind's figures, its own before those of all kinds; an exempt kind has those of all."""
        given = self.kinds.get(kind, FadingRules()).model_dump(exclude={"never"})
        return {name: getattr(self, name) if own is None else own for name, own in given.items()}

    def never(self, kind: FadingKind) -> bool:
        """Return whether a kind is never forgotten."""
        return self.kinds.get(kind, FadingRules()).never


class ForgettingPolicy(Part):
    """The policy as the forgetting engine reads it."""

    forgetting: ForgettingRules = pydantic.Field(
        default_factory=ForgettingRules,
        title="Forgetting",
        description="Which memories fade, and what is kept.",
        examples=[{"background": True, "kinds": {"message": {"half_life_days": 90}, "episodic": {"never": True}}}],
    )


def law_of(own: ForgettingRules, experience: ForgetRules, *, pinned: Sequence[str]) -> Law:
    """Return the forgetting law of the policy's figures. ``pinned`` are keys and kinds that core memory shows first."""
    named = {name: getattr(experience, name) for name in ForgetRules.model_fields if name not in _NOT_FIGURES}
    sources = frozenset(experience.keep_sources)
    rules = {
        str(kind): Rule(**named, usual=DEFAULT_IMPORTANCE[kind], keep_sources=sources) for kind in experience.kinds
    }
    rules |= {kind: _rule(own, kind, pinned) for kind in CONVERSATION}
    return Law(rules=rules, most=own.at_once)


def _rule(own: ForgettingRules, kind: FadingKind, pinned: Sequence[str]) -> Rule:
    keep = frozenset((*own.keep, *pinned, *([kind] if own.never(kind) else [])))
    return Rule(
        **own.of_kind(kind),
        downweight_below=0.0,
        expired_after_days=own.expired_after_days,
        usual=DEFAULT_IMPORTANCE.get(kind, DEFAULT_IMPORTANCE["section"]),
        keep_importance=own.keep_importance,
        keep=keep,
        keep_sources=frozenset(own.keep_sources),
    )
