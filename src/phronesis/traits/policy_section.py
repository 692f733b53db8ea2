"""The policy's section of traits: when a reflection is due, and what is never inferred."""

import pydantic

from phronesis.config.model_roles import Part
from phronesis.config.policy_sections import SensitiveRules


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


class TraitPolicy(Part):
    """The policy as the traits engine reads it."""

    traits: TraitRules = pydantic.Field(
        default_factory=TraitRules,
        title="Traits",
        description="What is inferred about a user, when, and what never.",
        examples=[{"hours": 12, "sensitive": {"also": ["the merger"], "allow": ["The Bipolar Bears"]}}],
    )
