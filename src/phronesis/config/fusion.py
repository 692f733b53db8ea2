"""How evidence of memory and resources becomes one list."""

import pydantic

from phronesis.config.gateways import Part
from phronesis.core.fusion.rules import FLOOR, MEMORY_SHARE, PER_DOCUMENT, PER_DOMAIN, FusionRules


class FusionPolicy(Part):
    """Diversity: how much of one list may be of one document, host or folder, and the ratio of memory to resources."""

    per_document: int = pydantic.Field(
        default=PER_DOCUMENT, ge=1, le=100, description="Sections of one document in a list, at most."
    )
    per_domain: int = pydantic.Field(
        default=PER_DOMAIN, ge=1, le=100, description="Sections of one host, or of one folder of files, at most."
    )
    memory_share: float = pydantic.Field(
        default=MEMORY_SHARE,
        ge=0,
        le=1,
        description="The part of the places, from 0 to 1, that is conversation memory where both sides have what is"
        " relevant; the rest is resources. A plan may say otherwise.",
    )
    floor: float = pydantic.Field(
        default=FLOOR,
        ge=0,
        le=1,
        description="Relevance, from 0 to 1, below which a result has no claim to the places of its side.",
    )

    def rules(self) -> FusionRules:
        """Give the rules."""
        return FusionRules(self.per_document, self.per_domain, self.memory_share, self.floor)
