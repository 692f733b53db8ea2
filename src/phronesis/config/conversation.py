"""Conversation memory: what is taken up from what is said, what becomes of it, and what every context shows."""

import re
from typing import Annotated, Any, Final, Literal

import pydantic
from pydantic_core import PydanticCustomError

from phronesis.config.gateways import Part
from phronesis.config.traits import SENSITIVE_TOPICS, Phrase, SensitiveRules, SensitiveTopic
from phronesis.core.items import KINDS
from phronesis.core.memory_keys import FAMILY, KEYS, is_known
from phronesis.core.proposals import Conflict, Retention
from phronesis.core.statements import STATED

TYPE_NAMES: Final = (*KEYS, *sorted(STATED))
"""What a rule may be for: the keys of docs/memory-types.md, and the kinds that conversations state."""

MAX_RULES: Final = 256
"""Rules of one section; there are 52 keys, and some families have words."""

_KEY: Final = r"[a-z][a-z0-9_]{0,63}(\.([^\s.*][^.*]{0,63}|\*))?"
"""A key of docs/memory-types.md, or the name of a family of them; the word of one of a family is in any language."""


def _is_type(value: str) -> str:
    if not is_known(value, STATED):
        raise PydanticCustomError("extra_forbidden", "unknown key or kind")
    return value


def _is_kind_or_key(value: str) -> str:
    if value in KINDS or re.fullmatch(_KEY, value):
        return value
    raise ValueError("must be a kind, such as decision, or a key of the memory types, such as allergy or favorite.*")


def _is_item_kind(value: str) -> str:
    if value not in KINDS:
        raise ValueError(f"must be one of {', '.join(KINDS)}")
    return value


def _is_listed_type(value: str) -> str:
    if not is_known(value, STATED):
        raise ValueError(
            "must be a key of docs/memory-types.md, such as phone or favorite.*, or a kind that conversations state,"
            " such as event"
        )
    return value


def _types_schema(schema: dict[str, Any]) -> None:
    """Name the keys and kinds, so that an editor can offer them; one of a family matches its pattern."""
    rule = schema.pop("additionalProperties")
    schema.pop("propertyNames", None)
    schema["properties"] = dict.fromkeys(TYPE_NAMES, rule)
    families = "|".join(name.removesuffix(FAMILY) for name in KEYS if name.endswith(FAMILY))
    schema["patternProperties"] = {rf"^({families})\..+$": rule}
    schema["additionalProperties"] = False


_Confidence = Annotated[float, pydantic.Field(ge=0, le=1)]
_TypeName = Annotated[str, pydantic.AfterValidator(_is_type)]


class Gates(Part):
    """What is taken up from conversations: how sure of it the memory must be, by who it comes from, and what never."""

    user: _Confidence = pydantic.Field(
        default=0.8, description="The least confidence, from 0 to 1, of what a person says of themselves or of others."
    )
    tool: _Confidence = pydantic.Field(default=0.9, description="Of what a tool answered.")
    inferred: _Confidence = pydantic.Field(
        default=1.0, description="Of what nobody said; its confidence is at most 0.6, so above that none is remembered."
    )
    never: tuple[Annotated[str, pydantic.AfterValidator(_is_listed_type)], ...] = pydantic.Field(
        default=(),
        strict=False,
        max_length=MAX_RULES,
        description="Keys and kinds that conversations make no memory of, such as phone, favorite.* or event. What a"
        " caller states with add(kind=…) is taken.",
    )


class RetentionRules(Part):
    """What becomes of a value when another takes its place.

    versioned: it stays as a version, which reads of the past and questions for what was before show. overwrite: it is
    archived at once, and only the present value is shown. retracted: the new value says that it was wrong.
    """

    default: Retention = pydantic.Field(default="versioned", description="Of what no other rule is for.")
    types: dict[_TypeName, Retention] = pydantic.Field(
        default_factory=dict,
        max_length=MAX_RULES,
        description="By key, family (favorite.*) or kind; the nearest to the key counts.",
        json_schema_extra=_types_schema,
    )


class ConflictRules(Part):
    """What stands where sources disagree about a key that holds one value.

    occurred: what was said later, by a source that is trusted no less; else both, disputed. trust: what the more
    trusted source says, then what was said later; of one trust and one instant both, disputed. keep_both: always both,
    disputed, until one of them is taken back or said to be replaced.
    """

    default: Conflict = pydantic.Field(default="occurred", description="Of what no other rule is for.")
    types: dict[_TypeName, Conflict] = pydantic.Field(
        default_factory=dict,
        max_length=MAX_RULES,
        description="By key, family (favorite.*) or kind; the nearest to the key counts.",
        json_schema_extra=_types_schema,
    )
    disputes: Literal["both", "best"] = pydantic.Field(
        default="both",
        description="What contexts show of a dispute: both sides, each saying what disputes it, or the best alone: of"
        " the more trusted source, then the later one.",
    )


class SensitiveMatters(SensitiveRules):
    """What is kept of sensitive matters that come up in conversations. Traits have rules of their own.

    all: what is kept of anything else. messages_only: the message, which search finds; nothing is learned from it.
    nothing_derived: the log alone; no memory is made of the message either, no search finds it, no model is shown it.
    """

    store: Literal["all", "messages_only", "nothing_derived"] = pydantic.Field(
        default="all", description="What is kept of a message that speaks of one of the topics."
    )
    topics: tuple[SensitiveTopic, ...] = pydantic.Field(
        default=SENSITIVE_TOPICS,
        strict=False,
        max_length=len(SENSITIVE_TOPICS),
        description="The matters; what is not named here is as any other.",
    )
    also: tuple[Phrase, ...] = pydantic.Field(
        default=(),
        strict=False,
        max_length=256,
        description="Further words and phrases that make a message sensitive, whole words in any case.",
    )


class CoreRules(Part):
    """Core memory: what stands in every context of a user."""

    kinds: tuple[Annotated[str, pydantic.AfterValidator(_is_item_kind)], ...] = pydantic.Field(
        default=("profile", "preference"),
        strict=False,
        max_length=len(KINDS),
        description="Kinds of memories that are shown, as far as they are about the user.",
    )
    pin: tuple[Annotated[str, pydantic.AfterValidator(_is_kind_or_key)], ...] = pydantic.Field(
        default=(),
        strict=False,
        max_length=64,
        description="Keys and kinds that come before all others, such as allergy, favorite.* or decision.",
    )
    items: int = pydantic.Field(
        default=60, ge=1, le=1000, description="Memories that are considered; the slot's budget decides how many fit."
    )
    due: int = pydantic.Field(
        default=8,
        ge=0,
        le=100,
        description="Tasks and intentions that are shown because they are due, most urgent first.",
    )


class SummaryRules(Part):
    """The working summary of a session: by a model that has the role summarise, and by rules of what came since."""

    every_turns: int = pydantic.Field(
        default=8, ge=2, le=1000, description="After how many turns a model makes it anew."
    )
    max_tokens: int = pydantic.Field(default=400, ge=32, le=8192, description="Tokens of a model's lines at most.")
    noted: int = pydantic.Field(
        default=16, ge=0, le=200, description="Lines by rules of what came of the session: decisions, tasks, facts."
    )
    said: int = pydantic.Field(
        default=24, ge=0, le=200, description="Lines by rules of what the user said: the openings of their messages."
    )
    opening: int = pydantic.Field(
        default=160,
        ge=20,
        le=2000,
        description="Characters that are quoted of one of the newest third; half of it in the middle, then a quarter.",
    )
