"""Secrets and personal numbers: whether they are stored, and whether contexts show them."""

from typing import Annotated, Any, Final, Literal

import pydantic
from pydantic_core import PydanticCustomError

from phronesis.config.gateways import Part
from phronesis.core.redaction import NUMBERS, SECRETS

Action = Literal["redact", "keep", "refuse"]

PRIVATE_KINDS: Final = (*SECRETS, *NUMBERS)
"""What is recognised, by name."""


def _is_kind(value: str) -> str:
    if value not in PRIVATE_KINDS:
        raise PydanticCustomError("extra_forbidden", "unknown kind")
    return value


def _kinds_schema(schema: dict[str, Any]) -> None:
    """Name the kinds, so that an editor can offer them."""
    rule = schema.pop("additionalProperties")
    schema.pop("propertyNames", None)
    schema["properties"] = dict.fromkeys(PRIVATE_KINDS, rule)
    schema["additionalProperties"] = False


class PrivacyRules(Part):
    """What becomes of secrets and personal numbers that a write holds.

    redact: a marker such as ``[secret: github token]`` is stored in its place. keep: it is stored as it is. refuse: the
    write is an error, and nothing of it is stored.
    """

    secrets: Action = pydantic.Field(
        default="redact", description="Keys, tokens, passwords, private keys, as their formats and fields show them."
    )
    personal_numbers: Action = pydantic.Field(
        default="redact", description="Numbers of cards, bank accounts (IBAN) and identity papers."
    )
    kinds: dict[Annotated[str, pydantic.AfterValidator(_is_kind)], Action] = pydantic.Field(
        default_factory=dict,
        description="By kind, such as card_number or github_token; it counts before the two above.",
        json_schema_extra=_kinds_schema,
    )
    contexts: Literal["mask", "show"] = pydantic.Field(
        default="mask", description="Whether composed contexts show a marker for what is stored of these, or show it."
    )

    @property
    def actions(self) -> dict[str, Action]:
        """What becomes of each kind that is not redacted."""
        usual = dict.fromkeys(SECRETS, self.secrets) | dict.fromkeys(NUMBERS, self.personal_numbers) | self.kinds
        return {kind: action for kind, action in usual.items() if action != "redact"}
