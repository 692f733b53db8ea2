"""Experience: when patterns make a principle, and when one is said anew."""

import pydantic

from phronesis.config.gateways import Part


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
    """The experience base: what attempts come to."""

    abstract: AbstractRules = pydantic.Field(
        default_factory=AbstractRules, title="Abstract", description="When patterns make a principle."
    )
