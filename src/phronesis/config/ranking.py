"""Weights of the ranking that a team fitted on conversations of its own."""

from typing import Annotated

import pydantic
from pydantic_core import PydanticCustomError

from phronesis.config.gateways import Part
from phronesis.core.scoring.features import FEATURES
from phronesis.core.scoring.formulas import Formula


def _is_feature(value: str) -> str:
    if value not in FEATURES:
        raise PydanticCustomError("extra_forbidden", "unknown feature")
    return value


class Weighing(Part):
    """A weight for each feature that counts; what is left out counts nothing."""

    name: str = pydantic.Field(default="own", description="What searches call it when they explain.")
    provenance: str = pydantic.Field(description="What the weights were fitted on, and how.")
    weights: dict[Annotated[str, pydantic.AfterValidator(_is_feature)], pydantic.FiniteFloat] = pydantic.Field(
        description="By feature: " + ", ".join(FEATURES) + ".",
        json_schema_extra={"propertyNames": {"enum": list(FEATURES)}},
    )

    crowding: Annotated[pydantic.FiniteFloat, pydantic.Field(ge=0)] = pydantic.Field(
        default=0.0, description="What a result loses for each better one of its session or document; 0: nothing."
    )

    def formula(self, *, dense: bool) -> Formula:
        """Give the formula."""
        return Formula(self.name, self.weights, self.provenance, dense=dense, crowding=self.crowding)


class Ranking(Part):
    """The formulas that searches rank by. What is left out is the one that comes with Phronesis."""

    words: Weighing | None = pydantic.Field(default=None, title="Words", description="Where there is no encoder.")
    dense: Weighing | None = pydantic.Field(default=None, title="Dense", description="Where there is one.")
