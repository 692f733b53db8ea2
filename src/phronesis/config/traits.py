"""Traits: when a reflection is due, and which matters are never inferred from what somebody says."""

from typing import Annotated, Final, Literal, get_args

import pydantic

from phronesis.config.gateways import Part

SensitiveTopic = Literal[
    "mental_health", "physical_health", "politics", "religion", "sexual_orientation", "finances", "criminal_record",
    "addiction", "abuse",
]  # fmt: skip
"""A matter from which no trait is inferred."""

SENSITIVE_TOPICS: Final[tuple[SensitiveTopic, ...]] = get_args(SensitiveTopic)
"""All of them, in the order in which they are told."""


def _has_a_letter(value: str) -> str:
    if not any(map(str.isalnum, value)):
        raise ValueError("must hold a letter or a digit")
    return value


Phrase = Annotated[str, pydantic.Field(min_length=1, max_length=200), pydantic.AfterValidator(_has_a_letter)]


class SensitiveRules(Part):
    """What no trait may be inferred from. What somebody says of it is remembered, as all else is."""

    topics: tuple[SensitiveTopic, ...] = pydantic.Field(
        default=SENSITIVE_TOPICS,
        strict=False,
        max_length=len(SENSITIVE_TOPICS),
        description="Matters from which no trait is inferred; what is not named here is as any other.",
    )
    also: tuple[Phrase, ...] = pydantic.Field(
        default=(),
        strict=False,
        max_length=256,
        description="Further words and phrases that keep a trait from being inferred, whole words in any case.",
    )
    allow: tuple[Phrase, ...] = pydantic.Field(
        default=(),
        strict=False,
        max_length=256,
        description="Words and phrases that are no sign of a topic, such as a product's name or a field of work.",
    )


class TraitRules(Part):
    """Traits: what a user's memories show again and again, found by reflecting on them."""

    importance: int = pydantic.Field(
        default=30,
        ge=1,
        le=100_000,
        description="A reflection is due when the importance of what was learned since the last one adds up to this.",
    )
    hours: float = pydantic.Field(
        default=24.0,
        gt=0,
        le=8760,
        description="A reflection is due this many hours after the last one, when something was learned since.",
    )
    background: bool = pydantic.Field(
        default=True, description="Whether the worker reflects when it is due; false: only when somebody asks."
    )
    sensitive: SensitiveRules = pydantic.Field(
        default_factory=SensitiveRules, title="Sensitive", description="What no trait may be inferred from."
    )
