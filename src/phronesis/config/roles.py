"""Roles: what a model may be asked for, and which model is asked."""

from typing import Annotated, Any, Final, Literal

import pydantic

from phronesis.config.gateways import Part

ChatName = Literal[
    "extract", "plan", "summarise", "reflect", "special_reflection", "questions", "aggregate", "abstract", "learn",
    "migrate",    "classify", "rewrite", "chat",
]  # fmt: skip
"""The roles in which a model completes a conversation."""

RULES: Final = "rules"
"""The word for the twin by rules, which every role has and none needs a server for."""

BY_MODEL: Final = "<by a model>"
"""What pydantic's errors call the other form of a role, in the path of a field; no field has such a name."""


def _is_model(value: str) -> str:
    if value != value.strip() or not value.isprintable():
        raise ValueError("must be a name without blanks around it and without control characters")
    return value


class Role(Part):
    """Which model, and at which server."""

    gateway: str = pydantic.Field(description="The name of one of the gateways.")
    model: Annotated[str, pydantic.AfterValidator(_is_model)] = pydantic.Field(
        min_length=1, max_length=200, description="The model's name at that server.", examples=["qwen3:4b"]
    )


class ChatRole(Role):
    """A role in which a model completes a conversation."""

    temperature: float | None = pydantic.Field(
        default=0.0,
        ge=0,
        le=2,
        description="0 repeats itself most; null leaves it to the server, as some models demand.",
    )
    max_tokens: int = pydantic.Field(default=2000, ge=16, le=32768, description="Tokens of an answer at most.")


class RerankRole(Role):
    """The role of judging how well texts answer a question."""

    candidates: int = pydantic.Field(
        default=40, ge=2, le=200, description="How many of the best found texts are judged."
    )


class EmbedRole(Role):
    """The role of turning texts into vectors. It stands in for the policy's embedder."""

    prefix_scheme: Literal["none", "e5", "qwen3", "nomic"] = pydantic.Field(
        default="none", description="How the model wants queries and documents told apart: see its own description."
    )
    dimension: int | None = pydantic.Field(
        default=None,
        ge=1,
        le=16384,
        description="Numbers per vector, when the model can be asked for fewer than it has.",
    )


def _choice(value: Any) -> str:
    return RULES if isinstance(value, str) and value == RULES else BY_MODEL


_Rules = Annotated[Literal["rules"], pydantic.Tag(RULES)]
_BY_WORD = pydantic.Discriminator(_choice)

Chat = Annotated[Annotated[ChatRole, pydantic.Tag(BY_MODEL)] | _Rules, _BY_WORD]
Rerank = Annotated[Annotated[RerankRole, pydantic.Tag(BY_MODEL)] | _Rules, _BY_WORD]
Embed = Annotated[Annotated[EmbedRole, pydantic.Tag(BY_MODEL)] | _Rules, _BY_WORD]


class Roles(Part):
    """Who does what: a model, or the word ``rules`` for the twin by rules, which is the default."""

    extract: Chat = pydantic.Field(default=RULES, description="Finds what a conversation says that is worth keeping.")
    plan: Chat = pydantic.Field(default=RULES, description="Decides where to look for what a message asks.")
    summarise: Chat = pydantic.Field(default=RULES, description="Keeps the working summary of a session.")
    reflect: Chat = pydantic.Field(default=RULES, description="Finds trends and behaviours in what was remembered.")
    special_reflection: Chat = pydantic.Field(default=RULES, description="Reflects on what stands out.")
    questions: Chat = pydantic.Field(default=RULES, description="Asks what memories can answer.")
    aggregate: Chat = pydantic.Field(default=RULES, description="Says many alike memories as one.")
    abstract: Chat = pydantic.Field(default=RULES, description="Draws what is general from what was particular.")
    learn: Chat = pydantic.Field(default=RULES, description="Learns from what worked and what did not.")
    migrate: Chat = pydantic.Field(
        default=RULES, description="Rewrites old memories as claims; the model of learn where this one is not set."
    )
    classify: Chat = pydantic.Field(default=RULES, description="Says of what kind a text is.")
    rewrite: Chat = pydantic.Field(default=RULES, description="Says a question so that more is found.")
    chat: Chat = pydantic.Field(default=RULES, description="Answers in phronesis chat.")
    rerank: Rerank = pydantic.Field(default=RULES, description="Judges how well what was found answers the question.")
    embed: Embed = pydantic.Field(default=RULES, description="Turns texts into vectors, instead of the embedder.")
